"""What the scenario rules share: statements, quantities, dates, compass words, facts.

Nothing here knows a template. A statement is one sentence, bullet or labelled
line; a reader looks in it for quantities with their units, names of conditions,
dates and places near the words that say what they are about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from okh.corpus.scenario import find_horizons
from okh.corpus.sentences import split_sentences
from okh.domain import Attribute, Block, Fact, Mention

KM_PER_MILE = 1.609344
MPH_PER_KNOT = 1.150779

COMPASS: tuple[str, ...] = (
    "N", "NNE", "NE", "ENE", "E", "ESE", "SE", "SSE",
    "S", "SSW", "SW", "WSW", "W", "WNW", "NW", "NNW",
)
_COMPASS_WORD = r"(?:north|south|east|west)"
DIRECTION = (
    rf"(?:(?i:{_COMPASS_WORD}(?:[\s-]*{_COMPASS_WORD})*(?:wards?|erly)?)(?![a-z])"
    r"|(?:NNE|NNW|ENE|ESE|SSE|SSW|WSW|WNW|NE|NW|SE|SW|N|S|E|W)(?![A-Za-z.']))"
)
"""A compass direction, in letters or in words. Case-sensitive in its letters."""

_DASH = r"(?:-|‐|‑|‒|–|—|−|to|and)"
_QUALIFIER = (
    r"less\s+than|fewer\s+than|under|below|<|≤|more\s+than|over|above|>|≥|at\s+least|up\s+to|at\s+most|"
    r"≈|~|about|around|approximately|approx\.?|roughly|nearly|near|some"
)


def amount(name: str) -> str:
    """Pattern of a quantity or a range, with the groups ``{name}_q``, ``{name}``, ``{name}_to``."""
    return (
        rf"(?:(?P<{name}_q>{_QUALIFIER})\s*)?(?<![\d.])(?P<{name}>\d+(?:\.\d+)?)"
        rf"(?:\s*{_DASH}\s*(?:about\s+)?(?P<{name}_to>\d+(?:\.\d+)?))?\s?\+?"
    )


@dataclass(frozen=True, slots=True)
class Amount:
    """A quantity read from text: plain decimal strings, and how sure its words are."""

    low: str
    high: str
    qualifier: str

    @property
    def confidence(self) -> float:
        """1 for a bare number, less for "about", a bound or a range."""
        if self.qualifier:
            return 0.9
        return 1.0 if self.low == self.high else 0.8

    @property
    def below(self) -> bool:
        return bool(re.match(r"less|fewer|under|below|<|≤|up|at\s+most", self.qualifier))


def read_amount(match: re.Match[str], name: str) -> Amount:
    """The quantity that ``amount(name)`` matched."""
    low = match[name]
    high = match[f"{name}_to"] or low
    return Amount(_plain(low), _plain(high), (match[f"{name}_q"] or "").lower())


def _plain(number: str) -> str:
    whole, _, fraction = number.partition(".")
    fraction = fraction.rstrip("0")
    return f"{int(whole)}.{fraction}" if fraction else str(int(whole))


def decimal(value: float) -> str:
    """A float as a plain decimal with at most one digit behind the point."""
    return _plain(f"{value:.1f}")


COUNT_WORDS = {
    "one": "1", "two": "2", "three": "3", "four": "4", "five": "5",
    "six": "6", "seven": "7", "eight": "8", "nine": "9", "ten": "10",
}
COUNT = rf"(?:\d+|{'|'.join(COUNT_WORDS)})"
HOURS = r"(?:\s|-)*(?:hours?|hrs?|h)\b"
SPEED_UNIT = r"(?P<unit>mph|mi/h|miles?\s+(?:per|an)\s+hour|km/h|kph|kmh|knots?|kts?|kn)\b"
PERCENT = r"\s*(?:%|percent\b|per\s+cent\b)"

_MONTH = (
    r"(?P<m{0}>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)(?:[a-z]*\.?)"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
DATE = re.compile(
    r"(?P<iso>\b(?:19|20)\d\d-\d\d-\d\d)\b"
    r"|\b(?P<us_m>\d{1,2})/(?P<us_d>\d{1,2})/(?P<us_y>(?:19|20)\d\d)\b"
    r"|\b" + _MONTH.format(1) + r"\s+(?P<d1>\d{1,2})(?:st|nd|rd|th)?\b"
    r"(?:,?\s+(?P<y1>(?:19|20)\d\d)\b)?"
    r"|\b(?P<d2>\d{1,2})(?:st|nd|rd|th)?(?:\s+of)?[\s-]+" + _MONTH.format(2)
    + r"\b(?:,?[\s-]+(?P<y2>(?:19|20)\d\d)\b)?",
    re.IGNORECASE,
)


def iso_date(match: re.Match[str], year: int | None) -> str | None:
    """The date that :data:`DATE` matched as ISO, or None where its year is unknown."""
    if match["iso"]:
        return match["iso"]
    if match["us_y"]:
        return f"{match['us_y']}-{int(match['us_m']):02d}-{int(match['us_d']):02d}"
    which = "1" if match["d1"] else "2"
    when = match[f"y{which}"] or (str(year) if year else "")
    month = _MONTHS.index(match[f"m{which}"].lower()[:3]) + 1
    return f"{when}-{month:02d}-{int(match[f'd{which}']):02d}" if when else None


def compass(words: str) -> str:
    """``north-northwestward`` as ``NNW``; empty where the words are no compass point."""
    if words in COMPASS:
        return words
    letters = "".join(w[0] for w in re.findall(_COMPASS_WORD, words.lower())).upper()
    return letters if letters in COMPASS else ""


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence of a block.

    ``raw`` is the span of the block, ``text`` the same with each white-space
    character a blank, so that offsets agree. ``label`` is what stands before the
    first colon of a ``Label: value`` line, ``body`` the rest, without final stop.
    """

    block: Block
    start: int
    raw: str
    text: str
    label: str
    body: str

    @property
    def after(self) -> bool:
        """Whether it was written behind landfall: what it tells was observed."""
        return self.block.section.startswith("T+")

    @property
    def port(self) -> str | None:
        """Name of the port that the scenario is about."""
        context = self.block.context
        return context.removeprefix("Port: ") if context.startswith("Port: ") else None

    def has(self, pattern: str) -> bool:
        """Whether the statement has these words, in any case."""
        return re.search(pattern, self.text, re.IGNORECASE) is not None


