"""NHC public advisories (the TCP product): envelope, header, and one block per section.

The layout, stable since the advisories were redesigned and read here for 2015
to 2021, in upper or mixed case::

    ZCZC MIATCPAT1 ALL              envelope, may be missing
    BULLETIN
    Hurricane Name Advisory Number  12          title
    NWS National Hurricane Center Miami FL       AL112017
    500 PM EDT Fri Sep 08 2017                  issuance
    ...HEADLINE...
    SUMMARY OF 500 PM EDT...2100 UTC...INFORMATION
    WATCHES AND WARNINGS / DISCUSSION AND OUTLOOK / HAZARDS AFFECTING LAND / NEXT ADVISORY
    $$ … NNNN

A block starts behind the rule of dashes under its section's name. A hazard
paragraph with a tag (``WIND:``) is a block of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from okh.corpus.errors import CorpusError
from okh.domain import Block, Document, digest, slug

__all__ = ["AdvisoryHeader", "Issuance", "match_title", "parse_advisory", "parse_issuance",
           "read_header", "status_of", "truncated_at"]

ZONES: dict[str, int] = {
    "UTC": 0, "GMT": 0, "Z": 0, "CVT": -1, "ADT": -3, "AST": -4, "EDT": -4, "EST": -5,
    "CDT": -5, "CST": -6, "MDT": -6, "MST": -7, "PDT": -7, "PST": -8, "AKDT": -8, "AKST": -9,
    "HDT": -9, "HST": -10, "SST": -11, "CHST": 10,
}
"""Hours to add to UTC for the zones that advisories are issued in."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

_TITLE = re.compile(
    r"^[ \t]*(?P<title>(?P<status>potential\s+tropical\s+cyclone|post-?\s?tropical\s+cyclone"
    r"|extratropical\s+cyclone|remnants\s+of|subtropical\s+storm|subtropical\s+depression"
    r"|tropical\s+storm|tropical\s+depression|hurricane)"
    r"\s+(?P<name>\S(?:[^\n]*?\S)??)\s+(?P<kind>intermediate\s+|special\s+)?"
    r"advisory\s+number\s+(?P<number>\d+[a-z]?)(?P<corrected>[ .]*corrected)?)",
    re.IGNORECASE | re.MULTILINE,
)
_STORM_ID = re.compile(r"\b(?P<basin>AL|EP|CP)(?P<cyclone>\d{2})(?P<year>\d{4})\b")
_PRODUCT = re.compile(r"^ZCZC[ \t]+(?P<id>\S+)", re.MULTILINE)
_WMO_CORRECTION = re.compile(r"^\S{4,6}[ \t]+[A-Z]{4}[ \t]+\S+[ \t]+CC[A-Z]\b",
                             re.IGNORECASE | re.MULTILINE)
_NOTE_CORRECTION = re.compile(r"^corrected\b", re.IGNORECASE | re.MULTILINE)
_ISSUANCE = re.compile(
    r"^[ \t]*(?P<clock>\d{1,4})[ \t]+(?P<half>AM|PM)?[ \t]*(?P<zone>[A-Z]{1,4})[ \t]+"
    r"[A-Z]{3,9}[ \t]+(?P<month>[A-Z]{3})[A-Z]*[ \t]+(?P<day>\d{1,2})[ \t]+(?P<year>\d{4})\b",
    re.IGNORECASE | re.MULTILINE,
)
_SUMMARY = re.compile(r"^[ \t]*summary\s+of\b(?!\s+watch)[^\n]*", re.IGNORECASE | re.MULTILINE)
_SUMMARY_UTC = re.compile(r"\b(\d{4})[ \t]*UTC\b", re.IGNORECASE)
_POSITION = re.compile(r"^[ \t]*location\b", re.IGNORECASE | re.MULTILINE)
_HEADING = re.compile(
    r"^[ \t]*(?P<head>watches\s+and\s+warnings|discussion\s+and\b[^\n]*?outlook"
    r"|hazards\s+affecting\s+land|next\s+advisory)[ \t\r]*\n(?:[ \t]*-{3,}[ \t\r]*\n)?",
    re.IGNORECASE | re.MULTILINE,
)
_CHANGES = re.compile(r"^[ \t]*changes\s+with\s+this\s+advisory\b", re.IGNORECASE | re.MULTILINE)
_IN_EFFECT = re.compile(r"^[ \t]*summary\s+of\s+watches\s+and\s+warnings\s+in\s+effect\b",
                        re.IGNORECASE | re.MULTILINE)
