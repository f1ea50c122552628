"""Wind arrival, tornadoes, surf and flooding from the hazard paragraphs of an advisory.

Each clause of the wind paragraph gives a hazard forecast; where it says when
the conditions begin, an arrival with hours counted from issuance beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from okh.domain import Attribute, Block, Fact
from okh.extraction.advisory_prose import area_after, likelihood, timing, without_tag
from okh.extraction.advisory_text import (
    Piece,
    fact,
    first_timing,
    local_time,
    masked,
    moment,
    paragraphs,
    place,
    sentences,
)
from okh.extraction.advisory_water import floods

__all__ = ["coastal_flooding", "surf", "tornadoes", "untagged", "wind"]

# --- wind --------------------------------------------------------------------

_CONDITIONS = re.compile(
    r"\b(?P<kind>hurricane and tropical[- ]storm|tropical[- ]storm and hurricane"
    r"|hurricane(?: or tropical[- ]storm)?"
    r"|tropical[- ]+storm|gale)(?:[- ]force)?\s+(?:wind gusts|gusts|winds?|conditions)\b"
    r"|\b(?P<gusts>(?:wind )?gusts (?:to|of)(?: near)? (?:tropical[- ]+storm"
    r"|hurricane)[- ]+force)\b"
    r"|\b(?P<these>these conditions|damaging winds|(?:strong )?gusty (?:winds|conditions)"
    r"|winds are expected to first reach tropical[- ]storm strength)\b",
    re.IGNORECASE,
)
_STATUS = re.compile(
    r"\b(?P<occurring>(?:are|is)\s+(?:already\s+|currently\s+|still\s+|now\s+)?(?:occur+ing"
    r"|affecting"
    r"|spreading|ongoing)|(?:already|currently)\s+\w+ing|conditions continue\b(?! to spread)"
    r"|continue to affect|likely occur+ing)\b"
    r"|\b(?P<ending>subside|diminish|end)\b"
    r"|\b(?P<expected>expected|likely|will|should|forecast|anticipated|beginning)\b"
    r"|\b(?P<possible>possible|could|may|might)\b",
    re.IGNORECASE,
)
_WHERE = re.compile(
    r"\b(?:within|in|over|across|along|affecting|affect|reach(?:ing)?(?:\s+the\s+coast\s+within)?"
    r"|near|through|into|on)\s+(?P<area>(?!squalls|rainbands|brief|gusts|a\s(?!po|pa)|outside"
    r"|tropical storm strength)[^\x00]+)",
    re.IGNORECASE,
)
_WHERE_END = re.compile(
    r"\s*(?:\x00|;|\.(?=\s|$)(?<!U\.S\.)|,?\s+\b(?:is|are|was|will|should|could|may|making"
    r"|beginning|where"
    r"|with|by|during|as|while|but|later|early|late|at this time|possible|expected|through"
    r"|this|starting|well)\b"
    r"|,\s+(?:[\w-]+\s+){0,2}(?=(?:tropical storm|hurricane)\s+conditions)"
    r"|,?\s+and\s+(?=(?:are|is|will|should|could|may|these|(?:tropical storm"
    r"|hurricane)\s+conditions"
    r"|possible|then"
    r"|\x00|$|over the)\b)|,\s*(?:and\s*)?$)",
    re.IGNORECASE,
)
_ALSO = re.compile(r",?\s+and\s+(?=(?:are|is|will|should|could|may)\s+(?:\w+\s+)?"
                   r"(?:possible|expected|likely|spread|reach|begin|affect)\b)", re.IGNORECASE)
_ARRIVES = re.compile(
    r"\b(?:by|beginning|begin|starting|start|arrive|reach|first|as early as|on|late[rs]?|early|"
    r"this|tonight|today|over)\b", re.IGNORECASE)
_GOES_ON = re.compile(r"\b(?:through|until|continue|during the|for the next|subside)\b",
                      re.IGNORECASE)


def wind(block: Block) -> list[Fact]:
    """Where hurricane or tropical-storm conditions are, are expected or possible, and from when."""
    facts: list[Fact] = []
    kind = ""
    for where in _all_sentences(block):
        found = list(_wind_sentence(block, where, kind))
        facts += found
        kind = next((m.name for f in found[-1:] for m in f.mentions
                     if m.type == "hazard_forecast"), kind)
    return facts


def _wind_sentence(block: Block, where: Piece, kind: str) -> Iterator[Fact]:
    """Facts of one sentence; ``kind`` is what "these conditions" points back to."""
    area = state = ""
    for words, clause, own in _clauses(where.text):
        kind = words if words and not words.lower().startswith("these") else kind or words
        status = _STATUS.search(clause)
        state = (status.lastgroup or "") if status else "" if words else state
        found = _clause_area(clause)
        area = found or area
        if not kind or not state:
            continue
        phrase = first_timing(clause)
        hazard = _hazard(kind)
        mentions = [(kind, "hazard_forecast")] + ([(area, "area")] if area else [])
        about = (Attribute("hazard", hazard), Attribute("area", area))
        relation = ("observes_hazard_at_horizon" if state == "occurring"
                    else "forecasts_hazard_at_horizon")
        sure = 0.95 if found and own else 0.8
        yield fact(block, where, relation, tuple(mentions),
                   (*about, Attribute("status", state),
                    *(timing(block, clause) if state != "occurring" else ())), sure)
        if phrase and state in ("expected", "possible") and _ARRIVES.search(clause):
            yield from _arrival(block, where, mentions, about, state, clause, phrase, sure)


def _arrival(
    block: Block, where: Piece, mentions: list[tuple[str, str]], about: tuple[Attribute, ...],
    state: str, clause: str, phrase: re.Match[str], sure: float,
) -> Iterator[Fact]:
    """The time from which a clause tells its conditions; none where they only go on."""
    issued = local_time(block)
    when = moment(phrase[0], issued) if issued else None
    if when is None or _GOES_ON.search(clause[: phrase.end()].replace("through the", "")):
        return
    yield fact(
        block, where, "has_hazard_arrival", ((phrase[0], "timing"), *mentions),
        (*about, Attribute("status", state), Attribute("hours", f"{when[1]:.0f}", "h"),
         Attribute("date", when[0].isoformat()), Attribute("text", phrase[0])), min(sure, 0.85),
    )


def _clauses(text: str) -> list[tuple[str, str, bool]]:
    """(hazard words, clause, names its own hazard) for each statement of a sentence."""
    starts = [(m.start(), m[0]) for m in _CONDITIONS.finditer(text)]
    if not starts:
        return []
    starts[0] = (0, starts[0][1])
    found: list[tuple[str, str, bool]] = []
    for index, (start, words) in enumerate(starts):
        stop = starts[index + 1][0] if index + 1 < len(starts) else len(text)
        parts = [p for also in _ALSO.split(text[start:stop]) for p in _elsewhere(also)]
        found += [(words if n == 0 else "", part, n == 0) for n, part in enumerate(parts)]
    return found


_NEXT_PLACE = re.compile(
    r"(?<=\x00)(?:,\s+(?:and\s+)?|\s+and\s+)(?=(?:in|within|over|across|along|near"
    r"|the(?:\s+\w+){1,6}\s+(?:within|in))\s)")


def _elsewhere(clause: str) -> list[str]:
    """``… in Haiti today, and in Jamaica on Tuesday`` cut before the second place."""
    cuts = [0, *(m.end() for m in _NEXT_PLACE.finditer(masked(clause))), len(clause)]
    return [clause[a:b] for a, b in pairwise(cuts)]


def _clause_area(clause: str) -> str:
    named = _CONDITIONS.search(clause)
    hidden = masked(clause)
    # "In Yucatan, hurricane conditions are expected in …": the place behind the hazard counts.
    match = _WHERE.search(hidden, named.end() if named else 0) or _WHERE.search(hidden)
    if match is None:
        return ""
    stop = _WHERE_END.search(match["area"])
    return place(match["area"][: stop.start()] if stop else match["area"])


def _hazard(words: str) -> str:
    """``Tropical storm conditions -> tropical storm conditions``, hyphens left out."""
    if "first reach" in words.lower():
        return "tropical storm conditions"
    return re.sub(r"[- ]+", " ", words.lower()).replace(" conditions", "").strip() + (
        " conditions" if "condition" in words.lower() else "")


# --- tornadoes, surf ----------------------------------------------------------

_TORNADO = re.compile(
    r"\b(?:(?:a|an|the|some)\s+)?(?:(?:few|couple(?: of)?|isolated|brief|tornado)\s+)*"
    r"(?:tornado(?:es)?(?:\s+or\s+two)?|waterspouts?)(?:\s+(?:threat|risk))?"
    r"|\bth(?:is|e)\s+(?:risk|threat)\b", re.IGNORECASE)
_NEAR = re.compile(
    r"\b(?P<all>(?:over|across|along|near|from|within|in|into|for|including|to along)\s+"
    r"(?P<area>(?!these areas|addition|the potential|an?\s|isolated"
    r"|tornado)[^\x00]+))", re.IGNORECASE)
_SWELL = re.compile(r"\b(?:swells?|surf|waves|seas)\b", re.IGNORECASE)
_REACHES = re.compile(
    r"\b(?:affect(?:ed|ing|s)?|impact(?:ing)?|reach(?:ing)?"
    r"|spread(?:ing)?\s+(?:\w+ward\s+)?(?:to|along|across|into|over)"
    r"|along|across|near|in|over|around|to)\s+(?P<area>(?!increase|cause|affect|spread|reach"
    r"|continue"
    r"|begin|be\b|subside|produce|life|near\b|along\b)[^\x00]+)", re.IGNORECASE)
_SURF_END = re.compile(
    r"\s*(?:\x00|;|\.(?=\s|$)(?<!U\.S\.)|,\s+then\b|,?\s+\b(?:is|are|was|were|will|could|may"
    r"|should|can|during"
    r"|by|later|as|where|which|while|today|generated|causing|likely)\b"
    r"|,?\s+(?:and|but)\s+(?=(?:will|should|could|are|is|reach|continue|spread|affect|begin"
    r"|increase"
    r"|then|possibly|eventually|along|may|\x00|these|they|likely)\b|\x00)|,\s*(?:and\s*)?$)",
    re.IGNORECASE,
)
_RIP = re.compile(r"\b(?:life-\s?threatening|dangerous|hazardous)\s+surf[\w\s]*?"
                  r"(?:conditions|currents?)\b|\bsurf and rip current(?:s| conditions)\b",
                  re.IGNORECASE)
_LOCAL_OFFICE = re.compile(r"\b(?:please|consult|refer|additional information|key messages)\b",
                           re.IGNORECASE)


def tornadoes(block: Block) -> list[Fact]:
    """Tornado statements with their areas and times."""
    facts: list[Fact] = []
    for where in _all_sentences(block):
        text = without_tag(where.text)
        cue = _TORNADO.search(text)
        if cue is None or _LOCAL_OFFICE.search(text):
            continue
        areas = _areas(text, _NEAR)
        facts.append(_additional(block, where, text, "tornadoes", cue[0], areas))
    return facts


def surf(block: Block) -> list[Fact]:
    """Coasts that swells reach, and the surf and rip currents they cause."""
    facts: list[Fact] = []
    for where in _all_sentences(block):
        text = without_tag(where.text)
        if not _SWELL.search(text) or _LOCAL_OFFICE.search(text):
            continue
        rip, swell = _RIP.search(text), _SWELL.search(text)
        words = rip[0] if rip else swell[0] if swell else ""
        hazard = "surf and rip currents" if rip else "swells"
        # "are affecting A, and should reach B today": two facts, of different time.
        parts = [text] if rip else _LATER.split(text)
        facts += [_additional(block, where, p, hazard, words, _coasts(p)) for p in parts]
    return facts


def coastal_flooding(block: Block) -> list[Fact]:
    """Coastal flooding told in a paragraph of its own."""
    facts: list[Fact] = []
    for where in _all_sentences(block):
        text = without_tag(where.text)
        match = re.search(r"coastal flooding|flooding|above-normal tides", text, re.IGNORECASE)
        if match and not _LOCAL_OFFICE.search(text):
            area = area_after(text)
            facts.append(_additional(block, where, text, "coastal flooding", match[0],
                                     [area] if area else []))
    return facts


def untagged(block: Block) -> list[Fact]:
    """Hazards before the first tag: an explicit none, and floods; pointers say nothing."""
    facts: list[Fact] = []
    for where in _all_sentences(block):
        text = re.sub(r"^hazards affecting land\s*-*\s*", "", where.text, flags=re.IGNORECASE)
        if re.fullmatch(r"none\.?", text, re.IGNORECASE):
            facts.append(fact(block, where, "has_additional_hazard",
                              ((text.rstrip("."), "hazard_forecast"),),
                              (Attribute("hazard", "none"),)))
        elif not _LOCAL_OFFICE.search(text):
            facts += floods(block, where)
    return facts


def _additional(
    block: Block, where: Piece, text: str, hazard: str, words: str, areas: list[str],
) -> Fact:
    """One fact over all areas of a sentence."""
    area = "; ".join(areas)
    mentions = ((words, "hazard_forecast"), *((a, "area") for a in areas))
    return fact(
        block, where, "has_additional_hazard", mentions,
        (Attribute("hazard", hazard), Attribute("area", area),
         Attribute("status", likelihood(text)), *timing(block, text)), 0.95 if areas else 0.9,
    )


def _areas(text: str, pattern: re.Pattern[str]) -> list[str]:
    """Each place phrase behind a preposition, cut where the sentence goes on."""
    hidden, found, start = masked(text), list[str](), 0
    while match := pattern.search(hidden, start):
        stop = _SURF_END.search(match["area"])
        raw = match["area"][: stop.start()] if stop else match["area"]
        area = place(raw)
        if area and area not in found:
            found.append(area)
        start = match.start("area") + max(len(raw), 1)
    return found


_LATER = re.compile(
    r"(?<=\w),?\s+and\s+(?=(?:should|will|are\s+expected\s+to|could)\s+(?:\w+\s+){0,2}?"
    r"(?:affect|reach|spread|start|begin)\w*\b)", re.IGNORECASE)
_CAUSE = re.compile(
    r"\b(?:generated|produced|caused)\s+by\b.*?(?=\s(?:will|are|is|should|could|may|have"
    r"|continue)\b)",
    re.IGNORECASE)


def _coasts(text: str) -> list[str]:
    return [a for a in _areas(_CAUSE.sub("", text), _REACHES) if re.search(r"[A-Z]|coast", a)]


def _all_sentences(block: Block) -> Iterator[Piece]:
    for paragraph in paragraphs(block.text):
        yield from sentences(block.text, paragraph)

