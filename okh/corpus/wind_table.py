"""NHC wind speed probability tables (PWS): envelope, statement, periods and location rows.

The product (``MIAPWSATn`` and ``MIAPWSEPn``; layout described in the NHC product
guide, "Tropical Cyclone Surface Wind Speed Probabilities") is a fixed-width
table of places against 34, 50 and 64 kt. The first of its periods shows one
figure, each later one ``onset(cumulative)`` in percent, ``X`` for less than 1.

A table is cut into one block for the ``AT ...Z THE CENTER OF`` sentence and one
for each forecast location with its one to three rows. A line of the table that
is no row becomes a block of its own (section :data:`UNREADABLE`), from which
nothing is extracted: the rest of the table is read, and nothing is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import pairwise

from okh.corpus.errors import CorpusError
from okh.domain import Block, Document, digest, slug

STATEMENT = "statement"
LOCATION = "location"
UNREADABLE = "unreadable row"
"""Sections of a wind table's blocks."""

THRESHOLDS_KT = (34, 50, 64)

_WEEKDAYS = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")

_TITLE = re.compile(
    r"^(?P<name>\S[^\n]*?)\s+(?:SPECIAL\s+)?WIND\s+SPEED\s+PROBABILITIES\s+NUMBER\s+"
    r"(?P<number>\d+[A-Z]?)(?P<rest>[^\n]*)",
    re.MULTILINE | re.IGNORECASE,
)
_STATUS_NAME = re.compile(
    r"(?:THE\s+)?(?P<status>POTENTIAL\s+TROPICAL\s+CYCLONE|POST-TROPICAL\s+CYCLONE"
    r"|(?:SUB)?TROPICAL\s+(?:STORM|DEPRESSION)|HURRICANE|REMNANTS(?:\s+OF)?)"
    r"\s+(?P<name>[A-Z][A-Z'-]*)",
    re.IGNORECASE,
)
_ATCF = re.compile(r"\b(?P<basin>AL|EP|CP)(?P<cyclone>\d\d)(?P<year>\d{4})\b")
_ISSUED = re.compile(
    rf"^\s*(?P<clock>\d{{4}})\s+UTC\s+(?:{'|'.join(_WEEKDAYS)})\s+"
    rf"(?P<month>{'|'.join(_MONTHS)})\s+(?P<day>\d{{1,2}})\s+(?P<year>\d{{4}})\b",
    re.MULTILINE | re.IGNORECASE,
)
_CORRECTED = re.compile(r"\bCORRECT(?:ED|ION)\b|^TTAA00[^\n]*\bCC[A-Z]\b", re.MULTILINE)
_STATEMENT_TEXT = re.compile(
    r"^AT \d{4}Z\b.+?(?:KM/H\.?(?=\s)|(?=\n[^\S\n]*\n)|\Z)", re.MULTILINE | re.DOTALL
)
_PERIODS = re.compile(
    r"^[^\S\n]*FROM\b[^\n]*\n"
    r"[^\S\n]*TIME\b(?P<starts>[^\n]*)\n"
    r"[^\S\n]*PERIODS\b[^\n]*\n"
    r"(?P<ends>[^\n]*)\n"
    r"(?:[^\S\n]*\n)*"
    r"[^\S\n]*FORECAST HOUR\b(?P<hours>[^\n]*)",
    re.MULTILINE,
)
_CLOCK_DAY = re.compile(rf"(?P<hour>\d\d)Z\s+(?P<day>{'|'.join(_WEEKDAYS)})")
_TABLE = re.compile(r"^[^\S\n]*LOCATION\s+KT\b[^\n]*(?:\n|\Z)", re.MULTILINE)
_TABLE_END = re.compile(r"^(?:\$\$|NNNN|FORECASTER\b)", re.MULTILINE)
_LINE = re.compile(r"\S[^\n]*")

_FIGURE = r"(?:X|\d{1,3})"
_ROW = re.compile(
    rf"(?P<location>\S.*?)\s+(?P<kt>{'|'.join(map(str, THRESHOLDS_KT))})\s+"
    rf"(?P<first>{_FIGURE})(?P<later>(?:\s+{_FIGURE}\(\s*{_FIGURE}\))*)\s*"
)
_CELL = re.compile(rf"(?P<onset>{_FIGURE})\(\s*(?P<cumulative>{_FIGURE})\)")


