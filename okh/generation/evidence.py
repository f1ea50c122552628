"""Trajectories as text that a reader can be shown (§3.3, A.8).

Each step is one numbered line: horizon, phase, family, relation, the evidence
sentence, its values, reasoning tags and typed entities. A summary of the
trajectory's quality stands before its lines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from okh.domain import Entity, Hyperedge, Trajectory
from okh.precedence import position, precedence_keys, precedence_matrix
from okh.vocabulary import CROSS_HORIZON, CYCLONE_PORTS, FAMILIES

TAGS = (
    "within_horizon", "cross_horizon", "advisory_to_hazard", "hazard_to_operation",
    "hazard_to_impact", "impact_to_recovery",
)
"""Every reasoning tag, in the order in which a step shows them."""

_CAUSE: dict[str, str] = {
    "advisory": "advisory", "hazard_forecast": "hazard", "hazard_observation": "hazard",
    "additional_hazard": "hazard", "operation_status": "operation",
    "impact_prediction": "impact", "recovery_status": "recovery",
}
_HORIZON_WORDS = re.compile(r"\bT[-+−]\d{1,3}\b")
_TOLD_ELSEWHERE = frozenset({"text", "guidance", "track", "changed", "of", "from", "to", "delta"})
"""Attributes that an edge's evidence sentence tells in the same words."""


def reasoning_tags(previous: Hyperedge | None, edge: Hyperedge) -> tuple[str, ...]:
    """Tags of a step, from the step before it (None for the first).

    ``within_horizon`` / ``cross_horizon`` say whether the step stays at its
    predecessor's horizon or leaves it (a change edge always crosses). The causal
    tags (rule R3) are given where the cause stands first and is not later.
    """
    crossing = edge.family == CROSS_HORIZON
    if previous is None:
        return ("cross_horizon",) if crossing else ()
    same = not crossing and edge.lead == previous.lead and edge.static == previous.static
    tags = ["within_horizon" if same else "cross_horizon"]
    if not position(previous) > position(edge):
        step = f"{_CAUSE.get(previous.phase, '')}_to_{_CAUSE.get(edge.phase, '')}"
        tags += [step] if step in TAGS else []
    return tuple(tags)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _values(edge: Hyperedge) -> str:
    told = [
        f"{a.key}={_one_line(a.value)}{f' {a.unit}' if a.unit else ''}"
        for a in edge.attributes if a.key not in _TOLD_ELSEWHERE
    ]
    return f" {{{', '.join(told)}}}" if told else ""


def _entities(edge: Hyperedge, entities: Mapping[str, Entity], labels: bool) -> str:
    named = []
    for identifier in edge.entities:
        entity = entities.get(identifier)
        kind = entity.type if entity else identifier.partition(":")[0]
        name = _one_line(entity.name) if entity else identifier.partition(":")[2]
        if labels or CYCLONE_PORTS.entity_types.get(kind) != "anchor":
            named.append(f"{name} ({kind})")
    return "; ".join(named)


def evidence_lines(
    trajectory: Trajectory, entities: Mapping[str, Entity], *, labels: bool = True
) -> list[str]:
    """One numbered line for each step of a trajectory.

    ``labels=False`` hides every horizon (header, anchors, and ``T-48`` inside a
    sentence), for the shuffle experiment of Table 2.
    """
    lines = []
    previous: Hyperedge | None = None
    for number, edge in enumerate(trajectory.edges, start=1):
        name = FAMILIES.get(edge.family, ("unmapped", ""))[0]
        head = [edge.horizon] if labels else []
        head += [edge.phase, f"family {edge.family} {name}"]
        tags = ", ".join(reasoning_tags(previous, edge))
        line = (
            f"{number}. [{' | '.join(head)}] {edge.relation}: "
            f"\"{_one_line(edge.evidence)}\"{_values(edge)}"
            f"{f' <{tags}>' if tags else ''} entities: {_entities(edge, entities, labels)}"
        )
        lines.append(line if labels else _HORIZON_WORDS.sub("T-?", line))
        previous = edge
    return lines


def quality_summary(trajectory: Trajectory) -> str:
    """What speaks for a trajectory, in one line: score, terms, order, coverage, sureness (A.8)."""
    edges, terms = trajectory.edges, trajectory.terms
    if not edges:
        return "no steps"
    before = precedence_matrix(precedence_keys(edges))
    steps = list(pairwise(range(len(edges))))
    forward = sum(bool(before[a, b]) for a, b in steps)
    backward = sum(bool(before[b, a]) for a, b in steps)
    covered = sorted({e.phase for e in edges} & set(CYCLONE_PORTS.coverage_phases))
    sure = sum(e.confidence for e in edges) / len(edges)
    grounded = sum(e.grounded for e in edges)
    return (
        f"score {trajectory.score:.3f} (relevance {terms.rel:.3f}, transition {terms.trans:.3f}, "
        f"precedence {terms.prec:.2f}, overlap {terms.ovlp:.2f}, coverage {terms.cov:.2f}); "
        f"{len(edges)} steps, {forward} forward and {backward} backward; "
        f"phases: {', '.join(covered) or 'none'}; "
        f"mean confidence {sure:.2f}; {grounded} of {len(edges)} grounded in a source"
    )


def evidence_text(
    trajectories: Sequence[Trajectory], entities: Mapping[str, Entity], *,
    labels: bool = True, summary: bool = True,
) -> str:
    """All trajectories as text, each with its quality summary and its numbered steps.

    Parameters
    ----------
    trajectories
        Best first; numbered from 1 as the steps are.
    entities
        Entities of the group by identifier; one that is missing is shown by its identifier.
    labels
        Whether horizons are shown.
    summary
        Whether the quality summary is shown.
    """
    parts = []
    for number, trajectory in enumerate(trajectories, start=1):
        lines = [f"Trajectory {number}"]
        lines += [f"Quality: {quality_summary(trajectory)}"] if summary else []
        lines += evidence_lines(trajectory, entities, labels=labels)
        parts.append("\n".join(lines))
    return "\n\n".join(parts)
