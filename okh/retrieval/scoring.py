"""The score of a trajectory (Eq. 5) and its five terms (A.6).

Searches add gains on a grid of 2⁻³²: such sums are exact in float64, so that
equal sums are equal whichever way they were added, ties are ties, and one
question always gets one answer. The score that is returned is not on the grid.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from okh.domain import Terms
from okh.retrieval.candidates import FloatArray, Pool

_GRID = 2.0**32


@dataclass(frozen=True, slots=True)
class Weights:
    """(λ, μ, ν, ρ) of Eq. 5 with the paper's defaults, and δ of the diversity penalty.

    All are non-negative; ``ValueError`` otherwise.
    """

    lam: float = 1.2
    mu: float = 0.3
    nu: float = 0.2
    rho: float = 0.5
    delta: float = 0.5

    def __post_init__(self) -> None:
        values = (self.lam, self.mu, self.nu, self.rho, self.delta)
        if not all(math.isfinite(v) and v >= 0 for v in values):
            raise ValueError(f"weights must be finite and not negative, got {self}")


@dataclass(frozen=True, slots=True)
class Scored:
    """A trajectory as pool indices with its Eq. 5 score and terms."""

    steps: tuple[int, ...]
    score: float
    terms: Terms


def on_grid(values: FloatArray | float) -> FloatArray:
    """Values rounded to multiples of 2⁻³², in units of 2⁻³²."""
    return np.rint(np.asarray(values, dtype=np.float64) * _GRID)


def phase_bits(pool: Pool) -> NDArray[np.int64]:
    """The phase of each candidate as a set of one bit, or none, shape ``(n,)``."""
    phase = pool.phase.astype(np.int64)
    return np.where(phase >= 0, 1 << np.maximum(phase, 0), 0)


def evaluate(pool: Pool, weights: Weights, steps: Sequence[int]) -> Scored:
    """Eq. 5 of one trajectory, exactly (Eq. 11–13).

    Prec is 0 when no consecutive pair is related (decision), Ovlp when there is
    no pair. Sums are correctly rounded, hence independent of their order.
    """
    first, second = list(steps[:-1]), list(steps[1:])
    pairs = len(first)
    forward = int(pool.before[first, second].sum())
    related = forward + int(pool.before[second, first].sum())
    reached = {int(p) for p in pool.phase[list(steps)] if p >= 0}
    terms = Terms(
        rel=math.fsum(pool.rel[list(steps)].tolist()),
        trans=math.fsum(pool.log_p[first, second].tolist()),
        prec=forward / related if related else 0.0,
        ovlp=math.fsum(pool.jaccard[first, second].tolist()) / pairs if pairs else 0.0,
        cov=len(reached) / pool.phases if pool.phases else 0.0,
    )
    score = math.fsum(
        (
            terms.rel, weights.lam * terms.trans, weights.mu * terms.prec,
            weights.nu * terms.ovlp, weights.rho * terms.cov,
        )
    )
    return Scored(tuple(steps), score, terms)


def edge_overlap(a: Sequence[int], b: Sequence[int]) -> float:
    """Jaccard overlap of two trajectories as edge sets."""
    shared = len(set(a) & set(b))
    return shared / (len(set(a)) + len(set(b)) - shared)


def pick_diverse(
    pool: Pool, weights: Weights, found: Iterable[Sequence[int]], count: int,
    max_overlap: float = 0.5,
) -> list[Scored]:
    """The best ``count`` by Eq. 5, each at most ``max_overlap`` Jaccard from those before.

    Ties go, step by step, to the larger Rel, then to the smaller edge id: that is
    the order of pool indices.
    """
    ranked = sorted(
        (evaluate(pool, weights, steps) for steps in found), key=lambda s: (-s.score, s.steps)
    )
    picked: list[Scored] = []
    for candidate in ranked:
        if len(picked) == count:
            break
        if all(edge_overlap(candidate.steps, p.steps) <= max_overlap for p in picked):
            picked.append(candidate)
    return picked
