"""The evidence text and its reasoning tags."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from okh.domain import Entity, Hyperedge, Terms, Trajectory
from okh.generation.evidence import TAGS, evidence_lines, evidence_text, reasoning_tags
from okh.precedence import canonical_order
from okh.vocabulary import CYCLONE_PORTS
from tests.strategies import hyperedges, one_group

TERMS = Terms(1.0, -0.5, 1.0, 0.2, 0.5)
STORM = Entity("cyclone:ODESSA-2031", "ODESSA", "cyclone")
ANCHOR = Entity("horizon:T-48", "T-48", "horizon_time", origin="anchor")


def _edge(family: int, lead: int | None = 48, **changes: object) -> Hyperedge:
    edge = Hyperedge(
        id=f"{family}-{lead}", group="ODESSA-2031|savannah-ga", relation="r", raw_relation="r",
        family=family, story=family, sub_rank=0, phase=CYCLONE_PORTS.phase(family), lead=lead,
        lead_from=None, static=False, entities=(STORM.id, ANCHOR.id), evidence="A\nsentence.",
        attributes=(), confidence=1.0, grounded=True, synthetic=False, observed=False,
        issued=None, source_kind="scenario", kind="scenario", spans=(),
    )
    return replace(edge, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("before", "after", "tag"),
    [(4, 6, "advisory_to_hazard"), (6, 10, "hazard_to_operation"), (7, 11, "hazard_to_impact"),
     (11, 12, "impact_to_recovery")],
)
def test_causal_tags(before: int, after: int, tag: str) -> None:
    assert reasoning_tags(_edge(before), _edge(after)) == ("within_horizon", tag)
    assert reasoning_tags(_edge(before, 72), _edge(after, 48)) == ("cross_horizon", tag)
    assert tag not in reasoning_tags(_edge(before, 24), _edge(after, 48))
    assert tag not in reasoning_tags(_edge(after), _edge(before))


def test_change_edges_cross_horizons() -> None:
    change = _edge(13, lead_from=72, story=5, phase="probability")
    assert reasoning_tags(None, change) == ("cross_horizon",)
    assert reasoning_tags(_edge(5), change) == ("cross_horizon",)
    assert reasoning_tags(None, _edge(5)) == ()


@given(st.lists(hyperedges(), min_size=1, max_size=8))
def test_one_numbered_line_for_each_step(found: list[Hyperedge]) -> None:
    edges = one_group(found)
    path = [edges[i] for i in canonical_order(edges)]
    lines = evidence_lines(Trajectory(tuple(path), 0.0, TERMS), {})
    assert [line.split(".")[0] for line in lines] == [str(i + 1) for i in range(len(path))]
    for line, edge in zip(lines, path, strict=True):
        assert "\n" not in line and edge.horizon in line and edge.phase in line
        assert edge.evidence in line
    previous: Hyperedge | None = None
    for edge in path:
        assert set(reasoning_tags(previous, edge)) <= set(TAGS)
        previous = edge


def test_lines_show_what_a_reader_needs() -> None:
    path = Trajectory((_edge(4), _edge(6)), 1.5, TERMS)
    text = evidence_text([path, path], {e.id: e for e in (STORM, ANCHOR)})
    assert text.count("Trajectory ") == 2 and text.count("Quality: ") == 2
    assert "ODESSA (cyclone)" in text and "T-48 (horizon_time)" in text
    assert '"A sentence."' in text and "<within_horizon, advisory_to_hazard>" in text
    assert "2 steps, 1 forward and 0 backward" in text
    assert "Quality" not in evidence_text([path], {}, summary=False)


def test_hidden_labels_leave_no_horizon() -> None:
    change = _edge(13, lead_from=72, story=5, phase="probability",
                   evidence="Probability changes from 4 % at T-72 to 9 % at T-48.")
    path = Trajectory((_edge(4), change), 1.5, TERMS)
    text = evidence_text([path], {e.id: e for e in (STORM, ANCHOR)}, labels=False)
    assert not re.search(r"T-\d", text) and "horizon_time" not in text


def test_no_trajectory_gives_no_text() -> None:
    assert evidence_text([], {}) == ""
    assert "no steps" in evidence_text([Trajectory((), 0.0, TERMS)], {})
