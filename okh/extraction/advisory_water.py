"""Storm surge and rainfall paragraphs: lists and prose, floods, and surge without a height."""

from __future__ import annotations

import re
from collections.abc import Iterator

from okh.domain import Attribute, Block, Fact
from okh.extraction.advisory_amounts import RAIN, SURGE, Hazard, list_facts
from okh.extraction.advisory_prose import area_after, likelihood, prose, timing, without_tag
from okh.extraction.advisory_text import Piece, fact, paragraphs, sentences, timings

_REFERENCES = (
    ("above normal tide levels", re.compile(r"above\s+normal\s+tide|normal\s+tide\s+level", re.I)),
    ("above ground", re.compile(r"above\s+(?:the\s+)?ground", re.I)),
)


def _paragraph(
    block: Block, paragraph: Piece, hazard: Hazard, reference: str, when: str = "",
) -> Iterator[Fact]:
    """Amounts of one paragraph: list entries, then the prose around them."""
    if not any(c.isdigit() for c in paragraph.text):
        return
    listed, rest = list_facts(block, paragraph, hazard, reference, when)
    yield from listed
    for part in rest:
        yield from prose(block, part, hazard, reference)


_SURGE_TALK = re.compile(r"\b(?:surge|flooding|water levels?|inundation|tides?)\b", re.IGNORECASE)
_FUTURE = re.compile(
    r"\b(?:possible|likely|expected|could|may|might|will|should|continue|forecast|anticipated"
    r"|subside|recede)\b", re.IGNORECASE)
_BOILERPLATE = re.compile(
    r"\b(?:deepest water|depends|combination of|information specific|accompanied by|please"
    r"|important to note|values? may be|could begin to rise|as the tide"
    r"|the following)\b", re.IGNORECASE)


def storm_surge(block: Block) -> list[Fact]:
    """Heights by area, with what they are measured from, and surge told without a height."""
    facts: list[Fact] = []
    reference = ""
    for paragraph in paragraphs(block.text):
        reference = _reference(paragraph.text) or reference
        found = list(_paragraph(block, paragraph, SURGE, reference))
        facts += found
        for where in sentences(block.text, paragraph):
            if not SURGE.amount.search(where.text):
                facts += _surge_words(block, where)
    return facts


def _reference(text: str) -> str:
    return next((name for name, pattern in _REFERENCES if pattern.search(text)), "")


def _surge_words(block: Block, where: Piece) -> Iterator[Fact]:
    """A sentence that speaks of surge or coastal flooding without feet."""
    text = re.sub(r"^storm surge\s*(?::|\.{3})\s*", "", where.text, flags=re.IGNORECASE)
    if not _SURGE_TALK.search(text) or not _FUTURE.search(text) or _BOILERPLATE.search(text):
        return
    area = area_after(text) or ""
    mentions = [("storm surge", "hazard_forecast")]
    if area:
        mentions.append((area, "area"))
    yield fact(
        block, where, "forecasts_hazard_at_horizon", tuple(mentions),
        (Attribute("hazard", "storm surge"), Attribute("area", area),
         Attribute("status", likelihood(text)), *timing(block, text)), 0.8,
    )


# --- rain --------------------------------------------------------------------

_KIND = (r"(?:(?:minor|moderate|major|isolated|potential(?:ly)?|possible|significant|considerable"
         r"|life-\s?threatening|to|and|or|new|widespread|rapid onset)[\s,]+)*"
         r"(?:flash|urban|rapid onset|river(?:ine)?|small[\s-]stream|freshwater|areal|inland)")
_FLOODS = re.compile(
    rf"\b(?P<all>(?:flash|urban|river(?:ine)?|small[\s-]stream|freshwater|areal|inland)"
    rf"(?:,?\s+{_KIND}|,?\s+and\s+{_KIND})*\s+floods?(?:ing)?|floods?(?:ing)?|mud\s?slides?"
    r"|landslides?|debris flows?)\b",
    re.IGNORECASE,
)


_INTRODUCES = re.compile(r"(?::|\.{3}|…)$|\bthe following\b[^.]*\.?$", re.IGNORECASE)


def rainfall(block: Block) -> list[Fact]:
    """Amounts by area, isolated maxima with them, and the floods and slides that may follow."""
    facts: list[Fact] = []
    when = ""
    for paragraph in paragraphs(block.text):
        found = list(_paragraph(block, paragraph, RAIN, "", when))
        facts += found
        if _INTRODUCES.search(paragraph.text):
            # The last time of an introduction is the list's; an earlier one tells the track.
            phrases = timings(without_tag(paragraph.text))
            when = phrases[-1][0] if phrases else ""
        for where in sentences(block.text, paragraph):
            if not RAIN.amount.search(where.text):
                facts += floods(block, where)
    return facts


_ASIDE = re.compile(r",\s+some of which\b[^,]*(?=,)", re.IGNORECASE)


def floods(block: Block, where: Piece) -> Iterator[Fact]:
    """Floods and slides that a sentence without amounts expects."""
    text = _ASIDE.sub("", without_tag(where.text))
    hazards = list(dict.fromkeys(m["all"] for m in _FLOODS.finditer(text)))
    if not hazards or not _FUTURE.search(text):
        return
    area = area_after(text) or ""
    mentions = [(h, "hazard_forecast") for h in hazards] + ([(area, "area")] if area else [])
    yield fact(
        block, where, "has_additional_hazard", tuple(mentions),
        (Attribute("hazard", ", ".join(hazards).lower()), Attribute("area", area),
         Attribute("status", likelihood(text)), *timing(block, text)), 0.9,
    )
