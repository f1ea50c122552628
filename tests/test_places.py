"""Names to coordinates: ports, zones, forecast locations and coast segments."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from okh.corpus.coast import area_distance_km, parse_segment, segment_distance_km
from okh.corpus.errors import CorpusError
from okh.corpus.geo import haversine_km
from okh.corpus.locations import locate
from okh.corpus.places import (
    MAX_NAME,
    Port,
    default_ports,
    load_ports,
    resolve_port,
    resolve_zone,
)
from okh.domain import slug


def port(name: str) -> Port:
    found = resolve_port(name)
    assert found is not None, name
    return found


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("Port of Savannah, GA", "Savannah", "SAVANNAH", "port of savannah", "Savanah, GA"),
         "Savannah"),
        (("PortMiami, FL", "Port Miami", "Miami"), "Miami"),
        (("Port of Houston", "Houston, TX"), "Houston"),
        (("New York, NY & NJ", "New York"), "New York"),
        (("South Louisiana, LA, Port of", "Port of South Louisiana"), "South Louisiana"),
    ],
)
def test_two_names_of_one_port_are_one_port(names: tuple[str, ...], expected: str) -> None:
    found = {port(name).slug for name in names}
    assert len(found) == 1 and slug(expected).replace("-", "") in found.pop().replace("-", "")


def test_a_shared_name_is_no_match_without_its_state() -> None:
    assert resolve_port("Wilmington") is None
    assert len(default_ports().candidates("Wilmington")) == 2
    assert port("Wilmington, NC").slug != port("Wilmington, DE").slug


def test_every_port_of_the_shared_table_is_itself(shared_data: Path) -> None:
    table = load_ports((shared_data / "cyportqa" / "ports.csv").read_text())
    assert len(table.given) == 122
    for one in table:
        found = table.resolve(one.name)
        assert found is not None and found.slug == one.slug
        shipped = default_ports().get(one.slug)
        if one.slug in table.given and shipped is not None:
            assert haversine_km(one.lat, one.lon, shipped.lat, shipped.lon) < 100


@settings(deadline=None)  # the first look-up loads the gazetteer
@given(st.text(max_size=MAX_NAME + 20))
def test_no_name_raises(name: str) -> None:
    resolve_port(name)
    resolve_zone(name)
    locate(name)
    parse_segment(name)
    segment_distance_km(name, port("Savannah, GA"))
    area_distance_km(name, port("Savannah, GA"))


@pytest.mark.parametrize(
    "name", ["", "Nowhere-upon-Quux", "'; DROP TABLE ports; --", "../../etc", "x" * 5000, "\0"]
)
def test_unknown_and_hostile_names_are_no_port(name: str) -> None:
    assert resolve_port(name) is None and resolve_zone(name) == () and locate(name) is None


@pytest.mark.parametrize(
    ("csv", "place"),
    [
        ("name,lat\nA,1\n", "header"), ("name,lon,lat\n", ""), ("name,lon,lat\nA,x,1\n", "line 2"),
        ("name,lon,lat\nA,1,1\nB,1,91\n", "line 3"), ("name,lon,lat\n///,1,1\n", "line 2"),
        ("name,lon,lat\nA,1,1\nA,1,1\n", "line 3"), ("name,lon,lat\nA,nan,1\n", "line 2"),
    ],
)
def test_a_bad_table_of_ports_names_the_line(csv: str, place: str) -> None:
    with pytest.raises(CorpusError) as error:
        load_ports(csv, "mine.csv")
    assert (error.value.file, error.value.place) == ("mine.csv", place) and error.value.mend


def test_a_users_port_is_merged_over_the_shipped_one() -> None:
    savannah = port("Savannah, GA")
    table = load_ports(f"lat,name,lon\n{savannah.lat + 0.1},Savannah GA,{savannah.lon}\n1,Quux,2\n")
    assert table.given == {savannah.slug, "quux"}
    moved = table.get(savannah.slug)
    assert moved is not None and moved.lat == savannah.lat + 0.1 and moved.name == savannah.name


def test_zones_cover_several_ports_and_names_in_pieces_are_read() -> None:
    assert len(resolve_zone("Sector New York")) >= 1
    covered, unknown = default_ports().resolve_list(("NEW", "ORLEANS", "Quux"))
    assert [p.name for p in covered] == [port("New Orleans, LA").name] and unknown == ("Quux",)


@pytest.mark.parametrize(
    ("name", "lat", "lon", "source"),
    [
        ("SAVANNAH GA", 32.0, -81.1, "table"), ("KEY WEST FL", 24.6, -81.8, "table"),
        ("GFMX 280N 910W", 28.0, -91.0, "grid"), ("15N 115W", 15.0, -115.0, "grid"),
        ("MIAMI FL", 25.8, -80.2, "table"),
    ],
)
def test_forecast_locations_lie_where_they_are(
    name: str, lat: float, lon: float, source: str
) -> None:
    place = locate(name)
    assert place is not None and place.source == source
    assert haversine_km(place.lat, place.lon, lat, lon) < 30


@pytest.mark.parametrize(
    ("segment", "inside", "outside"),
    [
        ("Altamaha Sound Georgia to South Santee River South Carolina", "Savannah, GA",
         "Jacksonville, FL"),
        ("Jupiter Inlet southward around the Florida peninsula to Bonita Beach", "PortMiami, FL",
         "Tampa"),
        ("San Luis Pass Texas to Morgan City Louisiana", "Galveston, TX", "Corpus Christi, TX"),
        ("Florida Keys", "Key West, FL", "Savannah, GA"),
    ],
)
def test_segments_hold_the_ports_along_them(segment: str, inside: str, outside: str) -> None:
    assert segment_distance_km(segment, port(inside)) == 0
    distance = segment_distance_km(segment, port(outside))
    assert distance is None or distance > 30


def test_a_segment_reads_the_same_both_ways() -> None:
    forth = parse_segment("Altamaha Sound Georgia to South Santee River South Carolina")
    back = parse_segment("South Santee River South Carolina to Altamaha Sound Georgia")
    assert forth is not None and back is not None and forth.edges == back.edges != frozenset()


@pytest.mark.parametrize("text", ["Isla de la Juventud in Cuba", "Coast of Haiti", "Nowhere", ""])
def test_foreign_and_unknown_coasts_are_no_distance(text: str) -> None:
    assert segment_distance_km(text, port("Key West, FL")) is None


def test_an_area_counts_for_ports_of_its_states_only() -> None:
    assert area_distance_km("southeast Louisiana", port("New Orleans, LA")) == 0
    assert area_distance_km("southeast Louisiana", port("Gulfport, MS")) is None
    text = "southeast Georgia and the South Carolina Lowcountry"
    assert area_distance_km(text, port("Savannah, GA")) == 0
    assert area_distance_km(text, port("New Orleans, LA")) is None
    assert area_distance_km("the Southeast", port("Savannah, GA")) == 0


def test_distances_on_the_sphere() -> None:
    assert haversine_km(0, 0, 0, 180) == pytest.approx(20015, rel=1e-3)
    assert haversine_km(10, 179.5, 10, -179.5) == pytest.approx(109.5, rel=1e-2)
