"""The shipped sample: small, readable by every parser, consistent, and its questions answerable."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from okh.corpus.advisory import parse_advisory, truncated_at
from okh.corpus.bulletin import parse_bulletins
from okh.corpus.bulletin import problems as bulletin_problems
from okh.corpus.geo import haversine_km
from okh.corpus.groups import group_views
from okh.corpus.places import default_ports, load_ports, locate
from okh.corpus.recognition import Refusal, recognise
from okh.corpus.scenario import find_horizons, parse_scenario
from okh.corpus.wind_table import parse_wind_table
from okh.corpus.wind_table import problems as wind_problems
from okh.domain import NOT_STATED, AnswerType, Block, Document, Fact, Group
from okh.extraction.advisory_watches import segment_texts
from okh.extraction.binding import bind
from okh.extraction.extractor import is_grounded
from okh.extraction.rules import RulesExtractor
from okh.sample import (
    PORTS_CSV,
    QUESTIONS,
    SAMPLE_DIR,
    demo_question,
    documents,
    questions,
)
from okh.vocabulary import ATTRIBUTES, ENTITY_TYPES, RELATIONS

LEADS = (72, 60, 48, 36, 24, 12)
STORMS = {
    "BRELLAN": (2031, "savannah-ga"), "CORVANE": (2032, "galveston-tx"),
    "ORDELLA": (2033, "tampa-fl"), "TESSLYN": (2034, "savannah-ga"),
}
SCENARIO = ("VANTRICK", 2035, "galveston-tx")
_PARSERS = {
    "advisory": parse_advisory, "wind": parse_wind_table, "scenario": parse_scenario,
    "sample": parse_bulletins,
}


@dataclass(frozen=True)
class Told:
    """A fact as its group sees it."""

    lead: int | None
    block: Block
    fact: Fact


@lru_cache(maxsize=1)
def _corpus() -> dict[str, tuple[Document, list[Block]]]:
    """File name -> document (with the lead of its name) and blocks."""
    found = {}
    for path in documents():
        text = path.read_text(encoding="ascii")
        name = path.relative_to(SAMPLE_DIR).as_posix()
        document, blocks = _PARSERS[path.parent.name](text, name, name)
        if path.stem.endswith("h") and path.parent.name in ("advisory", "wind"):
            document = replace(document, lead=int(path.stem.rpartition("_")[2][:-1]))
        found[name] = document, blocks
    return found


@lru_cache(maxsize=1)
def _groups() -> dict[Group, list[Told]]:
    """The groups of the sample with all facts that each sees, tied to its port."""
    corpus = _corpus().values()
    blocks = [block for _, own in corpus for block in own]
    ports = load_ports(PORTS_CSV.read_text(encoding="utf-8"))
    segments = {b.id: segment_texts(b) for b in blocks if b.kind == "advisory"}
    rules = RulesExtractor()
    found = {}
    for group, views in group_views(
        [document for document, _ in corpus], blocks, ports=ports, segments=segments
    ).items():
        port = ports.get(group.port)
        assert port is not None
        found[group] = [
            Told(view.lead, view.block, fact) for view in views
            for fact in bind(rules.extract(view.block), view, port)
        ]
    return found


def _told(group: Group, **wanted: str) -> Iterator[tuple[int, Fact]]:
    """(lead, fact) of a group by relation, kind and attributes."""
    relation, kind = wanted.pop("relation", None), wanted.pop("kind", None)
    for told in _groups()[group]:
        if (
            told.lead is not None and relation in (None, told.fact.relation)
            and kind in (None, told.block.kind)
            and all(told.fact.attribute(k) == v for k, v in wanted.items())
        ):
            yield told.lead, told.fact


# --- the files ------------------------------------------------------------------------


def test_small_and_pure_data() -> None:
    files = [p for p in SAMPLE_DIR.rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    assert sum(path.stat().st_size for path in files) < 150_000
    assert {p.suffix for p in files if p.name != "__init__.py"} == {".txt", ".csv", ".jsonl"}


def test_every_product_is_there() -> None:
    names = {
        f"{folder}/{storm}_{year}_{lead}h.txt"
        for storm, (year, _) in STORMS.items() for lead in LEADS for folder in ("advisory", "wind")
    }
    there = {str(path.relative_to(SAMPLE_DIR)) for path in documents()}
    assert there == names | {
        "port_conditions.csv", "scenario/VANTRICK_2035_Port_of_Galveston_TX.txt",
    }


def test_every_document_is_read_whole() -> None:
    for name, (document, blocks) in _corpus().items():
        assert all(document.text[b.start : b.end] == b.text for b in blocks)
        if document.kind == "advisory":
            assert truncated_at(document.text) is None, name
        elif document.kind == "wind_table":
            assert wind_problems(document, blocks) == [], name
        elif document.kind == "bulletin":
            assert bulletin_problems(document, blocks) == []
        else:
            assert [h.lead for h in find_horizons(document.text)] == [*LEADS, -24]


def test_each_file_is_taken_for_what_it_is() -> None:
    kinds = {"advisory": "advisory", "wind": "wind_table", "scenario": "scenario",
             "sample": "bulletin"}
    for path in documents():
        assert recognise(path.read_bytes(), path.name) == kinds[path.parent.name]
    for path in (QUESTIONS, PORTS_CSV):
        assert isinstance(recognise(path.read_bytes(), path.name), Refusal)


def test_file_name_and_content_agree() -> None:
    for name, (document, _) in _corpus().items():
        if document.kind in ("advisory", "wind_table"):
            assert f"/{document.storm}_{document.year}_" in name


def test_the_storms_say_that_they_are_invented() -> None:
    for document, _ in _corpus().values():
        assert document.kind == "bulletin" or "invented" in document.text.lower()


def test_no_real_storm_has_such_a_name(shared_data: Path) -> None:
    real = {p.name.split("_")[0] for p in (shared_data / "nhc" / "advisory").iterdir()}
    assert not real & {*STORMS, SCENARIO[0]}


def test_groups_are_the_storms_at_their_ports() -> None:
    wanted = {Group(storm, year, port) for storm, (year, port) in STORMS.items()}
    assert set(_groups()) == wanted | {Group(*SCENARIO)}
    assert all(default_ports().get(group.port) for group in wanted)


# --- the facts ------------------------------------------------------------------------


def test_every_fact_is_grounded_and_in_the_vocabulary() -> None:
    for facts in _groups().values():
        for told in facts:
            fact = told.fact
            assert is_grounded(fact, told.block.text), fact
            assert fact.relation in RELATIONS
            assert all(a.key in ATTRIBUTES for a in fact.attributes), fact
            assert all(m.type in ENTITY_TYPES for m in fact.mentions), fact
            assert 0 < fact.confidence <= 1


@pytest.mark.parametrize("storm", STORMS)
def test_each_horizon_tells_the_whole_story(storm: str) -> None:
    """State, track, watches, probabilities and forecast hazards stand at every lead."""
    relations = defaultdict(set)
    for lead, fact in _told(Group(storm, *STORMS[storm])):
        relations[lead].add(fact.relation)
    for lead in LEADS:
        assert relations[lead] >= {
            "has_cyclone_state", "has_category_state", "has_position", "has_motion",
            "has_intensity", "has_pressure", "has_reference_distance", "forecasts_track",
            "has_cumulative_probability", "forecasts_rainfall",
        }, lead
        assert relations[lead] & {"has_watch_status", "has_warning_status"}, lead
    assert sum("has_operation_status" in found for found in relations.values()) >= 3
    assert sum("forecasts_landfall" in found for found in relations.values()) >= 4


@pytest.mark.parametrize("storm", STORMS)
def test_the_center_moves_as_the_advisory_says(storm: str) -> None:
    group = Group(storm, *STORMS[storm])
    place = {
        lead: (float(f.attribute("latitude") or 0), float(f.attribute("longitude") or 0))
        for lead, f in _told(group, relation="has_position", kind="advisory")
    }
    speed = {
        lead: float(f.attribute("speed_kmh") or 0)
        for lead, f in _told(group, relation="has_motion")
    }
    heading = {
        lead: float(f.attribute("bearing_deg") or 0)
        for lead, f in _told(group, relation="has_motion")
    }
    issued = {
        d.lead: d.issued for d, _ in _corpus().values()
        if d.storm == storm and d.kind == "advisory" and d.lead is not None
    }
    assert sorted(place, reverse=True) == list(LEADS)
    for before, after in pairwise(LEADS):
        start, end = issued[before], issued[after]
        assert start is not None and end is not None
        hours = (end - start).total_seconds() / 3600
        way = float(haversine_km(*place[before], *place[after]))
        assert abs(way / hours - (speed[before] + speed[after]) / 2) < 4.0
        north = place[after][0] - place[before][0]
        east = (place[after][1] - place[before][1]) * np.cos(np.radians(place[before][0]))
        turn = (np.degrees(np.arctan2(east, north)) - heading[before] + 180) % 360 - 180
        assert abs(turn) < 30


def test_each_port_has_the_forecast_location_it_is_named_for() -> None:
    for storm, (year, port) in STORMS.items():
        place = port.rpartition("-")[0].upper()
        leads = {
            lead for lead, f in _told(Group(storm, year, port), threshold_kt="34")
            if (f.attribute("location") or "").startswith(place)
        }
        assert leads == set(LEADS)


def test_forecast_locations_are_real() -> None:
    for _, blocks in _corpus().values():
        assert all(locate(block.location) is not None for block in blocks if block.location)


def test_probabilities_are_monotone() -> None:
    """Cumulative ones never fall with the period, nor rise with the wind speed."""
    levels: dict[tuple[str, str, int], dict[int, int]] = defaultdict(dict)
    rules = RulesExtractor()
    for name, (document, blocks) in _corpus().items():
        for block in blocks if document.kind == "wind_table" else ():
            for fact in rules.extract(block):
                if fact.relation == "has_leadtime_probability":
                    value = {a.key: a.value for a in fact.attributes}
                    key = (name, value["location"], int(value["threshold_kt"]))
                    levels[key][int(value["period_h"])] = int(value["probability"])
    assert len(levels) > 300
    for (name, place, speed), row in levels.items():
        assert sorted(row) == [12, 24, 36, 48, 72, 96, 120]
        assert sorted(row.values()) == [row[h] for h in sorted(row)]
        weaker = levels.get((name, place, {50: 34, 64: 50}.get(speed, speed)))
        assert weaker is not None and all(row[h] <= weaker[h] for h in row)


def test_the_times_of_one_pair_differ_as_in_real_archives() -> None:
    """One advisory is an intermediate one, three hours behind its table."""
    corpus = _corpus()
    issued = {d.kind: d.issued for d, _ in corpus.values() if (d.storm, d.lead) == ("CORVANE", 24)}
    table, advisory = issued["wind_table"], issued["advisory"]
    assert table is not None and advisory is not None
    assert (advisory - table).total_seconds() == 3 * 3600


# --- the questions --------------------------------------------------------------------


def _asked(question: dict[str, Any], lead: int | None = None) -> set[str]:
    """Values of the attribute that a question tests, over the facts it names."""
    tests = question["tests"]
    group = Group(question["storm"], question["year"], question["port"])
    at = question["lead"] if lead is None else lead
    return {
        fact.attribute(tests.get("attribute", "advisory")) or ""
        for known, fact in _told(group, relation=tests["relation"], **tests.get("where", {}))
        if known == at and (
            not tests.get("at_port")
            or (fact.attribute("distance_km") == "0"
                and any(m.type == "port" for m in fact.mentions))
        )
    }


@pytest.mark.parametrize("question", questions(), ids=lambda q: q["id"])
def test_the_facts_answer(question: dict[str, Any]) -> None:
    tests, answer = question["tests"], question["answer"]
    values = _asked(question)
    if answer == NOT_STATED:
        group = Group(question["storm"], question["year"], question["port"])
        assert not list(_told(group, relation=tests["relation"]))
    elif "falls_since" in tests:
        (now,), (before,) = values, _asked(question, tests["falls_since"])
        assert answer == ("Yes" if float(now) < float(before) else "No")
    elif question["type"] == "TF":
        assert answer == ("Yes" if values else "No")
    elif question["type"] == "MC":
        said = [letter for letter, choice in zip("ABCD", question["choices"], strict=True)
                if choice.casefold() in {value.casefold() for value in values}]
        assert [answer] == said
    else:
        assert values == {answer}


def test_a_dozen_questions_of_all_types() -> None:
    asked = questions()
    assert len(asked) == len({q["id"] for q in asked}) == 12
    assert {q["type"] for q in asked} == {kind.value for kind in AnswerType}
    assert sum(q["answer"] == NOT_STATED for q in asked) == 1
    assert len({q["lead"] for q in asked}) >= 5
    assert {Group(q["storm"], q["year"], q["port"]) for q in asked} == set(_groups())


def test_some_answers_change_with_the_lead() -> None:
    by_words = defaultdict(set)
    for q in questions():
        by_words[q["question"], q["storm"]].add(q["answer"])
    assert any(len(answers) > 1 for answers in by_words.values())
    demo = demo_question()
    changing = {value for lead in LEADS for value in _asked(demo, lead)}
    assert len(changing) >= 3
