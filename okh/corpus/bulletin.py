"""Coast Guard port condition bulletins: a CSV of posts, one block a row.

A post says which condition (WHISKEY, X-RAY, YANKEE, ZULU) a Captain of the Port
set for a storm, since when, and what vessels and facilities are to do. The ports
come as people and scrapers wrote them: ``"Miami, PalmBeach"``, ``['KEYWEST']``,
or one name cut into words, ``['NEW', 'ENGLAND']``. Nothing is ever evaluated:
the brackets are read by a regular expression.

Rules that guess, and how they say so
-------------------------------------
Storm names. A misspelt name is taken for another name of the same year in the
same file if that one occurs more often and is at least
:data:`SIMILAR_NAMES` similar (rapidfuzz ratio, 0 to 100). Number words
(``NINE``) are names of their own and never matched. The block keeps the printed
name in its text; ``Block.storm`` holds the resolved one, so the two differ
where the rule guessed.

Port names. Words that a list cut apart are joined where they form a place name
of :data:`PLACE_NAMES`, or where one of them (``NORTH``, ``BAY``) does not
stand alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from rapidfuzz import fuzz

from okh.corpus.errors import CorpusError
from okh.domain import Block, Document, digest, slug
from okh.vocabulary import is_number_name

ROW = "bulletin"
UNREADABLE = "unreadable row"
"""Sections of a bulletin file's blocks."""

REQUIRED_COLUMNS = (
    "time_utc", "CycloneName", "Year", "PortList", "Condition", "ConditionEffectiveTime",
    "VesselOps", "OceanVesselOps", "FacilityOps",
)

SIMILAR_NAMES = 80.0

_FIELD = re.compile(
    # The length is bounded so that a stray quote costs no scan of the whole file.
    r'(?:"(?P<quoted>(?:[^"]|""){0,20000})"|(?P<bare>[^",\r\n]*))(?P<end>,|\r?\n|\r|\Z)'
)
_LINE_END = re.compile(r"\r?\n|\r|\Z")
_TIMES = ("%m/%d/%Y %H:%M", "%m/%d/%Y %H:%M:%S", "%m/%d/%Y %I:%M %p", "%m/%d/%Y")

PLACE_NAMES = (
    "Cape Canaveral", "Charlotte Amalie", "Corpus Christi", "Cruz Bay", "Delaware Bay",
    "Fort Lauderdale", "Fort Myers", "Fort Pierce", "Hampton Roads", "Key West", "Lake Charles",
    "Long Beach", "Los Angeles", "Miami River", "Morehead City", "New England", "New Haven",
    "New Jersey", "New London", "New Orleans", "New York", "Newport News", "North Carolina",
    "Ocean City", "Palm Beach", "Panama City", "Port Arthur", "Port Canaveral",
    "Port Everglades", "Port Lavaca", "Puerto Rico", "San Diego", "San Juan", "South Carolina",
    "South Jersey", "St Croix", "St John", "St Petersburg", "St Thomas", "Tarpon Springs",
    "Virgin Islands", "West Palm Beach",
)
"""Names of more than one word in the waters that port conditions are set for."""

_SHORT_NAMES = {
    "key": "Key West", "kw": "Key West", "nc": "North Carolina", "philly": "Philadelphia",
    "pr": "Puerto Rico", "puerto": "Puerto Rico", "sc": "South Carolina", "va": "Virginia",
    "virgin": "Virgin Islands",
}
"""What is left of a name when its other words are missing, and common short forms."""

_LEADING = frozenset({
    "cape", "east", "fort", "ft", "lake", "los", "new", "north", "palm", "port", "saint", "san",
    "santa", "south", "st", "west",
})
_TRAILING = frozenset({
    "bay", "beach", "channel", "city", "harbor", "island", "islands", "roads", "river", "sound",
    "springs",
})


@dataclass(frozen=True, slots=True)
class Cell:
    """One field of a CSV row: its value, and the offsets of the text between its quotes."""

    value: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Record:
    """One row of a CSV text. ``cells`` is None where the quoting is broken."""

    cells: tuple[Cell, ...] | None
    start: int
    end: int


