"""The extractive reader: laws of sequential reading, typed answers, several trajectories."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from okh.corpus.scenario import Subject, parse_scenario
from okh.domain import (
    NOT_STATED,
    Answer,
    AnswerType,
    Attribute,
    Group,
    Hyperedge,
    Question,
    Terms,
    Trajectory,
    digest,
)
from okh.extraction.scenario_rules import extract
from okh.generation.quantities import convert, quantities, unit_of
from okh.generation.reader import ExtractiveReader, combine
from okh.generation.target import fit, query_text, target
from okh.normalization import Hypergraph, LocatedFact, normalize
from okh.precedence import canonical_order
from tests.strategies import hyperedges

GROUP = Group("ODESSA", 2031, "port-of-savannah-ga")
READER = ExtractiveReader()
NO_TERMS = Terms(0.0, 0.0, 0.0, 0.0, 0.0)

SCENARIO = """Storm: ODESSA
Year: 2031
Port: Port of Savannah, GA

T-48 hours before expected landfall:
ODESSA is a tropical storm, classified as Tropical Storm.
The center of ODESSA is located at 27.1N, 77.9W.
Its present motion is NW, at a forward speed of 10 mph.
Maximum sustained winds are 65 mph.
Landfall is expected in 46 hours.
The port is under a watch: Tropical Storm Watch.
The port lies outside the forecast uncertainty cone.
The cumulative 5-day probability of 34 kt winds at SAVANNAH GA is 26%.
The cumulative 5-day probability of 50 kt winds at SAVANNAH GA is 4%.
Storm surge outlook: 1-2 ft above ground level.
Rainfall outlook: 2-4 inches.
Port condition WHISKEY is in effect at the port.

