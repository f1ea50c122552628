"""Facts of a wind speed probability table (PWS): probabilities by place, speed and period.

Each row gives the five-day cumulative probability, the period with the largest
onset probability, the first period that is not zero, and one fact for each
period. The evidence is the whole row: a cell means nothing without its place.
The statement above the table gives position, intensity and kind of cyclone at
the table's own time of issuance, which need not be that of the advisory.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache

from okh.corpus.wind_table import (
    LOCATION,
    STATEMENT,
    Period,
    Row,
    read_periods,
    read_rows,
    read_status,
)
from okh.domain import Attribute, Block, Fact, Mention

_LATITUDE_LONGITUDE = re.compile(
    r"LATITUDE\s+(?P<lat>\d+(?:\.\d+)?)\s+(?P<ns>NORTH|SOUTH)\s*\.\.\.\s*"
    r"LONGITUDE\s+(?P<lon>\d+(?:\.\d+)?)\s+(?P<ew>EAST|WEST)"
)
_WINDS = re.compile(
    r"(?P<kt>\d+)\s+KTS?\s*\.\.\.\s*(?P<mph>\d+)\s+MPH\s*\.\.\.\s*\d+\s+KM/H"
)
_KIND = re.compile(
    r"(?:THE\s+CENTER\s+OF\s+(?P<kind>[A-Z][A-Z\s-]*?)|THE\s+(?P<remnants>REMNANTS)\s+OF\s+\S+)"
    r"\s+(?:WAS|WERE)\s"
)


def extract(block: Block) -> list[Fact]:
    """Facts of one block of a wind table, in text order; none from an unreadable row."""
    if block.section == STATEMENT:
        return _statement_facts(block)
    if block.section != LOCATION or block.issued is None:
        return []
    periods = read_periods(block.context, block.issued)
    rows = list(read_rows(block.text, len(periods)))
    facts: list[Fact] = []
    for row in rows:
        facts += _row_facts(block, row, periods)
    return facts + _unlisted_facts(block, rows, periods)


# --- rows -----------------------------------------------------------------------------


def _row_facts(block: Block, row: Row, periods: tuple[Period, ...]) -> list[Fact]:
    evidence = block.text[row.start : row.end]
    # A row never names the cyclone, though a place may be spelled like one.
    cyclone = Mention(block.storm or "cyclone", "cyclone", origin="linked")
    place = Mention(row.location, "location")
    scope = (
        Attribute("location", row.location),
        Attribute("threshold_kt", str(row.threshold_kt), "kt"),
    )

    def fact(relation: str, column: int, *attributes: Attribute) -> Fact:
        value = Mention(row.cells[column], "wind_probability")
        return Fact(
            relation, evidence, (cyclone, place, value), (*scope, *attributes),
            start=row.start, end=row.end,
        )

    last = len(periods) - 1
    facts = [
        fact(
            "has_cumulative_probability", last, _hour("period_h", periods[last].hour),
            *_percent("probability", row.cumulative[last]), _STATISTIC["cumulative"],
        )
    ]
    peak = max(range(len(periods)), key=lambda i: (row.onset[i] or 0, -i))
    if row.onset[peak]:
        facts.append(
            fact(
                "has_peak_probability", peak, *_percent("probability", row.onset[peak]),
                _hour("hours", periods[peak].hour), _STATISTIC["onset"],
            )
        )
    first = next((i for i in range(len(periods)) if row.onset[i] or row.cumulative[i]), None)
    if first is not None:
        facts.append(
            fact(
                "has_first_nonzero_probability", first, _hour("hours", periods[first].hour),
                _STATISTIC["onset"],
            )
        )
    for i, period in enumerate(periods):
        facts.append(
            fact(
                "has_leadtime_probability", i, *_period_attributes(period),
                *_cell_attributes(row.onset[i], row.cumulative[i]),
            )
        )
    return facts


UNLISTED = {50: "<3", 64: "<1"}
"""Speed (kt) -> its five-day probability (%) where a listed location has no row for it: by the
tables' own words a row is left out below 3 % (34 and 50 kt) and below 1 % (64 kt)."""


