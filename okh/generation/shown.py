"""How much evidence a reader is shown: whole steps, within a budget of tokens (§3.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from okh.domain import Entity, Trajectory
from okh.generation.evidence import evidence_text
from okh.llm.tokens import count_tokens


@dataclass(frozen=True, slots=True)
class Shown:
    """The evidence as text, and where its trajectories and steps come from.

    Attributes
    ----------
    text
        As :func:`okh.generation.evidence.evidence_text` renders it.
    sources
        For each trajectory shown, its index among those given and the indices of the
        steps that are left of it.
    left_out
        What was dropped, in words; empty where all is shown.
    tokens
        Estimated tokens of the text.
    """

    text: str
    sources: tuple[tuple[int, tuple[int, ...]], ...]
    left_out: str
    tokens: int


@dataclass
class _Part:
    """One trajectory on its way to being shown."""

    index: int
    trajectory: Trajectory
    steps: list[int]

    @property
    def kept(self) -> Trajectory:
        """What is left of the trajectory."""
        edges, relevance = self.trajectory.edges, self.trajectory.relevance
        return replace(
            self.trajectory, edges=tuple(edges[i] for i in self.steps),
            relevance=tuple(relevance[i] for i in self.steps) if relevance else (),
        )

    def drop_weakest(self) -> None:
        """Without the step of the least relevance; the earliest of equals."""
        relevance = self.trajectory.relevance
        self.steps.remove(min(self.steps, key=lambda i: (relevance[i] if relevance else 0.0, i)))


def show(
    trajectories: Sequence[Trajectory], entities: Mapping[str, Entity], token_budget: int, *,
    labels: bool = True, summary: bool = True,
) -> Shown:
    """Trajectories as text of at most ``token_budget`` estimated tokens.

    Whole steps are dropped from the weakest trajectory first (the lowest score, the last
    of equals), the least relevant before the others, until it is gone and the next
    weakest is cut. One step of the best trajectory always stays.
    """
    parts = [_Part(i, t, list(range(len(t.edges)))) for i, t in enumerate(trajectories) if t.edges]
    weakest_last = sorted(parts, key=lambda p: (-p.trajectory.score, p.index))

    def render() -> str:
        kept = [part.kept for part in parts if part.steps]
        return evidence_text(kept, entities, labels=labels, summary=summary)

    text = render()
    while (tokens := count_tokens(text)) > token_budget:
        rest = [part for part in weakest_last if part.steps]
        if not rest or (len(rest) == 1 and len(rest[0].steps) == 1):
            break
        rest[-1].drop_weakest()
        text = render()
    left = [part for part in parts if part.steps]
    return Shown(
        text, tuple((part.index, tuple(part.steps)) for part in left), _left_out(parts), tokens
    )


def _left_out(parts: Sequence[_Part]) -> str:
    told, number = [], 0
    gone = sum(not part.steps for part in parts)
    for part in parts:
        number += bool(part.steps)
        missing = len(part.trajectory.edges) - len(part.steps)
        if part.steps and missing:
            told.append(f"{missing} of {len(part.trajectory.edges)} steps of trajectory {number}")
    if gone:
        told.append(f"{gone} whole {'trajectory' if gone == 1 else 'trajectories'}")
    return " and ".join(told)