def read_records(text: str) -> Iterator[Record]:
    """Rows of a CSV text (RFC 4180) with offsets; empty lines are skipped.

    A row whose quotes do not match is given up at the end of its line, so that
    the rows after it are read.
    """
    position = 1 if text.startswith("\ufeff") else 0
    while position < len(text):
        record, position = _record(text, position)
        if record.cells is None or any(c.value.strip() for c in record.cells):
            yield record


def _record(text: str, start: int) -> tuple[Record, int]:
    cells: list[Cell] = []
    position = start
    while True:
        match = _FIELD.match(text, position)
        if match is None:
            line_end = _LINE_END.search(text, start)
            assert line_end is not None, "the end of the text always matches"
            return Record(None, start, line_end.start()), line_end.end()
        group = "quoted" if match["quoted"] is not None else "bare"
        cells.append(Cell(match[group].replace('""', '"'), match.start(group), match.end(group)))
        position = match.end()
        if match["end"] != ",":
            return Record(tuple(cells), start, match.start("end")), position


def columns(header: str, row: str) -> dict[str, Cell] | None:
    """The fields of one row by column name, or None if row and header do not fit."""
    names, record = next(read_records(header), None), next(read_records(row), None)
    if names is None or record is None:
        return None
    return _by_name(names, record)


def _by_name(names: Record, record: Record) -> dict[str, Cell] | None:
    if names.cells is None or record.cells is None or len(names.cells) != len(record.cells):
        return None
    return {n.value.strip(): c for n, c in zip(names.cells, record.cells, strict=True)}


def read_time(printed: str) -> datetime | None:
    """``8/27/2021 11:55`` or an ISO time, as UTC unless it names a zone; None if it is neither."""
    printed = printed.strip()
    for layout in _TIMES:
        try:
            return datetime.strptime(printed, layout).replace(tzinfo=UTC)
        except ValueError:
            continue
    try:
        moment = datetime.fromisoformat(printed)
    except ValueError:
        return None
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


# --- ports ----------------------------------------------------------------------------


def _key(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.casefold())


_BY_KEY = {_key(name): name for name in PLACE_NAMES} | {
    _key(name.replace("St ", "Saint ")): name for name in PLACE_NAMES if name.startswith("St ")
}
_LONGEST = max(len(name.split()) for name in PLACE_NAMES)


def read_ports(printed: str) -> tuple[str, ...]:
    """Clean names of the ports of a list, each once, in the order printed.

    ``"['NEW', 'ENGLAND']"`` gives ``("New England",)``, ``"Miami, PalmBeach"``
    gives ``("Miami", "Palm Beach")``, ``"[]"`` and an empty text give ``()``.
    """
    inside = re.fullmatch(r"\s*\[(.*)\]\s*", printed, re.DOTALL)
    if inside is None:
        words = [word.strip() for word in re.split(r"[,;/]", printed)]
        names = [_port_name(word) for word in words if word]
    else:
        words = [a or b for a, b in re.findall(r"'([^']*)'|\"([^\"]*)\"", inside[1])]
        names = _join(list(_chunks([word.strip() for word in words if word.strip()])))
    return tuple(dict.fromkeys(names))


def _chunks(words: Sequence[str]) -> Iterator[str]:
    """Neighbouring words joined where together they are a known name, the longest first."""
    i = 0
    while i < len(words):
        for width in range(min(_LONGEST, len(words) - i), 1, -1):
            name = _BY_KEY.get(_key("".join(words[i : i + width])))
            if name is not None:
                yield name
                i += width
                break
        else:
            yield words[i]
            i += 1


def _join(words: Sequence[str]) -> list[str]:
    """Words that do not stand alone go with their neighbour (``ROADS``, ``NORTH``)."""
    names: list[str] = []
    waiting = ""
    for i, word in enumerate(words):
        if _key(word) in _LEADING and i + 1 < len(words):
            waiting = f"{waiting} {word}".strip()
        elif _key(word) in _TRAILING and (waiting or names):
            names.append(_port_name(f"{waiting or names.pop()} {word}"))
            waiting = ""
        else:
            names.append(_port_name(f"{waiting} {word}".strip()))
            waiting = ""
    return names


def _port_name(word: str) -> str:
    known = _BY_KEY.get(_key(word)) or _SHORT_NAMES.get(_key(word))
    if known is not None:
        return known
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", word).replace(".", "")
    return " ".join(part.capitalize() for part in spaced.split())


