"""Port condition bulletins: messy lists, misspelt storms, broken rows, facts."""

from __future__ import annotations

import csv
import io
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from okh.corpus.bulletin import (
    REQUIRED_COLUMNS,
    ROW,
    UNREADABLE,
    columns,
    parse_bulletins,
    problems,
    read_ports,
    read_records,
    read_time,
    resolve_storms,
)
from okh.corpus.errors import CorpusError
from okh.corpus.places import default_ports
from okh.domain import Fact
from okh.extraction.bulletin_rules import RESOLVED_STORM, UNSURE_CLOCK, extract, read_condition
from okh.extraction.extractor import is_grounded

HEADER = ",".join(REQUIRED_COLUMNS)


def _row(**cells: str) -> str:
    default = {
        "time_utc": "9/8/2041 14:00", "CycloneName": "QUORRA", "Year": "2041",
        "PortList": "Savannah, Brunswick", "Condition": "XRAY",
        "ConditionEffectiveTime": "9/8/2041 13:30",
    }
    out = io.StringIO()
    csv.writer(out).writerow([{**default, **cells}.get(c, "") for c in REQUIRED_COLUMNS])
    return out.getvalue().rstrip("\r\n")


def _facts(*rows: str) -> list[Fact]:
    document, blocks = parse_bulletins("\n".join((HEADER, *rows)), "hash", "posts.csv")
    facts = []
    for block in blocks:
        assert document.text[block.start : block.end] == block.text
        for fact in extract(block):
            assert block.text[fact.start : fact.end] == fact.evidence
            assert is_grounded(fact, block.text)
            facts.append(fact)
    return facts


def test_a_row_tells_condition_and_guidance() -> None:
    facts = _facts(_row(
        VesselOps="Leave, or ask to stay.", OceanVesselOps="Sail by noon.",
        FacilityOps='Secure "loose" gear.',
    ))
    condition, vessels, ocean, facilities = facts
    assert condition.attribute("condition") == "X-RAY"
    assert condition.attribute("effective") == "2041-09-08T13:30Z"
    assert {m.name for m in condition.mentions if m.type == "port"} == {"Savannah", "Brunswick"}
    assert (vessels.relation, vessels.attribute("vessels")) == ("affects_vessel_handling", "all")
    assert ocean.attribute("vessels") == "ocean-going"
    assert facilities.attribute("guidance") == 'Secure "loose" gear.'


@pytest.mark.parametrize("nothing", ["", "  ", "None", "N/A", "Not specified.", "-"])
def test_no_guidance_is_no_fact(nothing: str) -> None:
    assert [f.relation for f in _facts(_row(VesselOps=nothing))] == ["has_operation_status"]


def test_guidance_that_begins_with_none_is_guidance() -> None:
    text = "None of the berths may be used."
    assert _facts(_row(FacilityOps=text))[1].attribute("guidance") == text


@pytest.mark.parametrize(("printed", "read"), [
    ("XRAY", "X-RAY"), ("x ray", "X-RAY"), ("Whisky", "WHISKEY"), ("zulu", "ZULU"),
    ("Yankee.", "YANKEE"), ("normal", "NORMAL"), ("CLOSED", None), ("", None),
])
def test_conditions_however_spelled(printed: str, read: str | None) -> None:
    assert read_condition(printed) == read


@pytest.mark.parametrize(("printed", "read"), [
    ("Miami, PalmBeach", ("Miami", "Palm Beach")),
    ("['NEW', 'ENGLAND']", ("New England",)),
    ("['TAMPA', 'ST.', 'PETERSBURG', 'MANATEE']", ("Tampa", "St Petersburg", "Manatee")),
    ("['NORTH', 'CAROLINA', 'VIRGINIA']", ("North Carolina", "Virginia")),
    ("['HAMPTON', 'ROADS']", ("Hampton Roads",)),
    ('["KEYWEST", "KW"]', ("Key West",)),
    ("Houston; Galveston / Freeport", ("Houston", "Galveston", "Freeport")),
    ("[]", ()),
    ("", ()),
])
def test_messy_lists(printed: str, read: tuple[str, ...]) -> None:
    assert read_ports(printed) == read


def test_a_list_is_never_evaluated() -> None:
    """Code in the brackets is text: it names a port that no table knows."""
    ports = read_ports("[__import__('os').abort()]")
    assert default_ports().resolve_list(ports)[0] == ()


