"""Groups as views over blocks: what belongs to whom, at which lead, and in any order."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from okh.corpus.geo import haversine_km
from okh.corpus.groups import (
    View,
    group_views,
    infer_landfall,
    known_lead,
    nearest_location,
    scenario_group,
    unlocated,
)
from okh.corpus.ingestion import blocks_of, read_bytes, read_path
from okh.corpus.locations import locate
from okh.corpus.places import default_ports, load_ports, resolve_port
from okh.domain import Attribute, Block, Document, Fact, Group, Mention
from okh.extraction.advisory_watches import segment_texts
from okh.extraction.binding import bind, group_facts, position_text
from okh.extraction.extractor import is_grounded
from okh.extraction.rules import RulesExtractor
from tests.test_ingestion import ADVISORY, POSTS, SCENARIO, TABLE

PORTS = default_ports()
SAVANNAH = resolve_port("Savannah, GA")
assert SAVANNAH is not None
LANDFALL = datetime(2031, 9, 14, 21, tzinfo=UTC)


def corpus(*texts: tuple[str, str]) -> tuple[list[Document], list[Block]]:
    documents: list[Document] = []
    for text, name in texts:
        result = read_bytes(text.encode(), name)
        assert result.refused is None
        documents += result.documents
    return documents, [block for document in documents for block in blocks_of(document)]


def segments_of(blocks: Sequence[Block]) -> dict[str, tuple[str, ...]]:
    return {b.id: texts for b in blocks if b.kind == "advisory" and (texts := segment_texts(b))}


ALL = ((ADVISORY, "QUILL_2031_48h.txt"), (TABLE, "t/QUILL_2031_48h.txt"), (POSTS, "posts.csv"),
       (SCENARIO, "s.txt"), (SCENARIO.replace("Savannah, GA", "Boston, MA"), "b.txt"))


def test_a_scenario_makes_its_group_and_shares_the_products() -> None:
    documents, blocks = corpus(*ALL)
    views = group_views(documents, blocks, ports=PORTS)
    assert [group.key for group in views] == ["QUILL-2031|boston-ma", f"QUILL-2031|{SAVANNAH.slug}"]
    for group, own in views.items():
        assert [v for v in own if v.tie == "storm"], group
        for view in own:
            assert view.group == group
            # No leak: another port's scenario, bulletin or table rows are never seen.
            if view.block.kind == "scenario":
                named = PORTS.resolve(view.block.port or "")
                assert named is not None and named.slug == group.port
            if view.block.kind == "bulletin" or view.tie == "location":
                assert group.port == SAVANNAH.slug


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6))
def test_views_do_not_depend_on_the_order_of_the_corpus(seed: int) -> None:
    documents, blocks = corpus(*ALL)
    segments = segments_of(blocks)
    expected = group_views(documents, blocks, ports=PORTS, segments=segments)
    shuffle = random.Random(seed)
    shuffle.shuffle(documents)
    shuffle.shuffle(blocks)
    again = group_views(documents, blocks, ports=PORTS, segments=segments)
    assert list(again.items()) == list(expected.items())


@given(st.integers(-500, 500), st.integers(0, 59))
def test_a_lead_never_places_a_fact_earlier_than_it_was_issued(hours: int, minutes: int) -> None:
    issued = LANDFALL - timedelta(hours=hours, minutes=minutes)
    lead = known_lead(issued, LANDFALL)
    assert lead % 12 == 0
    assert LANDFALL - timedelta(hours=lead) >= issued > LANDFALL - timedelta(hours=lead + 12)
    assert known_lead(issued.replace(tzinfo=None), LANDFALL.replace(tzinfo=None)) == lead


def test_undated_products_take_their_lead_from_the_landfall() -> None:
    documents, blocks = corpus((ADVISORY, "bare.txt"), (TABLE, "t.txt"), (POSTS, "posts.csv"))
    views = group_views(documents, blocks, ports=PORTS)
    assert {v.lead for own in views.values() for v in own} == {None}
    views = group_views(documents, blocks, ports=PORTS, landfall={"QUILL-2031": LANDFALL})
    leads = {(v.block.kind, v.lead) for own in views.values() for v in own}
    assert leads == {("advisory", 48), ("wind_table", 48), ("bulletin", 48), ("bulletin", 0)}


def test_dated_products_date_the_bulletins_of_their_storm() -> None:
    documents, blocks = corpus((ADVISORY, "QUILL_2031_48h.txt"), (POSTS, "posts.csv"))
    assert infer_landfall(documents) == {"QUILL-2031": LANDFALL}
    views = group_views(documents, blocks, ports=PORTS)[Group("QUILL", 2031, SAVANNAH.slug)]
    assert {v.lead for v in views if v.block.kind == "bulletin"} == {48, 0}


def test_a_preamble_has_no_lead_whatever_the_file_is_called() -> None:
    documents, blocks = corpus((SCENARIO, "QUILL_2031_Port_of_Savannah,_GA_72h.txt"))
    (views,) = group_views(documents, blocks, ports=PORTS).values()
    assert [v.lead for v in views] == [None, 48, 24]


def test_bare_products_make_groups_of_the_ports_near_them() -> None:
    documents, blocks = corpus((ADVISORY, "bare.txt"), (TABLE, "t.txt"))
    near = group_views(documents, blocks, ports=PORTS)
    place = locate("SAVANNAH GA")
    assert place is not None
    expected = {
        port.slug for port in PORTS
        if haversine_km(port.lat, port.lon, place.lat, place.lon) <= 150
    }
    assert {group.port for group in near} == expected != set()
    # A warned segment adds the ports along it, a smaller radius takes others away.
    wide = group_views(documents, blocks, ports=PORTS, segments=segments_of(blocks))
    assert set(near) < set(wide) or set(near) == set(wide)
    assert {g.port for g in group_views(documents, blocks, ports=PORTS, radius_km=20)} < expected
    assert group_views(documents, blocks, ports=PORTS, near_ports="never") == {}
    for group, views in near.items():
        for view in views:
            if view.tie == "location":
                port = PORTS.get(group.port)
                assert port is not None and view.distance_km == pytest.approx(
                    float(haversine_km(port.lat, port.lon, place.lat, place.lon))
                )


def test_a_users_ports_alone_get_groups_by_nearness() -> None:
    documents, blocks = corpus((ADVISORY, "bare.txt"), (TABLE, "t.txt"))
    mine = load_ports(f"name,lon,lat\nQuux Pier,{SAVANNAH.lon},{SAVANNAH.lat}\n")
    assert [g.port for g in group_views(documents, blocks, ports=mine)] == ["quux-pier"]


def test_a_port_that_no_table_knows_still_has_its_scenario() -> None:
    documents, blocks = corpus(
        (SCENARIO.replace("Savannah, GA", "O'Quux/Nowhere"), "a.txt"), (TABLE, "QUILL_2031_48h.txt")
    )
    ((group, views),) = group_views(documents, blocks, ports=PORTS).items()
    assert group.port == "port-of-o-quux-nowhere" and scenario_group(documents[0], PORTS) == group
    assert {v.tie for v in views} == {"port", "storm"}


def test_explicit_groups_exist_without_a_scenario() -> None:
    documents, blocks = corpus((ADVISORY, "QUILL_2031_48h.txt"))
    group, absent = Group("QUILL", 2031, SAVANNAH.slug), Group("WREN", 2031, SAVANNAH.slug)
    assert list(group_views(documents, blocks, ports=PORTS, explicit_groups=[group, absent])) == [
        group
    ]


def test_locations_without_coordinates_are_named() -> None:
    _, blocks = corpus((TABLE.replace("SAVANNAH GA", "QUUX ISLAND"), "t.txt"))
    assert unlocated(blocks) == ("QUUX ISLAND",)


# --- binding --------------------------------------------------------------------------


def _view(block: Block, tie: str, distance: float | None) -> View:
    return View(Group("QUILL", 2031, SAVANNAH.slug), block, 48, distance, tie)  # type: ignore[arg-type]


def test_facts_are_tied_to_the_port_once_and_stay_grounded() -> None:
    documents, blocks = corpus(*ALL[:4])
    extractor = RulesExtractor()
    views = group_views(documents, blocks, ports=PORTS, segments=segments_of(blocks))
    tied = 0
    for view in views[Group("QUILL", 2031, SAVANNAH.slug)]:
        facts = extractor.extract(view.block)
        bound = bind(facts, view, SAVANNAH)
        assert bind(bound, view, SAVANNAH) == bound
        assert [f.evidence for f in bound] == [f.evidence for f in facts]
        for fact in bound:
            assert is_grounded(fact, view.block.text)
            ports = [m for m in fact.mentions if m.type == "port"]
            tied += bool(ports)
            if view.tie == "location":
                assert ports and float(fact.attribute("distance_km") or -1) >= 0
            if view.block.kind == "bulletin":
                assert ports and fact.attribute("distance_km") is None
    assert tied > 5


@pytest.mark.parametrize(
    ("attribute", "distance"),
    [
        (Attribute("segment", "Altamaha Sound Georgia to South Santee River South Carolina"), "0"),
        (Attribute("segment", "Coast of Haiti"), None),
        (Attribute("segment", "Sabine Pass Texas to Morgan City Louisiana"), None),
        (Attribute("hazard", "wind"), None),
    ],
)
def test_a_segment_ties_the_ports_along_it(attribute: Attribute, distance: str | None) -> None:
    _, blocks = corpus(ALL[0])
    fact = Fact("has_warning_status", "A warning.", (Mention("warning", "advisory_status"),),
                (attribute,))
    (bound,) = bind([fact], _view(blocks[0], "storm", None), SAVANNAH)
    assert bound.attribute("distance_km") == distance
    assert (len(bound.mentions) == 2) == (distance is not None)


def test_what_a_scenario_says_of_the_storm_alone_is_not_tied() -> None:
    _, blocks = corpus(ALL[3])
    storm = Fact("has_motion", "x", (Mention("QUILL", "cyclone"),))
    port = replace(storm, relation="has_hours_to_landfall")
    first, second = bind([storm, port], _view(blocks[1], "port", None), SAVANNAH)
    assert first == storm and second.mentions[-1] == Mention(SAVANNAH.name, "port", origin="linked")


def test_static_facts_say_where_the_port_lies_and_what_is_near() -> None:
    documents, blocks = corpus(*ALL[:2])
    group = Group("QUILL", 2031, SAVANNAH.slug)
    views = group_views(documents, blocks, ports=PORTS, explicit_groups=[group])[group]
    nearest = nearest_location(views)
    assert nearest is not None and nearest[0] == "SAVANNAH GA"
    where, near = group_facts(group, SAVANNAH, nearest)
    assert where.evidence[where.start : where.end] == where.evidence
    assert position_text(SAVANNAH.lat, SAVANNAH.lon) in where.evidence
    assert near.attribute("location") == "SAVANNAH GA"
    assert near.attribute("distance_km") == str(round(nearest[1]))
    assert len(group_facts(group, SAVANNAH, None)) == 1
    with pytest.raises(ValueError, match="not the port"):
        group_facts(Group("QUILL", 2031, "elsewhere"), SAVANNAH, None)


# --- real data ------------------------------------------------------------------------


def test_every_listed_location_of_the_shared_tables_is_known(shared_data: Path) -> None:
    paths = sorted((shared_data / "nhc" / "wind").iterdir())[::6]
    blocks = [b for p in paths for r in read_path(p) for own in r.blocks.values() for b in own]
    assert len({b.location for b in blocks if b.location}) > 100
    assert unlocated(blocks) == ()
