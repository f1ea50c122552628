"""Scenario documents: text cut at horizon headers (§3.1, A.2), and CyPortQA events.

A header is a line (or the beginning of one, up to a colon) that names a lead:
``T-48 hours before expected landfall:``, ``T – 48 h``, ``[T-48]``, ``Horizon
T-48``, ``48 hours before landfall``, ``T+24``. Blocks cover the text without gap
or overlap, and a block keeps its header.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from okh.corpus.errors import CorpusError
from okh.corpus.rendering import EventError, render_event
from okh.domain import Block, Document, digest, horizon_label, slug

__all__ = [
    "PREAMBLE", "Horizon", "Subject", "find_horizons", "is_event", "lead_of_name",
    "names_subject", "parse_scenario", "read_events", "render_event", "repeated_horizons",
    "subject_of_name",
]

PREAMBLE = "preamble"
"""Section of the text before the first header, and of a document without one."""

MAX_LEAD = 384
"""Sixteen days: a larger number in front of ``hours`` is no horizon."""

_DASH = "-‐‑‒–—−"
_EVENT = (
    r"(?:the\s+)?(?:(?:expected|projected|forecast(?:ed)?|predicted|estimated|anticipated|actual)"
    r"\s+)?landfall"
)
_BEFORE = r"(?:before|prior\s+to|ahead\s+of|out\s+from|until|to)"
_AFTER = r"(?:after|past|following|post)"
_HOURS = r"(?:-?\s*(?:hours?|hrs?|h)\b\.?)"

_HEADER = re.compile(
    rf"""
    ^[ \t]*+(?:[#>]++[ \t]*+|\*\*|__|={{2,}}+[ \t]*+|-{{2,}}+[ \t]*+)*+[\[(]?[ \t]*
    (?:(?:horizon|lead(?:[ -]time)?|forecast|update|block|snapshot|time|at)\b[ \t]*[:=]?[ \t]*)?
    (?:
        T[ \t]*(?P<sign>[{_DASH}+]|minus\b|plus\b)[ \t]*(?P<lead>\d{{1,3}})(?!\d|\.\d)
        [ \t]*{_HOURS}?(?:[ \t]*(?:{_BEFORE}|{_AFTER})[ \t]+{_EVENT})?
      | (?P<hours>\d{{1,3}})[ \t]*{_HOURS}[ \t]*(?:(?P<before>{_BEFORE})|{_AFTER})[ \t]+{_EVENT}
      | (?P<zero>(?:at|time[ \t]+of|moment[ \t]+of)[ \t]+{_EVENT})
    )
    [ \t]*(?:\([^()\n]{{0,80}}\)[ \t]*)?
    (?:[\])]|\*\*|__|[#=]++|[ \t]|[-–—]++(?=[ \t]*$))*
    (?:[:：](?:\*\*)?|[.]?(?=[ \t\r]*$)|[ \t][–—](?=[ \t]))
    """,
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Horizon:
    """One header: its span in the text and its lead in hours before landfall."""

    lead: int
    start: int
    end: int


def find_horizons(text: str) -> list[Horizon]:
    """The horizon headers of a text, in the order of the text."""
    found = []
    for match in _HEADER.finditer(text):
        hours = int(match["lead"] or match["hours"] or 0)
        if hours > MAX_LEAD:
            continue
        later = match["sign"] in ("+", "plus") if match["sign"] else not (
            match["before"] or match["zero"]
        )
        lead = -hours if (later or _says_after(match[0])) else hours
        found.append(Horizon(lead, match.start(), match.end()))
    return found


def _says_after(header: str) -> bool:
    """Whether the words place the horizon behind landfall (``T-24 h after landfall``)."""
    return re.search(rf"\b{_AFTER}\s+{_EVENT}", header, re.IGNORECASE) is not None


@dataclass(frozen=True, slots=True)
class Subject:
    """Whom a document is about, as far as it says; ``port`` is the port's name as printed."""

    storm: str | None = None
    year: int | None = None
    port: str | None = None

    def or_else(self, other: Subject) -> Subject:
        """This subject, its gaps filled from another."""
        return Subject(
            self.storm or other.storm, self.year or other.year, self.port or other.port
        )


_LEAD_SUFFIX = re.compile(r"_(\d{1,3})h$", re.IGNORECASE)
_EXTENSIONS = re.compile(r"(?:\.(?:txt|text|md|dat|asc|gz))+$", re.IGNORECASE)


def _bare_name(name: str) -> str:
    """A file's name without folders and extensions; of ``events.jsonl#ID``, the ``ID``."""
    if "#" in name:
        return name.rsplit("#", 1)[-1]
    return _EXTENSIONS.sub("", PurePosixPath(name.replace("\\", "/")).name)


def lead_of_name(name: str) -> int | None:
    """Lead in hours that a name like ``IRMA_2017_48h.txt`` ends in; None where it has none."""
    match = _LEAD_SUFFIX.search(_bare_name(name))
    return int(match[1]) if match and int(match[1]) <= MAX_LEAD else None


def subject_of_name(name: str) -> Subject:
    """Storm, year and port from a name like ``ANA_2015_Port_of_Savannah,_GA.txt``.

    What follows ``#`` counts where there is one (``events.jsonl#ANA_2015_…``). A
    trailing ``_48h`` is a lead and no port.
    """
    stem = _LEAD_SUFFIX.sub("", _bare_name(name))
    match = re.fullmatch(r"(.+?)_((?:19|20)\d\d)(?:_(.+))?", stem)
    if match is None or not slug(match[1]):
        return Subject()
    port = match[3].replace("_", " ").strip() if match[3] else None
    return Subject(slug(match[1]).upper(), int(match[2]), port or None)


_LABEL = r"^[ \t>*#-]*(?:\*\*)?(?:{})(?:\*\*)?[ \t]*[:=][ \t]*(?:\*\*)?[ \t]*(\S[^\n]*?)[ \t\r]*$"
_STORM_LABEL = re.compile(
    _LABEL.format(r"(?:tropical[ \t]+)?(?:storm|cyclone|hurricane)(?:[ \t]+name)?"), re.I | re.M
)
_YEAR_LABEL = re.compile(_LABEL.format(r"(?:year|season)"), re.I | re.M)
_PORT_LABEL = re.compile(_LABEL.format(r"(?:port|harbou?r)(?:[ \t]+name)?"), re.I | re.M)
_STORM_TITLE = re.compile(
    r"\b(?:hurricane|(?:sub)?tropical[ \t]+(?:storm|depression)|(?:tropical[ \t]+)?cyclone|storm)"
    r"[ \t]+(?P<name>[A-Z][A-Za-z'’/-]{2,})\b", re.IGNORECASE
)
_NO_NAME = re.compile(
    r"(?:and|at|for|from|has|in|is|of|on|or|over|surge|the|to|track|warning|watch|was|with|year|"
    r"approach\w*|moving|near\w*|scenario|season|conditions?)", re.IGNORECASE
)
"""Words behind "storm" that are no name of one."""

_PORT_PHRASE = re.compile(
    r"\b(Port[ \t]+of[ \t]+[A-Z][\w.'’-]*(?:[ \t]+[A-Z][\w.'’-]*){0,3}(?:,[ \t]*[A-Z]{2}\b)?"
    r"|Port[A-Z]\w+(?:,[ \t]*[A-Z]{2}\b)?"
    r"|[A-Z][\w.'’-]*(?:[ \t]+[A-Z][\w.'’-]*){0,3},[ \t]*[A-Z]{2}\b)"
)
_FIRST_LINES = 12


def names_subject(text: str) -> bool:
    """Whether the first lines label both a storm and a port (``Storm: …``, ``Port: …``)."""
    head = "\n".join(text.splitlines()[:_FIRST_LINES])
    return all(label.search(head) is not None for label in (_STORM_LABEL, _PORT_LABEL))


def _subject_of_text(text: str) -> Subject:
    """Storm, year and port from the preamble, or from the first lines where there is none."""
    horizons = find_horizons(text)
    head = text[: horizons[0].start] if horizons else text
    if not head.strip():
        head = text
    head = "\n".join(head.splitlines()[:_FIRST_LINES])
    storm, year, port = (
        match[1] if (match := pattern.search(head)) else None
        for pattern in (_STORM_LABEL, _YEAR_LABEL, _PORT_LABEL)
    )
    if storm is None:
        titles = (m["name"] for m in _STORM_TITLE.finditer(head))
        storm = next((n for n in titles if not _NO_NAME.fullmatch(n)), None)
    years = re.findall(r"\b(?:19|20)\d\d\b", f"{year or ''} {storm or ''} {head}")
    storm = re.sub(r"[(,\s]*(?:19|20)\d\d.*$", "", storm) if storm else ""
    storm = re.sub(
        r"^(?:hurricane|(?:sub)?tropical (?:storm|depression|cyclone))\s+", "", storm, flags=re.I
    )
    if port is None and (phrase := _PORT_PHRASE.search(head)):
        port = phrase[1]
    return Subject(slug(storm).upper() or None, int(years[0]) if years else None, port)


def parse_scenario(
    text: str, doc_hash: str, name: str, subject: Subject | None = None
) -> tuple[Document, list[Block]]:
    """Cut a scenario into its horizon blocks.

    Parameters
    ----------
    text
        The whole document.
    doc_hash
        Hash of its original bytes.
    name
        Name it came under; ``STORM_YEAR_Port…`` names tell whom it is about.
    subject
        What a manifest says; it decides over the name, the name over the first lines.

    Returns
    -------
    document, blocks
        The blocks cover the text: their texts joined are the text. The preamble
        and a document without header have no lead. A block's ``context`` names the
        port, which is otherwise no part of its content key.

    Raises
    ------
    CorpusError
        The text is empty.
    """
    if not text.strip():
        raise CorpusError(name, "", "the document is empty", "Give a text with statements in it.")
    known = (subject or Subject()).or_else(subject_of_name(name)).or_else(_subject_of_text(text))
    document = Document(
        hash=doc_hash, names=(name,), source_kind="scenario", kind="scenario", text=text,
        storm=known.storm, year=known.year, port=known.port,
    )
    horizons = find_horizons(text)
    cuts: list[tuple[int, int | None]] = [(h.start, h.lead) for h in horizons]
    if not cuts:
        cuts = [(0, None)]
    elif text[: cuts[0][0]].strip():
        cuts.insert(0, (0, None))
    else:
        cuts[0] = (0, cuts[0][1])
    ends = [start for start, _ in cuts[1:]] + [len(text)]
    blocks = [
        _block(document, seq, start, end, lead)
        for seq, ((start, lead), end) in enumerate(zip(cuts, ends, strict=True))
    ]
    return document, blocks


def _block(document: Document, seq: int, start: int, end: int, lead: int | None) -> Block:
    section = PREAMBLE if lead is None else horizon_label(lead)
    return Block(
        id=digest(document.hash, str(start), str(end), section)[:24],
        document=document.hash, source_kind="scenario", kind="scenario", section=section, seq=seq,
        start=start, end=end, text=document.text[start:end],
        context=f"Port: {document.port}" if document.port else "",
        storm=document.storm, year=document.year, port=document.port, lead=lead,
    )


def repeated_horizons(blocks: list[Block]) -> list[int]:
    """Leads at which a scenario has more than one block, farthest first."""
    counts = Counter(b.lead for b in blocks if b.lead is not None)
    return sorted((lead for lead, n in counts.items() if n > 1), reverse=True)


def is_event(row: object) -> bool:
    """Whether a parsed JSON row is a CyPortQA event (and no question)."""
    return (
        isinstance(row, dict)
        and isinstance(row.get("senario", row.get("scenario")), dict)
        and not ("question" in row and "answer" in row)
    )


def read_events(
    text: str, name: str = "events.jsonl", on_error: Callable[[CorpusError], None] | None = None
) -> Iterator[tuple[Document, list[Block]]]:
    """One rendered scenario for each line of an events file.

    The document's hash is that of the rendered text, its name
    ``events.jsonl#<event_id>``.

    Parameters
    ----------
    text
        JSON Lines; blank lines are skipped.
    name
        Name of the file.
    on_error
        Called with the error of a line that cannot be read; the rest goes on.
        Without it the first such error is raised.
    """
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            yield _read_event(line, name, number)
        except CorpusError as error:
            if on_error is None:
                raise
            on_error(error)


def _read_event(line: str, name: str, number: int) -> tuple[Document, list[Block]]:
    place = f"line {number}"
    try:
        row = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise CorpusError(
            name, place, "the line is not JSON", "Mend or remove this line."
        ) from error
    if not is_event(row):
        raise CorpusError(
            name, place, "the row has no `senario`, so it is no event", "Remove this line."
        )
    try:
        rendered = render_event(row)
    except EventError as error:
        raise CorpusError(name, place, str(error), "Add the field, or remove the line.") from error
    cyclone = row.get("senario", row.get("scenario"))["cyclone"]
    port = row.get("senario", row.get("scenario"))["port"]["name"]
    event_id = str(row.get("event_id") or f"line-{number}")
    subject = Subject(
        slug(str(cyclone["name"])).upper() or None,
        int(cyclone["year"]) if str(cyclone["year"]).isdecimal() else None,
        " ".join(str(port).split()),
    )
    doc_hash = hashlib.sha256(rendered.encode()).hexdigest()
    return parse_scenario(rendered, doc_hash, f"{name}#{event_id}", subject)
