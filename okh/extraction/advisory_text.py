"""Language of public advisories: sentences, times, compass, and facts built from them.

Rules match on *folded* text (white space squeezed to single blanks), so that no
pattern has to know where a product wraps its lines; evidence keeps the raw span.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache

from okh.corpus.advisory import parse_issuance
from okh.domain import Attribute, Block, Fact, Mention

_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")
_STOP = re.compile(r"[.!?][\"”’)]*(?=\s+[A-Z*\"“(\d])")
_ABBREVIATION = re.compile(r"(?:\b(?:St|Ste|Ft|Mt|Pt|No|Dr|Gov|Is|[A-Z])|\bU\.\s?S|\.\.)$")
_AFTER_US = re.compile(
    r"\s+(?:The|These|This|That|Those|A|An|On|Some|Swells|Interests|Please|However|Additional|It"
    r"|In|As|For|Isolated|Total|Rainfall|Heavy|Elsewhere)\b"
)

COMPASS: tuple[str, ...] = ("N", "NNE", "NE", "ENE", "E", "ESE", "SE", "SSE",
                            "S", "SSW", "SW", "WSW", "W", "WNW", "NW", "NNW")
_POINTS = {"north": "N", "east": "E", "south": "S", "west": "W"}
HEADING = re.compile(
    r"\b(?:(?P<first>north|south|east|west)-? ?)?(?P<second>northeast|northwest|southeast"
    r"|southwest|north|south|east|west)(?:ward|erly|wardly)?\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A span of a block: raw offsets, and its text with white space squeezed."""

    start: int
    end: int
    text: str


def squeeze(text: str) -> str:
    """White space folded to single blanks, ends trimmed."""
    return " ".join(text.split())


def piece(text: str, start: int, end: int) -> Piece:
    """The span without outer white space."""
    body = text[start:end]
    start += len(body) - len(body.lstrip())
    end = start + len(body.strip())
    return Piece(start, end, squeeze(text[start:end]))


def paragraphs(text: str) -> list[Piece]:
    """Runs of lines between blank lines."""
    cuts = [0]
    for match in _BLANK_LINE.finditer(text):
        cuts += [match.start(), match.end()]
    cuts.append(len(text))
    found = [piece(text, a, b) for a, b in zip(cuts[::2], cuts[1::2], strict=True)]
    return [p for p in found if p.text]


def sentences(text: str, part: Piece) -> list[Piece]:
    """Sentences of one paragraph; ``St. Kitts`` and ``U.S. Virgin`` do not end one."""
    found, start = [], part.start
    for stop in _STOP.finditer(text, part.start, part.end):
        before = _ABBREVIATION.search(text, max(start, stop.start() - 6), stop.start())
        if before and not (before[0][-1:].isupper() and _AFTER_US.match(text, stop.end())):
            continue
        found.append(piece(text, start, stop.end()))
        start = stop.end()
    if text[start : part.end].strip():
        found.append(piece(text, start, part.end))
    return found


def compass(words: str) -> str | None:
    """``north-northwestward -> NNW``; None where no direction is named."""
    match = HEADING.search(words)
    return heading(match) if match else None


def heading(match: re.Match[str]) -> str | None:
    """Compass abbreviation of a :data:`HEADING` match."""
    second = match["second"].lower()
    letters = _POINTS[second] if second in _POINTS else (
        _POINTS[second[:5]] + _POINTS[second[5:]])
    first = _POINTS[match["first"].lower()] if match["first"] else ""
    name = first + letters
    return name if name in COMPASS else None


