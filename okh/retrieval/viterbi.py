"""Viterbi dynamic programming over Rel + λ·Trans (Eq. 14–15): a bound, not a retriever.

An edge may come back after another one: the two-term score of any trajectory
without repeats is therefore at most the one found here.
"""

from __future__ import annotations

import numpy as np

from okh.retrieval.candidates import FloatArray, Pool
from okh.retrieval.scoring import Weights, on_grid


def viterbi(pool: Pool, weights: Weights, *, length: int = 8) -> tuple[tuple[int, ...], float]:
    """The best walk of Σ Rel + λ Σ log P, and its value, in O(L·n²).

    P(e | e) is masked, so that no edge follows itself. The length is that which
    the searches would reach, at most the size of the pool. An empty pool gives
    ``((), 0.0)``.
    """
    length = min(length, len(pool))
    if length < 1:
        return (), 0.0
    rel = on_grid(pool.rel)
    into = (on_grid(weights.lam * pool.log_p) + rel[None, :]).T
    np.fill_diagonal(into, -np.inf)
    best = rel
    back: list[list[int]] = []
    for _ in range(1, length):
        through: FloatArray = into + best[None, :]
        source = through.argmax(axis=1)
        back.append(source.tolist())
        best = through[np.arange(len(pool)), source]
    steps = [int(best.argmax())]
    for source_of in reversed(back):
        steps.append(source_of[steps[-1]])
    steps.reverse()
    value = float(pool.rel[steps].sum())
    value += weights.lam * float(pool.log_p[steps[:-1], steps[1:]].sum())
    return tuple(steps), value
