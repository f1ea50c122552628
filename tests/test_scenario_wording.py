"""Scenarios in other people's words: other headers, sentences, units, bullets and labels."""

from __future__ import annotations

import pytest

from okh.corpus.scenario import find_horizons, parse_scenario
from okh.domain import Fact
from okh.extraction.extractor import is_grounded
from okh.extraction.scenario_rules import extract

HEAD = "Storm: Quill\nYear: 2031\nPort: Port of Savannah, GA\n\n"

Expected = tuple[str, dict[str, str]]

SCENARIOS: dict[str, tuple[str, int, list[Expected]]] = {
    "prose": (
        """T – 48 h
Quill is now a Category 2 hurricane. At last report its eye lay at 28.4°N 78.1°W, some 215 miles
southeast of Savannah. The hurricane is moving toward the northwest at 10 knots, with maximum
sustained winds of 100 mph and a central pressure of 965 mb. Landfall is forecast near Hilton Head
on September 14, 2031, in about 46 hours. The port lies well within the forecast cone.
""",
        48,
        [
            ("has_category_state", {"category": "Category 2"}),
            ("has_position", {"latitude": "28.4", "longitude": "-78.1"}),
            ("has_reference_distance", {"distance_mi": "215", "bearing": "SE"}),
            ("has_motion", {"direction": "NW", "speed_mph": "12"}),
            ("has_intensity", {"wind_mph": "100"}),
            ("has_pressure", {"pressure_mb": "965"}),
            ("forecasts_landfall", {"date": "2031-09-14"}),
            ("has_hours_to_landfall", {"hours": "46"}),
            ("within_forecast_cone", {"within_cone": "yes"}),
        ],
    ),
    "bullets": (
        """## [T-72]
* Status: Tropical Storm
* Position: 25.0N, 71.3W
* Movement: WNW at 24 km/h
* Max winds: 60 kt
* Cone: outside
* Watches: none
* Warnings: none
* Closest approach: 2031-09-15
""",
        72,
        [
            ("has_cyclone_state", {"status": "tropical storm"}),
            ("has_category_state", {"category": "Tropical Storm"}),
            ("has_position", {"latitude": "25.0", "longitude": "-71.3"}),
            ("has_motion", {"direction": "WNW", "speed_mph": "15", "speed_kmh": "24"}),
            ("has_intensity", {"wind_kt": "60", "wind_mph": "69"}),
            ("within_forecast_cone", {"within_cone": "no"}),
            ("has_watch_status", {"advisory": "None"}),
            ("has_warning_status", {"advisory": "None"}),
            ("has_closest_approach", {"date": "2031-09-15"}),
        ],
    ),
    "alerts": (
        """Horizon T-36:
A Hurricane Warning is in effect for the port. A Storm Surge Watch covers the coast from Altamaha
Sound to South Santee River. The track is expected to turn north along the Georgia coast.
""",
        36,
        [
            ("has_warning_status", {"advisory": "Hurricane Warning"}),
            ("has_watch_status", {"segment": "from Altamaha Sound to South Santee River"}),
        ],
    ),
    "probabilities": (
        """60 hours before landfall
Chances of tropical-storm-force winds at Savannah: 5 % in 24 hours, 20 % in 48 hours and 45 % in
72 hours. Overall there is a 52 percent probability of 34-knot winds over the next five days.
The odds of 50 kt winds top out at 18% around hour 60. The 34 kt probability first rises above
zero in 18 hrs.
""",
        60,
        [
            ("has_leadtime_probability",
             {"threshold_kt": "34", "period_h": "24", "probability": "5"}),
            ("has_leadtime_probability",
             {"threshold_kt": "34", "period_h": "48", "probability": "20"}),
            ("has_leadtime_probability",
             {"threshold_kt": "34", "period_h": "72", "probability": "45"}),
            ("has_cumulative_probability",
             {"threshold_kt": "34", "period_h": "120", "probability": "52"}),
            ("has_peak_probability", {"threshold_kt": "50", "probability": "18"}),
            ("has_first_nonzero_probability", {"threshold_kt": "34", "hours": "18"}),
        ],
    ),
    "hazards": (
        """T-24 hours prior to landfall -
Storm surge: 4 to 7 feet along the Georgia coast.
Rain: 5-8 inches, isolated amounts of 12 inches.
Wind: gusts of 75 mph possible at the terminals.
Rainfall is likely to exceed 4 inches at the port. Storm surge over 3 feet is not expected.
The first threat at the port will be gale-force winds, in 14 hours.
Other threats: tornadoes and dangerous rip currents.
""",
        24,
        [
            ("forecasts_storm_surge", {"low": "4", "high": "7"}),
            ("forecasts_rainfall", {"low": "5", "high": "8", "isolated": "12"}),
            ("forecasts_wind", {"low": "75"}),
            ("has_threshold_status",
             {"hazard": "rainfall", "threshold": "4 in", "exceeded": "likely"}),
            ("has_threshold_status",
             {"hazard": "storm surge", "threshold": "3 ft", "exceeded": "no"}),
            ("has_hazard_arrival", {"hours": "14"}),
            ("has_additional_hazard", {"hazard": "tornado"}),
            ("has_additional_hazard", {"hazard": "rip current"}),
        ],
    ),
    "operations": (
        """**T-12:**
The Captain of the Port set port condition Yankee for Savannah. All vessels must clear the harbor
before winds of 34 kt arrive. Ocean-going vessels should depart within six hours. Waterfront
facilities shall suspend cargo handling.
""",
        12,
        [
            ("has_operation_status", {"condition": "YANKEE"}),
            ("affects_vessel_handling", {"vessels": "all"}),
            ("affects_vessel_handling", {"vessels": "ocean-going"}),
            ("affects_facility_operation", {}),
        ],
    ),
    "outcome": (
        """T+24 hours after landfall:
Freight traffic was disrupted for three days. The disruption peaked on 15 September 2031. Cargo
traffic recovered within 6 days.
""",
        -24,
        [
            ("has_impact_prediction",
             {"purpose": "duration", "days": "3", "observed": "true"}),
            ("has_impact_prediction",
             {"purpose": "peak", "date": "2031-09-15", "observed": "true"}),
            ("has_recovery_status", {"days": "6", "observed": "true"}),
        ],
    ),
    "negatives": (
        """Lead time: 96 h before expected landfall
The port is not under any watch or warning. Quill is not expected to make landfall in the United
States. It is nearly stationary. The forecast covers a five-day period. Savannah sits outside the
cone of uncertainty.
""",
        96,
        [
            ("has_watch_status", {"advisory": "None"}),
            ("has_warning_status", {"advisory": "None"}),
            ("forecasts_landfall", {"landfall_location": "none"}),
            ("has_motion", {"direction": "stationary", "speed_mph": "0"}),
            ("within_forecast_cone", {"within_cone": "no"}),
        ],
    ),
    "telegram": (
        """T-108:
TD Quill; lat 14.2N lon 55.0W; moving W 15 mph. Landfall expected between Charleston and Wilmington
on 2031-09-16. The storm should leave the port area by 17 Sep 2031. The port can expect to be
affected for 18 hours. It should move offshore in 130 hours.
""",
        108,
        [
            ("has_position", {"latitude": "14.2", "longitude": "-55.0"}),
            ("has_motion", {"direction": "W", "speed_mph": "15"}),
            ("forecasts_landfall", {"date": "2031-09-16"}),
            ("has_departure_time", {"date": "2031-09-17", "area": "port"}),
            ("has_strike_duration", {"hours": "18"}),
            ("has_departure_time", {"hours": "130", "area": "offshore"}),
        ],
    ),
}