# --- storms ---------------------------------------------------------------------------


def resolve_storms(names: Counter[str]) -> Mapping[str, str]:
    """Each storm name of one year -> the name it is taken for (itself where nothing is wrong).

    Parameters
    ----------
    names
        How often each upper-case name occurs in that year.
    """
    resolved = {}
    for name, count in names.items():
        rivals = [
            (fuzz.ratio(name, other), often, other)
            for other, often in names.items()
            if often > count and not is_number_name(other)
        ]
        best = max(rivals, default=(0.0, 0, name))
        guess = best[0] >= SIMILAR_NAMES and not is_number_name(name)
        resolved[name] = best[2] if guess else name
    return resolved


# --- the file -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Post:
    """A readable row."""

    record: Record
    storm: str
    year: int
    ports: tuple[str, ...]
    posted: datetime


def parse_bulletins(text: str, doc_hash: str, name: str) -> tuple[Document, list[Block]]:
    """Cut a file of port condition posts into one block a row.

    Parameters
    ----------
    text
        A CSV with the columns :data:`REQUIRED_COLUMNS`, in any order, others beside.
    doc_hash
        Hash of the original file.
    name
        Name it came under.

    Returns
    -------
    Document
        One for the file; storm and year stay None.
    list of Block
        In text order, with storm, year, ports and time of posting; the header
        line is their context. A row that cannot be read (quotes, number of
        fields, storm, year, time of posting) is a block of section
        :data:`UNREADABLE`.

    Raises
    ------
    CorpusError
        If the file is empty, has no rows, or lacks a column; the message names it.
    """
    records = list(read_records(text))
    if not records:
        raise CorpusError(name, "", "the file is empty", "Give a CSV of port condition posts")
    header, rows = records[0], records[1:]
    names = [cell.value.strip() for cell in header.cells or ()]
    missing = [column for column in REQUIRED_COLUMNS if column not in names]
    if missing:
        raise CorpusError(
            name, "header line", f"columns missing: {', '.join(missing)}",
            f"A port condition file has the columns {', '.join(REQUIRED_COLUMNS)}",
        )
    if not rows:
        raise CorpusError(name, "", "there is a header but no row", "Add the posts below it")
    document = Document(
        hash=doc_hash, names=(name,), source_kind="bulletin", kind="bulletin", text=text
    )
    posts = [_post(header, row) for row in rows]
    storms = _storms([post for post in posts if post is not None])
    blocks = []
    for seq, (row, post) in enumerate(zip(rows, posts, strict=True)):
        section = UNREADABLE if post is None else ROW
        blocks.append(
            Block(
                id=digest(doc_hash, str(row.start), str(row.end), section)[:24],
                document=doc_hash, source_kind="bulletin", kind="bulletin", section=section,
                seq=seq, start=row.start, end=row.end, text=text[row.start : row.end],
                context=text[header.start : header.end],
                storm=slug(storms[post.year][post.storm]).upper() if post else None,
                year=post.year if post else None, issued=post.posted if post else None,
                ports=post.ports if post else (),
            )
        )
    return document, blocks


def problems(document: Document, blocks: Sequence[Block]) -> list[CorpusError]:
    """One error for each row that could not be read, by line number."""
    return [
        CorpusError(
            document.names[0], f"line {document.text.count(chr(10), 0, block.start) + 1}",
            "this row is broken (quotes, number of fields, storm, year or time_utc)",
            "Correct the row; the others are read",
        )
        for block in blocks
        if block.section == UNREADABLE
    ]


def _post(header: Record, record: Record) -> _Post | None:
    cells = _by_name(header, record)
    if cells is None:
        return None
    storm, year = cells["CycloneName"].value.strip().upper(), cells["Year"].value.strip()
    posted = read_time(cells["time_utc"].value)
    if not slug(storm) or not re.fullmatch(r"\d{4}", year) or posted is None:
        return None
    return _Post(record, storm, int(year), read_ports(cells["PortList"].value), posted)


def _storms(posts: Sequence[_Post]) -> dict[int, Mapping[str, str]]:
    by_year: dict[int, Counter[str]] = {}
    for post in posts:
        by_year.setdefault(post.year, Counter())[post.storm] += 1
    return {year: resolve_storms(names) for year, names in by_year.items()}
