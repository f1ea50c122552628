"""Facts of one group -> its entities and hyperedges, in five steps (A.2).

Each step is a pure function from hypergraph to hypergraph; :func:`normalize`
composes them. The composition is idempotent and does not depend on the order
in which facts arrive.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from itertools import pairwise

from rapidfuzz import fuzz, process

from okh.domain import (
    Attribute,
    DocumentKind,
    Entity,
    Fact,
    Group,
    Hyperedge,
    SourceKind,
    Span,
    digest,
    horizon_label,
    slug,
)
from okh.vocabulary import CROSS_HORIZON, CYCLONE_PORTS, UNMAPPED, Vocabulary, is_number_name

VERSION = "1"
"""Raise when the same facts would give another hypergraph."""

FUZZY_CUTOFF = 85.0
"""rapidfuzz ratio (0–100) from which a relation label counts as a known one."""

ANCHOR_TYPE = "horizon_time"


@dataclass(frozen=True, slots=True)
class LocatedFact:
    """A fact with where it stands: its document, horizon and issuance time.

    ``start`` and ``end`` are offsets into the document. A ``static`` fact holds
    at every horizon; a fact with an empty ``document`` was made by us.
    """

    fact: Fact
    document: str
    start: int
    end: int
    lead: int | None
    issued: datetime | None
    source_kind: SourceKind
    kind: DocumentKind
    grounded: bool = True
    static: bool = False


@dataclass(frozen=True, slots=True)
class Hypergraph:
    """H = (V, E) of one group (Eq. 1): entities by identifier, and hyperedges."""

    group: Group
    entities: Mapping[str, Entity]
    edges: tuple[Hyperedge, ...]


def normalize(
    group: Group, facts: Iterable[LocatedFact], vocabulary: Vocabulary = CYCLONE_PORTS
) -> Hypergraph:
    """The five steps of A.2 over all facts of one group.

    Returns edges sorted by id and entities sorted by identifier.
    """
    return renormalize(_draft(group, facts), vocabulary)


def renormalize(graph: Hypergraph, vocabulary: Vocabulary = CYCLONE_PORTS) -> Hypergraph:
    """The five steps over a hypergraph; a normalized one comes back unchanged."""
    graph = normalize_relations(graph, vocabulary)
    graph = canonicalize_entities(graph, vocabulary)
    graph = inject_anchors(graph)
    graph = synthesize_changes(graph, vocabulary)
    return deduplicate(graph)


def _draft(group: Group, facts: Iterable[LocatedFact]) -> Hypergraph:
    """Facts as they came, with one draft entity for each distinct mention."""
    entities: dict[str, Entity] = {}
    edges: list[Hyperedge] = []
    for located in facts:
        fact = located.fact
        members = []
        for m in fact.mentions:
            key = f"draft:{m.type}:{m.name}:{m.origin}:{m.description}"
            known = entities.get(key)
            if known is None or m.confidence > known.confidence:
                entities[key] = Entity(
                    key, m.name, m.type, m.description, m.confidence, m.origin
                )
            members.append(key)
        spans = (
            (Span(located.document, located.start, located.end),) if located.document else ()
        )
        edges.append(
            Hyperedge(
                id="", group=group.key, relation=fact.relation, raw_relation=fact.relation,
                family=0, story=0, sub_rank=0, phase="",
                lead=None if located.static else located.lead, lead_from=None,
                static=located.static, entities=tuple(members), evidence=fact.evidence,
                attributes=fact.attributes, confidence=fact.confidence,
                grounded=located.grounded, synthetic=not located.document,
                observed=fact.attribute("observed") == "true", issued=located.issued,
                source_kind=located.source_kind, kind=located.kind, spans=spans,
            )
        )
    return Hypergraph(group, entities, tuple(edges))


# --- step 1 ---------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _known_relation(label: str, choices: tuple[str, ...]) -> str | None:
    match = process.extractOne(label, choices, scorer=fuzz.ratio, score_cutoff=FUZZY_CUTOFF)
    return None if match is None else str(match[0])


def map_relation(label: str, vocabulary: Vocabulary = CYCLONE_PORTS) -> str:
    """A label as a relation of the vocabulary, by name, alias or fuzzy match; else ``unmapped``."""
    name = re.sub(r"[^a-z0-9]+", "_", label.casefold()).strip("_")
    if name in vocabulary.relations:
        return name
    if name in vocabulary.aliases:
        return vocabulary.aliases[name]
    match = _known_relation(name, (*vocabulary.relations, *vocabulary.aliases))
    return UNMAPPED if match is None else vocabulary.aliases.get(match, match)


def normalize_relations(graph: Hypergraph, vocabulary: Vocabulary) -> Hypergraph:
    """Step 1: relation, family, sub-rank and phase of every edge.

    An unmapped edge keeps its raw label and gets family 0: it stands before the
    families at its horizon, since nothing tells where it belongs.
    """
    edges = []
    for edge in graph.edges:
        if edge.family == CROSS_HORIZON:
            edges.append(edge)
            continue
        relation = map_relation(edge.raw_relation, vocabulary)
        family, sub_rank = vocabulary.relations.get(relation, (0, 0))
        edges.append(
            replace(
                edge, relation=relation, family=family, story=family, sub_rank=sub_rank,
                phase=vocabulary.phase(family),
            )
        )
    return replace(graph, edges=tuple(edges))


# --- step 2 ---------------------------------------------------------------------------

_STATUS_WORDS = re.compile(
    r"^(?:the )?(?:remnants of |center of |eye of )?(?:major )?"
    r"(?:hurricane|(?:sub)?tropical (?:storm|depression|cyclone)|potential tropical cyclone"
    r"|post[- ]tropical cyclone|typhoon|cyclone|storm)\s+",
    re.IGNORECASE,
)
_PLACE_NOISE = re.compile(r"^(?:the|port-of|port)-|-(?:[a-z]{2})$")
_UNSCOPED = frozenset({"period_h", "vessels", "reference"})


def _cyclone_id(name: str, origin: str, group: Group) -> str:
    own = f"cyclone:{group.storm_year}"
    if origin != "text" or name == group.storm_year:
        return own
    bare = re.sub(r"^the-", "", slug(_STATUS_WORDS.sub("", name.strip())))
    if not bare or bare in ("hurricane", "storm", "cyclone", "depression", "system"):
        return own
    if bare == group.storm.lower() or is_number_name(bare):
        return own
    return f"cyclone:{bare.upper()}-{group.year}"


def _port_id(name: str, group: Group) -> str:
    def bare(text: str) -> str:
        return _PLACE_NOISE.sub("", _PLACE_NOISE.sub("", text))

    port = slug(name)
    if bare(port) == bare(group.port):
        port = group.port
    return f"port:{port.replace('-', '_')}"


def _scope(edge: Hyperedge, vocabulary: Vocabulary) -> str:
    parts = [
        slug(a.value).replace("-", "_")
        for a in edge.attributes
        if vocabulary.attributes.get(a.key) == "scope" and a.key not in _UNSCOPED
    ]
    return ".".join(parts)


def _time_label(edge: Hyperedge) -> str:
    if edge.static:
        return "static"
    if edge.lead is not None:
        return horizon_label(edge.lead)
    return f"{edge.issued:%Y%m%dT%H%MZ}" if edge.issued is not None else "undated"


def canonical_id(
    entity: Entity, edge: Hyperedge, group: Group, vocabulary: Vocabulary = CYCLONE_PORTS
) -> str:
    """Identifier of an entity as this edge uses it.

    Persistent objects: ``cyclone:IRMA-2017``, ``port:port_arthur``,
    ``location:miami_fl``. Transient states: ``family:STORM:scope:T-48`` where
    the scope is the place or hazard told about, else the port the fact is bound
    to, else ``-``; the value is not part of it, so that a state keeps its
    identity while its value is corrected.
    """
    category = vocabulary.entity_types.get(entity.type, "persistent")
    prefix = vocabulary.id_prefix.get(entity.type, entity.type)
    if category == "anchor":
        return f"{prefix}:{_time_label(edge)}"
    if entity.type == "cyclone":
        return _cyclone_id(entity.name, entity.origin, group)
    if entity.type == "port":
        return _port_id(entity.name, group)
    if category == "persistent":
        name = re.sub(r"^the-", "", slug(entity.name)).replace("-", "_")
        return f"{prefix}:{name or digest(entity.name)[:12]}"
    return f"{prefix}:{group.storm}:{_scope(edge, vocabulary) or '-'}:{_time_label(edge)}"


def canonicalize_entities(graph: Hypergraph, vocabulary: Vocabulary) -> Hypergraph:
    """Step 2: identifiers; two names of one thing become one entity."""
    gathered: dict[str, dict[Entity, None]] = defaultdict(dict)
    edges = []
    for edge in graph.edges:
        if edge.family == CROSS_HORIZON:
            for identifier in edge.entities:
                gathered[identifier][graph.entities[identifier]] = None
            edges.append(edge)
            continue
        members = set()
        for draft in edge.entities:
            entity = graph.entities[draft]
            identifier = canonical_id(entity, edge, graph.group, vocabulary)
            gathered[identifier][entity] = None
            members.add(identifier)
        edges.append(replace(edge, entities=tuple(sorted(members))))
    entities = {
        identifier: _merged(identifier, list(group)) for identifier, group in gathered.items()
    }
    return Hypergraph(graph.group, entities, tuple(edges))


def _merged(identifier: str, entities: Sequence[Entity]) -> Entity:
    """One entity from all that were found to be it; independent of their order."""
    if len(entities) == 1:
        return replace(entities[0], id=identifier)
    origins = {e.origin for e in entities}
    names = sorted({e.name for e in entities}, key=lambda n: (len(n), n))
    best = max(entities, key=lambda e: (e.confidence, -len(e.name), e.name))
    described = sorted({e.description for e in entities if e.description})
    also = [n for n in names if n != best.name][:8]
    description = "; ".join([*described[:4], *([f"also: {', '.join(also)}"] if also else [])])
    return Entity(
        identifier, best.name, min(e.type for e in entities), description,
        max(e.confidence for e in entities), "text" if "text" in origins else min(origins),
    )


# --- step 3 ---------------------------------------------------------------------------


def anchor_entity(lead: int) -> Entity:
    """The temporal anchor ``horizon:T-48`` of one horizon."""
    label = horizon_label(lead)
    return Entity(
        f"horizon:{label}", label, ANCHOR_TYPE,
        f"{lead} hours before expected landfall" if lead >= 0
        else f"{-lead} hours after expected landfall", 1.0, "anchor",
    )


def inject_anchors(graph: Hypergraph) -> Hypergraph:
    """Step 3: exactly one anchor on each edge at a horizon (two on a change), none elsewhere."""
    entities = {k: e for k, e in graph.entities.items() if e.type != ANCHOR_TYPE}
    edges = []
    for edge in graph.edges:
        members = {m for m in edge.entities if m in entities}
        for lead in (edge.lead, edge.lead_from):
            if lead is not None:
                anchor = anchor_entity(lead)
                entities[anchor.id] = anchor
                members.add(anchor.id)
        edges.append(replace(edge, entities=tuple(sorted(members))))
    return Hypergraph(graph.group, entities, tuple(edges))


# --- step 4 ---------------------------------------------------------------------------

Slot = tuple[str, ...]
_EPOCH = datetime.min.replace(tzinfo=UTC)


def _latest_first(edge: Hyperedge) -> tuple[object, ...]:
    span = edge.spans[-1] if edge.spans else Span("", 0, 0)
    return (edge.issued or _EPOCH, span.document, span.start, edge.evidence)


def _slots(edge: Hyperedge, vocabulary: Vocabulary) -> Iterator[tuple[Slot, Attribute]]:
    """The slots an edge fills, with the attribute that holds the value (A.2 step 4)."""
    tracked = vocabulary.slot_values.get(edge.relation)
    if tracked is None or edge.static or edge.lead is None or edge.observed or edge.synthetic:
        return
    scope = tuple(
        f"{a.key}={slug(a.value)}"
        for a in sorted(edge.attributes, key=lambda a: a.key)
        if vocabulary.attributes.get(a.key) == "scope"
    )
    for attribute in edge.attributes:
        if attribute.key in tracked:
            slot = (edge.relation, edge.source_kind, attribute.key, attribute.unit, *scope)
            yield slot, attribute


def synthesize_changes(graph: Hypergraph, vocabulary: Vocabulary) -> Hypergraph:
    """Step 4: one family-13 edge for each slot whose value changes between successive horizons.

    Where several statements fill a slot at one horizon, the one issued last
    counts. Where nothing changed there is no edge.
    """
    own = [e for e in graph.edges if e.family != CROSS_HORIZON]
    filled: dict[Slot, dict[int, tuple[Hyperedge, Attribute]]] = defaultdict(dict)
    for edge in own:
        for slot, attribute in _slots(edge, vocabulary):
            assert edge.lead is not None
            known = filled[slot].get(edge.lead)
            if known is None or (_latest_first(known[0]), known[1].value) < (
                _latest_first(edge), attribute.value
            ):
                filled[slot][edge.lead] = (edge, attribute)
    changes = []
    for by_lead in filled.values():
        leads = sorted(by_lead, reverse=True)
        for earlier, later in pairwise(leads):
            (before, old), (after, new) = by_lead[earlier], by_lead[later]
            if old.value.casefold() != new.value.casefold():
                changes.append(_change_edge(before, old, after, new, vocabulary))
    kept = {m for e in own for m in e.entities}
    entities = {k: e for k, e in graph.entities.items() if k in kept}
    return Hypergraph(graph.group, entities, (*own, *changes))


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def change_relation(attribute: str, old: str, new: str, vocabulary: Vocabulary) -> str:
    """Relation of a change by what changed: strength, probability, status, else a forecast."""
    if attribute in ("category", "status"):
        ranks = [
            vocabulary.severity.index(v.casefold()) if v.casefold() in vocabulary.severity else -1
            for v in (old, new)
        ]
        if min(ranks) >= 0 and ranks[0] != ranks[1]:
            return "intensifies_to" if ranks[1] > ranks[0] else "weakens_to"
        return "changes_status_to"
    a, b = _number(old), _number(new)
    if attribute in ("wind_mph", "pressure_mb") and a is not None and b is not None:
        stronger = b > a if attribute == "wind_mph" else b < a
        return "intensifies_to" if stronger else "weakens_to"
    if attribute == "probability":
        return "changes_probability_to"
    if attribute in ("advisory", "condition", "exceeded", "within_cone"):
        return "changes_status_to"
    return "forecast_updates_to"


def _change_edge(
    before: Hyperedge, old: Attribute, after: Hyperedge, new: Attribute, vocabulary: Vocabulary
) -> Hyperedge:
    assert before.lead is not None and after.lead is not None
    relation = change_relation(new.key, old.value, new.value, vocabulary)
    scope = [a for a in after.attributes if vocabulary.attributes.get(a.key) == "scope"]
    distance = [a for a in after.attributes if a.key == "distance_km"]
    a, b = _number(old.value), _number(new.value)
    delta = f"{b - a:+g}" if a is not None and b is not None else ""
    attributes = [
        *scope,
        Attribute("changed", new.key), Attribute("of", after.relation),
        Attribute("from", old.value, old.unit), Attribute("to", new.value, new.unit), *distance,
    ]
    if delta:
        attributes.append(Attribute("delta", delta, new.unit))
    members = {
        m for e in (before, after) for m in e.entities if not m.startswith("horizon:")
    }
    members |= {f"horizon:{horizon_label(lead)}" for lead in (before.lead, after.lead)}
    return Hyperedge(
        id="", group=after.group, relation=relation, raw_relation=relation,
        family=CROSS_HORIZON, story=after.family, sub_rank=after.sub_rank, phase=after.phase,
        lead=after.lead, lead_from=before.lead, static=False, entities=tuple(sorted(members)),
        evidence=_change_sentence(before, old, after, new, scope, delta),
        attributes=tuple(attributes), confidence=min(before.confidence, after.confidence),
        grounded=before.grounded and after.grounded, synthetic=True, observed=False,
        issued=after.issued, source_kind=after.source_kind, kind=after.kind,
        spans=tuple(sorted({*before.spans, *after.spans})),
    )


def _change_sentence(
    before: Hyperedge, old: Attribute, after: Hyperedge, new: Attribute,
    scope: Sequence[Attribute], delta: str,
) -> str:
    assert before.lead is not None and after.lead is not None
    what = re.sub(r"^(?:has|forecasts)_", "", after.relation).replace("_", " ")
    where = ", ".join(f"{a.value} {a.unit}".strip() for a in scope)
    value = new.key.replace("_", " ")
    subject = f"{what} ({where})" if where else what
    if value not in subject:
        subject = f"{subject}, {value},"
    text = (
        f"{subject} changes from {old.value} {old.unit}".rstrip()
        + f" at {horizon_label(before.lead)} to {new.value} {new.unit}".rstrip()
        + f" at {horizon_label(after.lead)}"
    )
    if delta:
        text += f" (change {delta} {new.unit}".rstrip() + ")"
    return text[0].upper() + text[1:] + "."


# --- step 5 ---------------------------------------------------------------------------


def edge_id(edge: Hyperedge) -> str:
    """Hash of group, source kind, relation, entities, horizon, attributes and evidence.

    The source kind is ours: scenario text and raw products are never merged.
    """
    relation = edge.raw_relation if edge.relation == UNMAPPED else edge.relation
    return digest(
        edge.group, edge.source_kind, relation, *edge.entities, "|", edge.horizon,
        *(f"{a.key}={a.value} {a.unit}" for a in edge.attributes), "|", edge.evidence,
    )[:24]


def deduplicate(graph: Hypergraph) -> Hypergraph:
    """Step 5: exact duplicates collapse.

    The highest confidence and the earliest issuance time stay, and all spans are
    kept; the rest is that of the first by (issuance, document, offset).
    """
    same: dict[str, list[Hyperedge]] = defaultdict(list)
    for edge in graph.edges:
        same[edge_id(edge)].append(edge)
    edges = []
    for identifier in sorted(same):
        found = same[identifier]
        first = min(found, key=_first) if len(found) > 1 else found[0]
        if len(found) > 1:
            first = replace(
                first, id=identifier, confidence=max(e.confidence for e in found),
                grounded=any(e.grounded for e in found),
                spans=tuple(sorted({s for e in found for s in e.spans})),
            )
        elif first.id != identifier:
            first = replace(first, id=identifier)
        edges.append(first)
    entities = {k: graph.entities[k] for k in sorted(graph.entities)}
    return Hypergraph(graph.group, entities, tuple(edges))


def _first(edge: Hyperedge) -> tuple[object, ...]:
    span = edge.spans[0] if edge.spans else Span("", 0, 0)
    return (
        edge.issued or datetime.max.replace(tzinfo=UTC), span, edge.raw_relation, edge.kind,
        edge.confidence,
    )