def _unlisted_facts(block: Block, rows: list[Row], periods: tuple[Period, ...]) -> list[Fact]:
    """What a location's missing rows say; the row of the highest speed listed is the evidence."""
    if not rows:
        return []
    row = rows[-1]
    listed = {r.threshold_kt for r in rows}
    cyclone = Mention(block.storm or "cyclone", "cyclone", origin="linked")
    place = Mention(row.location, "location")
    return [
        Fact(
            "has_cumulative_probability", block.text[row.start : row.end], (cyclone, place),
            (
                Attribute("location", row.location),
                Attribute("threshold_kt", str(speed), "kt"),
                _hour("period_h", periods[-1].hour), Attribute("probability", "0", "%"),
                Attribute("text", below), _STATISTIC["cumulative"],
            ),
            confidence=0.9, start=row.start, end=row.end,
        )
        for speed, below in UNLISTED.items() if speed not in listed
    ]


_STATISTIC = {
    name: Attribute("statistic", name) for name in ("onset", "cumulative", "onset and cumulative")
}


@lru_cache(maxsize=512)
def _hour(key: str, hours: int) -> Attribute:
    return Attribute(key, str(hours), "h")


@lru_cache(maxsize=512)
def _percent(key: str, value: int | None) -> tuple[Attribute, ...]:
    """The percentage; ``X`` is 0 with a note that it means less than 1."""
    figure = Attribute(key, str(value or 0), "%")
    return (figure,) if value is not None else (figure, Attribute("text", "<1"))


@lru_cache(maxsize=16384)
def _cell_attributes(onset: int | None, cumulative: int | None) -> tuple[Attribute, ...]:
    note: tuple[Attribute, ...] = ()
    if cumulative is None:
        note = (Attribute("text", "<1"),)
    elif onset is None:
        note = (Attribute("text", "onset <1"),)
    return (
        Attribute("onset", str(onset or 0), "%"),
        Attribute("probability", str(cumulative or 0), "%"),
        *note, _STATISTIC["onset and cumulative"],
    )


@lru_cache(maxsize=512)
def _period_attributes(period: Period) -> tuple[Attribute, ...]:
    return (
        _hour("period_h", period.hour),
        Attribute("period_from", _iso(period.start)), Attribute("period_to", _iso(period.end)),
    )


def _iso(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%MZ}"


# --- statement ------------------------------------------------------------------------


def _statement_facts(block: Block) -> list[Fact]:
    text = block.text
    name = block.storm or "cyclone"
    inside = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE)
    cyclone = Mention(name, "cyclone", origin="text" if inside else "linked")

    def fact(relation: str, value: str, *attributes: Attribute) -> Fact:
        state = Mention(" ".join(value.split()), "cyclone_state")
        return Fact(relation, text, (cyclone, state), attributes, start=0, end=len(text))

    facts: list[Fact] = []
    kind, status = _KIND.search(text), read_status(text)
    if kind is not None and status is not None:
        # The words that name the kind: the cyclone's own name is another entity.
        words = kind["remnants"] or kind["kind"].rsplit(None, 1)[0]
        facts.append(fact("has_cyclone_state", words, Attribute("status", status[0])))
    where = _LATITUDE_LONGITUDE.search(text)
    if where is not None:
        facts.append(fact("has_position", where[0], *_position_attributes(where)))
    winds = _WINDS.search(text)
    if winds is not None:
        facts.append(
            fact(
                "has_intensity", winds[0], Attribute("wind_mph", str(int(winds["mph"])), "mph"),
                Attribute("wind_kt", str(int(winds["kt"])), "kt"),
            )
        )
    return facts


def _position_attributes(where: re.Match[str]) -> tuple[Attribute, ...]:
    latitude, longitude = where["lat"], where["lon"]
    south, west = where["ns"] == "SOUTH", where["ew"] == "WEST"
    return (
        Attribute("latitude", f"-{latitude}" if south else latitude),
        Attribute("longitude", f"-{longitude}" if west else longitude),
        Attribute("position", f"{latitude}{where['ns'][0]}, {longitude}{where['ew'][0]}"),
    )
