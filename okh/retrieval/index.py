"""The hypergraph as columns: what retrieval reads instead of 300,000 Python objects.

Rows are hyperedges in the order given. Everything that a query touches before it
knows its answer is an array; :class:`~okh.domain.Hyperedge` objects are loaded
for the few rows that are returned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from okh.domain import SOURCE_KINDS, Group, Hyperedge
from okh.precedence import PrecedenceKeys, canonical_order, precedence_keys
from okh.vocabulary import CYCLONE_PORTS, Vocabulary

IntArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]
Loader = Callable[[Sequence[int]], Sequence[Hyperedge]]

NO_LEAD = int(np.iinfo(np.int32).min)
"""Stands for "no lead" in integer columns; below every lead, so never visible as of one."""

HUB_SHARE = 0.2
"""Share of its group's edges above which an entity links everything and so tells nothing."""


@dataclass(frozen=True, slots=True)
class EdgeColumns:
    """One value per hyperedge; ``n`` rows.

    ``lead`` and ``lead_from`` are hours with :data:`NO_LEAD` for none;
    ``source_kind`` is a code into :data:`okh.domain.SOURCE_KINDS`; ``phase`` a
    code into the vocabulary's coverage phases, -1 outside. Rows with equal
    ``content`` say the same thing in different groups; ``canonical`` is any
    number that sorts the edges of one group in canonical order (A.3).
    """

    keys: PrecedenceKeys
    lead: NDArray[np.int32]
    lead_from: NDArray[np.int32]
    static: BoolArray
    observed: BoolArray
    source_kind: NDArray[np.int8]
    phase: NDArray[np.int8]
    content: NDArray[np.int64]
    canonical: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Incidence:
    """Entity sets as compressed rows: edge ``i`` holds ``codes[indptr[i]:indptr[i + 1]]``.

    ``names[code]`` is the entity's identifier. A set holds no code twice.
    """

    indptr: IntArray
    codes: NDArray[np.int32]
    names: Sequence[str]


