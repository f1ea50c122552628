"""Surge and rain in prose: which area a sentence means by each of its amounts.

The area stands behind the amount, behind an isolated amount that follows, or
before the amount; the confidence of a fact says which.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import zip_longest

from okh.domain import Attribute, Block, Fact
from okh.extraction.advisory_amounts import (
    BEFORE,
    BESIDE,
    CARRIED,
    Hazard,
    amount_range,
    is_isolated,
    top,
)
from okh.extraction.advisory_text import (
    Piece,
    fact,
    masked,
    piece,
    place,
    sentences,
    time_attributes,
    timings,
)

_METRIC = re.compile(r"^\s*\([^)]*\)")
_OBSERVED = re.compile(
    r"\b(?:have|has|had)\s+(?:already\s+)?(?:fallen|been|reported|occurred)\b|\breceived\b",
                       re.IGNORECASE)
_TAG = re.compile(
    r"^(?:rainfall|storm surge|wind|surf|tornado(?:es)?|coastal flooding)(?:\s+statement)?"
    r"\s*(?::|\.{3})\s*", re.IGNORECASE)


def without_tag(text: str) -> str:
    """A hazard paragraph's first sentence without the tag before it (``RAINFALL:``)."""
    return _TAG.sub("", text)


_PREPOSITION = (
    r"(?:along and near|along and just inland of|near and inland of|in and around|over|across"
    r"|along|in|near|for|within|from"
    r"|between|around|throughout|to|into|on|northward into|northward across|farther inland over)"
)
_FILLER = (
    r"(?:\([^)]*\)|of|rain|rainfall|rains|storm|surge|inundation|is|are|will|be|may|can|could"
    r"|occur|occurring|expected|possible|likely|anticipated|forecast|with|mainly|primarily"
    r"|generally|especially|spreading|above|normal|tide|levels?|ground|somewhere|also"
    r"|through|and|as|affecting|northward|accumulations?|totals?|amounts?|locally|local|isolated"
    r"|higher|maximum|farther (?:north|south|east|west)|elsewhere"
    r"|at (?:the )?times? of high tide|at high tide|during high tide)"
)
_AFTER = re.compile(
    rf"^(?:[\s,\x00]*\b{_FILLER}(?=[\s,\x00]))*?[\s,\x00]*\b{_PREPOSITION}\s+"
    r"(?P<area>[^\x00]+)",
    re.IGNORECASE,
)
_ANYWHERE = re.compile(
    r"\b(?:over|across|along|near|within|in|for|around|on|affect(?:ing)?|reach(?:ing)?"
    r"|from(?!\s+\w+\s+(?:will|could|may|is|should|can|continues))"
    r"(?=[^.]*\s(?:to|through|into|\w+ward)\s))\s+"
    r"(?P<area>(?:the |portions |parts |much |all |both |far |extreme |and |of |immediate |coast "
    r"|(?:(?:north|south|east|west)+(?:ern)?|central|coastal|south-central|upper|lower|middle"
    r"|interior)(?: to | |, ))*[A-Z][^\x00]*|(?:portions|parts|much|most|areas"
    r"|the)\b(?!\s+(?:next|following|track|form|potential|event|center))[^\x00]+)"
)
_AREA_END = re.compile(
    r"\s*(?:\x00|;|\((?=\d)|\.(?=\s|$)(?<!St\.)(?<!U\.S\.)|,?\s+\bwith\b|,?\s+\bwhere\b"
    r"|,?\s+\bwhich\b"
    r"|,?\s+(?:and\s+)?\b(?:is|are|was|were|will|could|may|might|should|can|likely|possible"
    r"|expected|possibly)\b|,?\s+(?<!well )\bas\b(?!\s+well)|,?\s+\bduring\b|,?\s+\bby\b"
    r"|,?\s+beginning\b"
    r"|,?\s+\bwhile\b|,?\s+\bif\b|,?\s+\bresulting\b|,?\s+(?:and\s+)?\bthen\b|,?\s+later\b"
    r"|,?\s+\b(?:and|but)\b\s*(?=\x00|$)|,?\s+\bcausing\b|,?\s+\bassociated\b"
    r"|,\s+(?:and\s+)?(?:\w+\s+)?(?:is|are)\b|,?\s+\bdue to\b|,?\s+\bin advance\b"
    r"|,\s+(?:and\s+)?(?:total|totals|amounts|isolated|locally|mainly|generally|especially"
    r"|rainfall|leading|producing)\b)",
    re.IGNORECASE,
)
_NEXT_LEAD = re.compile(
    r",?\s*\b(?:and|with|but|while)\b(?:\s+(?:possible|possibly|also|an?|the|generally|additional"
    r"|total|totals|storm|isolated|local|locally|localized|maximum|maxima|higher|rainfall|rain"
    r"|amounts|accumulations|up|to|of|around|about|as|high|much))*\s*$"
    r"|(?:,?\s+(?:isolated|locally|local|maximum)\b[^,]*|,\s*[\w\s]{0,40})$",
    re.IGNORECASE,
)
_LABEL = re.compile(r"^(?P<area>[A-Z][^:.]{2,80}):\s")
_FRONT_OPEN = re.compile(
    rf"^(?:{_PREPOSITION})\s+(?P<area>[^\x00]+?)\s+(?:storm\s+total\s+|total\s+|additional\s+)?"
    r"rain(?:fall)?\b[^,]*$", re.IGNORECASE)