def facts_of(text: str) -> list[tuple[int | None, Fact]]:
    _, blocks = parse_scenario(HEAD + text, "0" * 64, "a.txt")
    found = [(block, fact) for block in blocks for fact in extract(block)]
    for block, fact in found:
        assert is_grounded(fact, block.text) and block.text[fact.start : fact.end] == fact.evidence
    return [(block.lead, fact) for block, fact in found]


def holds(fact: Fact, relation: str, attributes: dict[str, str]) -> bool:
    return fact.relation == relation and all(
        fact.attribute(key) == value for key, value in attributes.items()
    )


@pytest.mark.parametrize("name", SCENARIOS)
def test_facts_are_read_whatever_the_words(name: str) -> None:
    text, lead, expected = SCENARIOS[name]
    found = [fact for at, fact in facts_of(text) if at == lead]
    missing = [
        (relation, attributes) for relation, attributes in expected
        if not any(holds(fact, relation, attributes) for fact in found)
    ]
    assert missing == [], [
        (f.relation, [(a.key, a.value) for a in f.attributes]) for f in found
    ]


@pytest.mark.parametrize("name", SCENARIOS)
def test_nothing_is_read_that_contradicts_the_words(name: str) -> None:
    """A fact of a single-valued kind is one that the scenario states."""
    text, _, expected = SCENARIOS[name]
    for _, fact in facts_of(text):
        stated = [attributes for relation, attributes in expected if relation == fact.relation]
        if fact.relation in ("has_position", "has_category_state", "has_motion", "has_pressure",
                             "within_forecast_cone", "has_operation_status", "has_intensity"):
            assert any(holds(fact, fact.relation, attributes) for attributes in stated), fact


@pytest.mark.parametrize(
    ("header", "lead"),
    [
        ("T-48 hours before expected landfall:", 48), ("T-48:", 48), ("T – 48 h", 48),
        ("[T-48]", 48), ("Horizon T-48", 48), ("48 hours before landfall", 48),
        ("## T−12 ##", 12), ("**T-0**", 0), ("T+24:", -24), ("24 h after landfall:", -24),
        ("At landfall:", 0), ("--- T-60 ---", 60), ("T minus 36 hours", 36), ("T-36: it rains", 36),
    ],
)
def test_headers_that_people_write(header: str, lead: int) -> None:
    assert [h.lead for h in find_horizons(f"Before.\n{header}\nAfter.\n")] == [lead]


@pytest.mark.parametrize(
    "line",
    ["At 48 hours the wind rises.", "T-shirt sales rose.", "Landfall is expected in 48 hours.",
     "T-4800:", "The storm, T-48 hours out, grew.", "-" * 5000, "=" * 5000, "#" * 5000,
     "T-48" + "=" * 3000 + "x", "> " * 3000],
)
def test_lines_that_are_no_header_even_hostile_ones(line: str) -> None:
    assert find_horizons(f"Before.\n{line}\nAfter.\n") == []
