"""Whether an answer is right (§4, metrics of method.md §8)."""

from __future__ import annotations

import json
import math
import re

from okh.corpus.geo import haversine_km
from okh.domain import NOT_STATED, Answer, AnswerType

FLOORS = {"h": 0.0, "%": 1.0, "mph": 1.0}
"""Unit -> largest difference of a number that still counts as right."""

COORDINATES_KM = 20.0
"""Largest distance between two positions that still counts as right."""

_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
_POSITION = re.compile(
    r"(\d+(?:\.\d+)?)\s*°?\s*([NS])[,\s]+(\d+(?:\.\d+)?)\s*°?\s*([EW])", re.IGNORECASE
)


def verdict(answer: Answer, gold: str, unit: str = "") -> bool | None:
    """Whether ``answer`` says what ``gold`` says; None where only a judge could tell (TD).

    TF and MC are exact. Numbers may differ by the floor of their unit, positions
    by :data:`COORDINATES_KM`; all else is compared as words without case.
    """
    said, wanted = _fold(answer.value), _fold(gold)
    if NOT_STATED in (said, wanted):
        return said == wanted
    if answer.type is AnswerType.TD:
        return None
    if said == wanted:
        return True
    if answer.type is not AnswerType.SA:
        return False
    fields = _fields(said), _fields(wanted)
    if fields[0] is not None and fields[1] is not None:
        return _same_fields(fields[0], fields[1], unit)
    here, there = _POSITION.search(said), _POSITION.search(wanted)
    if here and there:
        distance = float(haversine_km(*_degrees(here), *_degrees(there)))
        return distance <= COORDINATES_KM
    numbers = _only_number(said), _only_number(wanted)
    if None in numbers:
        return False
    floor = FLOORS.get(unit or answer.details.get("unit", ""), 0.0)
    return math.isclose(numbers[0] or 0.0, numbers[1] or 0.0, rel_tol=1e-9, abs_tol=floor + 1e-9)


def _fold(text: str) -> str:
    return " ".join(text.split()).casefold()


def _fields(text: str) -> dict[str, str] | None:
    """A JSON object, or one written with single quotes, as lower-case names and values."""
    for candidate in (text, text.replace("'", '"')):
        try:
            found = json.loads(candidate)
        except json.JSONDecodeError:
            continue
        return {_key(str(k)): str(v) for k, v in found.items()} if isinstance(found, dict) else None
    return None


def _key(name: str) -> str:
    """A field by its number, where it has one: ``in 12h`` and ``12 hours`` are one field."""
    number = _NUMBER.search(name)
    return number[0] if number else _fold(name)


def _same_fields(said: dict[str, str], wanted: dict[str, str], unit: str) -> bool:
    floor = FLOORS.get(unit or "%", 0.0)
    for name, value in wanted.items():
        mine, theirs = _amount(said.get(name, "")), _amount(value)
        if mine is None or theirs is None:
            if _fold(said.get(name, "")) != _fold(value):
                return False
        elif abs(mine - theirs) > floor + 1e-9:
            return False
    return set(said) == set(wanted)


def _amount(text: str) -> float | None:
    """A number; ``<1%`` and the tables' ``X`` are 0."""
    folded = _fold(text)
    return 0.0 if folded.startswith("<1") or folded == "x" else _only_number(folded)


def _only_number(text: str) -> float | None:
    found = _NUMBER.findall(text)
    return float(found[0]) if len(found) == 1 else None


def _degrees(match: re.Match[str]) -> tuple[float, float]:
    lat = float(match[1]) * (1 if match[2].upper() == "N" else -1)
    lon = float(match[3]) * (1 if match[4].upper() == "E" else -1)
    return lat, lon