@dataclass(frozen=True, slots=True)
class HypergraphIndex:
    """Columns, vectors and links of ``n`` hyperedges of any number of groups.

    Attributes
    ----------
    ids
        Edge ids, one per row, distinct.
    vectors
        float32 of shape ``(n, d)`` with unit rows; may be a memory map.
    columns, incidence
        See :class:`EdgeColumns` and :class:`Incidence`.
    groups
        Group of each code in ``columns.keys.group``.
    known_at
        int32 ``(n,)``: the lead from which the edge is known, :data:`NO_LEAD` if undated.
    group_dated
        bool ``(g,)``: whether any edge of the group has a lead.
    id_rank, order
        Rank of each row by edge id, and in one topological order of ≺.
    hub, links
        Per entry of ``incidence.codes``: whether the entity is a hub of the edge's
        group, and otherwise the code of the pair (group, entity), -1 for hubs.
    link_indptr, link_rows
        Rows that hold each pair (group, entity).
    group_indptr, group_rows
        Rows of each group, ascending.
    coverage_phases
        Number of phases that coverage counts, |S| of Eq. 13.
    """

    ids: Sequence[str]
    vectors: NDArray[np.float32]
    columns: EdgeColumns
    incidence: Incidence
    groups: tuple[Group, ...]
    known_at: NDArray[np.int32]
    group_dated: BoolArray
    id_rank: NDArray[np.int64]
    order: NDArray[np.int64]
    hub: BoolArray
    links: NDArray[np.int64]
    link_indptr: IntArray
    link_rows: IntArray
    group_indptr: IntArray
    group_rows: IntArray
    coverage_phases: int
    loader: Loader

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def from_columns(
        cls, *, ids: Sequence[str], vectors: NDArray[np.float32], columns: EdgeColumns,
        incidence: Incidence, groups: Sequence[str], loader: Loader,
        vocabulary: Vocabulary = CYCLONE_PORTS,
    ) -> HypergraphIndex:
        """An index over columns as storage keeps them.

        ``groups`` lists the group keys behind the codes of ``columns.keys.group``;
        ``loader`` gives the hyperedges of rows, in the order asked. Raises
        ``ValueError`` where the lengths disagree or an id comes twice.
        """
        n, group = len(ids), columns.keys.group
        if len(set(ids)) != n:
            raise ValueError("edge ids must be distinct within one index")
        if vectors.ndim != 2 or len(vectors) != n or len(group) != n:
            raise ValueError(f"{n} edges, but vectors {vectors.shape} and {len(group)} keys")
        if len(incidence.indptr) != n + 1:
            raise ValueError(f"{n} edges, but entity sets for {len(incidence.indptr) - 1}")
        dated = columns.lead != NO_LEAD
        change = dated & (columns.lead_from != NO_LEAD)
        group_dated = np.zeros(len(groups), dtype=np.bool_)
        group_dated[group[dated]] = True
        hub, links = _links(incidence, group, len(groups), vocabulary)
        owner = _owners(incidence.indptr)
        link_indptr, link_entries = _buckets(links, int(links.max(initial=-1)) + 1)
        group_indptr, group_rows = _buckets(group.astype(np.int64), len(groups))
        id_rank = np.empty(n, dtype=np.int64)
        id_rank[sorted(range(n), key=ids.__getitem__)] = np.arange(n)
        return cls(
            ids=ids, vectors=vectors, columns=columns, incidence=incidence,
            groups=tuple(Group.parse(key) for key in groups),
            known_at=np.where(
                change, np.minimum(columns.lead, columns.lead_from), columns.lead
            ).astype(np.int32),
            group_dated=group_dated, id_rank=id_rank, order=_topological(columns, id_rank),
            hub=hub, links=links, link_indptr=link_indptr, link_rows=owner[link_entries],
            group_indptr=group_indptr, group_rows=group_rows,
            coverage_phases=len(vocabulary.coverage_phases), loader=loader,
        )

    @classmethod
    def from_edges(
        cls, edges: Sequence[Hyperedge], vectors: NDArray[np.float32],
        vocabulary: Vocabulary = CYCLONE_PORTS,
    ) -> HypergraphIndex:
        """An index over hyperedges in memory, ``vectors[i]`` being that of ``edges[i]``."""
        groups: dict[str, int] = {}
        members: list[list[int]] = []
        for row, edge in enumerate(edges):
            code = groups.setdefault(edge.group, len(groups))
            if code == len(members):
                members.append([])
            members[code].append(row)
        canonical = np.zeros(len(edges), dtype=np.int64)
        for rows in members:
            for place, local in enumerate(canonical_order([edges[r] for r in rows])):
                canonical[rows[local]] = place
        phases = {phase: code for code, phase in enumerate(vocabulary.coverage_phases)}
        contents: dict[object, int] = {}
        columns = EdgeColumns(
            keys=precedence_keys(edges),
            lead=_leads([e.lead for e in edges]),
            lead_from=_leads([e.lead_from for e in edges]),
            static=np.array([e.static for e in edges], dtype=np.bool_),
            observed=np.array([e.observed for e in edges], dtype=np.bool_),
            source_kind=np.array([SOURCE_KINDS.index(e.source_kind) for e in edges], np.int8),
            phase=np.array([phases.get(e.phase, -1) for e in edges], dtype=np.int8),
            content=np.array(
                [contents.setdefault(_statement(e), len(contents)) for e in edges], np.int64
            ),
            canonical=canonical,
        )
        return cls.from_columns(
            ids=[e.id for e in edges], vectors=vectors, columns=columns,
            incidence=_incidence(edges), groups=tuple(groups),
            loader=lambda rows: [edges[r] for r in rows], vocabulary=vocabulary,
        )

    def edges(self, rows: Sequence[int]) -> list[Hyperedge]:
        """The hyperedges of these rows, in this order."""
        return list(self.loader(rows))

    def rows_of_groups(self, codes: Sequence[int]) -> IntArray:
        """Rows of these groups, ascending."""
        if len(codes) == 1:
            return self.group_rows[self.group_indptr[codes[0]] : self.group_indptr[codes[0] + 1]]
        picked = self.group_rows[ragged(self.group_indptr, np.asarray(codes, dtype=np.intp))]
        return np.sort(picked)

    def neighbours(self, rows: IntArray) -> BoolArray:
        """Mask ``(n,)`` of the edges that share an entity, no hub, with one of ``rows``.

        Links stay inside a group: an entity is canonical within its own group only.
        """
        links = np.unique(self.links[ragged(self.incidence.indptr, rows)])
        near = np.zeros(len(self), dtype=np.bool_)
        near[self.link_rows[ragged(self.link_indptr, links[links >= 0])]] = True
        return near

    def jaccard(self, rows: IntArray) -> NDArray[np.float64]:
        """Jaccard similarity of the whole entity sets (Eq. 12), shape ``(len(rows),) * 2``."""
        entries = ragged(self.incidence.indptr, rows)
        counts = self.incidence.indptr[rows + 1] - self.incidence.indptr[rows]
        distinct, column = np.unique(self.incidence.codes[entries], return_inverse=True)
        member = np.zeros((len(rows), len(distinct)), dtype=np.float32)
        member[np.repeat(np.arange(len(rows)), counts), column] = 1.0
        shared = (member @ member.T).astype(np.float64)
        size = shared.diagonal()
        union = size[:, None] + size[None, :] - shared
        return shared / np.maximum(union, 1.0)


