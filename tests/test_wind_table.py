"""Wind speed probability tables: layout, periods, bad input, facts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import accumulate, pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from okh.corpus.errors import CorpusError
from okh.corpus.wind_table import (
    LOCATION,
    STATEMENT,
    UNREADABLE,
    parse_wind_table,
    problems,
    read_periods,
    read_row,
)
from okh.domain import Block, Fact
from okh.extraction.extractor import is_grounded
from okh.extraction.wind_table_rules import extract

TABLE = """\
ZCZC MIAPWSAT1 ALL
TTAA00 KNHC DDHHMM

HURRICANE QUORRA WIND SPEED PROBABILITIES NUMBER  12
NWS NATIONAL HURRICANE CENTER MIAMI FL       AL072041
1500 UTC TUE DEC 31 2041

AT 1500Z THE CENTER OF HURRICANE QUORRA WAS LOCATED NEAR LATITUDE 27.4
NORTH...LONGITUDE 79.1 WEST WITH MAXIMUM SUSTAINED WINDS NEAR 75
KTS...85 MPH...140 KM/H.

               FROM    FROM    FROM
  TIME       12Z TUE 00Z WED 12Z WED
PERIODS         TO      TO      TO
             00Z WED 12Z WED 12Z THU

FORECAST HOUR    (12)   (24)    (48)
- - - - - - - - - - - - - - - - - - -
LOCATION       KT

W PALM BEACH   34 12  30(42)   5(47)
W PALM BEACH   50  X   2( 2)   X( 2)

GFMX 290N 850W 34  X   X( X)   4( 4)

