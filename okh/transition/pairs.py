"""What a group teaches about order: the self-supervised signals of A.4, as arrays.

Pairs grow with the square of a group, so only those that grow with its edges are
listed: each edge's next one, and the next holder of each entity. All other
ordered pairs follow from keys, and are drawn when they are wanted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from okh.domain import Group, Hyperedge
from okh.precedence import canonical_order, precedence_keys, precedes
from okh.retrieval.index import HUB_SHARE
from okh.transition.split import Split, split_storms
from okh.vocabulary import CYCLONE_PORTS, Vocabulary

IntArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]

_NO_TIME = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class GroupSignals:
    """One group's ``n`` edges in canonical order, with what is known of their order.

    Attributes
    ----------
    group, storm_year
        Group key, and the storm-year by which groups are split.
    rows
        Shape ``(n,)``: row of each edge in the matrix of distinct vectors.
    relations
        Relation of each edge.
    position, rank
        Keys of ≺, shape ``(n,)``.
    run
        Shape ``(n,)``: edges with one number have equal keys and stand in one
        document: ≺ is silent and their text order decides. Runs are contiguous.
    offset
        Shape ``(n,)``: where in that document; no two facts of one place are ordered.
    adjacent, overlap, induced
        Pairs of places, shape ``(m, 2)``: consecutive in the canonical trajectory;
        consecutive among the holders of an entity; consecutive in a trajectory
        behind a correct answer. A pair is in the first of them that it fits.
    sequence_index
        Whether rule R5 is part of ≺.
    counts
        How many pairs of each signal there are, and how many text pairs agree with
        ≺, are left open by it, or contradict it (and were dropped).
    """

    group: str
    storm_year: str
    rows: IntArray
    relations: tuple[str, ...]
    position: NDArray[np.float64]
    rank: NDArray[np.int32]
    run: NDArray[np.int32]
    offset: NDArray[np.int64]
    adjacent: IntArray
    overlap: IntArray
    induced: IntArray
    sequence_index: bool
    counts: Mapping[str, int]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def positives(self) -> IntArray:
        """All listed pairs, shape ``(m, 2)``, those of :attr:`overlap` last."""
        return np.concatenate([self.adjacent, self.induced, self.overlap])

    def before(self) -> BoolArray:
        """≺ as a matrix ``(n, n)``."""
        return precedes(
            self.position[:, None], self.rank[:, None], self.position[None, :],
            self.rank[None, :], sequence_index=self.sequence_index,
        )

    def text_before(self) -> BoolArray:
        """Matrix ``(n, n)``: pairs that ≺ leaves open and the text of one document orders."""
        same: BoolArray = self.run[:, None] == self.run[None, :]
        return same & (self.offset[:, None] < self.offset[None, :])


def group_signals(
    edges: Sequence[Hyperedge], rows: IntArray, *, sequence_index: bool = True,
    induced: Iterable[tuple[str, str]] = (), vocabulary: Vocabulary = CYCLONE_PORTS,
) -> GroupSignals:
    """The signals of the edges of one group (A.4).

    Parameters
    ----------
    edges
        At least one; in any order, the result does not depend on it.
    rows
        ``rows[i]`` is the row of ``edges[i]`` in the matrix of distinct vectors.
    sequence_index
        Rule R5 of ≺.
    induced
        Consecutive pairs of edge ids from retrieval traces. Those of other groups,
        and those that contradict ≺, are counted and dropped.
    vocabulary
        Tells temporal anchors from other entities.

    Raises
    ------
    ValueError
        No edge, edges of several groups, or as many rows as there are not edges.
    """
    keys_of = {edge.group for edge in edges}
    if len(keys_of) != 1 or len(rows) != len(edges):
        raise ValueError(f"{len(edges)} edges of {len(keys_of)} groups with {len(rows)} rows")
    order = canonical_order(edges)
    ordered = [edges[i] for i in order]
    keys = precedence_keys(ordered)
    run, document, offset = _text_runs(ordered, keys.position, keys.rank)
    counts: Counter[str] = Counter(edges=len(edges))

    def is_before(pairs: IntArray) -> BoolArray:
        a, b = pairs[:, 0], pairs[:, 1]
        return precedes(
            keys.position[a], keys.rank[a], keys.position[b], keys.rank[b],
            sequence_index=sequence_index,
        )

    def warranted(pairs: IntArray) -> BoolArray:
        a, b = pairs[:, 0], pairs[:, 1]
        one_text: BoolArray = run[a] == run[b]
        by_issuance = ~one_text & _issued_earlier(ordered, pairs, keys.position)
        return is_before(pairs) | (one_text & (offset[a] < offset[b])) | by_issuance

    places = np.arange(len(ordered) - 1, dtype=np.intp)
    adjacent = np.stack([places, places + 1], axis=1)
    adjacent = adjacent[warranted(adjacent)]
    overlap = _next_holders(ordered, vocabulary)
    overlap = _without(overlap[warranted(overlap)], adjacent)
    traced = _induced_pairs(ordered, induced, counts)
    contradicted = is_before(traced[:, ::-1])
    counts["induced_dropped"] += int(contradicted.sum())
    traced = _without(_without(traced[~contradicted], adjacent), overlap)
    text = _text_neighbours(document, offset)
    forward, backward = is_before(text), is_before(text[:, ::-1])
    counts.update(
        adjacent=len(adjacent), overlap=len(overlap), induced=len(traced),
        text_agrees=int(forward.sum()), text_contradicts=int(backward.sum()),
        text_open=int((~forward & ~backward).sum()),
    )
    return GroupSignals(
        group=ordered[0].group, storm_year=Group.parse(ordered[0].group).storm_year,
        rows=np.asarray(rows, dtype=np.intp)[order],
        relations=tuple(e.relation for e in ordered), position=keys.position, rank=keys.rank,
        run=run, offset=offset, adjacent=adjacent, overlap=overlap, induced=traced,
        sequence_index=sequence_index, counts=dict(counts),
    )


@dataclass(frozen=True)
class TransitionDataset:
    """Signals of many groups over one matrix of distinct vectors ``(m, d)``, with the split."""

    vectors: NDArray[np.float32]
    groups: tuple[GroupSignals, ...]
    splits: Mapping[str, Split]

    def of(self, split: Split) -> list[GroupSignals]:
        """The groups whose storm is in this split, in their order."""
        return [g for g in self.groups if self.splits[g.storm_year] == split]

    @cached_property
    def training_storms(self) -> tuple[str, ...]:
        return tuple(sorted({g.storm_year for g in self.of("train")}))

    def counts(self) -> dict[str, int]:
        """Sums of the groups' counts, and storms and groups by split."""
        total: Counter[str] = Counter()
        for group in self.groups:
            total.update(group.counts)
            total[f"{self.splits[group.storm_year]}_groups"] += 1
        for storm in {g.storm_year for g in self.groups}:
            total[f"{self.splits[storm]}_storms"] += 1
        return dict(sorted(total.items()))


