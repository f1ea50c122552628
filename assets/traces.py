"""Traces of questions: what was asked, seen and answered, and what of it teaches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from assets.engine import Result, question_id
from okh.domain import Group
from okh.transition import Split
from storage.traces import Trace


def trace_of(
    result: Result, payload: Mapping[str, Any], *, correct: bool | None = None,
    gold_edge: str | None = None, split: str | None = None,
) -> Trace:
    """A trace of one result; ``payload`` is that of :mod:`assets.payload`."""
    return Trace(
        id=f"{result.asked_at:%Y%m%dT%H%M%S%f}-{question_id(result.question)}",
        asked_at=result.asked_at, question=dict(payload["question"]), as_of=result.question.as_of,
        answer=dict(payload["answer"]), trajectories=list(payload["trajectories"]),
        snapshot=result.snapshot, correct=correct, gold_edge=gold_edge, split=split,
    )


def induced_pairs(
    traces: Iterable[Trace], splits: Mapping[str, Split]
) -> dict[str, list[tuple[str, str]]]:
    """Retrieval-induced signals (§5): consecutive steps up to the gold edge, by group.

    Only right answers on training storms teach, and only where a gold edge is
    known: the answer broke when that edge was taken away.
    """
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for trace in traces:
        number = trace.answer.get("trajectory")
        if not trace.correct or trace.gold_edge is None or number is None:
            continue
        steps = trace.trajectories[number - 1]["steps"]
        group = steps[0]["group"]
        if splits.get(Group.parse(group).storm_year) != "train":
            continue
        ids = [step["id"] for step in steps]
        if trace.gold_edge in ids:
            ids = ids[: ids.index(trace.gold_edge) + 1]
            found[group] += pairwise(ids)
    return dict(found)
