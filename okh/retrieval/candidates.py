"""Candidate scoping: which hyperedges a question may see, and the pool it searches (A.7).

Visibility comes first, then the places are given out: the nearest edges by
cosine, their one-hop neighbours, and members of the groups they stand in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from okh.domain import SOURCE_KINDS, Question
from okh.precedence import precedence_matrix
from okh.retrieval.index import NO_LEAD, BoolArray, HypergraphIndex, IntArray

FloatArray = NDArray[np.float64]

_WIDE = 20_000
"""Rows above which cosines are first estimated by BLAS and only the best computed exactly."""

_SHORTLIST = 16
"""Rows shortlisted for each place of the pool: one statement may stand in many groups."""

_MARGIN = 1e-4
"""More than BLAS and the exact sum can differ on unit vectors of a few thousand float32."""


class TransitionModel(Protocol):
    """What retrieval asks of P_θ (Eq. 3)."""

    def log_probabilities(self, vectors: NDArray[np.float32]) -> NDArray[np.floating]:
        """log P(e_j | e_i) of shape ``(n, n)``, normalised over the ``n`` rows but i itself."""
        ...


@dataclass(frozen=True, slots=True)
class Scoping:
    """How the pool is filled (A.7).

    Attributes
    ----------
    top_k, limit
        K nearest edges by cosine, and the size of the pool.
    own_share
        Share of the places kept for the question's own group.
    stay_inside
        Search the groups that the question names and nothing else. Trajectories
        stay inside them anyway, so every other candidate would be a place lost
        (decision). Without it the pool is the paper's: the whole index, with
        ``own_share`` of the places reserved.
    only_lead
        Filter to the edges of ``question.lead`` (and static ones), which is
        another thing than asking *at* a lead (``question.as_of``).
    """

    top_k: int = 80
    limit: int = 150
    own_share: float = 0.4
    stay_inside: bool = True
    only_lead: bool = False


@dataclass(frozen=True, slots=True)
class Pool:
    """The ``n`` candidates of one question, best first: by Rel, then edge id.

    A smaller index therefore always wins a tie. ``rel`` is Rel(e, q); ``log_p``
    is log P, scaled (see :func:`build_pool`), with a diagonal of zeros that
    nothing reads; ``before`` is ≺; ``jaccard`` as in Eq. 12; ``phase`` a code
    below ``phases`` or -1; ``order`` the rank in a linear order that contains ≺.
    """

    rows: IntArray
    rel: FloatArray
    log_p: FloatArray
    before: BoolArray
    jaccard: FloatArray
    phase: NDArray[np.int8]
    order: NDArray[np.int64]
    phases: int

    def __len__(self) -> int:
        return len(self.rows)

    def without(self, members: set[int]) -> tuple[Pool, list[int]]:
        """The pool less these members, and the old index of each that stays."""
        kept = [i for i in range(len(self)) if i not in members]
        both = np.ix_(kept, kept)
        smaller = Pool(
            self.rows[kept], self.rel[kept], self.log_p[both], self.before[both],
            self.jaccard[both], self.phase[kept], self.order[kept], self.phases,
        )
        return smaller, kept


def visible(index: HypergraphIndex, rows: IntArray, question: Question) -> BoolArray:
    """Mask over ``rows`` of what a question may see.

    As of a lead: edges of that lead and earlier, a change a → b from b on, static
    facts; nothing undated unless its group has no dated edge at all; no outcome.
    Hindsight (``as_of=None``) sees everything. The source kind filters both.
    """
    columns = index.columns
    seen: BoolArray = np.ones(len(rows), dtype=np.bool_)
    if question.as_of is not None:
        known_at, static = index.known_at[rows], columns.static[rows]
        seen = (known_at >= question.as_of) | static
        seen |= (known_at == NO_LEAD) & ~index.group_dated[columns.keys.group[rows]]
        seen &= ~columns.observed[rows]
    if question.source_kind is not None:
        seen &= columns.source_kind[rows] == SOURCE_KINDS.index(question.source_kind)
    return seen


def named_groups(index: HypergraphIndex, question: Question) -> list[int] | None:
    """Codes of the groups that agree with all the question names; None if it names nothing."""
    if question.storm is None and question.year is None and question.port is None:
        return None
    return [
        code
        for code, group in enumerate(index.groups)
        if question.storm in (None, group.storm)
        and question.year in (None, group.year)
        and question.port in (None, group.port)
    ]


def cosines(index: HypergraphIndex, rows: IntArray, query: NDArray[np.float32]) -> FloatArray:
    """Rel of these ascending rows; each depends on its own row only, never on its place.

    BLAS would be faster and gives a row another last bit at another place, so
    that one question could get two answers.
    """
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows):
        block = index.vectors[rows[0] : rows[-1] + 1]
    else:
        block = index.vectors[rows]
    rel: FloatArray = np.einsum("ij,j->i", block, query).astype(np.float64)
    return rel


def select(
    index: HypergraphIndex, question: Question, query: NDArray[np.float32],
    scoping: Scoping | None = None,
) -> tuple[IntArray, FloatArray]:
    """Rows of the candidates and their Rel, best first: by Rel, then edge id.

    ``query`` has shape ``(d,)`` and is scaled to length one. A named group that
    the index does not hold gives an empty pool, never another group's evidence.
    Raises ``ValueError`` for a query of another dimension or one that is not finite.
    """
    scoping = scoping or Scoping()
    unit = _unit(query, index.vectors.shape[1])
    named = named_groups(index, question)
    own = np.zeros(len(index.groups), dtype=np.bool_)
    own[named or []] = True
    if named is not None and scoping.stay_inside:
        rows = index.rows_of_groups(named)
    else:
        rows = np.arange(len(index))
    rows = rows[visible(index, rows, question)]
    if scoping.only_lead and question.lead is not None:
        rows = rows[_at_lead(index, rows, question.lead)]
    near = rows if len(rows) <= _WIDE else _shortlist(index, rows, unit, scoping.limit)
    ranked, rel = _ranked(index, near, unit, own)
    if len(ranked) <= scoping.limit and len(near) == len(rows):
        return ranked, rel
    seeds = ranked[: scoping.top_k]
    linked = index.neighbours(seeds)
    crowd = _seed_groups(index, rows, seeds, own, scoping.limit)
    if len(near) < len(rows):
        content = index.columns.content
        reached = rows[linked[rows] | crowd[index.columns.keys.group[rows]]]
        # With each statement reached come its other tellings: the nearest stands for all.
        reached = rows[np.isin(content[rows], content[reached])]
        ranked, rel = _ranked(index, np.union1d(near, reached), unit, own)
    group = index.columns.keys.group[ranked]
    reserved = own[group]
    reserved &= np.cumsum(reserved) <= round(scoping.own_share * scoping.limit)
    turn = np.full(len(ranked), 4)
    turn[crowd[group]] = 3
    turn[linked[ranked]] = 2
    turn[: scoping.top_k] = 1
    turn[reserved] = 0
    taken = np.sort(np.argsort(turn, kind="stable")[: scoping.limit])
    return ranked[taken], rel[taken]


def build_pool(
    index: HypergraphIndex, rows: IntArray, rel: FloatArray,
    model: TransitionModel | None = None, *,
    sequence_index: bool = True, scale_transitions: bool = True,
) -> Pool:
    """All that scoring reads about these candidates, as arrays over the pool.

    ``rows`` and ``rel`` come from :func:`select`. Without a model every transition
    is worth nothing. log P is normalised over the pool; its spread depends on how
    long the model was trained, so by default it is scaled to the standard deviation
    of Rel over the pool (decision; ``scale_transitions=False`` leaves log P as it
    is). Raises ``ValueError`` where the model gives a value that is not finite.
    """
    n = len(rows)
    log_p = np.zeros((n, n))
    if model is not None and n > 1:
        log_p[:] = model.log_probabilities(np.asarray(index.vectors[rows]))
        np.fill_diagonal(log_p, 0.0)
        if not np.isfinite(log_p).all():
            raise ValueError("the transition model gave a log-probability that is not finite")
        if scale_transitions:
            spread = float(log_p[~np.eye(n, dtype=np.bool_)].std())
            log_p *= float(rel.std()) / spread if spread > 0 else 1.0
    columns = index.columns
    return Pool(
        rows=rows, rel=rel, log_p=log_p,
        before=precedence_matrix(columns.keys.take(rows), sequence_index=sequence_index),
        jaccard=index.jaccard(rows), phase=columns.phase[rows], order=index.order[rows],
        phases=index.coverage_phases,
    )


def _unit(query: NDArray[np.float32], dimension: int) -> NDArray[np.float32]:
    if query.shape != (dimension,):
        raise ValueError(
            f"the query vector has shape {query.shape}, the index was embedded with d = {dimension}"
        )
    if not np.isfinite(query).all():
        raise ValueError("the query vector holds a value that is not finite")
    length = float(np.linalg.norm(query))
    return (query / (length or 1.0)).astype(np.float32)


def _at_lead(index: HypergraphIndex, rows: IntArray, lead: int) -> BoolArray:
    columns = index.columns
    told: BoolArray = (columns.lead[rows] == lead) | (columns.lead_from[rows] == lead)
    return told | columns.static[rows]


def _ranked(
    index: HypergraphIndex, rows: IntArray, query: NDArray[np.float32], own: BoolArray
) -> tuple[IntArray, FloatArray]:
    """Rows by (Rel, own group first, edge id), each statement once across groups."""
    rel = cosines(index, rows, query)
    group = index.columns.keys.group[rows]
    best = np.lexsort((index.id_rank[rows], ~own[group], -rel))
    if len(rows) and (group != group[0]).any():
        _, first = np.unique(index.columns.content[rows[best]], return_index=True)
        best = best[np.sort(first)]
    return rows[best], rel[best]


def _shortlist(
    index: HypergraphIndex, rows: IntArray, query: NDArray[np.float32], wanted: int
) -> IntArray:
    """Rows that surely hold the ``wanted`` nearest distinct statements, ascending."""
    estimate = np.empty(len(rows), dtype=np.float32)
    for start in range(0, len(rows), _WIDE):
        part = rows[start : start + _WIDE]
        if part[-1] - part[0] + 1 == len(part):
            block = index.vectors[part[0] : part[-1] + 1]
        else:
            block = index.vectors[part]
        np.matmul(block, query, out=estimate[start : start + len(part)])
    size = _SHORTLIST * wanted
    while size < len(rows):
        cut = np.partition(estimate, -size)[-size]
        surely = index.columns.content[rows[estimate >= cut]]
        if len(np.unique(surely)) >= wanted:
            short: IntArray = rows[estimate >= cut - _MARGIN]
            return short
        size *= 8
    return rows


def _seed_groups(
    index: HypergraphIndex, rows: IntArray, seeds: IntArray, own: BoolArray, limit: int
) -> BoolArray:
    """Mask ``(g,)`` of groups whose members are candidates.

    The question's own groups, then those of the seeds, best seed first, until
    ``limit`` visible members are found.
    """
    size = np.bincount(index.columns.keys.group[rows], minlength=len(index.groups))
    chosen = own.copy()
    found = int(size[chosen].sum())
    for code in dict.fromkeys(index.columns.keys.group[seeds].tolist()):
        if found >= limit:
            break
        if not chosen[code]:
            chosen[code] = True
            found += int(size[code])
    return chosen
