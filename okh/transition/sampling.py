"""Draws of a training step: pairs from a few groups, and the negatives that they share.

A step draws ``g`` groups, each with a chance proportional to its listed pairs, and
the same number of pairs from each. The sources of a group share its own negatives
and all share the global ones, so that a step projects a few thousand vectors
instead of a hundred thousand.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from okh.precedence import precedes
from okh.transition.model import TransitionError
from okh.transition.pairs import IntArray, TransitionDataset

RowPairs = tuple[IntArray, IntArray]


@dataclass(frozen=True, slots=True)
class Draw:
    """``b`` pairs of vector rows, sorted by group, with their negatives.

    ``source`` and ``target`` ``(b,)``; ``own`` ``(g, K/2)`` negatives of each group;
    ``own_correction`` ``(b,)`` the logQ correction, minus the logarithm of how often
    a member of the group is expected among them; ``everywhere`` ``(K/2,)``;
    ``masked`` bool ``(b, K)``: negatives that are none for this source.
    ``masked_back`` is the same for the targets as sources.
    """

    source: IntArray
    target: IntArray
    own: IntArray
    own_correction: NDArray[np.float32]
    everywhere: IntArray
    masked: NDArray[np.bool_]
    masked_back: NDArray[np.bool_]

    def reversed(self) -> Draw:
        """The same pairs the other way round."""
        return replace(
            self, source=self.target, target=self.source, masked=self.masked_back,
            masked_back=self.masked,
        )


class Sampler:
    """Draws from the training groups of a dataset; edges are numbered through all of them.

    Raises ``TransitionError`` where no training group has a listed pair.
    """

    def __init__(
        self, dataset: TransitionDataset, negatives: int, groups: int, seed: int,
        overlap_share: float = 0.0,
    ) -> None:
        training = [g for g in dataset.of("train") if len(g.positives)]
        if not training:
            raise TransitionError(
                "the training storms hold no ordered pair of edges. Ingest documents with "
                "horizons, or more than one fact each."
            )
        self._rng = np.random.default_rng([seed, 1])
        self._half, self._groups = max(negatives // 2, 1), groups
        self._overlap_share = overlap_share
        size = np.array([len(g) for g in training], dtype=np.intp)
        self._start, self._size = np.cumsum(size) - size, size
        self._rows = np.concatenate([g.rows for g in training])
        self._position = np.concatenate([g.position for g in training])
        self._rank = np.concatenate([g.rank for g in training])
        self._offset = np.concatenate([g.offset for g in training])
        self._sequence_index = training[0].sequence_index
        listed = [g.positives + s for g, s in zip(training, self._start, strict=True)]
        self._pairs = np.concatenate(listed)
        self._pair_count = np.array([len(p) for p in listed], dtype=np.intp)
        self._overlap_count = np.array([len(g.overlap) for g in training], dtype=np.intp)
        self._pair_start = np.cumsum(self._pair_count) - self._pair_count
        self._chance = self._pair_count / self._pair_count.sum()
        self._known = np.unique(self._code(self._pairs[:, 0], self._pairs[:, 1]))
        self._run_start, self._run_size = _runs([g.run for g in training])
        self._in_runs = np.flatnonzero(self._run_size > 1)

    def listed(self, count: int) -> Draw:
        """About ``count`` listed pairs (a multiple of the number of groups drawn)."""
        groups, each = self._drawn_groups(count)
        pairs = self._listed(groups, each)
        return self._with_negatives(groups, pairs[:, 0], pairs[:, 1])

    def all_pairs(self, count: int) -> Draw:
        """As :meth:`listed`, over all pairs that ≺ relates; unrelated draws become listed ones."""
        groups, each = self._drawn_groups(count)
        pairs = self._listed(groups, each)
        a, b = (
            (self._start[groups][:, None] + self._below(self._size[groups], each)).ravel()
            for _ in range(2)
        )
        forward, backward = self._before(a, b), self._before(b, a)
        pairs[forward] = np.stack([a, b], axis=1)[forward]
        pairs[backward] = np.stack([b, a], axis=1)[backward]
        return self._with_negatives(groups, pairs[:, 0], pairs[:, 1])

    def ordered(self, count: int) -> RowPairs:
        """Rows of at most ``count`` pairs i ≺ j, uniform over the pairs of the groups drawn."""
        groups = self._rng.choice(len(self._size), size=count, p=self._chance)
        a = self._start[groups] + self._below(self._size[groups], 1)[:, 0]
        b = self._start[groups] + self._below(self._size[groups], 1)[:, 0]
        return self._oriented(a, b, self._before(a, b), self._before(b, a))

    def in_text(self, count: int) -> RowPairs:
        """Rows of at most ``count`` pairs that ≺ leaves open, in the order of their text."""
        if len(self._in_runs) == 0 or count == 0:
            return self._rows[:0], self._rows[:0]
        a = self._in_runs[self._rng.integers(len(self._in_runs), size=count)]
        b = self._run_start[a] + self._below(self._run_size[a], 1)[:, 0]
        forward, backward = self._offset[a] < self._offset[b], self._offset[b] < self._offset[a]
        return self._oriented(a, b, forward, backward)

    def _oriented(
        self, a: IntArray, b: IntArray, forward: NDArray[np.bool_], backward: NDArray[np.bool_]
    ) -> RowPairs:
        first = np.concatenate([a[forward], b[backward]])
        second = np.concatenate([b[forward], a[backward]])
        return self._rows[first], self._rows[second]

    def _drawn_groups(self, count: int) -> tuple[IntArray, int]:
        groups = self._rng.choice(len(self._size), size=self._groups, p=self._chance)
        return groups, max(count // self._groups, 1)

    def _listed(self, groups: IntArray, each: int) -> IntArray:
        """Listed pairs, shape ``(len(groups) * each, 2)``; overlap pairs come last in a group."""
        linked = self._overlap_count[groups]
        following = self._pair_count[groups] - linked
        pick = self._below(following, each)
        by_entity = self._rng.random(pick.shape) < self._overlap_share
        by_entity = (by_entity & (linked > 0)[:, None]) | (following == 0)[:, None]
        pick = np.where(by_entity, following[:, None] + self._below(linked, each), pick)
        pairs: IntArray = self._pairs[(self._pair_start[groups][:, None] + pick).ravel()]
        return pairs

    def _below(self, limits: IntArray, each: int) -> IntArray:
        """Integers below each limit, shape ``(len(limits), each)``."""
        draws: IntArray = (
            self._rng.random((len(limits), each)) * limits[:, None]
        ).astype(np.intp)
        return draws

    def _before(self, a: IntArray, b: IntArray) -> NDArray[np.bool_]:
        return precedes(
            self._position[a], self._rank[a], self._position[b], self._rank[b],
            sequence_index=self._sequence_index,
        )

    def _code(self, source: IntArray, target: IntArray) -> NDArray[np.int64]:
        code: NDArray[np.int64] = source.astype(np.int64) * len(self._rows) + target
        return code

    def _with_negatives(self, groups: IntArray, source: IntArray, target: IntArray) -> Draw:
        each = len(source) // len(groups)
        own = self._start[groups][:, None] + self._below(self._size[groups], self._half)
        everywhere = self._rng.integers(len(self._rows), size=self._half)
        candidates = np.concatenate(
            [np.repeat(own, each, axis=0), np.tile(everywhere, (len(source), 1))], axis=1
        )
        expected = self._half / np.maximum(self._size[groups] - 1, 1)
        return Draw(
            source=self._rows[source], target=self._rows[target], own=self._rows[own],
            own_correction=np.repeat(-np.log(expected), each).astype(np.float32),
            everywhere=self._rows[everywhere],
            masked=self._positive(source, candidates),
            masked_back=self._positive(target, candidates),
        )

    def _positive(self, source: IntArray, candidates: IntArray) -> NDArray[np.bool_]:
        """Which candidates are the source itself or follow it in a listed pair."""
        code = self._code(source[:, None], candidates)
        place = np.minimum(np.searchsorted(self._known, code), len(self._known) - 1)
        found: NDArray[np.bool_] = self._known[place] == code
        found |= candidates == source[:, None]
        return found


def _runs(runs: list[NDArray[np.int32]]) -> tuple[IntArray, IntArray]:
    """Start and size of the run that each edge stands in, numbered through all groups."""
    starts, sizes, shift = [], [], 0
    for run in runs:
        _, first, which, count = np.unique(
            run, return_index=True, return_inverse=True, return_counts=True
        )
        starts.append(first[which] + shift)
        sizes.append(count[which])
        shift += len(run)
    return np.concatenate(starts), np.concatenate(sizes)