$$
FORECASTER NOBODY
NNNN
"""


def _facts(blocks: list[Block]) -> list[Fact]:
    return [fact for block in blocks for fact in extract(block)]


def _parse(text: str) -> list[Block]:
    document, blocks = parse_wind_table(text, "hash", "table.txt")
    assert all(document.text[b.start : b.end] == b.text for b in blocks)
    return blocks


def test_envelope_and_blocks() -> None:
    document, blocks = parse_wind_table(TABLE, "hash", "table.txt")
    assert (document.storm, document.year) == ("QUORRA", 2041)
    assert document.issued == datetime(2041, 12, 31, 15, tzinfo=UTC)
    assert document.product_id == "PWS AL072041 12"
    assert [b.section for b in blocks] == [STATEMENT, LOCATION, LOCATION]
    assert [b.location for b in blocks] == [None, "W PALM BEACH", "GFMX 290N 850W"]
    assert problems(document, blocks) == []


def test_periods_cross_the_year() -> None:
    """Hours and weekdays alone are printed; dates follow from the time of issuance."""
    facts = [f for f in _facts(_parse(TABLE)) if f.relation == "has_leadtime_probability"]
    assert facts[0].attribute("period_from") == "2041-12-31T12:00Z"
    assert facts[2].attribute("period_to") == "2042-01-02T12:00Z"


def test_row_facts_tell_onset_from_cumulative() -> None:
    facts = _facts(_parse(TABLE))
    row = [f for f in facts if f.evidence.startswith("W PALM BEACH   34")]
    by_relation = {f.relation: f for f in row}
    cumulative = by_relation["has_cumulative_probability"]
    assert (cumulative.attribute("probability"), cumulative.attribute("period_h")) == ("47", "48")
    assert by_relation["has_peak_probability"].attribute("probability") == "30"
    assert by_relation["has_peak_probability"].attribute("hours") == "24"
    assert by_relation["has_first_nonzero_probability"].attribute("hours") == "12"
    periods = [f for f in row if f.relation == "has_leadtime_probability"]
    assert [(f.attribute("onset"), f.attribute("probability")) for f in periods] == [
        ("12", "12"), ("30", "42"), ("5", "47"),
    ]


def test_less_than_one_percent_is_zero_with_a_note() -> None:
    row = [f for f in _facts(_parse(TABLE)) if f.evidence.startswith("GFMX")]
    cells = [f for f in row if f.relation == "has_leadtime_probability"]
    assert (cells[0].attribute("probability"), cells[0].attribute("text")) == ("0", "<1")
    assert cells[2].attribute("text") is None
    first = next(f for f in row if f.relation == "has_first_nonzero_probability")
    assert first.attribute("hours") == "48"


def test_a_row_left_out_says_that_its_probability_is_below_the_table_s_least() -> None:
    told = {
        (f.attribute("location"), f.attribute("threshold_kt"), f.attribute("text"), f.confidence)
        for f in _facts(_parse(TABLE))
        if f.relation == "has_cumulative_probability" and f.attribute("probability") == "0"
    }
    assert told == {
        ("W PALM BEACH", "64", "<1", 0.9),
        ("GFMX 290N 850W", "50", "<3", 0.9), ("GFMX 290N 850W", "64", "<1", 0.9),
    }


def test_statement_facts() -> None:
    facts = {f.relation: f for f in extract(_parse(TABLE)[0])}
    assert facts["has_position"].attribute("longitude") == "-79.1"
    assert facts["has_intensity"].attribute("wind_mph") == "85"
    assert facts["has_cyclone_state"].attribute("status") == "hurricane"
    assert all(is_grounded(f, _parse(TABLE)[0].text) for f in facts.values())


@pytest.mark.parametrize(("old", "new"), [
    ("30(42)", "30(4"),           # cut inside a cell
    (" 34 12 ", " 35 12 "),       # no such wind speed
    (" 5(47)", " 5(41)"),         # the cumulative probability falls
    (" 5(47)", "50(47)"),         # the onset exceeds its cumulative probability
    (" 5(47)", " 5(147)"),        # more than certain
    ("  30(42)   5(47)", "  30(42)"),  # a column is missing
])
def test_a_broken_row_is_named_and_the_rest_is_read(old: str, new: str) -> None:
    document, blocks = parse_wind_table(TABLE.replace(old, new, 1), "hash", "table.txt")
    assert [b.section for b in blocks] == [STATEMENT, UNREADABLE, LOCATION, LOCATION]
    (error,) = problems(document, blocks)
    assert error.place == "line 21"
    assert "W PALM BEACH" not in str(error)
    assert extract(blocks[1]) == []


def test_truncated_product_keeps_the_rows_before_the_cut() -> None:
    document, blocks = parse_wind_table(TABLE[: TABLE.index("GFMX")], "hash", "table.txt")
    assert [b.section for b in blocks] == [STATEMENT, LOCATION]
    assert [error.place for error in problems(document, blocks)] == ["end"]


@pytest.mark.parametrize(("text", "place"), [
    ("", "title"),
    ("no table at all", "title"),
    (TABLE + TABLE, "title"),
    (TABLE.replace("HURRICANE QUORRA WIND", "QUORRA WIND"), "title"),
    (TABLE.replace("1500 UTC TUE", "UTC TUE"), "issuance"),
    (TABLE.replace("DEC 31", "DEC 32"), "issuance"),
    (TABLE[: TABLE.index("FORECAST HOUR")], "column header"),
    (TABLE.replace("00Z WED 12Z WED\n", "00Z FRI 12Z WED\n", 1), "column header"),
])
def test_what_cannot_be_placed_is_refused_by_place(text: str, place: str) -> None:
    with pytest.raises(CorpusError) as caught:
        parse_wind_table(text, "hash", "table.txt")
    assert caught.value.place == place
    assert "QUORRA" not in str(caught.value)


def test_correction_has_the_same_product_id() -> None:
    corrected = TABLE.replace("NUMBER  12", "NUMBER  12...CORRECTED")
    document, _ = parse_wind_table(corrected, "hash", "table.txt")
    assert document.corrected
    assert document.product_id == "PWS AL072041 12"


def test_line_ends_and_trailing_blanks_change_no_fact() -> None:
    padded = "".join(f"{line:<70}\r\n" for line in TABLE.splitlines())
    def told(text: str) -> list[object]:
        return [(f.relation, f.attributes) for f in _facts(_parse(text))]
    assert told(padded) == told(TABLE)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=7).filter(lambda v: sum(v) <= 100))
def test_a_printed_row_is_read_back(onsets: list[int]) -> None:
    totals = list(accumulate(onsets))
    def figure(value: int) -> str:
        return str(value) if value else "X"
    cells = [f"{figure(onsets[0]):>2}"] + [
        f"{figure(o):>4}({figure(c):>2})" for o, c in zip(onsets[1:], totals[1:], strict=True)
    ]
    row = read_row(f"{'ST MARKS FL':<15}64 {''.join(cells)}", len(onsets))
    assert row is not None
    assert (row.location, row.threshold_kt) == ("ST MARKS FL", 64)
    assert [v or 0 for v in row.onset] == onsets
    assert [v or 0 for v in row.cumulative] == totals


@given(st.datetimes(datetime(2015, 1, 1), datetime(2040, 1, 1)))
def test_the_first_period_lies_at_issuance(moment: datetime) -> None:
    """Whatever the date, a header printed for it is dated back to it."""
    issued = moment.replace(minute=0, second=0, microsecond=0, tzinfo=UTC)
    start = issued - timedelta(hours=3)
    edges = [start, *(start + timedelta(hours=h) for h in (12, 24))]
    first, second, third = (f"{e:%H}Z {e:%a}".upper() for e in edges)
    header = (
        f"   FROM  FROM\n  TIME  {first} {second}\nPERIODS  TO  TO\n   {second} {third}\n\n"
        "FORECAST HOUR (12) (24)"
    )
    periods = read_periods(header, issued)
    assert [p.start for p in periods] == edges[:2]
    assert all(a.end == b.start for a, b in pairwise(periods))


def test_every_real_table_is_read_whole(shared_data: Path) -> None:
    paths = sorted((shared_data / "nhc" / "wind").glob("*.txt"))
    rows = 0
    for path in paths:
        document, blocks = parse_wind_table(path.read_text(encoding="ascii"), "hash", path.name)
        assert problems(document, blocks) == []
        assert blocks[0].section == STATEMENT
        rows += sum(len(b.text.splitlines()) for b in blocks if b.section == LOCATION)
    assert (len(paths), rows) == (332, 23184)