_TAG = re.compile(
    r"^(?P<tag>storm surge|wind|rainfall|tornado(?:es)?|surf|coastal flooding"
    r"|[A-Z]{2,}(?:[ /][A-Z]+){0,3})(?P<more> statement)?(?::|\.\.\.)",
    re.MULTILINE | re.IGNORECASE,
)
_KNOWN_TAG = re.compile(r"storm surge|wind|rainfall|tornado(?:es)?|surf|coastal flooding",
                        re.IGNORECASE)
_END = re.compile(r"^[ \t]*(?:\$\$|NNNN)", re.MULTILINE)

_SECTIONS = {"watches": "watches", "discussion": "discussion", "hazards": "hazards",
             "next": "next advisory"}
_LAYOUT = "give one complete NHC public advisory (TCP), from its title to the end mark"


@dataclass(frozen=True, slots=True)
class Issuance:
    """When a product was issued: local clock time (naive) and its zone, as printed."""

    local: datetime
    zone: str

    @property
    def utc(self) -> datetime | None:
        """The same moment in UTC, or None where the zone is not known."""
        offset = ZONES.get(self.zone)
        if offset is None:
            return None
        return (self.local - timedelta(hours=offset)).replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class AdvisoryHeader:
    """What the first lines of an advisory say. ``status`` is lower case, as in the vocabulary.

    ``product`` is the AWIPS identifier of the envelope (None without envelope),
    ``cyclone`` the ATCF number such as ``AL112017``, ``number`` the advisory
    number such as ``38A``; ``start`` and ``end`` are the offsets of the title.
    """

    title: str
    status: str
    name: str
    number: str
    product: str | None
    cyclone: str | None
    year: int
    issued: datetime
    issuance_line: str
    intermediate: bool
    special: bool
    corrected: bool
    start: int
    end: int

    @property
    def product_id(self) -> str:
        """Equal for a product and its correction, e.g. ``TCP AL112017 38A``."""
        return f"TCP {self.cyclone or f'{slug(self.name).upper()}{self.year}'} {self.number}"


def parse_issuance(text: str) -> Issuance | None:
    """The first line of ``text`` that is an issuance time, e.g. ``500 PM EDT Fri Sep 08 2017``."""
    for match in _ISSUANCE.finditer(text):
        month = match["month"].lower()
        hour, minute = divmod(int(match["clock"]), 100)
        if len(match["clock"]) < 3:
            hour, minute = int(match["clock"]), 0
        if match["half"]:
            hour = hour % 12 + (12 if match["half"].upper() == "PM" else 0)
        if month not in _MONTHS:
            continue
        try:
            local = datetime(int(match["year"]), _MONTHS.index(month) + 1, int(match["day"]),
                             hour, minute)
        except ValueError:
            continue
        return Issuance(local, match["zone"].upper())
    return None


def _moment(issuance: Issuance, summary: str, name: str) -> datetime:
    """Issuance in UTC: by its zone, else by the summary's UTC clock on the nearest date."""
    by_zone = issuance.utc
    if by_zone is not None:
        return by_zone
    clock = _SUMMARY_UTC.search(summary)
    if clock is None or int(clock[1]) // 100 > 23 or int(clock[1]) % 100 > 59:
        raise CorpusError(
            name, "issuance line", f"time zone {issuance.zone[:8]!r} is not known",
            "write the time in a zone of the Americas, or add the UTC time to the summary line",
        )
    hour, minute = divmod(int(clock[1]), 100)
    candidate = issuance.local.replace(hour=hour, minute=minute, tzinfo=UTC)
    behind = candidate - issuance.local.replace(tzinfo=UTC)
    # Zones lie between UTC-12 and UTC+14: the date is the one that fits that range.
    if behind > timedelta(hours=12):
        candidate -= timedelta(days=1)
    elif behind < timedelta(hours=-11):
        candidate += timedelta(days=1)
    return candidate


