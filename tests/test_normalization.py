"""The five steps of A.2: idempotent, independent of order, and right on worked examples."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from okh.domain import Attribute, Fact, Group, Mention
from okh.normalization import (
    Hypergraph,
    LocatedFact,
    change_relation,
    map_relation,
    normalize,
    renormalize,
)
from okh.vocabulary import CROSS_HORIZON, CYCLONE_PORTS, UNMAPPED
from tests.strategies import GROUP, located_facts

fact_lists = st.lists(located_facts(), max_size=20)


def located(
    lead: int | None, relation: str, evidence: str, *attributes: Attribute, mention: str = "Odessa",
    hour: int = 0, offset: int = 0, confidence: float = 1.0,
) -> LocatedFact:
    fact = Fact(
        relation, evidence,
        (Mention(mention, "cyclone"), Mention(evidence, "cyclone_state")), attributes, confidence,
    )
    return LocatedFact(
        fact, f"doc-{lead}", offset, offset + len(evidence), lead,
        datetime(2031, 9, 2, hour, tzinfo=UTC), "products", "advisory",
    )


def changes(graph: Hypergraph) -> list[tuple[str, str, str, str]]:
    return [
        (e.relation, e.horizon, e.attribute("from") or "", e.attribute("to") or "")
        for e in graph.edges
        if e.family == CROSS_HORIZON
    ]


@given(fact_lists)
def test_idempotent(facts: list[LocatedFact]) -> None:
    once = normalize(GROUP, facts)
    twice = renormalize(once)
    assert twice.edges == once.edges
    assert twice.entities == once.entities


@given(fact_lists, st.randoms())
def test_independent_of_order(facts: list[LocatedFact], random) -> None:
    shuffled = list(facts)
    random.shuffle(shuffled)
    assert normalize(GROUP, shuffled) == normalize(GROUP, facts)


@given(fact_lists)
@settings(max_examples=50)
def test_anchors_ids_and_members(facts: list[LocatedFact]) -> None:
    graph = normalize(GROUP, facts)
    assert len({e.id for e in graph.edges}) == len(graph.edges)
    for edge in graph.edges:
        anchors = [m for m in edge.entities if graph.entities[m].type == "horizon_time"]
        dated = edge.lead is not None
        assert len(anchors) == (2 if edge.family == CROSS_HORIZON else int(dated))
    used = {m for e in graph.edges for m in e.entities}
    assert set(graph.entities) == used, "no orphan, no dangling member"


@pytest.mark.parametrize(
    ("label", "relation"),
    [
        ("closes_port", "has_operation_status"),
        ("Has Motion", "has_motion"),
        ("has_movment", "has_motion"),
        ("forecast_storm_surge", "forecasts_storm_surge"),
        ("sings_to", UNMAPPED),
    ],
)
def test_relation_labels(label: str, relation: str) -> None:
    assert map_relation(label) == relation


def test_unmapped_keeps_its_label() -> None:
    graph = normalize(GROUP, [located(48, "sings_to", "It sings")])
    assert [(e.relation, e.raw_relation, e.family) for e in graph.edges] == [
        (UNMAPPED, "sings_to", 0)
    ]


def test_two_names_of_one_storm_and_one_port() -> None:
    names = ["Odessa", "ODESSA", "Hurricane Odessa", "Tropical Depression Ten", "the hurricane"]
    graph = normalize(
        GROUP, [located(48, "has_motion", f"m{i}", mention=n) for i, n in enumerate(names)]
    )
    assert {i for i in graph.entities if i.startswith("cyclone:")} == {"cyclone:ODESSA-2031"}
    ports = ["Port of Savannah, GA", "Savannah", "PORT OF SAVANNAH"]
    fact = Fact("has_operation_status", "e", tuple(Mention(p, "port") for p in ports))
    graph = normalize(
        GROUP, [LocatedFact(fact, "d", 0, 1, 48, None, "bulletin", "bulletin")]
    )
    assert {i for i in graph.entities if i.startswith("port:")} == {"port:port_of_savannah_ga"}


def test_other_storms_stay_apart() -> None:
    graph = normalize(
        Group("ZETA", 2031, "galveston-tx"), [located(48, "has_motion", "m", mention="Eta")]
    )
    assert "cyclone:ETA-2031" in graph.entities


def test_transient_identifier_has_the_papers_form() -> None:
    place = Attribute("location", "SAVANNAH GA")
    fact = Fact(
        "has_cumulative_probability", "e",
        (Mention("e", "wind_probability"), Mention("SAVANNAH GA", "location")), (place,),
    )
    graph = normalize(
        GROUP, [LocatedFact(fact, "d", 0, 1, 48, None, "products", "wind_table")]
    )
    assert set(graph.entities) == {
        "wind_fcst:ODESSA:savannah_ga:T-48", "location:savannah_ga", "horizon:T-48"
    }


def test_change_edges_tell_only_what_changed() -> None:
    facts = [
        located(72, "has_intensity", "60 mph", Attribute("wind_mph", "60", "mph")),
        located(48, "has_intensity", "60 mph still", Attribute("wind_mph", "60", "mph")),
        located(24, "has_intensity", "90 mph", Attribute("wind_mph", "90", "mph")),
        located(12, "has_intensity", "85 mph", Attribute("wind_mph", "85", "mph")),
    ]
    graph = normalize(GROUP, facts)
    assert sorted(changes(graph)) == [
        ("intensifies_to", "T-48→T-24", "60", "90"),
        ("weakens_to", "T-24→T-12", "90", "85"),
    ]
    edge = next(e for e in graph.edges if e.relation == "intensifies_to")
    assert edge.attribute("delta") == "+30"
    assert "from 60 mph at T-48 to 90 mph at T-24" in edge.evidence
    assert {s.document for s in edge.spans} == {"doc-48", "doc-24"}
    assert edge.phase == "cyclone_state"


def test_the_statement_issued_last_fills_the_slot() -> None:
    facts = [
        located(48, "has_intensity", "60 mph", Attribute("wind_mph", "60"), hour=3),
        located(48, "has_intensity", "70 mph", Attribute("wind_mph", "70"), hour=9),
        located(24, "has_intensity", "80 mph", Attribute("wind_mph", "80"), hour=20),
    ]
    assert changes(normalize(GROUP, facts)) == [("intensifies_to", "T-48→T-24", "70", "80")]


def test_source_kinds_are_never_joined() -> None:
    a = located(48, "has_intensity", "60 mph", Attribute("wind_mph", "60"))
    b = located(24, "has_intensity", "80 mph", Attribute("wind_mph", "80"))
    scenario = LocatedFact(
        b.fact, b.document, b.start, b.end, b.lead, b.issued, "scenario", "scenario"
    )
    assert changes(normalize(GROUP, [a, scenario])) == []


def test_exact_duplicates_collapse_and_keep_every_span() -> None:
    facts = [
        located(48, "has_motion", "W at 9 mph", offset=0, confidence=0.5),
        located(48, "has_motion", "W at 9 mph", offset=700, confidence=0.9),
    ]
    (edge,) = normalize(GROUP, facts).edges
    assert edge.confidence == 0.9
    assert [s.start for s in edge.spans] == [0, 700]


def test_periods_of_one_table_stay_apart() -> None:
    facts = [
        located(48, "has_leadtime_probability", "row", Attribute("period_h", period))
        for period in ("12", "24")
    ]
    assert len(normalize(GROUP, facts).edges) == 2


@pytest.mark.parametrize(
    ("attribute", "old", "new", "relation"),
    [
        ("category", "Tropical Storm", "Category 1", "intensifies_to"),
        ("category", "Category 3", "Category 2", "weakens_to"),
        ("status", "hurricane", "extratropical low", "changes_status_to"),
        ("pressure_mb", "990", "980", "intensifies_to"),
        ("probability", "5", "9", "changes_probability_to"),
        ("condition", "WHISKEY", "YANKEE", "changes_status_to"),
        ("date", "2031-09-04", "2031-09-05", "forecast_updates_to"),
    ],
)
def test_kind_of_change(attribute: str, old: str, new: str, relation: str) -> None:
    assert change_relation(attribute, old, new, CYCLONE_PORTS) == relation