# --- times -------------------------------------------------------------------

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_PART = r"(?:morning|afternoon|evening|night|midday|noon)"
_WHEN = (
    rf"(?:{_DAY}(?: (?:early |late |mid-?)?{_PART})?|today|tonight|tomorrow(?: {_PART})?"
    rf"|overnight|(?:early |late |later )?this (?:(?:early |late )?{_PART}|weekend|week)"
    rf"|next week(?:end)?"
    rf"|next {_DAY}|the (?:early |late |mid-?)?{_PART}"
    r"|mid-?week|midday|the week(?:end)?)\b"
)
_EARLY = (
    r"(?:(?:early|late|later|mid|midday|sometime|very early|very late)(?: on| in the)?[ -]"
    r"|the (?:rest|remainder) of |much of |the end of |the middle of |the latter part of "
    r"|mid to late |at least |as early as )*"
)
_POINT = rf"(?:{_EARLY}{_WHEN}(?: or so)?)"
_SPAN = (
    r"(?:(?:(?:the next|another|the past) (?:[\w-]+ ){0,5}?|(?:a|the) (?:(?:couple of"
    r"|couple more|few|few more"
    r"|coming|following|several|several more) )?)(?:hours?|days?|h)\b"
    r"(?: or (?:so|two))?)"
)
_LEAD = (
    r"(?:(?:by|through|until|on|during|over|within|beginning|starting|into|for|in|from|late|early"
    r"|as early as|around|throughout|sometime) )*"
)
TIMING = re.compile(
    rf"\b(?=[abdefilmnostuw]){_LEAD}(?:{_POINT}|{_SPAN})"
    rf"(?:,? (?:(?:and|or|to|into|through|and then|then|and into|and through|and continue"
    rf"|and continuing) )?(?:(?:on|during|by|through|late|into|over) )*(?:{_POINT}|{_SPAN}"
    rf"|(?:early |late )?{_PART}))*",
    re.IGNORECASE,
)
"""A time as advisories say it: ``by late Friday or early Saturday``."""

_TIME_WORD = re.compile(r"day|night|morning|afternoon|evening|noon|week|hour|morrow| h\b", re.I)


@lru_cache(maxsize=512)
def timings(text: str) -> tuple[re.Match[str], ...]:
    """All timing phrases of a text; cached, as several rules ask for those of one sentence."""
    return tuple(TIMING.finditer(text)) if _TIME_WORD.search(text) else ()


def first_timing(text: str, start: int = 0, end: int | None = None) -> re.Match[str] | None:
    """The first timing phrase that lies in ``text[start:end]``."""
    stop = len(text) if end is None else end
    return next((m for m in timings(text) if start <= m.start() and m.end() <= stop), None)


@lru_cache(maxsize=512)
def masked(text: str) -> str:
    """The text with every timing phrase blanked by NUL characters; offsets stay."""
    parts, last = [], 0
    for match in timings(text):
        parts += [text[last : match.start()], "\0" * len(match[0])]
        last = match.end()
    return "".join(parts) + text[last:]


_MOMENT = re.compile(
    rf"\b(?:(?P<early>early|late|later|midday)(?: on| in the)? )?(?P<next>next )?(?P<day>{_DAY}"
    rf"|today|tonight|tomorrow|overnight|this(?: early| late)?(?= {_PART})|midday)"
    rf"(?: (?P<part>{_PART}))?",
    re.IGNORECASE,
)
_HOUR = {"morning": 9, "midday": 12, "noon": 12, "afternoon": 15, "evening": 19, "night": 22}


def local_time(block: Block) -> datetime | None:
    """Local issuance time of the block's product, from its context (else UTC)."""
    return _context_time(block.context) or (
        block.issued.replace(tzinfo=None) if block.issued else None)


@lru_cache(maxsize=256)
def _context_time(context: str) -> datetime | None:
    issuance = parse_issuance(context)
    return issuance.local if issuance else None


def moment(phrase: str, issued: datetime) -> tuple[date, float] | None:
    """Day of the first point in time that a phrase names, and hours from issuance to it.

    A part of a day stands for its middle (morning 9, afternoon 15, evening 19,
    night 22 o'clock; ``early`` 3, ``late`` 21, a bare weekday noon). A weekday is
    its first occurrence from the day of issuance on.

    Returns
    -------
    (date, hours) or None
        None for phrases without a point, such as ``during the next few days``.
    """
    match = _MOMENT.search(phrase)
    if match is None:
        return None
    word, part, early = (match[g].lower() if match[g] else "" for g in ("day", "part", "early"))
    ahead, hour = 0, 12.0
    if word in _WEEKDAYS:
        ahead = (_WEEKDAYS.index(word) - issued.weekday()) % 7
        ahead += 7 if match["next"] and not ahead else 0
    elif word == "tomorrow":
        ahead = 1
    elif word in ("tonight", "overnight"):
        hour = 22.0
    elif word == "today":
        hour = float(min(issued.hour + 6, 18))
    if part:
        hour = float(_HOUR[part])
    elif word in ("tonight", "overnight"):
        hour = 23.0 if early == "late" else hour
    elif early in ("early", "late"):
        hour = 3.0 if early == "early" else 21.0
    day = issued.date() + timedelta(days=ahead)
    then = datetime(day.year, day.month, day.day) + timedelta(hours=hour)
    return day, max((then - issued).total_seconds() / 3600.0, 0.0)