def match_title(text: str) -> re.Match[str] | None:
    """The title line; groups ``title``, ``status``, ``name``, ``kind``, ``number``, ``corrected``.

    The name may wrap: a long title continues on the next line.
    """
    return _TITLE.search(text)


def status_of(title: re.Match[str]) -> str:
    """Status of a title match in lower case, as the vocabulary writes it."""
    status = " ".join(title["status"].lower().split())
    if status == "remnants of":
        return "remnants"
    if status.startswith(("post", "extratropical")):
        return "post-tropical cyclone"
    return status


def read_header(text: str, name: str) -> AdvisoryHeader:
    """Read title, storm number and issuance time.

    Raises
    ------
    CorpusError
        Where there is no title, no issuance time, or a time that cannot be placed.
    """
    title = match_title(text)
    if title is None:
        raise CorpusError(name, "header", "no line like '<status> <name> Advisory Number <n>'",
                          _LAYOUT)
    summary = _SUMMARY.search(text, title.end())
    head_end = summary.start() if summary else min(len(text), title.end() + 600)
    head = text[title.end() : head_end]
    time = _ISSUANCE.search(head)
    issuance = parse_issuance(head)
    if time is None or issuance is None:
        raise CorpusError(name, "header", "no issuance line like '500 PM EDT Fri Sep 08 2017'",
                          _LAYOUT)
    envelope = text[: title.start()]
    product = _PRODUCT.search(envelope)
    cyclone = _STORM_ID.search(head)
    kind = (title["kind"] or "").strip().lower()
    return AdvisoryHeader(
        title=title["title"], status=status_of(title), name=" ".join(title["name"].split()),
        number=title["number"].upper(), product=product["id"] if product else None,
        cyclone=cyclone[0] if cyclone else None,
        year=int(cyclone["year"]) if cyclone else issuance.local.year,
        issued=_moment(issuance, summary[0] if summary else "", name),
        issuance_line=time[0].strip(), intermediate=kind == "intermediate",
        special=kind == "special",
        corrected=bool(title["corrected"] or _WMO_CORRECTION.search(envelope)
                       or _NOTE_CORRECTION.search(head)),
        start=title.start("title"), end=title.end("title"),
    )


def truncated_at(text: str) -> str | None:
    """The last section that a cut product reaches, or None where its end mark is there.

    A product without ``$$`` or ``NNNN`` that still reaches its last section's
    first line counts as whole: the envelope is often stripped.
    """
    if _END.search(text):
        return None
    heads = list(_HEADING.finditer(text))
    if not heads:
        return "summary" if _SUMMARY.search(text) else "header"
    last = heads[-1]
    section = _SECTIONS[last["head"].split()[0].lower()]
    whole = section == "next advisory" and re.search(r"\bat\s+\d{3,4}\s+[AP]M\b",
                                                     text[last.end():], re.IGNORECASE)
    return None if whole else section


def _spans(text: str, header: AdvisoryHeader, name: str) -> list[tuple[str, int, int]]:
    """(section, start, end) of every block, in text order, untrimmed."""
    summary = _SUMMARY.search(text, header.end)
    if summary is None or not _POSITION.search(text, summary.end()):
        raise CorpusError(name, "summary", "no summary with the storm's location", _LAYOUT)
    end_mark = _END.search(text, summary.end())
    end = end_mark.start() if end_mark else len(text)
    heads = list(_HEADING.finditer(text, summary.end(), end))
    spans = [
        ("header", header.start, summary.start()),
        ("summary", summary.start(), heads[0].start() if heads else end),
    ]
    stops = [*(h.start() for h in heads), end]
    for head, stop in zip(heads, stops[1:], strict=True):
        section = _SECTIONS[head["head"].split()[0].lower()]
        if section == "watches":
            spans += _watch_spans(text, head.end(), stop)
        elif section == "hazards":
            spans += _hazard_spans(text, head.start(), head.end(), stop)
        else:
            spans.append((section, head.end(), stop))
    return spans


