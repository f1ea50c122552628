"""Public advisories: the parser's edges on text of our own, and the whole real corpus."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from okh.corpus.advisory import parse_advisory, truncated_at
from okh.corpus.errors import CorpusError
from okh.domain import Block, Fact
from okh.extraction.advisory_rules import extract, saffir_simpson
from okh.extraction.advisory_text import moment
from okh.extraction.advisory_watches import segment_texts
from okh.extraction.extractor import is_grounded
from okh.vocabulary import ATTRIBUTES, ENTITY_TYPES, RELATIONS
from tests.advisory_labels import read_file

TITLE = "Hurricane Quill Advisory Number  12"
HAZARDS = """\
STORM SURGE:  Water could reach these heights above ground...

Alder Point to Birch Inlet including Cedar Bay...4 to 7 ft
Birch Inlet to Dune
Beach...2-4 ft

WIND:  Hurricane conditions are expected within the hurricane warning area
by Saturday night, with tropical storm conditions beginning Saturday.

RAINFALL:  Quill is expected to produce these totals through Monday:

Eastern Florida...3 to 6 inches, isolated 9 inches.

Over Cuba, 1 to 2 inches are expected. This rainfall may cause flash floods.

TORNADOES:  A tornado or two are possible tonight over south Florida.

SURF:  Swells are affecting the Bahamas.
"""
PRODUCT = f"""\
ZCZC MIATCPAT3 ALL
TTAA00 KNHC DDHHMM

BULLETIN
{TITLE}
NWS National Hurricane Center Miami FL       AL132018
500 PM EDT Fri Sep 07 2018

...QUILL NEARS THE COAST...

SUMMARY OF 500 PM EDT...2100 UTC...INFORMATION
----------------------------------------------
LOCATION...25.5N 78.5W
ABOUT 110 MI...175 KM E OF MIAMI FLORIDA
MAXIMUM SUSTAINED WINDS...115 MPH...185 KM/H
PRESENT MOVEMENT...NW OR 315 DEGREES AT 10 MPH...16 KM/H
MINIMUM CENTRAL PRESSURE...950 MB...28.05 INCHES

WATCHES AND WARNINGS
--------------------
CHANGES WITH THIS ADVISORY:

The Hurricane Watch from Alder Point to Birch Inlet has been changed to a
Hurricane Warning.

SUMMARY OF WATCHES AND WARNINGS IN EFFECT:

A Hurricane Warning is in effect for...
* Alder Point to Birch Inlet
* Cedar Bay

DISCUSSION AND OUTLOOK
----------------------
Quill is moving toward the northwest near 10 mph (16 km/h). A turn toward the
north is expected on Saturday. The center will make landfall near Alder Point
Saturday night. Quill is a category 3 hurricane on the scale. Weakening is
forecast on Sunday. Hurricane-force winds extend outward up to 40 miles
(65 km) from the center.

HAZARDS AFFECTING LAND
----------------------
{HAZARDS}
NEXT ADVISORY
-------------
Next complete advisory at 1100 PM EDT.

$$
Forecaster Nobody