_LABEL = re.compile(
    r"\s*(?:\*\*)?([A-Za-z0-9][^:.!?;%]{1,70}?)(?:\*\*)?\s*[:=]\s*(?:\*\*)?\s*(?=\S)"
)


def statements(block: Block) -> Iterator[Statement]:
    """The statements of a block, in order, its horizon header left out."""
    horizons = find_horizons(block.text)
    begin = horizons[0].end if horizons else 0
    for start, end in split_sentences(block.text[begin:]):
        raw = block.text[begin + start : begin + end]
        text = re.sub(r"\s", " ", raw)
        match = _LABEL.match(text)
        label = match[1].strip() if match else ""
        body = text[match.end() :] if match else text
        yield Statement(block, begin + start, raw, text, label, body.rstrip(" ."))


def fact(
    statement: Statement,
    relation: str,
    value: str,
    kind: str,
    attributes: Mapping[str, str | None],
    *,
    units: Mapping[str, str] | None = None,
    port: bool = False,
    others: tuple[Mention, ...] = (),
    confidence: float = 1.0,
) -> Fact:
    """One fact with the whole statement as evidence.

    ``value`` must be a span of the statement; the cyclone is always a mention,
    the port where ``port`` says that the fact is bound to it. Attributes without
    a value are left out.
    """
    mentions = [_subject(statement)]
    if port and statement.port:
        mentions.append(_named(statement, statement.port, "port"))
    mentions += [*others, Mention(value.strip(" .,;"), kind, confidence=confidence)]
    return Fact(
        relation=relation, evidence=statement.raw, mentions=tuple(mentions),
        attributes=tuple(
            Attribute(key, text, (units or {}).get(key, ""))
            for key, text in attributes.items() if text
        ),
        confidence=confidence, start=statement.start, end=statement.start + len(statement.raw),
    )


def _subject(statement: Statement) -> Mention:
    return _named(statement, statement.block.storm or "cyclone", "cyclone")


def _named(statement: Statement, name: str, kind: str) -> Mention:
    inside = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", statement.text, re.IGNORECASE)
    return Mention(name, kind, origin="text" if inside else "linked")
