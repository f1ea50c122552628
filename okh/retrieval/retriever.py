"""The interface that every retriever answers to, and the order-aware one (§3.2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from okh.domain import Question, Trajectory
from okh.retrieval.beam import beam_search
from okh.retrieval.candidates import Pool, Scoping, TransitionModel, build_pool, select
from okh.retrieval.forward import forward_search
from okh.retrieval.index import HypergraphIndex
from okh.retrieval.scoring import Scored, Weights, pick_diverse

Method = Literal["beam", "forward"]


class Retriever(Protocol):
    """Anything that finds evidence for a question."""

    def retrieve(
        self, question: Question, query_vector: NDArray[np.float32]
    ) -> list[Trajectory]:
        """Trajectories, best first; empty where nothing visible answers to the question."""
        ...


@dataclass(frozen=True, slots=True)
class OrderAwareRetriever:
    """Trajectory inference over the order-aware hypergraph (Eq. 5, Algorithm 1).

    Attributes
    ----------
    index
        The hypergraph with its vectors.
    transition_model
        P_θ, or None, and then the λ-term is 0.
    weights
        λ, μ, ν, ρ and δ.
    method
        ``"beam"`` is Algorithm 1; ``"forward"`` the exact optimum of Eq. 5 among
        forward trajectories.
    width, length, count
        B, L and N of the paper.
    sequence_index
        Whether ≺ holds rule R5 (Eq. 10).
    scale_transitions
        Whether log P is scaled to the spread of Rel over the candidates.
    scoping
        How the pool is filled.
    max_overlap
        Largest Jaccard overlap of edge sets between two trajectories returned.
    """

    index: HypergraphIndex
    transition_model: TransitionModel | None = None
    weights: Weights = field(default_factory=Weights)
    method: Method = "beam"
    width: int = 8
    length: int = 8
    count: int = 3
    sequence_index: bool = True
    scale_transitions: bool = True
    scoping: Scoping = field(default_factory=Scoping)
    max_overlap: float = 0.5

    def pool(self, question: Question, query_vector: NDArray[np.float32]) -> Pool:
        """The candidates of a question, with all that scoring reads about them."""
        rows, rel = select(self.index, question, query_vector, self.scoping)
        return build_pool(
            self.index, rows, rel, self.transition_model,
            sequence_index=self.sequence_index, scale_transitions=self.scale_transitions,
        )

    def search(self, pool: Pool) -> list[Scored]:
        """The N trajectories over a pool, best first, as pool indices.

        Where the search does not yield N that differ enough, it is run again over
        the pool without the edges already shown (decision), so that a further
        trajectory is further evidence.
        """
        picked: list[Scored] = []
        rest, names = pool, list(range(len(pool)))
        while len(rest) and len(picked) < self.count:
            found = [[names[i] for i in steps] for steps in self._paths(rest)]
            fresh = pick_diverse(
                pool, self.weights, found, self.count - len(picked), self.max_overlap
            )
            picked += fresh
            rest, names = pool.without({i for p in picked for i in p.steps})
        return sorted(picked, key=lambda s: (-s.score, s.steps))

    def retrieve(
        self, question: Question, query_vector: NDArray[np.float32]
    ) -> list[Trajectory]:
        """At most N trajectories, best first by Eq. 5, with terms and Rel of each step.

        Raises ``ValueError`` for a query vector of another dimension than the index.
        """
        pool = self.pool(question, query_vector)
        found = self.search(pool)
        rows = [int(pool.rows[i]) for scored in found for i in scored.steps]
        edges = iter(self.index.edges(rows))
        return [
            Trajectory(
                edges=tuple(next(edges) for _ in scored.steps),
                score=scored.score,
                terms=scored.terms,
                relevance=tuple(pool.rel[list(scored.steps)].tolist()),
            )
            for scored in found
        ]

    def _paths(self, pool: Pool) -> list[tuple[int, ...]]:
        if self.method == "forward":
            return [forward_search(pool, self.weights, length=self.length)]
        return beam_search(pool, self.weights, width=self.width, length=self.length)