def ragged(indptr: IntArray, rows: IntArray) -> IntArray:
    """Positions of all entries of these compressed rows, one row after the other."""
    starts = indptr[rows]
    counts = indptr[rows + 1] - starts
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    result: IntArray = np.repeat(starts - (ends - counts), counts) + np.arange(total)
    return result


def _owners(indptr: IntArray) -> IntArray:
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def _buckets(codes: NDArray[np.int64], size: int) -> tuple[IntArray, IntArray]:
    """Positions by code as compressed rows; negative codes are left out."""
    kept = np.flatnonzero(codes >= 0)
    order = kept[np.argsort(codes[kept], kind="stable")]
    indptr = np.zeros(size + 1, dtype=np.intp)
    np.cumsum(np.bincount(codes[kept], minlength=size)[:size], out=indptr[1:])
    return indptr, order


def _links(
    incidence: Incidence, group: NDArray[np.int32], groups: int, vocabulary: Vocabulary
) -> tuple[BoolArray, NDArray[np.int64]]:
    """Per incidence entry: is it a hub of its group, and else its (group, entity) code.

    Temporal anchors are hubs whatever their share: with ten horizons each holds a
    tenth of the edges, and still says nothing but "at the same time".
    """
    prefixes = tuple(
        f"{vocabulary.id_prefix.get(kind, kind)}:"
        for kind, category in vocabulary.entity_types.items()
        if category == "anchor"
    )
    anchor = np.array([name.startswith(prefixes) for name in incidence.names], dtype=np.bool_)
    where = group[_owners(incidence.indptr)].astype(np.int64)
    pair = where * max(len(incidence.names), 1) + incidence.codes
    _, code, held = np.unique(pair, return_inverse=True, return_counts=True)
    size = np.bincount(group, minlength=groups)
    hub: BoolArray = held[code] > HUB_SHARE * size[where]
    hub |= anchor[incidence.codes]
    return hub, np.where(hub, -1, code).astype(np.int64)


def _topological(columns: EdgeColumns, id_rank: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rank of each row in one linear order that contains ≺ and each group's canonical order."""
    position = columns.keys.position
    undated = np.isnan(position)
    time = np.where(undated, 0.0, position)
    by = np.lexsort((id_rank, columns.canonical, columns.keys.rank, time, undated))
    order = np.empty(len(by), dtype=np.int64)
    order[by] = np.arange(len(by))
    return order


def _leads(values: Sequence[int | None]) -> NDArray[np.int32]:
    return np.array([NO_LEAD if v is None else v for v in values], dtype=np.int32)


def _statement(edge: Hyperedge) -> object:
    return (edge.relation, edge.evidence, edge.attributes, edge.lead, edge.lead_from, edge.issued)


def _incidence(edges: Sequence[Hyperedge]) -> Incidence:
    codes: dict[str, int] = {}
    sets = [sorted({codes.setdefault(v, len(codes)) for v in e.entities}) for e in edges]
    indptr = np.zeros(len(edges) + 1, dtype=np.intp)
    np.cumsum([len(s) for s in sets], out=indptr[1:])
    flat = np.array([code for members in sets for code in members], dtype=np.int32)
    return Incidence(indptr, flat, tuple(codes))
