"""Retrieval once more, word by word in plain Python: slow, and easy to check by eye.

Only P_θ is taken as given (the same matrix that the fast code is given), and the
standard deviations by which log P is scaled. Tests hold the fast code to these
results; ``tests/benchmarks/retrieval.py`` measures against it.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from okh.domain import Group, Hyperedge, Question
from okh.precedence import position
from okh.retrieval.candidates import Pool, Scoping, TransitionModel
from okh.retrieval.scoring import Weights
from okh.vocabulary import COVERAGE_PHASES

Steps = tuple[int, ...]


@dataclass(frozen=True)
class PlainPool:
    """The arrays of a :class:`~okh.retrieval.candidates.Pool` as nested lists."""

    rel: list[float]
    log_p: list[list[float]]
    before: list[list[bool]]
    jaccard: list[list[float]]
    phase: list[int]
    phases: int

    @classmethod
    def of(cls, pool: Pool) -> PlainPool:
        return cls(
            pool.rel.tolist(), pool.log_p.tolist(), pool.before.tolist(),
            pool.jaccard.tolist(), pool.phase.tolist(), pool.phases,
        )


def grid(value: float) -> int:
    return round(value * 2**32)


# --- the objective --------------------------------------------------------------------


def eq5(pool: PlainPool, w: Weights, steps: Steps) -> float:
    """Eq. 5 with Eq. 11 to 13."""
    pairs = list(itertools.pairwise(steps))
    forward = sum(pool.before[a][b] for a, b in pairs)
    related = sum(pool.before[a][b] or pool.before[b][a] for a, b in pairs)
    phases = {pool.phase[i] for i in steps} - {-1}
    return math.fsum(
        [
            math.fsum(pool.rel[i] for i in steps),
            w.lam * math.fsum(pool.log_p[a][b] for a, b in pairs),
            w.mu * (forward / related if related else 0.0),
            w.nu * (math.fsum(pool.jaccard[a][b] for a, b in pairs) / len(pairs) if pairs else 0),
            w.rho * (len(phases) / pool.phases if pool.phases else 0.0),
        ]
    )


def step_gain(pool: PlainPool, w: Weights, a: int, b: int) -> int:
    """Lines 6 and 7 of Algorithm 1 without coverage."""
    pair = w.lam * pool.log_p[a][b] + w.mu * pool.before[a][b] + w.nu * pool.jaccard[a][b]
    return grid(pool.rel[b]) + grid(pair)


def coverage_gain(pool: PlainPool, w: Weights, steps: Steps, new: int) -> int:
    phase = pool.phase[new]
    if phase < 0 or phase in {pool.phase[i] for i in steps}:
        return 0
    return grid(w.rho / pool.phases)


def algorithm_score(pool: PlainPool, w: Weights, steps: Steps) -> int:
    """What Algorithm 1 adds up for a trajectory."""
    score = grid(pool.rel[steps[0]]) + coverage_gain(pool, w, (), steps[0])
    for k in range(1, len(steps)):
        score += step_gain(pool, w, steps[k - 1], steps[k])
        score += coverage_gain(pool, w, steps[:k], steps[k])
    return score


# --- the searches ---------------------------------------------------------------------


def beam(pool: PlainPool, w: Weights, width: int, length: int) -> list[Steps]:
    n = len(pool.rel)
    length = min(length, n)
    if not length:
        return []
    beams: list[tuple[int, Steps]] = [
        (grid(pool.rel[i]) + coverage_gain(pool, w, (), i), (i,)) for i in range(n)
    ]
    beams = sorted(beams, key=lambda b: (-b[0], b[1]))[: 2 * width]
    for size in range(2, length + 1):
        grown = [
            (
                score + step_gain(pool, w, steps[-1], new) + coverage_gain(pool, w, steps, new),
                (*steps, new),
            )
            for score, steps in beams
            for new in range(n)
            if new not in steps
        ]
        beams = _cut(grown, w.delta, width, size)
    return sorted(steps for _, steps in beams)


def _cut(
    grown: list[tuple[int, Steps]], delta: float, width: int, size: int
) -> list[tuple[int, Steps]]:
    kept: list[tuple[int, Steps]] = []
    shared = [0] * len(grown)
    sets = [set(steps) for _, steps in grown]
    penalty = [grid(delta * (k / (2 * size - k))) for k in range(size + 1)]
    left = set(range(len(grown)))
    while left and len(kept) < width:
        best = min(left, key=lambda i: (penalty[shared[i]] - grown[i][0], grown[i][1]))
        left.remove(best)
        kept.append(grown[best])
        for i in left:
            shared[i] = max(shared[i], len(sets[i] & sets[best]))
    return kept


def overlap(a: Steps, b: Steps) -> Fraction:
    return Fraction(len(set(a) & set(b)), len(set(a) | set(b)))


def diverse(pool: PlainPool, w: Weights, found: Sequence[Steps], count: int) -> list[Steps]:
    picked: list[Steps] = []
    for steps in sorted(found, key=lambda s: (-eq5(pool, w, s), s)):
        if len(picked) < count and all(overlap(steps, p) <= Fraction(1, 2) for p in picked):
            picked.append(steps)
    return picked


def restrict(pool: PlainPool, kept: list[int]) -> PlainPool:
    def square(matrix: list[list]) -> list[list]:
        return [[matrix[i][j] for j in kept] for i in kept]

    return PlainPool(
        [pool.rel[i] for i in kept], square(pool.log_p), square(pool.before),
        square(pool.jaccard), [pool.phase[i] for i in kept], pool.phases,
    )


def search(
    pool: PlainPool, w: Weights, paths: Callable[[PlainPool], list[Steps]], count: int
) -> list[Steps]:
    picked: list[Steps] = []
    kept = list(range(len(pool.rel)))
    while kept and len(picked) < count:
        found = [tuple(kept[i] for i in steps) for steps in paths(restrict(pool, kept))]
        picked += diverse(pool, w, found, count - len(picked))
        kept = [i for i in kept if all(i not in steps for steps in picked)]
    return sorted(picked, key=lambda s: (-eq5(pool, w, s), s))


# --- the candidates -------------------------------------------------------------------


def is_visible(edge: Hyperedge, edges: Sequence[Hyperedge], question: Question) -> bool:
    if question.source_kind not in (None, edge.source_kind):
        return False
    if question.as_of is None:
        return True
    if edge.observed:
        return False
    if edge.static:
        return True
    if edge.lead is None:
        return not any(e.lead is not None for e in edges if e.group == edge.group)
    known_at = edge.lead if edge.lead_from is None else min(edge.lead, edge.lead_from)
    return known_at >= question.as_of


def precedes(a: Hyperedge, b: Hyperedge) -> bool:
    if a.group != b.group:
        return False
    rank_a, rank_b = (a.story, a.sub_rank), (b.story, b.sub_rank)
    return position(a) < position(b) or (position(a) == position(b) and rank_a < rank_b)


def hubs(edges: Sequence[Hyperedge]) -> set[tuple[str, str]]:
    held = Counter((e.group, v) for e in edges for v in set(e.entities))
    size = Counter(e.group for e in edges)
    return {
        (g, v) for (g, v), k in held.items() if k > 0.2 * size[g] or v.startswith("horizon:")
    }


def candidates(
    edges: Sequence[Hyperedge], vectors: list[list[float]], question: Question,
    query: list[float], scoping: Scoping,
) -> tuple[list[int], list[float]]:
    """Rows and Rel of the pool, best first."""
    asked = (question.storm, question.year, question.port)
    groups = {e.group: Group.parse(e.group) for e in edges}
    own = {
        key
        for key, g in groups.items()
        if asked != (None, None, None)
        and all(
            a in (None, b) for a, b in zip(asked, (g.storm, g.year, g.port), strict=True)
        )
    }
    inside = scoping.stay_inside and asked != (None, None, None)
    rows = [
        i
        for i, e in enumerate(edges)
        if (not inside or e.group in own) and is_visible(e, edges, question)
    ]
    rel = {i: sum(a * b for a, b in zip(vectors[i], query, strict=True)) for i in rows}
    ranked: list[int] = []
    said = set()
    several = len({edges[i].group for i in rows}) > 1
    for i in sorted(rows, key=lambda i: (-rel[i], edges[i].group not in own, edges[i].id)):
        e = edges[i]
        statement = (e.relation, e.evidence, e.attributes, e.lead, e.lead_from, e.issued)
        if not several or statement not in said:
            ranked.append(i)
        said.add(statement)
    if len(ranked) > scoping.limit:
        ranked = _places(edges, rows, ranked, own, scoping)
    return ranked, [rel[i] for i in ranked]


def _places(
    edges: Sequence[Hyperedge], rows: list[int], ranked: list[int], own: set[str],
    scoping: Scoping,
) -> list[int]:
    seeds = ranked[: scoping.top_k]
    hub = hubs(edges)
    bridges = {
        (edges[i].group, v) for i in seeds for v in edges[i].entities
    } - hub
    crowd = set(own)
    for i in seeds:
        if sum(edges[r].group in crowd for r in rows) >= scoping.limit:
            break
        crowd.add(edges[i].group)
    mine = [i for i in ranked if edges[i].group in own]
    reserved = set(mine[: round(scoping.own_share * scoping.limit)])

    def turn(i: int) -> int:
        if i in reserved:
            return 0
        if i in seeds:
            return 1
        if any((edges[i].group, v) in bridges for v in edges[i].entities):
            return 2
        return 3 if edges[i].group in crowd else 4

    taken = set(sorted(ranked, key=turn)[: scoping.limit])
    return [i for i in ranked if i in taken]


def plain_pool(
    edges: Sequence[Hyperedge], rows: list[int], rel: list[float],
    log_p: np.ndarray | None,
) -> PlainPool:
    n = len(rows)
    matrix = [[0.0] * n for _ in rows]
    if log_p is not None and n > 1:
        off = log_p[~np.eye(n, dtype=bool)].astype(np.float64)
        scale = float(np.std(rel)) / float(off.std()) if off.std() > 0 else 1.0
        values = log_p.astype(np.float64).tolist()
        matrix = [
            [0.0 if i == j else values[i][j] * scale for j in range(n)] for i in range(n)
        ]
    chosen = [edges[r] for r in rows]
    sets = [set(e.entities) for e in chosen]
    return PlainPool(
        rel=rel, log_p=matrix,
        before=[[precedes(a, b) for b in chosen] for a in chosen],
        jaccard=[[len(a & b) / max(len(a | b), 1) for b in sets] for a in sets],
        phase=[
            COVERAGE_PHASES.index(e.phase) if e.phase in COVERAGE_PHASES else -1 for e in chosen
        ],
        phases=len(COVERAGE_PHASES),
    )


def retrieve(
    edges: Sequence[Hyperedge], vectors: list[list[float]], question: Question,
    query: list[float], *, model: TransitionModel | None = None, weights: Weights | None = None,
    scoping: Scoping | None = None, width: int = 8, length: int = 8, count: int = 3,
) -> list[tuple[tuple[str, ...], float]]:
    """Ids and Eq. 5 score of each trajectory, best first."""
    w = weights or Weights()
    rows, rel = candidates(edges, vectors, question, query, scoping or Scoping())
    given = None
    if model is not None and len(rows) > 1:
        given = model.log_probabilities(np.array([vectors[r] for r in rows], dtype=np.float32))
    pool = plain_pool(edges, rows, rel, given)
    found = search(pool, w, lambda p: beam(p, w, width, length), count)
    return [(tuple(edges[rows[i]].id for i in steps), eq5(pool, w, steps)) for steps in found]