NNNN
"""


def _read(text: str) -> tuple[dict[str, list[Fact]], list[Block]]:
    _, blocks = parse_advisory(text, "hash", "quill.txt")
    facts: dict[str, list[Fact]] = {}
    for block in blocks:
        for fact in extract(block):
            assert is_grounded(fact, block.text)
            facts.setdefault(fact.relation, []).append(fact)
    return facts, blocks


def _values(facts: list[Fact], *keys: str) -> list[tuple[str | None, ...]]:
    return [tuple(fact.attribute(key) for key in keys) for fact in facts]


def test_document_and_blocks() -> None:
    document, blocks = parse_advisory(PRODUCT, "hash", "quill.txt")
    assert (document.storm, document.year, document.corrected) == ("QUILL", 2018, False)
    assert document.issued == datetime(2018, 9, 7, 21, tzinfo=UTC)
    assert [b.section for b in blocks] == [
        "header", "summary", "watch changes", "watches", "discussion", "storm surge", "wind",
        "rainfall", "tornadoes", "surf", "next advisory",
    ]
    assert all(PRODUCT[b.start : b.end] == b.text for b in blocks)
    assert truncated_at(PRODUCT) is None


def test_facts_of_every_section() -> None:
    facts, _ = _read(PRODUCT)
    assert _values(facts["has_position"], "latitude", "longitude") == [("25.5", "-78.5")]
    assert _values(facts["has_motion"], "direction", "speed_mph") == [("NW", "10")]
    assert _values(facts["has_intensity"], "wind_mph") == [("115",)]
    assert _values(facts["has_pressure"], "pressure_mb") == [("950",)]
    assert _values(facts["has_category_state"], "category") == [("Category 3",)] * 2
    assert _values(facts["has_reference_distance"], "distance_mi", "bearing") == [("110", "E")]
    assert _values(facts["has_wind_radii"], "wind_class", "radius_mi") == [("hurricane", "40")]
    assert _values(facts["has_warning_status"], "advisory", "segment") == [
        ("Hurricane Warning", "Alder Point to Birch Inlet"), ("Hurricane Warning", "Cedar Bay")]
    assert _values(facts["has_advisory_change"], "advisory", "action", "from") == [
        ("Hurricane Warning", "changed", "Hurricane Watch")]
    assert _values(facts["forecasts_landfall"], "landfall_location", "date", "hours") == [
        ("Alder Point", "2018-09-08", "29")]
    assert _values(facts["forecasts_track"], "direction", "date")[0] == ("N", "2018-09-08")
    assert _values(facts["forecasts_intensity"], "action", "date") == [
        ("weakening", "2018-09-09")]
    assert _values(facts["forecasts_storm_surge"], "area", "low", "high") == [
        ("Alder Point to Birch Inlet including Cedar Bay", "4", "7"),
        ("Birch Inlet to Dune Beach", "2", "4")]
    assert _values(facts["forecasts_rainfall"], "area", "low", "high", "isolated") == [
        ("Eastern Florida", "3", "6", "9"), ("Cuba", "1", "2", None)]
    assert _values(facts["has_hazard_arrival"], "hazard", "hours") == [
        ("hurricane conditions", "29"), ("tropical storm conditions", "19")]
    assert _values(facts["has_additional_hazard"], "hazard", "area") == [
        ("flash floods", None), ("tornadoes", "south Florida"), ("swells", "the Bahamas")]
    assert _values(facts["has_next_advisory"], "hours") == [("6",)]


def test_segments_under_a_watch_or_warning() -> None:
    _, blocks = _read(PRODUCT)
    texts = {b.section: segment_texts(b) for b in blocks}
    assert texts["watches"] == ("Alder Point to Birch Inlet", "Cedar Bay")
    assert not texts["discussion"]
    lifted = PRODUCT.replace("changed to a\nHurricane Warning", "discontinued")
    _, blocks = _read(lifted)
    assert not next(segment_texts(b) for b in blocks if b.section == "watch changes")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", "header"),
        ("No bulletin at all.\n", "header"),
        (f"{TITLE}\nwithout a time\n", "header"),
        (PRODUCT[: PRODUCT.index("LOCATION")], "summary"),
        (PRODUCT.replace("EDT Fri", "QQT Fri").replace("2100 UTC", "noon"), "issuance line"),
    ],
)
def test_what_cannot_be_read_is_named(text: str, place: str) -> None:
    with pytest.raises(CorpusError) as caught:
        parse_advisory(text, "hash", "odd.txt")
    assert (caught.value.file, caught.value.place) == ("odd.txt", place)


@pytest.mark.parametrize(
    ("upto", "section"),
    [("MINIMUM CENTRAL", "summary"), ("* Cedar Bay", "watches"), ("TORNADOES", "hazards"),
     ("Next complete", "next advisory")],
)
def test_a_truncated_product_says_where(upto: str, section: str) -> None:
    cut = PRODUCT[: PRODUCT.index(upto)]
    assert truncated_at(cut) == section
    facts, _ = _read(cut)
    assert "has_position" in facts


def test_a_stripped_envelope_is_not_a_truncation() -> None:
    bare = PRODUCT[PRODUCT.index("BULLETIN") : PRODUCT.index("$$")]
    assert truncated_at(bare) is None


@pytest.mark.parametrize(
    "text",
    [
        PRODUCT.replace(TITLE, f"{TITLE}...Corrected"),
        PRODUCT.replace("TTAA00 KNHC DDHHMM", "WTNT33 KNHC 072047 CCA"),
    ],
)
def test_a_correction_is_flagged_and_keeps_the_product_id(text: str) -> None:
    first, _ = parse_advisory(PRODUCT, "a", "a.txt")
    corrected, _ = parse_advisory(text, "b", "b.txt")
    assert corrected.corrected
    assert corrected.product_id == first.product_id


@pytest.mark.parametrize(
    ("title", "status", "category", "storm"),
    [
        ("Potential Tropical Cyclone Nine Advisory Number   1", "potential tropical cyclone",
         "Potential Tropical Cyclone", "NINE"),
        ("Post-Tropical Cyclone Quill Advisory Number  30", "post-tropical cyclone",
         "Post-Tropical Cyclone", "QUILL"),
        ("Remnants of Quill Advisory Number  31", "remnants", "Remnants", "QUILL"),
        ("Subtropical Storm Quill Special Advisory Number 2", "subtropical storm",
         "Subtropical Storm", "QUILL"),
        ("Tropical Depression Seventeen-E Intermediate Advisory Number 2A",
         "tropical depression", "Tropical Depression", "SEVENTEEN-E"),
    ],
)
def test_status_from_the_title(title: str, status: str, category: str, storm: str) -> None:
    document, _ = parse_advisory(PRODUCT.replace(TITLE, title), "hash", "quill.txt")
    facts, _ = _read(PRODUCT.replace(TITLE, title))
    assert document.storm == storm
    assert _values(facts["has_cyclone_state"], "status") == [(status,)]
    assert (category,) in _values(facts["has_category_state"], "category")


def test_letter_case_does_not_matter() -> None:
    """Upper, lower and mixed case give the same figures (tags of hazards need a colon)."""
    numbers = ("has_position", "has_motion", "has_intensity", "has_pressure", "has_wind_radii",
               "forecasts_storm_surge", "has_next_advisory")
    expected, _ = _read(PRODUCT)
    for text in (PRODUCT.upper(), PRODUCT.lower()):
        facts, _ = _read(text)
        for relation in numbers:
            assert _values(facts[relation], "latitude", "speed_mph", "low", "high", "hours") == (
                _values(expected[relation], "latitude", "speed_mph", "low", "high", "hours"))


def test_time_from_the_summary_when_the_zone_is_unknown() -> None:
    document, _ = parse_advisory(PRODUCT.replace("PM EDT Fri", "PM QQT Fri"), "h", "q.txt")
    assert document.issued == datetime(2018, 9, 7, 21, tzinfo=UTC)


@pytest.mark.parametrize(
    ("phrase", "day", "hours"),
    [
        ("by late tonight", "2018-09-07", 6), ("early Saturday", "2018-09-08", 10),
        ("midday Sunday", "2018-09-09", 43), ("through next Friday", "2018-09-14", 163),
        ("this late afternoon or tonight", "2018-09-07", 0),
    ],
)
def test_moments(phrase: str, day: str, hours: float) -> None:
    found = moment(phrase, datetime(2018, 9, 7, 17))
    assert found is not None
    assert (found[0].isoformat(), found[1]) == (day, hours)


def test_no_moment_in_a_span_of_days() -> None:
    assert moment("during the next few days", datetime(2018, 9, 7)) is None


@given(st.integers(0, 250))
def test_category_grows_with_the_wind(mph: int) -> None:
    assert 0 <= saffir_simpson(mph) <= saffir_simpson(mph + 1) <= 5


@given(st.integers(0, len(PRODUCT)))
def test_any_cut_parses_or_is_named(end: int) -> None:
    try:
        _, blocks = parse_advisory(PRODUCT[:end], "hash", "cut.txt")
    except CorpusError:
        return
    assert all(is_grounded(fact, block.text) for block in blocks for fact in extract(block))


@given(st.lists(st.booleans(), min_size=120, max_size=120))
def test_line_breaks_inside_a_paragraph_do_not_matter(breaks: list[bool]) -> None:
    paragraph = HAZARDS[HAZARDS.index("WIND") : HAZARDS.index("RAINFALL")].strip()
    words = paragraph.split()
    wrapped = "".join(
        word + ("\n" if cut else " ") for word, cut in zip(words, breaks, strict=False))
    facts, _ = _read(PRODUCT.replace(paragraph, wrapped.strip()))
    expected, _ = _read(PRODUCT)
    for relation in ("forecasts_hazard_at_horizon", "has_hazard_arrival"):
        assert [f.attributes for f in facts[relation]] == [
            f.attributes for f in expected[relation]]


def test_every_real_advisory(shared_data: Path) -> None:
    """All 360 parse; each states the core facts once; all is grounded and in the vocabulary."""
    paths = sorted((shared_data / "nhc" / "advisory").glob("*.txt"))
    assert len(paths) == 360
    total = corrected = 0
    for path in paths:
        document, facts = read_file(path)
        year = path.stem.split("_")[-2]
        assert document.issued is not None
        assert str(document.issued.year) == year
        corrected += document.corrected
        assert truncated_at(document.text) is None
        relations = [fact.relation for _, fact in facts]
        for core in ("has_position", "has_motion", "has_intensity", "has_pressure"):
            assert relations.count(core) == 1, path.name
        for block, fact in facts:
            assert block.text[fact.start : fact.end] == fact.evidence
            assert is_grounded(fact, block.text)
            assert fact.relation in RELATIONS
            assert {a.key for a in fact.attributes} <= set(ATTRIBUTES)
            assert {m.type for m in fact.mentions} <= set(ENTITY_TYPES)
            assert 0 < fact.confidence <= 1
        total += len(facts)
    assert corrected == 21
    assert 30 <= total / len(paths) <= 40