def time_attributes(phrase: str | None, block: Block) -> tuple[Attribute, ...]:
    """``date`` (ISO, first day named) and ``text`` (the phrase) of a timing phrase."""
    if not phrase:
        return ()
    issued = local_time(block)
    when = moment(phrase, issued) if issued else None
    text = Attribute("text", phrase)
    return (Attribute("date", when[0].isoformat()), text) if when else (text,)


# --- facts -------------------------------------------------------------------


@lru_cache(maxsize=512)
def _name_pattern(storm: str) -> re.Pattern[str]:
    words = r"[\s-]+".join(re.escape(w) for w in storm.split("-"))
    return re.compile(rf"(?<![^\W_]){words}(?![^\W_])", re.IGNORECASE)


@lru_cache(maxsize=512)
def cyclone(storm: str | None, evidence: str) -> Mention:
    """The storm as a mention: ``text`` where its name stands in the evidence, else ``linked``."""
    name = storm or "UNNAMED"
    found = _name_pattern(name).search(evidence)
    if found is None:
        return Mention(name, "cyclone", origin="linked")
    return Mention(squeeze(found[0]).upper(), "cyclone")


def fact(
    block: Block, where: Piece, relation: str, mentions: tuple[tuple[str, str], ...],
    attributes: tuple[Attribute, ...], confidence: float = 1.0,
) -> Fact:
    """A fact whose evidence is ``where``.

    ``mentions`` are (name, type) pairs beside the cyclone; a name that is no span
    of the evidence (a hazard named by the paragraph's tag) is marked ``linked``.
    """
    folded = where.text.casefold()
    named = [cyclone(block.storm, where.text)]
    for name, kind in dict.fromkeys(mentions):
        words = squeeze(name)
        grounded = words in where.text or words.casefold() in folded
        named.append(Mention(words, kind, origin="text" if grounded else "linked"))
    return Fact(
        relation=relation, evidence=block.text[where.start : where.end], mentions=tuple(named),
        attributes=tuple(a for a in attributes if a.value), confidence=confidence,
        start=where.start, end=where.end,
    )


_LEADING = re.compile(
    r"^(?:[\s,;.]*\b(?:and|but|for|from|over|across|along|in|into|on|at|to|within|near|elsewhere|mainly"
    r"|primarily|also|then|both|generally|especially|reach|reaching|affect|affecting) )+",
    re.IGNORECASE,
)
_TRAILING = re.compile(
    r"(?:[\s,;:]|\.{2,4}|…|\b(?:and|or|with|but|as|that|which|are|is|will|be|by|on|through|during"
    r"|beginning|starting|late|early|later|the|while|where|also|well|possible|likely|expected"
    r"|then|continue|continuing|possibly|for|in|over|near|to|of|along|across|from)$)+$",
    re.IGNORECASE,
)


_DANGLING = re.compile(
    r"(?:^|,?\s+)(?:near\s+and\s+)?(?:to\s+(?:the\s+)?|the\s+)\w+\s+of$", re.IGNORECASE)
_ANAPHORA = re.compile(
    r"(?:(?:portions|parts|much|some|most) of )?(?:that|this|these|those|the|such|all|both"
    r"|the same|the indicated|the following)"
    r"(?: general)? (?:areas?|regions?|locations?)|(?:other |some )?areas", re.IGNORECASE)


def place(text: str) -> str:
    """A place phrase without the preposition before and the loose words behind it.

    Empty for a phrase that only points back, such as ``these areas``.
    """
    text = _LEADING.sub("", text.strip(" ,;:*"))
    text = _DANGLING.sub("", text)
    # Loose words end a phrase: only its last words are looked at, which is what costs time.
    while loose := _TRAILING.search(text, max(0, len(text) - 60)):
        text = text[: loose.start()]
    if text.endswith(".") and not re.search(r"\b(?:[A-Z]|St|Ft)\.$", text):
        text = text.rstrip(".")
    text = text.strip(" ,;")
    return "" if _ANAPHORA.fullmatch(text) else text