@pytest.mark.parametrize(("printed", "read"), [
    ("8/27/2021 11:55", datetime(2021, 8, 27, 11, 55, tzinfo=UTC)),
    ("8/27/2021 01:55 PM", datetime(2021, 8, 27, 13, 55, tzinfo=UTC)),
    ("8/27/2021", datetime(2021, 8, 27, tzinfo=UTC)),
    ("2021-08-27T09:00:00-04:00", datetime(2021, 8, 27, 13, tzinfo=UTC)),
    ("13/27/2021 11:55", None),
    ("soon", None),
])
def test_times(printed: str, read: datetime | None) -> None:
    assert read_time(printed) == read


def test_a_misspelt_storm_goes_to_the_commoner_name_and_says_so() -> None:
    facts = _facts(_row(), _row(), _row(CycloneName="QUORA"))
    assert [f.confidence for f in facts] == [1.0, 1.0, RESOLVED_STORM]
    assert {m.name for f in facts for m in f.mentions if m.type == "cyclone"} == {"QUORRA"}
    assert facts[2].mentions[0].origin == "linked"


def test_numbers_are_names_of_their_own() -> None:
    names = Counter({"NINE": 1, "NINETEEN": 5, "FIVE": 3, "QUORRA": 4, "QUORA": 4})
    assert all(name == taken for name, taken in resolve_storms(names).items())


def test_a_far_effective_time_lowers_the_confidence() -> None:
    far = _facts(_row(ConditionEffectiveTime="9/8/2041 2:00"))[0]
    none = _facts(_row(ConditionEffectiveTime="at once"))[0]
    assert far.confidence == UNSURE_CLOCK
    assert (none.confidence, none.attribute("effective")) == (1.0, None)


@pytest.mark.parametrize("broken", [
    '9/8/2041 14:00,"QUORRA,2041,Savannah,ZULU,,,,',   # a quote that is never closed
    "9/8/2041 14:00,QUORRA,2041",                      # too few fields
    _row(CycloneName=""), _row(Year="this year"), _row(time_utc="noon"),
])
def test_a_broken_row_is_named_and_the_rest_is_read(broken: str) -> None:
    text = "\n".join((HEADER, _row(), broken, _row(Condition="ZULU")))
    document, blocks = parse_bulletins(text, "hash", "posts.csv")
    assert [b.section for b in blocks] == [ROW, UNREADABLE, ROW]
    (error,) = problems(document, blocks)
    assert error.place == "line 3"
    assert "QUORRA" not in str(error)
    assert extract(blocks[1]) == []


@pytest.mark.parametrize(("text", "problem"), [
    ("", "empty"), ("\n \n", "empty"), (HEADER, "no row"),
    (HEADER.replace("Condition,", ""), "columns missing: Condition"),
    ("just text", "columns missing"),
])
def test_files_that_are_refused(text: str, problem: str) -> None:
    with pytest.raises(CorpusError, match=problem):
        parse_bulletins(text, "hash", "posts.csv")


def test_columns_may_come_in_any_order_with_others_beside() -> None:
    names = ["note", *reversed(REQUIRED_COLUMNS)]
    cells = dict(zip(REQUIRED_COLUMNS, next(csv.reader([_row()])), strict=True))
    row = ",".join(f'"{cells.get(n, "x")}"' for n in names)
    _, blocks = parse_bulletins("\ufeff" + ",".join(names) + "\r\n" + row + "\r\n", "hash", "p.csv")
    assert [f.attribute("condition") for f in extract(blocks[0])] == ["X-RAY"]


@given(st.lists(st.lists(st.text(st.characters(codec="ascii", exclude_characters="\0")),
                         min_size=2, max_size=4), min_size=1, max_size=4))
def test_rows_written_by_csv_are_read_back_with_their_offsets(rows: list[list[str]]) -> None:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows(rows)
    text = out.getvalue()
    wanted = [row for row in rows if any(cell.strip() for cell in row)]
    records = list(read_records(text))
    assert [[c.value for c in r.cells or ()] for r in records] == wanted
    for record in records:
        for cell in record.cells or ():
            assert text[cell.start : cell.end].replace('""', '"') == cell.value


def test_columns_of_unlike_rows_are_none() -> None:
    assert columns("a,b", "1") is None
    assert columns("", "1") is None


def test_every_real_post_is_read(shared_data: Path) -> None:
    path = shared_data / "cyportqa" / "uscg_port_conditions.csv"
    document, blocks = parse_bulletins(path.read_text(encoding="utf-8"), "hash", path.name)
    assert len(blocks) == 148
    assert problems(document, blocks) == []
    facts = [fact for block in blocks for fact in extract(block)]
    assert sum(f.relation == "has_operation_status" for f in facts) == 148
    for block in blocks:
        assert all(is_grounded(fact, block.text) for fact in extract(block))
    # A list that names a port names one that the tables know.
    table = default_ports()
    assert all(table.resolve_list(b.ports)[0] for b in blocks if b.ports)
