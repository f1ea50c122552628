"""The reader over steps as raw products give them: whole lists, wind tables, horizons."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from okh.domain import NOT_STATED, AnswerType, Attribute, Hyperedge, Question, Terms, Trajectory
from okh.generation.products import covers_port, in_force, product_of, severity
from okh.generation.reader import ExtractiveReader
from okh.generation.target import query_text, target
from okh.vocabulary import RELATIONS

READER = ExtractiveReader()
START = datetime(2031, 9, 14, 21, tzinfo=UTC)
WARNING = "Is a hurricane warning in effect for the coast where the port lies?"
WHICH = "What type of watch is in effect at the port?"
KINDS = ("None", "Tropical Storm", "Hurricane")


def step(relation: str, lead: int, *, kind: str = "advisory", **attributes: str) -> Hyperedge:
    """A step of a product issued when its horizon stands; ``km`` is short for ``distance_km``."""
    units = {"probability": "%", "hours": "h", "high": "ft", "low": "ft", "wind_mph": "mph"}
    named = {("distance_km" if k == "km" else k): v for k, v in attributes.items()}
    told = tuple(Attribute(k, v, units.get(k, "")) for k, v in named.items())
    family, rank = RELATIONS[relation]
    text = " ".join(f"{a.key} {a.value}" for a in told)
    return Hyperedge(
        id=f"{relation}{lead}{text}", group="ODESSA-2031|savannah-ga", relation=relation,
        raw_relation=relation, family=family, story=family, sub_rank=rank, phase="other",
        lead=lead, lead_from=None, static=False, entities=("cyclone:ODESSA-2031",),
        evidence=text, attributes=told, confidence=1.0, grounded=True, synthetic=False,
        observed=False, issued=START + timedelta(hours=72 - lead), source_kind="products",
        kind="wind_table" if kind == "wind_table" else "advisory", spans=(),
    )


def path(*edges: Hyperedge) -> Trajectory:
    return Trajectory(edges, 1.0, Terms(0.0, 0.0, 0.0, 0.0, 0.0))


def question(
    text: str, kind: AnswerType, lead: int = 36, choices: tuple[str, ...] = ()
) -> Question:
    return Question(text, kind, choices, "ODESSA", 2031, "savannah-ga", lead, lead)


def asked(text: str, kind: AnswerType, *paths: Trajectory, lead: int = 36,
          choices: tuple[str, ...] = ()) -> str:
    return READER.read(question(text, kind, lead, choices), paths, {}).value


NONE_72 = step("has_warning_status", 72, advisory="None")
HERE_36 = step("has_warning_status", 36, advisory="Hurricane Warning", segment="A to B", km="0")
SURGE_36 = step("has_warning_status", 36, advisory="Storm Surge Warning", segment="A to B", km="0")
AWAY_36 = step("has_warning_status", 36, advisory="Hurricane Warning", segment="Y to Z")


# --- watches and warnings -------------------------------------------------------------


def test_a_newer_list_replaces_none() -> None:
    assert asked(WARNING, AnswerType.TF, path(NONE_72, HERE_36)) == "Yes"


def test_a_list_of_another_trajectory_replaces_none_too() -> None:
    assert asked(WARNING, AnswerType.TF, path(NONE_72), path(HERE_36, SURGE_36)) == "Yes"


def test_none_replaces_an_older_warning() -> None:
    older = step("has_warning_status", 48, advisory="Hurricane Warning", segment="A to B", km="0")
    newer = step("has_warning_status", 36, advisory="None")
    assert asked(WARNING, AnswerType.TF, path(older, newer)) == "No"


def test_a_warning_elsewhere_is_none_here_and_less_sure() -> None:
    answer = READER.read(question(WARNING, AnswerType.TF), [path(AWAY_36)], {})
    assert answer.value == "No" and answer.confidence < 0.7
    assert "reaches the port" in answer.rationale


def test_a_warning_elsewhere_answers_where_no_port_is_asked_for() -> None:
    assert asked("Is a hurricane warning in effect?", AnswerType.TF, path(AWAY_36)) == "Yes"


def test_a_newer_list_without_the_port_ends_its_watch() -> None:
    older = step("has_watch_status", 48, advisory="Hurricane Watch", segment="A to B", km="0")
    assert asked(WHICH, AnswerType.MC, path(older), choices=KINDS) == "C"
    assert asked(WHICH, AnswerType.MC, path(older, AWAY_36), choices=KINDS) == "A"
    assert asked(WHICH, AnswerType.MC, path(older), path(AWAY_36), choices=KINDS) == "A"


def test_a_warning_is_no_watch() -> None:
    change = step("has_advisory_change", 36, advisory="Tropical Storm Warning",
                  segment="A to B", action="issued", km="0")
    assert asked(WHICH, AnswerType.MC, path(change), choices=KINDS) != "B"


def test_what_was_discontinued_is_not_in_force() -> None:
    ended = step("has_advisory_change", 36, advisory="Hurricane Warning", segment="A to B",
                 action="discontinued", km="0")
    assert not in_force(ended)
    assert asked(WARNING, AnswerType.TF, path(ended)) != "Yes"


def test_the_strongest_of_several_alerts_is_chosen() -> None:
    both = path(
        step("has_watch_status", 36, advisory="Storm Surge Watch", segment="A to B", km="0"),
        step("has_watch_status", 36, advisory="Tropical Storm Watch", segment="A to C", km="0"),
        step("has_watch_status", 36, advisory="Hurricane Watch", segment="A to D", km="0"),
    )
    assert asked(WHICH, AnswerType.MC, both, choices=KINDS) == "C"


def test_a_surge_warning_is_no_tropical_storm_warning() -> None:
    text = "Is a tropical storm warning in effect at the port?"
    assert asked(text, AnswerType.TF, path(SURGE_36)) == "No"
    alerts = ("Hurricane Watch", "Tropical Storm Warning", "Storm Surge Watch")
    ranks = [severity(a) for a in alerts]
    assert ranks == sorted(set(ranks), reverse=True)


@given(st.permutations([HERE_36, SURGE_36, AWAY_36]))
def test_the_order_inside_one_product_does_not_matter(steps: list[Hyperedge]) -> None:
    assert asked(WARNING, AnswerType.TF, path(NONE_72, *steps)) == "Yes"


def test_a_scenario_speaks_for_its_port() -> None:
    told = dataclasses.replace(HERE_36, source_kind="scenario", kind="scenario")
    assert covers_port(told) and covers_port(HERE_36) and not covers_port(AWAY_36)
    assert product_of(told) == product_of(HERE_36) != product_of(NONE_72)


# --- amounts --------------------------------------------------------------------------

EXCEEDS = "Is storm surge expected to exceed 3 feet at the port?"
DEGREES = ("Unlikely", "No", "Yes", "Possible")


@pytest.mark.parametrize(("low", "high", "km", "choice"), [
    ("4", "6", "0", "C"), ("2", "4", "0", "C"), ("1", "4", "0", "D"), ("1", "2", "0", "B"),
    ("4", "6", "", "B"),
])
def test_an_amount_against_a_bound(low: str, high: str, km: str, choice: str) -> None:
    place = {"area": "A to B", **({"km": km} if km else {})}
    surge = step("forecasts_storm_surge", 36, hazard="storm surge", low=low, high=high, **place)
    assert asked(EXCEEDS, AnswerType.MC, path(surge), choices=DEGREES) == choice


def test_a_newer_list_of_amounts_replaces_areas_named_otherwise() -> None:
    older = step("forecasts_storm_surge", 48, hazard="storm surge", area="A to B", low="6",
                 high="9", km="0")
    newer = step("forecasts_storm_surge", 36, hazard="storm surge", area="A to C", low="2",
                 high="4", km="0")
    text = "How many feet of storm surge are forecast at the port?"
    assert asked(text, AnswerType.SA, path(older, newer)) == "4"
    assert asked(text, AnswerType.SA, path(older), path(newer)) == "4"


# --- wind tables ----------------------------------------------------------------------

CHANCE = "What is the cumulative probability of 34-kt winds within five days at the port?"


def row(lead: int, location: str, km: str, percent: str) -> Hyperedge:
    return step("has_cumulative_probability", lead, kind="wind_table", location=location,
                threshold_kt="34", period_h="120", probability=percent, statistic="cumulative",
                km=km)


def test_the_nearest_location_answers() -> None:
    near, far = row(36, "SAVANNAH GA", "10", "62"), row(36, "BEAUFORT MCAS", "57", "56")
    assert asked(CHANCE, AnswerType.SA, path(far), path(near)) == "62"


def test_the_newest_table_answers_and_an_old_one_is_trusted_less() -> None:
    old, new = row(72, "SAVANNAH GA", "10", "47"), row(36, "SAVANNAH GA", "10", "62")
    assert asked(CHANCE, AnswerType.SA, path(old), path(new)) == "62"
    sure, stale = (READER.read(question(CHANCE, AnswerType.SA), [path(r)], {}) for r in (new, old))
    assert stale.value == "47" and stale.confidence < sure.confidence


def test_a_row_that_is_gone_from_the_newest_table_is_told_with_a_warning() -> None:
    old, other = row(72, "SAVANNAH GA", "10", "47"), row(36, "NOME AK", "400", "9")
    answer = READER.read(question(CHANCE, AnswerType.SA), [path(old, other)], {})
    plain = READER.read(question(CHANCE, AnswerType.SA), [path(old)], {})
    assert answer.value == plain.value == "47"
    assert answer.confidence < plain.confidence and "T-36" in answer.rationale


# --- time -----------------------------------------------------------------------------


def test_weaker_than_before_looks_back_as_far_as_asked() -> None:
    winds = path(*(step("has_intensity", lead, wind_mph=mph)
                   for lead, mph in ((48, "65"), (36, "125"), (24, "115"))))
    text = "Have the maximum sustained winds weakened in the last {}?"
    assert asked(text.format("12 hours"), AnswerType.TF, winds, lead=24) == "Yes"
    assert asked(text.format("day"), AnswerType.TF, winds, lead=24) == "No"


def test_a_horizon_counts_the_hours_to_landfall_where_no_product_does() -> None:
    text = "How many hours remain until landfall?"
    answer = READER.read(question(text, AnswerType.SA), [path(NONE_72, HERE_36)], {})
    assert answer.value == "36" and answer.confidence <= 0.5
    assert asked(text, AnswerType.SA, path(NONE_72)) == NOT_STATED
    stated = step("forecasts_landfall", 36, landfall_location="A", hours="31")
    assert asked(text, AnswerType.SA, path(HERE_36, stated)) == "31"


# --- the text to embed ----------------------------------------------------------------


def test_the_query_is_worded_as_an_edge_is() -> None:
    told = query_text(question(CHANCE, AnswerType.SA))
    assert told.startswith("has cumulative probability") and "threshold kt 34" in told
    assert told.endswith("T-36") and "next" not in told
    unknown = question("Who wrote this?", AnswerType.SA)
    assert not target(unknown).relations and query_text(unknown) == "Who wrote this?"
