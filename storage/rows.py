"""Between the nouns of the domain and rows of tables, without loss.

Times without a zone are taken as UTC.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from okh.domain import (
    Attribute,
    Block,
    Document,
    DocumentKind,
    Entity,
    Fact,
    Group,
    Hyperedge,
    Mention,
    SourceKind,
    Span,
)
from storage.schemas import schema_of


@dataclass(frozen=True, slots=True)
class BlockView:
    """A block as one group sees it: with the lead at which it was known, and its distance."""

    group: str
    block: Block
    lead: int | None
    distance_km: float | None
    tie: str


@dataclass(frozen=True, slots=True)
class ExtractedFact:
    """A fact of one group with where it stands; ``start`` and ``end`` are in the document."""

    group: str
    block: str
    document: str
    fact: Fact
    start: int
    end: int
    lead: int | None
    issued: datetime | None
    source_kind: SourceKind
    kind: DocumentKind
    grounded: bool
    static: bool


def _utc(moment: datetime | None) -> datetime | None:
    if moment is None:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _table(name: str, columns: Mapping[str, Sequence[Any]]) -> pa.Table:
    schema = schema_of(name)
    arrays = [pa.array(columns[field.name], type=field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def _group_columns(keys: Sequence[str]) -> dict[str, list[Any]]:
    parsed = {key: Group.parse(key) for key in set(keys)}
    groups = [parsed[key] for key in keys]
    return {
        "group": list(keys),
        "storm": [g.storm for g in groups],
        "year": [g.year for g in groups],
        "port": [g.port for g in groups],
    }


def _attributes(attributes: Iterable[Attribute]) -> list[dict[str, str]]:
    return [{"key": a.key, "value": a.value, "unit": a.unit} for a in attributes]


# --- documents --------------------------------------------------------------------------


def documents_to_table(documents: Sequence[Document], group: str | None = None) -> pa.Table:
    """Documents without their text, which lies in the home's ``raw`` folder.

    The ``corpus`` table, or with ``group`` the ``documents`` table of that group.
    """
    columns: dict[str, Sequence[Any]] = {
        "hash": [d.hash for d in documents],
        "names": [list(d.names) for d in documents],
        "source_kind": [d.source_kind for d in documents],
        "kind": [d.kind for d in documents],
        "document_storm": [d.storm for d in documents],
        "document_year": [d.year for d in documents],
        "document_port": [d.port for d in documents],
        "lead": [d.lead for d in documents],
        "lead_source": [d.lead_source for d in documents],
        "issued": [_utc(d.issued) for d in documents],
        "product_id": [d.product_id for d in documents],
        "corrected": [d.corrected for d in documents],
    }
    if group is None:
        return _table("corpus", columns)
    return _table("documents", {**_group_columns([group] * len(documents)), **columns})


def documents_from_table(table: pa.Table) -> list[Document]:
    """Inverse of :func:`documents_to_table`; ``text`` is empty."""
    return [
        Document(
            hash=row["hash"], names=tuple(row["names"]), source_kind=row["source_kind"],
            kind=row["kind"], text="", storm=row["document_storm"], year=row["document_year"],
            port=row["document_port"], lead=row["lead"], lead_source=row["lead_source"],
            issued=row["issued"], product_id=row["product_id"], corrected=row["corrected"],
        )
        for row in table.to_pylist()
    ]


# --- blocks -----------------------------------------------------------------------------


def blocks_to_table(views: Sequence[BlockView]) -> pa.Table:
    """The ``blocks`` table of one or more groups."""
    blocks = [v.block for v in views]
    return _table("blocks", {
        **_group_columns([v.group for v in views]),
        "id": [b.id for b in blocks],
        "document": [b.document for b in blocks],
        "source_kind": [b.source_kind for b in blocks],
        "kind": [b.kind for b in blocks],
        "section": [b.section for b in blocks],
        "seq": [b.seq for b in blocks],
        "start": [b.start for b in blocks],
        "end": [b.end for b in blocks],
        "text": [b.text for b in blocks],
        "context": [b.context for b in blocks],
        "block_storm": [b.storm for b in blocks],
        "block_year": [b.year for b in blocks],
        "block_port": [b.port for b in blocks],
        "block_lead": [b.lead for b in blocks],
        "issued": [_utc(b.issued) for b in blocks],
        "location": [b.location for b in blocks],
        "ports": [list(b.ports) for b in blocks],
        "lead": [v.lead for v in views],
        "distance_km": [v.distance_km for v in views],
        "tie": [v.tie for v in views],
    })


def blocks_from_table(table: pa.Table) -> list[BlockView]:
    """Inverse of :func:`blocks_to_table`."""
    return [
        BlockView(
            row["group"],
            Block(
                id=row["id"], document=row["document"], source_kind=row["source_kind"],
                kind=row["kind"], section=row["section"], seq=row["seq"], start=row["start"],
                end=row["end"], text=row["text"], context=row["context"],
                storm=row["block_storm"], year=row["block_year"], port=row["block_port"],
                lead=row["block_lead"], issued=row["issued"], location=row["location"],
                ports=tuple(row["ports"]),
            ),
            row["lead"], row["distance_km"], row["tie"],
        )
        for row in table.to_pylist()
    ]


# --- facts ------------------------------------------------------------------------------


def facts_to_table(rows: Sequence[ExtractedFact]) -> pa.Table:
    """The ``extractions`` table of one or more groups."""
    facts = [r.fact for r in rows]
    return _table("extractions", {
        **_group_columns([r.group for r in rows]),
        "block": [r.block for r in rows],
        "document": [r.document for r in rows],
        "source_kind": [r.source_kind for r in rows],
        "kind": [r.kind for r in rows],
        "lead": [r.lead for r in rows],
        "issued": [_utc(r.issued) for r in rows],
        "relation": [f.relation for f in facts],
        "evidence": [f.evidence for f in facts],
        "mentions": [
            [
                {
                    "name": m.name, "type": m.type, "description": m.description,
                    "confidence": m.confidence, "origin": m.origin,
                }
                for m in f.mentions
            ]
            for f in facts
        ],
        "attributes": [_attributes(f.attributes) for f in facts],
        "confidence": [f.confidence for f in facts],
        "fact_start": [f.start for f in facts],
        "fact_end": [f.end for f in facts],
        "start": [r.start for r in rows],
        "end": [r.end for r in rows],
        "grounded": [r.grounded for r in rows],
        "static": [r.static for r in rows],
    })


def facts_from_table(table: pa.Table) -> list[ExtractedFact]:
    """Inverse of :func:`facts_to_table`."""
    scalars = {name: table[name].to_pylist() for name in _FACT_SCALARS}
    facts = map(
        Fact, scalars["relation"], scalars["evidence"], _lists(table["mentions"], Mention),
        _lists(table["attributes"], Attribute), scalars["confidence"], scalars["fact_start"],
        scalars["fact_end"],
    )
    return list(map(
        ExtractedFact, scalars["group"], scalars["block"], scalars["document"], facts,
        scalars["start"], scalars["end"], scalars["lead"], scalars["issued"],
        scalars["source_kind"], scalars["kind"], scalars["grounded"], scalars["static"],
    ))


_FACT_SCALARS = (
    "group", "block", "document", "source_kind", "kind", "lead", "issued", "relation", "evidence",
    "confidence", "fact_start", "fact_end", "start", "end", "grounded", "static",
)


# --- hypergraph -------------------------------------------------------------------------

_EDGE_SCALARS = (
    "id", "group", "relation", "raw_relation", "family", "story", "sub_rank", "phase", "lead",
    "lead_from", "static", "evidence", "confidence", "grounded", "synthetic", "observed",
    "source_kind", "kind",
)


def edges_to_table(edges: Sequence[Hyperedge]) -> pa.Table:
    """The ``hyperedges`` table of one or more groups."""
    return _table("hyperedges", {
        **{name: [getattr(e, name) for e in edges] for name in _EDGE_SCALARS},
        **_group_columns([e.group for e in edges]),
        "entities": [list(e.entities) for e in edges],
        "attributes": [_attributes(e.attributes) for e in edges],
        "issued": [_utc(e.issued) for e in edges],
        "spans": [
            [{"document": s.document, "start": s.start, "end": s.end} for s in e.spans]
            for e in edges
        ],
    })


def edges_from_table(table: pa.Table) -> list[Hyperedge]:
    """Inverse of :func:`edges_to_table`."""
    columns = {name: table[name].to_pylist() for name in (*_EDGE_SCALARS, "entities", "issued")}
    columns["entities"] = [tuple(members) for members in columns["entities"]]
    columns["attributes"] = _lists(table["attributes"], Attribute)
    columns["spans"] = _lists(table["spans"], Span)
    return list(map(Hyperedge, *(columns[field.name] for field in fields(Hyperedge))))


def _lists(column: pa.ChunkedArray, make: Callable[..., Any]) -> list[tuple[Any, ...]]:
    """A column of lists of structs as tuples; equal structs become one object.

    The frozen objects cost more to make than all else here, and most occur often.
    """
    whole = column.combine_chunks()
    structs = whole.flatten()
    rows = zip(*(structs.field(i).to_pylist() for i in range(structs.type.num_fields)), strict=True)
    known: dict[tuple[Any, ...], Any] = {}
    made = []
    for row in rows:
        item = known.get(row)
        if item is None:
            item = known[row] = make(*row)
        made.append(item)
    ends = np.cumsum(pc.list_value_length(whole).to_numpy(zero_copy_only=False)).tolist()
    return [tuple(made[a:b]) for a, b in pairwise([0, *ends])]


def entities_to_table(group: str, entities: Sequence[Entity]) -> pa.Table:
    """The ``entities`` table of one group."""
    return _table("entities", {
        **_group_columns([group] * len(entities)),
        "id": [v.id for v in entities],
        "name": [v.name for v in entities],
        "type": [v.type for v in entities],
        "description": [v.description for v in entities],
        "confidence": [v.confidence for v in entities],
        "origin": [v.origin for v in entities],
    })


def entities_from_table(table: pa.Table) -> dict[str, dict[str, Entity]]:
    """Group -> entities by identifier; inverse of :func:`entities_to_table`."""
    found: dict[str, dict[str, Entity]] = {}
    for row in table.to_pylist():
        found.setdefault(row["group"], {})[row["id"]] = Entity(
            row["id"], row["name"], row["type"], row["description"], row["confidence"],
            row["origin"],
        )
    return found