T-24 hours before expected landfall:
ODESSA is classified as a hurricane, Category 2 strength.
The center of ODESSA is located at 29.4N, 79.6W.
Its present motion is NNW, at a forward speed of 15 mph.
Maximum sustained winds are 100 mph.
Landfall is expected in 23 hours.
The port is under a warning: Hurricane Warning.
The port lies inside the forecast uncertainty cone.
The cumulative 5-day probability of 34 kt winds at SAVANNAH GA is 71%.
In 12 hours the gale (34 kt) probability at SAVANNAH GA is 12%.
In 24 hours the gale (34 kt) probability at SAVANNAH GA is 40%.
Storm surge outlook: 4-6 ft above ground level.
Rainfall above 4 inches at the port: likely.
Port condition YANKEE is in effect at the port.
Guidance for port facilities: secure all loose cargo.
"""


@lru_cache(maxsize=1)
def graph() -> Hypergraph:
    document, blocks = parse_scenario(
        SCENARIO, digest(SCENARIO), "odessa", Subject("ODESSA", 2031, "Port of Savannah, GA")
    )
    facts = [
        LocatedFact(
            fact, document.hash, block.start + fact.start, block.start + fact.end, block.lead,
            None, "scenario", "scenario", static=block.lead is None,
        )
        for block in blocks for fact in extract(block)
    ]
    return normalize(GROUP, facts)


def trajectory(edges: Sequence[Hyperedge]) -> Trajectory:
    return Trajectory(tuple(edges), 0.0, NO_TERMS)


def canonical() -> list[Hyperedge]:
    edges = graph().edges
    return [edges[i] for i in canonical_order(edges)]


def ask(
    text: str, kind: AnswerType, *, choices: tuple[str, ...] = (), as_of: int | None = None,
    edges: Sequence[Hyperedge] | None = None,
) -> Answer:
    question = Question(
        text, kind, choices, GROUP.storm, GROUP.year, GROUP.port, as_of, as_of
    )
    path = trajectory(canonical() if edges is None else edges)
    return READER.read(question, [path], graph().entities)


TF, MC, SA, TD = AnswerType.TF, AnswerType.MC, AnswerType.SA, AnswerType.TD


# --- questions written by hand --------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind", "as_of", "value", "unit"),
    [
        ("Where is the eye of the storm?", SA, 48, "27.1N, 77.9W", None),
        ("Where is the center now?", SA, 24, "29.4N, 79.6W", None),
        ("How fast is Odessa moving?", SA, 24, "15", "mph"),
        ("How fast is Odessa moving, in km/h?", SA, 24, "24", "km/h"),
        ("In which direction does it move?", SA, 48, "NW", None),
        ("What are the maximum sustained winds in knots?", SA, 24, "87", "kt"),
        ("How strong are the maximum winds?", SA, 24, "100", "mph"),
        ("How many hours are left until landfall?", SA, 24, "23", "h"),
        ("What is the chance of 34-kt winds over the next five days?", SA, 48, "26", "%"),
        ("How likely, in percent, is the probability of 50 kt winds?", SA, 48, "4", "%"),
        ("What is the probability of gale winds within 24 hours?", SA, 24, "40", "%"),
        ("How high will the storm surge be in metres?", SA, 24, "1.8", "m"),
        ("How much rain is expected, in mm?", SA, 48, "101.6", "mm"),
        ("Which port condition is set?", SA, 48, "WHISKEY", None),
        ("Is the port inside the cone?", TF, 24, "Yes", None),
        ("Is the port inside the cone?", TF, 48, "No", None),
        ("Is the port outside the forecast cone?", TF, 48, "Yes", None),
        ("Is Odessa a hurricane?", TF, 24, "Yes", None),
        ("Is Odessa a hurricane?", TF, 48, "No", None),
        ("Is Odessa at least a category 3 hurricane?", TF, 24, "No", None),
        ("Is a hurricane warning in effect for the port?", TF, 24, "Yes", None),
        ("Is a tropical storm warning in effect for the port?", TF, 24, "No", None),
        ("Does the chance of 34 kt winds exceed 50%?", TF, 24, "Yes", None),
        ("Does the chance of 34 kt winds exceed 50%?", TF, 48, "No", None),
        ("Is the storm surge expected to exceed 3 feet?", TF, 24, "Yes", None),
        ("Is the storm surge expected to stay below 3 feet?", TF, 48, "Yes", None),
        ("Are maximum sustained winds above 120 km/h?", TF, 24, "Yes", None),
        ("Will rainfall exceed 4 inches at the port?", TF, 24, "Yes", None),
        ("Is the storm moving north?", TF, 24, "Yes", None),
        ("Is the storm moving south?", TF, 24, "No", None),
        ("Is the port under condition ZULU?", TF, 24, "No", None),
        ("Have the maximum sustained winds increased?", TF, 24, "Yes", None),
        ("Has the central pressure dropped?", TF, 24, NOT_STATED, None),
        ("What is the central pressure?", SA, 24, NOT_STATED, None),
        ("How many hours are left until landfall?", SA, 36, "34", "h"),
    ],
)
def test_questions_by_hand(
    text: str, kind: AnswerType, as_of: int, value: str, unit: str | None
) -> None:
    answer = ask(text, kind, as_of=as_of)
    assert answer.value == value, answer.rationale
    if unit is not None:
        assert answer.details["unit"] == unit
    assert (answer.confidence > 0) == (value != NOT_STATED)


@pytest.mark.parametrize(
    ("text", "choices", "as_of", "letter"),
    [
        ("What category is the storm?",
         ("Tropical Depression", "Tropical Storm", "Category 1", "Category 2"), 24, "D"),
        ("What kind of watch stands for the port?", ("None", "Tropical Storm", "Hurricane"),
         48, "B"),
        ("In which interval is landfall expected?",
         ("0-12 hours", "12-24 hours", "24-48 hours", "48 hours or more"), 24, "B"),
        ("In how many hours is landfall expected?", ("half a day", "1 day", "2 days", "3 days"),
         48, "C"),
        ("What is the port condition?", ("Normal", "Whiskey", "X-Ray", "Yankee", "Zulu"), 24, "D"),
        ("Is rainfall expected to exceed 4 inches?", ("Unlikely", "No", "Yes", "Possible"),
         24, "C"),
        ("Is the port inside the cone?", ("Yes", "No"), 48, "B"),
        ("What is the minimum pressure?", ("980 mb", "990 mb"), 24, NOT_STATED),
    ],
)
def test_choices_by_hand(
    text: str, choices: tuple[str, ...], as_of: int, letter: str
) -> None:
    answer = ask(text, MC, choices=choices, as_of=as_of)
    assert answer.value == letter, answer.rationale
    if letter != NOT_STATED:
        assert answer.details["choice"] == choices[ord(letter) - ord("A")]


def test_several_periods_give_a_record() -> None:
    answer = ask("Give the gale probability for 12, 24 and 48 hours.", SA, as_of=24)
    assert json.loads(answer.value) == {"12h": "12%", "24h": "40%", "48h": "not stated"}


def test_description_tells_the_change_and_its_horizons() -> None:
    answer = ask("Describe how the maximum sustained winds develop.", TD, as_of=24)
    assert "100 mph" in answer.value and "65 mph" in answer.value and "T-24" in answer.value


def test_details_name_time_place_statistic_and_source() -> None:
    answer = ask("What is the cumulative probability of 34-kt winds?", SA, as_of=24)
    details = answer.details
    assert details["as_of"] == details["horizon"] == "T-24"
    assert (details["statistic"], details["threshold"]) == ("cumulative", "34 kt")
    assert (details["location"], details["value_text"]) == ("SAVANNAH GA", "71 %")
    start, end = int(details["start"]), int(details["end"])
    assert "71%" in SCENARIO[start:end]
    assert details["superseded"] == "26 % at T-48"
    assert answer.step is not None and "71%" in canonical()[answer.step].evidence


def test_a_present_state_asked_for_later_is_told_with_less_confidence() -> None:
    now = ask("What is the port condition?", SA, as_of=24)
    later = ask("What is the port condition in 12 hours?", SA, as_of=24)
    assert later.value == now.value and later.confidence < now.confidence


# --- laws -----------------------------------------------------------------------------


def _probability(lead: int, value: int, number: int) -> Hyperedge:
    attributes = (
        Attribute("location", "SAVANNAH GA"), Attribute("threshold_kt", "34", "kt"),
        Attribute("period_h", "120", "h"), Attribute("probability", str(value), "%"),
        Attribute("statistic", "cumulative"),
    )
    found = next(e for e in graph().edges if e.relation == "has_cumulative_probability")
    return replace(found, id=f"{number:08d}", lead=lead, attributes=attributes,
                   evidence=f"reads {value}")


values = st.lists(st.integers(0, 100), min_size=1, max_size=6)


@given(values)
def test_a_later_statement_replaces_an_earlier_one(numbers: list[int]) -> None:
    edges = [_probability(48, n, i) for i, n in enumerate(numbers)]
    text = "What is the cumulative probability of 34-kt winds?"
    forward, backward = ask(text, SA, edges=edges), ask(text, SA, edges=edges[::-1])
    assert forward.value == str(numbers[-1]) and forward.step == len(numbers) - 1
    assert backward.value == str(numbers[0])


@given(values, st.integers(0, 100))
def test_what_is_later_than_the_question_never_reaches_it(
    numbers: list[int], planted: int
) -> None:
    edges = [_probability(72 - 2 * i, n, i) for i, n in enumerate(numbers)]
    text = "What is the cumulative probability of 34-kt winds?"
    before = ask(text, SA, as_of=48, edges=edges)
    assert ask(text, SA, as_of=48, edges=[*edges, _probability(36, planted, 99)]) == before


def test_another_scope_is_another_thing() -> None:
    edges = [e for e in canonical() if e.attribute("threshold_kt") in (None, "34")]
    assert ask("What is the cumulative probability of 64-kt winds?", SA, edges=edges).value == (
        NOT_STATED
    )


@given(st.lists(hyperedges(), max_size=8), st.sampled_from(list(AnswerType)),
       st.text(max_size=60))
def test_any_question_gets_a_valid_answer(
    edges: list[Hyperedge], kind: AnswerType, text: str
) -> None:
    choices = ("one", "two", "none") if kind is MC else ()
    question = Question(text, kind, choices)
    path = trajectory(edges)
    answer = READER.read(question, [path, path], {})
    assert answer == READER.read(question, [path, path], {})
    assert 0.0 <= answer.confidence <= 1.0 and answer.type is kind
    if kind is MC:
        assert answer.value in ("A", "B", "C", NOT_STATED)
    if kind is TF:
        assert answer.value in ("Yes", "No", NOT_STATED)


@given(st.lists(st.text("abc 0123456789-<%hft", max_size=12), min_size=2, max_size=5))
def test_a_choice_is_one_of_the_letters_or_not_stated(choices: list[str]) -> None:
    answer = ask("How many hours until landfall?", MC, choices=tuple(choices))
    letters = [chr(ord("A") + i) for i in range(len(choices))]
    assert answer.value in (*letters, NOT_STATED)


def test_nothing_to_read_states_nothing() -> None:
    question = Question("Where is the eye of the storm?", SA)
    assert READER.read(question, [], {}).value == NOT_STATED
    assert READER.read(question, [trajectory([])], {}).confidence == 0.0


# --- several trajectories -------------------------------------------------------------


def test_agreement_raises_confidence_and_disagreement_lowers_it() -> None:
    question = Question("What is the cumulative probability of 34-kt winds?", SA)
    one, other = trajectory([_probability(48, 26, 1)]), trajectory([_probability(48, 30, 2)])
    agreeing = READER.read(question, [one, one], {})
    split = READER.read(question, [one, other], {})
    assert agreeing.confidence > split.confidence
    assert (agreeing.agreement, split.agreement, split.trajectory) == (1.0, 0.5, 0)


def test_the_trajectory_that_reads_on_decides() -> None:
    question = Question("What is the cumulative probability of 34-kt winds?", SA)
    early, late = trajectory([_probability(72, 9, 1)]), trajectory([_probability(24, 71, 2)])
    assert READER.read(question, [early, late], {}).value == "71"


def _told(value: str, confidence: float, kind: AnswerType = SA, unit: str = "h") -> Answer:
    return Answer(value, kind, confidence, "because.", 0, 0, 1.0, {"unit": unit})


def test_combine_votes_and_averages() -> None:
    assert combine([_told("10", 0.5), _told("20", 0.5)]).value == "15"
    assert combine([_told("10", 0.9), _told("20", 0.1)]).value == "11"
    votes = [_told("Yes", 0.5, TF), _told("No", 0.4, TF), _told("No", 0.4, TF)]
    assert combine(votes).value == "No"
    unstated = Answer(NOT_STATED, TF, 0.0, "")
    assert combine([unstated, _told("Yes", 0.2, TF)]).value == "Yes"
    assert combine([unstated]).value == NOT_STATED
    with pytest.raises(ValueError, match="nothing to combine"):
        combine([])
    with pytest.raises(ValueError, match="several types"):
        combine([_told("Yes", 0.5, TF), _told("1", 0.5)])


@given(st.lists(st.tuples(st.integers(0, 9), st.floats(0.0, 1.0)), min_size=1, max_size=5))
def test_a_combined_number_lies_between_its_parts(parts: list[tuple[int, float]]) -> None:
    answer = combine([_told(str(n), c) for n, c in parts])
    low, high = min(n for n, _ in parts), max(n for n, _ in parts)
    assert low - 0.01 <= float(answer.value) <= high + 0.01
    assert 0.0 <= answer.confidence <= 1.0


def test_vote_mode_answers_too() -> None:
    question = Question("What is the cumulative probability of 34-kt winds?", SA)
    one, other = trajectory([_probability(48, 20, 1)]), trajectory([_probability(48, 30, 2)])
    assert ExtractiveReader("vote").read(question, [one, other], {}).value == "25"


# --- quantities and targets -----------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "unit", "wanted", "result"),
    [(100, "kt", "mph", 115.08), (100, "mph", "km/h", 160.93), (10, "ft", "m", 3.048),
     (4, "in", "mm", 101.6), (100, "mi", "km", 160.93), (990, "mb", "mb", 990),
     (2, "d", "h", 48)],
)
def test_units_convert(value: float, unit: str, wanted: str, result: float) -> None:
    assert convert(value, unit, wanted) == pytest.approx(result, abs=0.01)
    assert convert(convert(value, unit, wanted), wanted, unit) == pytest.approx(value)


def test_units_of_different_things_do_not_convert() -> None:
    assert (unit_of("hPa"), unit_of("knots"), unit_of("furlong")) == ("mb", "kt", "")
    with pytest.raises(ValueError, match="cannot express"):
        convert(1, "ft", "h")


@pytest.mark.parametrize(
    ("text", "low", "high", "unit"),
    [("24 hours or more", 24, float("inf"), "h"), ("13–24 hours", 13, 24, "h"),
     ("less than 5%", float("-inf"), 5, "%"), ("between 2 and 4 ft", 2, 4, "ft"),
     ("12,500 vessels", 12500, 12500, ""), ("≥20 %", 20, float("inf"), "%"),
     ("two days", 2, 2, "d"), ("reach or exceed 20%", 20, float("inf"), "%")],
)
def test_quantities_are_read(text: str, low: float, high: float, unit: str) -> None:
    found = next(quantities(text))
    assert (found.low, found.high, found.unit) == (low, high, unit)


def test_target_fits_what_states_it_and_nothing_else() -> None:
    question = Question("What is the cumulative probability of 50-kt winds?", SA)
    wanted = target(question)
    best = max(graph().edges, key=lambda e: fit(wanted, e))
    assert best.relation == "has_cumulative_probability"
    assert best.attribute("threshold_kt") == "50"
    assert all(fit(wanted, e) == 0 for e in graph().edges if e.attribute("threshold_kt") == "34")
    assert "cumulative probability" in query_text(question)
