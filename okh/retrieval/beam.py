"""Order-aware beam search (Algorithm 1), beams × candidates at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from okh.retrieval.candidates import FloatArray, Pool
from okh.retrieval.index import BoolArray, IntArray
from okh.retrieval.scoring import Weights, on_grid, phase_bits


@dataclass(frozen=True, slots=True)
class _Gains:
    """What each step adds, on the grid.

    ``step[i, j]`` is the gain of j after i without coverage (Algorithm 1, lines 6
    and 7), ``cover[s, j]`` that of reaching j's phase when the phases ``s``, a bit
    set, are covered.
    """

    step: FloatArray
    cover: FloatArray


@dataclass(frozen=True, slots=True)
class _Beams:
    """``b`` partial trajectories of equal length, sorted as sequences of pool indices.

    The sorting makes the first of equals the winner wherever a maximum is taken.
    """

    steps: IntArray
    score: FloatArray
    used: BoolArray
    covered: NDArray[np.int64]


def beam_search(
    pool: Pool, weights: Weights, *, width: int = 8, length: int = 8
) -> list[tuple[int, ...]]:
    """The last beams of Algorithm 1 as tuples of pool indices, sorted.

    Starts from the ``2·width`` best singletons by Rel + ρ·Cov. No edge comes
    twice; trajectories are shorter when the pool is smaller than ``length``.
    When beams are cut to ``width``, δ · (largest Jaccard overlap of edge sets
    with a beam already kept) is subtracted, greedily (decision).
    """
    length = min(length, len(pool))
    if length < 1 or width < 1:
        return []
    bits = phase_bits(pool)
    gains = _gains(pool, weights, bits)
    beams = _singletons(pool, gains, bits, 2 * width)
    for size in range(2, length + 1):
        total = gains.step[beams.steps[:, -1]]
        total += gains.cover[beams.covered]
        total += beams.score[:, None]
        total[beams.used] = -np.inf
        if weights.delta > 0:
            overlap = np.arange(size + 1)
            penalty = on_grid(weights.delta * (overlap / (2 * size - overlap)))
            kept = _keep_diverse(total, beams.used, penalty, width)
        else:
            open_ = int(np.isfinite(total).sum())
            kept = np.argsort(-total, axis=None, kind="stable")[: min(width, open_)]
        beams = _extend(beams, total, np.sort(kept), bits)
    return [tuple(steps) for steps in beams.steps.tolist()]


def _gains(pool: Pool, weights: Weights, bits: NDArray[np.int64]) -> _Gains:
    pair = weights.lam * pool.log_p + weights.mu * pool.before + weights.nu * pool.jaccard
    reward = on_grid(weights.rho / pool.phases if pool.phases else 0.0)
    covered = np.arange(1 << pool.phases)
    return _Gains(
        step=on_grid(pair) + on_grid(pool.rel)[None, :],
        cover=np.where(bits[None, :] & ~covered[:, None], reward, 0.0),
    )


def _singletons(pool: Pool, gains: _Gains, bits: NDArray[np.int64], count: int) -> _Beams:
    score = on_grid(pool.rel) + gains.cover[0]
    start = np.sort(np.argsort(-score, kind="stable")[:count])
    used = np.zeros((len(start), len(pool)), dtype=np.bool_)
    used[np.arange(len(start)), start] = True
    return _Beams(start[:, None], score[start], used, bits[start])


def _keep_diverse(
    total: FloatArray, used: BoolArray, penalty: FloatArray, width: int
) -> IntArray:
    """Flat positions in ``total`` of the beams kept, greedily under the penalty.

    Parameters
    ----------
    total
        Scores of all expansions, shape ``(b, n)``, ``-inf`` where closed.
    used
        Members of the beams expanded, shape ``(b, n)``.
    penalty
        By the number of edges that two trajectories of this length share.
    """
    n = total.shape[1]
    still = total.copy()
    members = used.astype(np.float32)
    common = (members @ members.T).astype(np.int8)
    member = used.view(np.int8)
    largest = np.zeros(total.shape, dtype=np.int8)
    kept: list[int] = []
    best = int(still.argmax())
    while still.flat[best] > -np.inf:
        kept.append(best)
        if len(kept) == width:
            break
        still.flat[best] = -np.inf
        beam, edge = divmod(best, n)
        held = member[beam].copy()
        held[edge] = 1
        shared = (common[:, beam] + member[:, edge])[:, None] + held[None, :]
        np.maximum(largest, shared, out=largest)
        best = int((still - penalty[largest]).argmax())
    return np.array(kept, dtype=np.intp)


def _extend(
    beams: _Beams, total: FloatArray, kept: IntArray, bits: NDArray[np.int64]
) -> _Beams:
    n = total.shape[1]
    parent, edge = np.divmod(kept, n)
    used = beams.used[parent]
    used[np.arange(len(kept)), edge] = True
    return _Beams(
        np.column_stack((beams.steps[parent], edge)), total.flat[kept], used,
        beams.covered[parent] | bits[edge],
    )
