"""The text of a hyperedge that is embedded (§3.1, A.4)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from okh.domain import Entity, Hyperedge
from okh.vocabulary import CYCLONE_PORTS, Vocabulary

_HORIZON_WORDS = re.compile(
    r"\bT\s*[-–+]\s*\d{1,3}\b"
    r"|\b\d{1,3}\s*(?:hours?|h)\s+(?:before|after)\s+(?:(?:the\s+)?expected\s+)?landfall\b",
    re.IGNORECASE,
)


def edge_text(
    edge: Hyperedge, entities: Mapping[str, Entity], *, order_words: bool = True,
    vocabulary: Vocabulary = CYCLONE_PORTS,
) -> str:
    """Relation, evidence, entity names with types, and key attribute values of an edge.

    Parameters
    ----------
    edge
        Any hyperedge.
    entities
        Entities of its group by identifier; holds every entity of the edge.
    order_words
        Without them the words that give the order away are left out: the relation,
        the anchors, and horizons named in the evidence. For measuring only.
    vocabulary
        Tells anchors from other entities, and notes from values.
    """
    members = [entities[identifier] for identifier in edge.entities]
    if not order_words:
        members = [m for m in members if vocabulary.entity_types.get(m.type) != "anchor"]
    names = (f"{m.name} ({_words(m.type)})" for m in members)
    values = (
        f"{_words(a.key)} {a.value} {a.unit}".rstrip()
        for a in edge.attributes
        if vocabulary.attributes.get(a.key) in ("scope", "value")
    )
    evidence = edge.evidence if order_words else _HORIZON_WORDS.sub(" ", edge.evidence)
    parts = (" ".join(evidence.split()), ", ".join(names), ", ".join(values))
    relation = (_words(edge.relation),) if order_words else ()
    return " | ".join((*relation, *filter(None, parts)))


def _words(label: str) -> str:
    return label.replace("_", " ")
