"""Cyclone state of the real advisories against the labels of CyPortQA.

Read by the real parser and rules from the raw text alone: position 98.8 %,
direction 99.0, speed 99.2, category 98.0 of 2,385 leads. Each class of
disagreement was looked at; in none of them was a rule wrong.

Position (29): the label's figures stand nowhere in the file, which prints
others, so that they are of another product of that storm (24); the advisory
contradicts itself: its discussion has the label's figures, its summary, which
we read, has others (5).

Direction (23): printed stationary, the label names the motion to come (6);
the label takes an unlike word of the discussion, such as "northward" beside
NNW or west-northwest beside NW, 305 degrees (5); printed NW, 325 degrees, the
label says NNW (5); the label is of another product or of the forecast (7).

Speed (19): printed stationary, the label says 1 or 2 mph (10); another
product's speed (9).

Category (49): a potential tropical cyclone of less than 39 mph is labelled by
what it may become (31); the label is empty (7); a subtropical storm is
labelled tropical (5); another product's category, or 70 mph called Category 1
(4); remnants of 40 mph are labelled a depression (2).

How categories are compared: a label may name the status or, where the status
is no wind class (potential and post-tropical cyclones, remnants), the strength
that the printed wind has; notes in brackets count. Word for word, without
that, 90.8 % of the labels equal the category of the title, nearly all of the
rest being notes and potential cyclones labelled by their wind.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from okh.domain import Fact
from tests.advisory_labels import read_file

Label = dict[str, object]

_NO_WIND_CLASS = ("potential tropical cyclone", "post-tropical cyclone", "remnants")

_COMPASS = {"north": "N", "south": "S", "east": "E", "west": "W"}


def _labels(shared_data: Path) -> Iterator[tuple[str, Label]]:
    """(advisory file, label) of every lead that has an advisory."""
    with (shared_data / "cyportqa" / "events.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            event = json.loads(line)
            storm, year = event["event_id"].split("_")[:2]
            for lead, at_lead in event["senario"]["time"].items():
                name = f"{storm}_{year}_{lead}h.txt"
                if (shared_data / "nhc" / "advisory" / name).exists():
                    yield name, at_lead["cyclone_condition_and_forecast"]


@pytest.fixture(scope="module")
def compared(shared_data: Path) -> dict[str, list[tuple[str, bool, str, str]]]:
    """Field -> (file, agrees, label, read) of every labelled lead."""
    found: dict[str, list[tuple[str, bool, str, str]]] = {
        "position": [], "direction": [], "speed": [], "category": []}
    for name, label in _labels(shared_data):
        state = _state(shared_data / "nhc" / "advisory" / name)
        motion = label["motion"]
        assert isinstance(motion, dict)
        for field, expected, agrees in (
            ("position", str(label["coordinates"]), _same_position),
            ("direction", str(motion["direction"]), _same_direction),
            ("speed", str(motion["speed"]), _same_speed),
            ("category", str(label["category"]), _same_category),
        ):
            read = state[field]
            found[field].append((name, agrees(expected, read), expected, read))
    return found


@pytest.mark.parametrize(
    ("field", "share"),
    [("position", 0.98), ("direction", 0.99), ("speed", 0.99), ("category", 0.97)],
)
def test_state_agrees_with_labels(
    compared: dict[str, list[tuple[str, bool, str, str]]], field: str, share: float
) -> None:
    rows = compared[field]
    assert len(rows) == 2385
    assert sum(agrees for _, agrees, _, _ in rows) / len(rows) >= share


def _state(path: Path) -> dict[str, str]:
    """What the rules read: position, direction, speed (mph), and category with strength."""
    facts = [fact for _, fact in read_file(path)[1]]
    return {
        "position": _first(facts, "has_position", "position"),
        "direction": _first(facts, "has_motion", "direction"),
        "speed": _first(facts, "has_motion", "speed_mph"),
        "category": f"{_first(facts, 'has_category_state', 'category')}|"
        f"{_first(facts, 'has_intensity', 'text').removesuffix(' strength')}",
    }


def _first(facts: list[Fact], relation: str, key: str) -> str:
    return next((f.attribute(key) or "" for f in facts if f.relation == relation), "")


def _same_position(label: str, read: str) -> bool:
    return label.replace(" ", "") == read.replace(" ", "")


def _same_direction(label: str, read: str) -> bool:
    """The label's first word; notes on turns to come are not the motion of now."""
    words = re.sub(r"^(?:nearly|very slow(?:ly)?)\s+", "", label.strip().lower())
    first = re.split(r"[\s(,/–-]", words)[0]
    return _COMPASS.get(first, first.upper()) == read.upper()


def _same_speed(label: str, read: str) -> bool:
    """The label's number, or a range that holds the figure; "stationary" is 0."""
    numbers = [int(n) for n in re.findall(r"\d+", re.split(r"\(|,", label)[0])]
    if not numbers:
        numbers = [0] if "stationary" in label.lower() else []
    return bool(numbers) and numbers[0] <= int(read or -1) <= numbers[-1]


def _same_category(label: str, read: str) -> bool:
    """Whether a category, a status or (where the status is no wind class) the strength is named.

    ``read`` is ``category|strength``. A label with notes ("Tropical Storm
    (Potential Tropical Cyclone)") agrees by any class that it names as of now.
    """
    category, strength = read.lower().split("|")
    now = re.split(r"forecast|expected to|transition", label.lower())[0]
    named = {_category_name(part) for part in re.split(r"[/()–]", now)}
    accepted = {category.replace("-", " ")}
    if category in _NO_WIND_CLASS:
        accepted.add(strength)
        if category.split()[0].removesuffix("s") in now:
            return True
    return bool(named & accepted)


def _category_name(part: str) -> str:
    words = re.sub(r"[^a-z0-9]+", " ", part).strip().removesuffix(" hurricane")
    return re.sub(r"^(category \d).*", r"\1", words)