_FRONT = re.compile(
    r"^(?:\W*(?:also|in addition|additionally|meanwhile|elsewhere|farther inland),?\s+)?"
    rf"(?:[\s,\x00]*(?:{_PREPOSITION})\s+(?P<area>[^\x00]+?))(?:,|\.{{3,4}})\s+[^,]*$",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    r"^(?:[\s,\x00]*(?:and|then|also))*[\s,\x00]*(?P<area>(?:portions|parts|much|coastal|the|[A-Z])"
    r"[^\x00]*?)\s+(?:is|are|could|will|can|may|should)\s+(?:likely\s+|also\s+)?"
    r"(?:see|receive|expected to (?:see|receive)|get|pick up)\b",
)


_FLOOD_WORDS = re.compile(
    r"\b(?:(?:significant|considerable|flash|urban|small stream|river(?:ine)?"
    r"|areal)[\s,]+(?:and\s+)?)*"
    r"(?:flash|urban|flood\w*|mud\s?slides?|landslides?)\b|\band\s+(?:prolong|exacerbate)\b|--",
    re.IGNORECASE)


def area_after(text: str) -> str | None:
    """The first place phrase of a sentence, timing left out; None without one."""
    hidden = _FLOOD_WORDS.sub("\0", masked(text))
    found = (_area(match["area"]) for match in _ANYWHERE.finditer(hidden))
    return next((area for area in found if area), None)


def _area(raw: str) -> str:
    """A place phrase cut where the sentence goes on."""
    stop = _AREA_END.search(raw)
    return place(raw[: stop.start()] if stop else raw)


@lru_cache(maxsize=1024)
def likelihood(text: str) -> str:
    """``occurring``, ``expected``, ``possible`` or ``ending``, by a sentence's words."""
    for word, pattern in _LIKELIHOOD:
        if pattern.search(text):
            return word
    return ""


_LIKELIHOOD = tuple((word, re.compile(rf"\b(?:{words})\b", re.IGNORECASE)) for word, words in (
    ("ending", "subside|recede|receding|diminish"),
    ("possible", r"possible|could|may|might|potential(?!\s+tropical)|risk|threat"),
    ("expected", "expected|likely|will|should|forecast|anticipated"),
    ("occurring", "occurring|affecting|are still|continue|continuing"),
))


def timing(block: Block, text: str) -> tuple[Attribute, ...]:
    """Date of the first timing phrase of a sentence, words of all."""
    phrases = [match[0] for match in timings(text)]
    if not phrases:
        return ()
    date = [a for a in time_attributes(phrases[0], block) if a.key == "date"]
    return (*date, Attribute("text", "; ".join(phrases)))


def prose(block: Block, part: Piece, hazard: Hazard, reference: str) -> Iterator[Fact]:
    """Amounts of the sentences of a piece; ``reference`` is what heights are measured from."""
    last: Fact | None = None
    for where in sentences(block.text, part):
        amounts = list(hazard.amount.finditer(where.text))
        if not amounts or _OBSERVED.search(where.text):
            continue
        for found in _sentence(block, where, hazard, reference, amounts, last):
            last = found if found.attribute("area") else last
            yield found


def _sentence(
    block: Block, where: Piece, hazard: Hazard, reference: str,
    amounts: list[re.Match[str]], last: Fact | None,
) -> Iterator[Fact]:
    """Facts of one sentence: ranges with their areas; an isolated maximum joins its range."""
    text = masked(where.text)
    tails = _tails(text, amounts)
    isolated = [
        bool(is_isolated(text[(amounts[i - 1].end() if i else 0) : a.start()]))
        for i, a in enumerate(amounts)
    ]
    note = (Attribute("text", reference),) if reference else ()
    when = timing(block, where.text)
    index = 0
    while index < len(amounts):
        match, area, sure = amounts[index], tails[index], BESIDE
        mentions = [(match[0], "hazard_forecast")]
        values: list[Attribute] = []
        joined = index + 1 < len(amounts) and isolated[index + 1] and not isolated[index]
        own_area = joined and tails[index + 1]
        if isolated[index]:
            values = [Attribute("isolated", top(match), hazard.unit)]
        else:
            values = [*amount_range(match, hazard)]
        if joined and not (area and own_area):
            area = area or own_area or ""
            values.append(Attribute("isolated", top(amounts[index + 1]), hazard.unit))
            index += 1
        if not area:
            area, sure = _area_before(text, amounts, index), BEFORE
        start = where
        if not area and last is not None:
            area, sure = last.attribute("area") or "", CARRIED
            start = piece(block.text, last.start, where.end)
        if area:
            mentions.insert(0, (area, "area"))
        yield fact(
            block, start, hazard.relation, tuple(mentions),
            (Attribute("hazard", hazard.name), Attribute("area", area), *values,
             *(when or note)), sure if area else CARRIED,
        )
        index += 1


def _tails(text: str, amounts: list[re.Match[str]]) -> list[str]:
    """The area right behind each amount, empty where there is none."""
    found = []
    for match, after in zip_longest(amounts, amounts[1:]):
        tail = text[match.end() : after.start() if after else len(text)]
        if after:
            tail = _NEXT_LEAD.sub("", tail, count=1)
        tail = _METRIC.sub("", tail)
        area = _AFTER.match(tail)
        found.append(_area(area["area"]) if area else "")
    return found


def _area_before(text: str, amounts: list[re.Match[str]], index: int) -> str:
    """The area named before an amount: ``Across Honduras, 2 to 5 inches``."""
    first = amounts[0] if index <= 1 else amounts[index]
    begin = 0 if index <= 1 else amounts[index - 1].end()
    head = without_tag(text[begin : first.start()])
    for pattern in (_LABEL, _FRONT, _FRONT_OPEN, _SUBJECT):
        match = pattern.search(head)
        if match:
            return _area(match["area"])
    inside = list(_ANYWHERE.finditer(head))
    return _area(inside[-1]["area"]) if inside else ""