@dataclass(frozen=True, slots=True)
class Period:
    """One column of the table: from ``start`` to ``end`` (UTC); ``hour`` is the forecast hour of
    its end."""

    start: datetime
    end: datetime
    hour: int


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table.

    ``onset`` and ``cumulative`` hold one whole percentage a period, None for the
    ``X`` of less than 1 %; ``cells`` holds the figures as printed. The first
    period prints one figure, which is both. ``start`` and ``end`` are the
    line's offsets in the text it was read from.
    """

    location: str
    threshold_kt: int
    onset: tuple[int | None, ...]
    cumulative: tuple[int | None, ...]
    cells: tuple[str, ...]
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class _Head:
    """What the envelope says."""

    storm: str
    year: int
    product_id: str
    issued: datetime
    corrected: bool


def read_row(line: str, periods: int | None = None, *, start: int = 0) -> Row | None:
    """One line of the table, or None if it is no whole row.

    Parameters
    ----------
    line
        The line, without its line break.
    periods
        How many columns it must have; any number when None.
    start
        Offset of the line in the text that holds it.

    Notes
    -----
    A row is refused if a figure exceeds 100, an onset probability its cumulative
    one, or if the cumulative probability falls from one period to the next. None
    of this is possible (nor in the 162,288 real cells it was tried on): such a
    line was cut or overwritten.
    """
    match = _ROW.fullmatch(line)
    if match is None:
        return None
    first = match["first"]
    cells, onset, cumulative = [first], [_figure(first)], [_figure(first)]
    for cell in _CELL.finditer(match["later"]):
        cells.append(cell[0])
        onset.append(_figure(cell["onset"]))
        cumulative.append(_figure(cell["cumulative"]))
    if periods is not None and len(cells) != periods:
        return None
    levels = [value or 0 for value in cumulative]
    falls = any(later < earlier for earlier, later in pairwise(levels))
    exceeds = any((o or 0) > level for o, level in zip(onset, levels, strict=True))
    if levels[-1] > 100 or falls or exceeds:
        return None
    return Row(
        match["location"], int(match["kt"]), tuple(onset), tuple(cumulative), tuple(cells),
        start, start + len(line.rstrip()),
    )


def _figure(printed: str) -> int | None:
    return None if printed == "X" else int(printed)


def read_rows(text: str, periods: int | None = None) -> Iterator[Row]:
    """The rows among the lines of a text, with their offsets in it."""
    for line in _LINE.finditer(text):
        row = read_row(line[0].rstrip(), periods, start=line.start())
        if row is not None:
            yield row


@lru_cache(maxsize=64)
def read_periods(header: str, issued: datetime) -> tuple[Period, ...]:
    """The periods that a table's column header names, dated from the time of issuance.

    The header prints an hour and a day of the week only. The first period starts
    at the moment nearest to ``issued`` that has both (a table starts three to six
    hours before its issuance); the rest follows from the forecast hours, and each
    printed start and end must agree with it.

    Raises
    ------
    ValueError
        If the header is missing, or its lines disagree with each other.
    """
    match = _PERIODS.search(header)
    if match is None:
        raise ValueError("the lines FROM, TIME, PERIODS and FORECAST HOUR are not there")
    starts = _CLOCK_DAY.findall(match["starts"])
    ends = _CLOCK_DAY.findall(match["ends"])
    hours = [int(hour) for hour in re.findall(r"\(\s*(\d+)\)", match["hours"])]
    if not hours or not len(starts) == len(ends) == len(hours):
        raise ValueError("starts, ends and forecast hours of the periods differ in number")
    origin = _nearest(issued, *starts[0])
    edges = [origin, *(origin + timedelta(hours=hour) for hour in hours)]
    if [_clock_day(edge) for edge in edges[:-1]] != starts or (
        [_clock_day(edge) for edge in edges[1:]] != ends
    ):
        raise ValueError("the days of the periods disagree with the forecast hours")
    return tuple(
        Period(start, end, hour)
        for (start, end), hour in zip(pairwise(edges), hours, strict=True)
    )


def _nearest(issued: datetime, hour: str, day: str) -> datetime:
    midnight = issued.replace(hour=0, minute=0, second=0, microsecond=0)
    candidates = [
        midnight + timedelta(days=shift, hours=int(hour)) for shift in range(-4, 5)
    ]
    wanted = [c for c in candidates if _WEEKDAYS[c.weekday()] == day]
    return min(wanted, key=lambda c: abs(c - issued))


def _clock_day(moment: datetime) -> tuple[str, str]:
    return f"{moment.hour:02d}", _WEEKDAYS[moment.weekday()]


def read_status(text: str) -> tuple[str, str] | None:
    """(status in lower case, name in upper case) of the first cyclone that a text names."""
    match = _STATUS_NAME.search(text)
    if match is None:
        return None
    status = " ".join(match["status"].lower().split())
    return status.removesuffix(" of"), match["name"].upper()


def parse_wind_table(text: str, doc_hash: str, name: str) -> tuple[Document, list[Block]]:
    """Cut a wind speed probability table into blocks.

    Parameters
    ----------
    text
        The whole product, with or without its ZCZC/NNNN envelope.
    doc_hash
        Hash of the original file.
    name
        Name it came under.

    Returns
    -------
    Document
        With storm, year (of the ATCF number), issuance time (UTC) and
        ``product_id`` such as ``PWS AL112017 38``,
        equal for a product and its correction.
    list of Block
        In text order. A location block has the period header as context.

    Raises
    ------
    CorpusError
        If the title, the time of issuance or the period header cannot be read,
        or the file holds several products.
    """
    head = _read_head(text, name)
    header = _PERIODS.search(text)
    if header is None:
        raise CorpusError(
            name, "column header", "the period header of the table is missing or cut off",
            "Fetch the whole product again",
        )
    try:
        periods = read_periods(header[0], head.issued)
    except ValueError as error:
        raise CorpusError(
            name, "column header", str(error), "Fetch the product again, or a later one"
        ) from error
    document = Document(
        hash=doc_hash, names=(name,), source_kind="products", kind="wind_table", text=text,
        storm=head.storm, year=head.year, issued=head.issued, product_id=head.product_id,
        corrected=head.corrected,
    )
    blocks: list[Block] = []
    for start, end, section, location in _pieces(text, header.end(), len(periods)):
        blocks.append(
            Block(
                id=digest(doc_hash, str(start), str(end), section)[:24], document=doc_hash,
                source_kind="products", kind="wind_table", section=section, seq=len(blocks),
                start=start, end=end, text=text[start:end],
                context=header[0] if section == LOCATION else "",
                storm=head.storm, year=head.year, issued=head.issued, location=location,
            )
        )
    return document, blocks


def problems(document: Document, blocks: Sequence[Block]) -> list[CorpusError]:
    """What of a parsed table could not be read: each broken line, and a missing end."""
    name = document.names[0]
    found = []
    for block in blocks:
        if block.section == UNREADABLE:
            line = document.text.count("\n", 0, block.start) + 1
            found.append(
                CorpusError(
                    name, f"line {line}", "this line of the table is no whole row",
                    "The other rows are read; fetch the product again to have this one",
                )
            )
    if _TABLE_END.search(document.text) is None:
        found.append(
            CorpusError(
                name, "end", "the product stops before its end mark",
                "The rows before are read; fetch the whole product to have the rest",
            )
        )
    return found


def _read_head(text: str, name: str) -> _Head:
    titles = list(_TITLE.finditer(text))
    if not titles:
        raise CorpusError(
            name, "title", "no title line of a wind speed probability table",
            "Give a whole PWS product as text",
        )
    if len(titles) > 1:
        raise CorpusError(
            name, "title", f"the file holds {len(titles)} products",
            "Split it at the NNNN lines, one product a file",
        )
    title = titles[0]
    cyclone = read_status(title["name"])
    if cyclone is None:
        raise CorpusError(
            name, "title", "the title names no kind of cyclone",
            "Check the line above WIND SPEED PROBABILITIES",
        )
    issued = _read_issued(text, name)
    atcf = _ATCF.search(text, title.end())
    storm = slug(cyclone[1]).upper()
    return _Head(
        storm=storm,
        year=int(atcf["year"]) if atcf else issued.year,
        product_id=f"PWS {atcf[0] if atcf else f'{storm}{issued.year}'} {title['number']}",
        issued=issued,
        corrected=_CORRECTED.search(text, 0, title.end()) is not None,
    )


def _read_issued(text: str, name: str) -> datetime:
    match = _ISSUED.search(text)
    if match is None:
        raise CorpusError(
            name, "issuance", "no line like '1500 UTC FRI SEP 08 2017'",
            "Give the product with its header lines",
        )
    clock, month = match["clock"], _MONTHS.index(match["month"].upper()) + 1
    try:
        return datetime(
            int(match["year"]), month, int(match["day"]), int(clock[:2]), int(clock[2:]),
            tzinfo=UTC,
        )
    except ValueError as error:
        raise CorpusError(
            name, "issuance", f"no such time: {error}", "Correct the header line"
        ) from error


def _pieces(
    text: str, header_end: int, periods: int
) -> Iterator[tuple[int, int, str, str | None]]:
    """(start, end, section, location) of each block, in text order."""
    statement = _STATEMENT_TEXT.search(text, 0, header_end)
    if statement is not None:
        yield statement.start(), statement.start() + len(statement[0].rstrip()), STATEMENT, None
    table = _TABLE.search(text, header_end)
    start = table.end() if table else header_end
    end = _TABLE_END.search(text, start)
    stop = end.start() if end else len(text)
    yield from _location_pieces(text, start, stop, periods)


def _location_pieces(
    text: str, start: int, stop: int, periods: int
) -> Iterator[tuple[int, int, str, str | None]]:
    pending: Row | None = None
    first = start
    for line in _LINE.finditer(text, start, stop):
        row = read_row(line[0].rstrip(), periods, start=line.start())
        if pending is not None and (row is None or row.location != pending.location):
            yield first, pending.end, LOCATION, pending.location
            pending = None
        if row is None:
            yield line.start(), line.start() + len(line[0].rstrip()), UNREADABLE, None
            continue
        if pending is None:
            first = row.start
        pending = row
    if pending is not None:
        yield first, pending.end, LOCATION, pending.location