def build_dataset(
    vectors: NDArray[np.float32], groups: Iterable[GroupSignals],
    splits: Mapping[str, Split] | None = None,
) -> TransitionDataset:
    """A dataset from groups in any order.

    ``splits`` defaults to :func:`okh.transition.split.split_storms` over the
    groups' storms. Raises ``ValueError`` for a storm without a split, or a row that
    the matrix does not have.
    """
    ordered = tuple(sorted(groups, key=lambda g: g.group))
    known = split_storms(g.storm_year for g in ordered) if splits is None else splits
    for group in ordered:
        if group.storm_year not in known:
            raise ValueError(f"storm {group.storm_year} is in no split")
        if len(group) and not 0 <= group.rows.min() <= group.rows.max() < len(vectors):
            raise ValueError(f"group {group.group} names rows beyond the {len(vectors)} vectors")
    return TransitionDataset(vectors, ordered, known)


def _text_runs(
    ordered: Sequence[Hyperedge], position: NDArray[np.float64], rank: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Run, document and offset of each place; a synthetic edge is printed nowhere (document -1)."""
    codes: dict[str, int] = {}
    document = np.full(len(ordered), -1, dtype=np.int32)
    offset = np.zeros(len(ordered), dtype=np.int64)
    for place, edge in enumerate(ordered):
        if edge.spans and not edge.synthetic:
            document[place] = codes.setdefault(edge.spans[0].document, len(codes))
            offset[place] = edge.spans[0].start
    new = np.ones(len(ordered), dtype=np.bool_)
    undated = np.isnan(position)
    same_time = (position[1:] == position[:-1]) | (undated[1:] & undated[:-1])
    same = same_time & (rank[1:] == rank[:-1]) & (document[1:] == document[:-1])
    new[1:] = ~same | (document[1:] < 0)
    return np.cumsum(new).astype(np.int32), document, offset


def _issued_earlier(
    ordered: Sequence[Hyperedge], pairs: IntArray, position: NDArray[np.float64]
) -> BoolArray:
    """Whether two edges of one position stand in the order of their issuance."""
    result = np.zeros(len(pairs), dtype=np.bool_)
    for i, (a, b) in enumerate(pairs.tolist()):
        if position[a] == position[b]:
            first, second = ordered[a].issued, ordered[b].issued
            result[i] = (first or _NO_TIME) < (second or _NO_TIME)
    return result


def _next_holders(ordered: Sequence[Hyperedge], vocabulary: Vocabulary) -> IntArray:
    """Pairs of consecutive holders of an entity that is neither a hub nor an anchor."""
    anchors = tuple(
        f"{vocabulary.id_prefix.get(kind, kind)}:"
        for kind, category in vocabulary.entity_types.items() if category == "anchor"
    )
    holders: dict[str, list[int]] = defaultdict(list)
    for place, edge in enumerate(ordered):
        for entity in edge.entities:
            if not entity.startswith(anchors):
                holders[entity].append(place)
    most = HUB_SHARE * len(ordered)
    found = {
        pair
        for places in holders.values() if len(places) <= most
        for pair in pairwise(places)
    }
    return _as_pairs(sorted(found))


def _induced_pairs(
    ordered: Sequence[Hyperedge], induced: Iterable[tuple[str, str]], counts: Counter[str]
) -> IntArray:
    place = {edge.id: i for i, edge in enumerate(ordered)}
    found: set[tuple[int, int]] = set()
    for first, second in induced:
        if first in place and second in place and first != second:
            found.add((place[first], place[second]))
        else:
            counts["induced_dropped"] += 1
    return _as_pairs(sorted(found))


def _text_neighbours(document: NDArray[np.int32], offset: NDArray[np.int64]) -> IntArray:
    """Pairs of edges that follow one another in the text of one document."""
    printed = np.flatnonzero(document >= 0)
    by_text = printed[np.lexsort((offset[printed], document[printed]))]
    a, b = by_text[:-1], by_text[1:]
    kept = (document[a] == document[b]) & (offset[a] < offset[b])
    return np.stack([a[kept], b[kept]], axis=1)


def _as_pairs(pairs: Sequence[tuple[int, int]]) -> IntArray:
    return np.array(pairs, dtype=np.intp).reshape(-1, 2)


def _without(pairs: IntArray, others: IntArray) -> IntArray:
    """The pairs that are not among ``others``."""
    known = {(a, b) for a, b in others.tolist()}
    return _as_pairs([(a, b) for a, b in pairs.tolist() if (a, b) not in known])
