"""Amounts of surge (feet) and rain (inches), and the lists that print them by area.

A list's entry (``area...2 to 4 ft``) is one fact and its own evidence. An
isolated maximum, a storm total or a time that follows in the same sentence
belongs to the entry before it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from okh.domain import Attribute, Block, Fact
from okh.extraction.advisory_text import (
    Piece,
    fact,
    first_timing,
    piece,
    squeeze,
    time_attributes,
)

LISTED, BESIDE, BEFORE, CARRIED = 1.0, 0.9, 0.85, 0.75
"""Confidence of an area: printed in a list, behind the amount, before it, of the last sentence."""


@dataclass(frozen=True, slots=True)
class Hazard:
    """What tells surge from rain."""

    relation: str
    name: str
    unit: str
    amount: re.Pattern[str]


_NUMBER = r"\d+(?:\.\d+)?"


def _amount(unit: str) -> re.Pattern[str]:
    """``4 to 8 inches``, ``2-4 ft``, ``up to 20 inches``, ``1 inch or less``."""
    return re.compile(
        r"\b(?=[\duaelm])(?:(?P<bound>up to|as much as|as high as|less than|at least|more than"
        r"|exceeding)\s+"
        r"(?:an\s+|a\s+)?(?:additional\s+|about\s+|around\s+)*)?"
        rf"(?<!\d)(?<!\d\.)(?P<low>{_NUMBER})(?:\s*(?:to|-|–|or)\s*(?P<high>{_NUMBER}))?\s*{unit}\b"
        r"(?P<less>\s+or\s+less)?",
        re.IGNORECASE,
    )


SURGE = Hazard("forecasts_storm_surge", "storm surge", "ft", _amount(r"(?:ft|feet|foot)"))
RAIN = Hazard("forecasts_rainfall", "rainfall", "in", _amount(r"(?:inches|inch)"))

_SEPARATOR = r"(?:\.{2,4}|…|:)"
_ENTRY_HEAD = re.compile(
    rf"{_SEPARATOR}\s*(?:(?:an\s+"
    rf"|and\s+)?additional(?:\s+rainfall)?(?:\s+(?:storm\s+)?totals?\s+of)?\s+|around\s+|about\s+"
    r"|(?:storm\s+)?totals?\s+of\s+|generally\s+)*$",
    re.IGNORECASE,
)
_LIST_BREAK = re.compile(r"(?:\.{3}|…|:)[ \t\r]*\n|(?<=[.])\s+(?=[A-Z])(?<!St\.\s)(?<!U\.S\.\s)")
_TOTAL = re.compile(r"^(?:storm[\s-]+)?totals?$", re.IGNORECASE)
_ISOLATED = re.compile(
    r"\b(?:isolated|local(?:ly|ized)?|maximum|maxima|higher|storm[\s-]total accumulations)\b"
    r"[^.;:]{0,60}$",
    re.IGNORECASE,
)


def is_isolated(before: str) -> bool:
    return _ISOLATED.search(before) is not None


def amount_range(match: re.Match[str], hazard: Hazard) -> tuple[Attribute, ...]:
    """``low`` and ``high``; an upper bound alone is ``high`` with ``low`` 0."""
    low, high = match["low"], match["high"] or match["low"]
    bound = (match["bound"] or "").lower()
    if not match["high"] and (match["less"] or bound in (
            "up to", "as much as", "as high as", "less than")):
        low = "0"
    return Attribute("low", low, hazard.unit), Attribute("high", high, hazard.unit)


def top(match: re.Match[str]) -> str:
    return match["high"] or match["low"]

# --- lists -------------------------------------------------------------------


def list_facts(
    block: Block, paragraph: Piece, hazard: Hazard, reference: str, when: str = "",
) -> tuple[list[Fact], list[Piece]]:
    """Entries of the lists in a paragraph, and the pieces around them that may hold prose.

    ``reference`` is what heights are measured from, ``when`` the timing of the
    list's introduction; an entry's own timing goes before it.
    """
    text, facts, listed_to, area = block.text, list[Fact](), paragraph.start, ""
    for match in hazard.amount.finditer(text, paragraph.start, paragraph.end):
        start = _entry_start(text, listed_to, match)
        if start is not None:
            area, label = _entry_area(text[start : match.start()], area)
            note = "; ".join(filter(None, (label, reference, when)))
            facts.append(_entry(block, piece(text, start, match.end()), match, hazard, area,
                                (*_date(when, block), Attribute("text", note))))
        elif facts and _STORM_TOTAL.match(text[listed_to : match.start()]):
            where = piece(text, facts[-1].start, match.end())
            facts.append(_entry(block, where, match, hazard, area,
                                (*_date(when, block), Attribute("text", "storm total"))))
        elif facts and _same_sentence_isolated(text[listed_to : match.start()]):
            facts[-1] = _with_isolated(block, facts[-1], match, hazard)
        else:
            continue
        listed_to = match.end()
    if not facts:
        return [], [paragraph]
    stops = [*(f.start for f in facts[1:]), paragraph.end]
    facts = [_own_timing(block, f, stop) for f, stop in zip(facts, stops, strict=True)]
    around = (piece(text, paragraph.start, facts[0].start), piece(text, listed_to, paragraph.end))
    return facts, [part for part in around if hazard.amount.search(part.text)]


def _entry(
    block: Block, where: Piece, match: re.Match[str], hazard: Hazard, area: str,
    notes: tuple[Attribute, ...],
) -> Fact:
    return fact(
        block, where, hazard.relation, ((area, "area"), (match[0], "hazard_forecast")),
        (Attribute("hazard", hazard.name), Attribute("area", area),
         *amount_range(match, hazard), *notes), LISTED,
    )


def _date(when: str, block: Block) -> tuple[Attribute, ...]:
    return tuple(a for a in time_attributes(when, block) if a.key == "date")


_OWN_TIME = re.compile(r"^[\s,]*(?:with (?:isolated|locally) higher amounts,?\s*)?$", re.IGNORECASE)


def _own_timing(block: Block, known: Fact, stop: int) -> Fact:
    """The entry with a time that follows its amount: ``…15 inches, today through Tuesday``."""
    tail = block.text[known.end : stop].split(".")[0]
    phrase = first_timing(squeeze(tail))
    if phrase is None or not _OWN_TIME.match(squeeze(tail)[: phrase.start()]):
        return known
    end = known.end + len(tail.rstrip())
    kept = tuple(a for a in known.attributes if a.key not in ("date", "text"))
    return replace(
        known, attributes=(*kept, *time_attributes(phrase[0], block)), end=end,
        evidence=block.text[known.start : end],
    )


_STORM_TOTAL = re.compile(r"^\W*storm\s+totals?(?:\s+of)?\s*$", re.IGNORECASE)


def _same_sentence_isolated(between: str) -> bool:
    return is_isolated(between) and not re.search(r"[.]\s+[A-Z]", between)


def _entry_start(text: str, begin: int, match: re.Match[str]) -> int | None:
    """Where a list entry that ends in this amount begins; None where it is no entry."""
    head = _ENTRY_HEAD.search(text, begin, match.start())
    if head is None or not text[begin : head.start()].strip(" \n\r\t.;,"):
        return None
    start = begin
    for stop in _LIST_BREAK.finditer(text, begin, head.start()):
        start = stop.end()
    body = text[start : head.start()]
    skipped = len(body) - len(body.lstrip(" \n\r\t.;,)*"))
    if not body.strip() or len(body) > 400:
        return None
    return start + skipped


def _entry_area(raw: str, last: str) -> tuple[str, str]:
    """(area, label) of an entry: ``Storm total`` is a label of the area before it."""
    head = _ENTRY_HEAD.search(raw)
    body, label = squeeze(raw[: head.start()] if head else raw), ""
    extra = head is not None and "additional" in head[0].lower()
    body = re.sub(r"^[A-Z]{4,}(?: [A-Z]+)*(?: STATEMENT)?(?::|\.{3})\s*", "", body)
    if _TOTAL.match(body):
        return last, "storm total"
    body = re.sub(r"^(?:Over|Across|In|For|Near)\s+(?=\S)", "", body)
    return body.strip(" .,:"), "additional" if extra else label


def _with_isolated(block: Block, known: Fact, match: re.Match[str], hazard: Hazard) -> Fact:
    """The fact with an isolated maximum that follows it in the text."""
    if known.attribute("isolated"):
        return known
    isolated = Attribute("isolated", top(match), hazard.unit)
    notes = tuple(a for a in known.attributes if a.key == "text")
    attributes = (*(a for a in known.attributes if a.key != "text"), isolated, *notes)
    end = match.end()
    return replace(known, attributes=attributes, end=end, evidence=block.text[known.start : end])
