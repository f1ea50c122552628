"""Forward dynamic programming: the exact optimum of Eq. 5 among forward trajectories.

Beyond the paper. A trajectory is forward when it follows the pool's canonical
order, a linear order that contains ≺; it then repeats nothing, and every related
consecutive pair goes forward. So Prec is 1 as soon as one consecutive pair is
related and 0 otherwise, Ovlp of a fixed length L is a gain of ν·J/(L-1) per step,
and Cov depends on the set of phases reached: Eq. 5 decomposes over the states
(last edge, phases reached, whether a related pair was passed).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from okh.retrieval.candidates import FloatArray, Pool
from okh.retrieval.index import BoolArray, IntArray
from okh.retrieval.scoring import Weights, on_grid, phase_bits

_BLOCK = 16
"""Columns handled at once; bounds the work on pairs that go backward to a tenth."""


@dataclass(frozen=True, slots=True)
class _Problem:
    """The pool in canonical order; index ``k`` here is pool index ``order[k]``.

    ``into[j, i]`` is the gain of j after i (``-inf`` unless i stands before j);
    ``related[j, i]`` whether the pair counts for Prec; ``bits`` the phase of each
    edge as a bit, renumbered to the phases in the pool; ``sets`` the number of
    their subsets; ``reward`` ρ·Cov of each subset; ``bonus`` is μ.
    """

    order: IntArray
    rel: FloatArray
    into: FloatArray
    related: BoolArray
    bits: NDArray[np.int64]
    sets: int
    reward: FloatArray
    bonus: FloatArray


def forward_search(pool: Pool, weights: Weights, *, length: int = 8) -> tuple[int, ...]:
    """The forward trajectory with the largest Eq. 5, as pool indices.

    Its length is ``length`` or the size of the pool. Among equals the last steps
    of the larger Rel, then the smaller edge id, win.
    """
    length = min(length, len(pool))
    if length < 1:
        return ()
    problem = _problem(pool, weights, length)
    # Were μ paid to every trajectory, the best one would be an upper bound; where it
    # passes a related pair it earns μ in truth, and the bound is the optimum.
    steps = _solve(problem, length, track=False)
    nothing_to_track = weights.mu == 0 or not problem.related.any()
    if not nothing_to_track and not problem.related[steps[1:], steps[:-1]].any():
        steps = _solve(problem, length, track=True)
    return tuple(problem.order[steps].tolist())


def _problem(pool: Pool, weights: Weights, length: int) -> _Problem:
    order = np.argsort(pool.order)
    both = np.ix_(order, order)
    pair = weights.lam * pool.log_p[both]
    pair += (weights.nu / max(length - 1, 1)) * pool.jaccard[both]
    rel = on_grid(pool.rel[order])
    into = on_grid(pair).T + rel[:, None]
    into[np.triu_indices(len(order))] = -np.inf
    raw = phase_bits(pool)[order]
    present = [1 << p for p in range(pool.phases) if (raw == 1 << p).any()]
    bits = np.zeros(len(order), dtype=np.int64)
    for new, old in enumerate(present):
        bits[raw == old] = 1 << new
    sets = 1 << len(present)
    sizes = np.array([s.bit_count() for s in range(sets)], dtype=np.float64)
    return _Problem(
        order=order, rel=rel, into=into, related=pool.before[both].T, bits=bits, sets=sets,
        reward=on_grid(weights.rho / pool.phases if pool.phases else 0.0) * sizes,
        bonus=on_grid(weights.mu),
    )


def _solve(problem: _Problem, length: int, *, track: bool) -> list[int]:
    """The best forward path of ``length`` edges, as canonical indices.

    Tables have shape ``(flags, sets, n)``: with ``track`` flag 1 holds the paths
    that have passed a related pair, and the bonus they got for it.
    """
    n = len(problem.order)
    first = np.full((2 if track else 1, problem.sets, n), -np.inf)
    first[0, problem.bits, np.arange(n)] = problem.rel
    tables = [first]
    for _ in range(1, length):
        tables.append(_reach(problem, _advance(problem, tables[-1], track=track)))
    final = tables[-1] + problem.reward[None, :, None]
    ends = np.argwhere(final == final.max())
    flag, covered, last = min(ends.tolist(), key=lambda end: int(problem.order[end[2]]))
    steps = [last]
    for table, value_of in zip(tables[-2::-1], tables[:0:-1], strict=True):
        value = value_of[flag, covered, last]
        flag, covered, last = _predecessor(problem, table, value, (flag, covered, last))
        steps.append(last)
    steps.reverse()
    return steps


def _advance(problem: _Problem, table: FloatArray, *, track: bool) -> FloatArray:
    """Best values after one more edge, its phase not yet entered; shape like ``table``."""
    if not track:
        return _max_plus(table[0], problem.into)[None]
    related = np.where(problem.related, problem.into, -np.inf)
    unrelated = np.where(problem.related, -np.inf, problem.into)
    plain, paid = table
    newly = _max_plus(np.maximum(paid, plain + problem.bonus), related)
    return np.stack(
        (_max_plus(plain, unrelated), np.maximum(newly, _max_plus(paid, unrelated)))
    )


def _max_plus(values: FloatArray, into: FloatArray) -> FloatArray:
    """``out[s, j] = max over i < j of values[s, i] + into[j, i]``."""
    n = values.shape[1]
    out = np.empty_like(values)
    for start in range(0, n, _BLOCK):
        stop = min(start + _BLOCK, n)
        through = values[:, None, :stop] + into[None, start:stop, :stop]
        through.max(axis=2, out=out[:, start:stop])
    return out


def _reach(problem: _Problem, reached: FloatArray) -> FloatArray:
    """Moves each value to the subset that holds the phase of its last edge."""
    out = reached
    for bit in range(problem.sets.bit_length() - 1):
        where = np.flatnonzero(problem.bits == 1 << bit)
        subsets = np.arange(problem.sets)
        has = subsets[(subsets >> bit) & 1 == 1]
        lacks = has ^ (1 << bit)
        entered = np.maximum(out[:, has][:, :, where], out[:, lacks][:, :, where])
        out[:, has[:, None], where[None, :]] = entered
        out[:, lacks[:, None], where[None, :]] = -np.inf
    return out


def _predecessor(
    problem: _Problem, table: FloatArray, value: float, state: tuple[int, int, int]
) -> tuple[int, int, int]:
    """A state one step before ``state`` from which its value comes; sums are exact."""
    flag, covered, last = state
    bit = int(problem.bits[last])
    candidates: list[tuple[int, int, int, int]] = []
    for before_set in {covered, covered & ~bit} if bit else {covered}:
        for before_flag in range(flag + 1):
            earned = problem.bonus if flag > before_flag else 0.0
            through = table[before_flag, before_set] + problem.into[last] + earned
            hit = through == value
            if len(table) == 2 and flag == 0:
                hit &= ~problem.related[last]
            if flag > before_flag:
                hit &= problem.related[last]
            candidates += [
                (int(problem.order[i]), before_flag, before_set, int(i))
                for i in np.flatnonzero(hit)
            ]
    _, before_flag, before_set, i = min(candidates)
    return before_flag, before_set, i