def _watch_spans(text: str, start: int, end: int) -> list[tuple[str, int, int]]:
    """Changes and what is in effect; without a changes heading, one section."""
    changes = _CHANGES.search(text, start, end)
    in_effect = _IN_EFFECT.search(text, changes.end() if changes else start, end)
    if changes is None:
        return [("watches", start, end)]
    stop = in_effect.start() if in_effect else end
    spans = [("watch changes", changes.start(), stop)]
    if in_effect:
        spans.append(("watches", in_effect.start(), end))
    return spans


def _hazard_spans(text: str, heading: int, start: int, end: int) -> list[tuple[str, int, int]]:
    """One section per tagged paragraph; text before the first tag keeps the heading."""
    tags = [t for t in _TAG.finditer(text, start, end) if _is_tag(text, t, start)]
    spans = []
    first = tags[0].start() if tags else end
    if text[start:first].strip():
        spans.append(("hazards", heading, first))
    stops = [*(t.start() for t in tags), end]
    for tag, (begin, stop) in zip(tags, pairwise(stops), strict=True):
        spans.append((_hazard_name(tag["tag"]), begin, stop))
    return spans


def _is_tag(text: str, tag: re.Match[str], start: int) -> bool:
    """Whether a match opens a hazard paragraph: a list's area (``NY...``) does not."""
    line_before = text[max(start, text.rfind("\n", 0, max(tag.start() - 1, 0)) + 1) : tag.start()]
    opens = not line_before.strip()
    known = _KNOWN_TAG.fullmatch(tag["tag"]) is not None
    upper = tag["tag"].isupper()
    colon = text[tag.end() - 1] == ":"
    if known:
        return upper or (opens and colon)
    return opens and upper and colon


def _hazard_name(tag: str) -> str:
    name = " ".join(tag.lower().split())
    if name.startswith("tornado"):
        return "tornadoes"
    return name if _KNOWN_TAG.fullmatch(name) else "hazards"


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without outer white space."""
    body = text[start:end]
    start += len(body) - len(body.lstrip())
    return start, start + len(body.strip())


def parse_advisory(text: str, doc_hash: str, name: str) -> tuple[Document, list[Block]]:
    """Cut one public advisory into a document and its blocks.

    Parameters
    ----------
    text
        The decoded product; a missing envelope or a cut end is accepted
        (:func:`truncated_at` says where it was cut).
    doc_hash
        Hash of the original bytes.
    name
        Name that errors show.

    Returns
    -------
    (Document, list of Block)
        ``Document.storm`` is the name in the title as an upper-case slug, which
        for an unnamed system is its number (``NINE``). Sections are ``header``,
        ``summary``, ``watch changes``, ``watches``, ``discussion``, ``hazards``
        (untagged), ``storm surge``, ``wind``, ``rainfall``, ``tornadoes``,
        ``surf``, ``coastal flooding``, ``next advisory``. ``Block.context`` is
        the title and the issuance line.

    Raises
    ------
    CorpusError
        Where header or summary are missing: without them nothing else can be dated.
    """
    header = read_header(text, name)
    storm = slug(header.name).upper() or None
    document = Document(
        hash=doc_hash, names=(name,), source_kind="products", kind="advisory", text=text,
        storm=storm, year=header.year, issued=header.issued, product_id=header.product_id,
        corrected=header.corrected,
    )
    context = f"{' '.join(header.title.split())}\n{header.issuance_line}"
    blocks: list[Block] = []
    for section, raw_start, raw_end in _spans(text, header, name):
        start, end = _trim(text, raw_start, raw_end)
        if start == end:
            continue
        blocks.append(Block(
            id=digest(doc_hash, str(start), str(end), section)[:24], document=doc_hash,
            source_kind="products", kind="advisory", section=section, seq=len(blocks),
            start=start, end=end, text=text[start:end], context=context, storm=storm,
            year=header.year, issued=header.issued,
        ))
    return document, blocks
