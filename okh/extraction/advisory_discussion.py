"""Discussion and outlook: category, wind radii, track, landfall and intensity forecasts.

Position, motion, wind and pressure of now are read from the summary, which
states the same figures in fixed lines; here stands what the summary lacks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest

from okh.domain import Attribute, Block, Fact
from okh.extraction.advisory_prose import timing
from okh.extraction.advisory_text import (
    HEADING,
    Piece,
    fact,
    first_timing,
    heading,
    local_time,
    masked,
    moment,
    paragraphs,
    place,
    sentences,
    time_attributes,
)

_FUTURE = re.compile(
    r"\b(?:expected|forecast|possible|likely|anticipated|predicted|should|will|could|may|might"
    r"|would)\b", re.IGNORECASE)
_CATEGORY = re.compile(
    r"\b(?:is|remains?|are)\s+(?:now\s+|still\s+|currently\s+|again\s+|once again\s+)*"
    r"(?:an?\s+|at\s+)?(?:[\w-]+,?\s+){0,3}?(?P<all>category\s+(?P<n>[1-5]))"
    r"(?!\s+or\b)\s+(?:major\s+)?hurricane\s+on\s+the\b", re.IGNORECASE)
_RADII = re.compile(
    r"(?:(?P<class>hurricane|tropical[- ]storm)[- ]force\s+winds?|winds\s+of\s+(?P<mph>\d+)\s+mph)"
    r"\s+(?:\w+\s+)?extends?\s+"
    r"(?:outward\s+)?(?:up\s+to\s+|as\s+far\s+as\s+|out\s+to\s+)?(?:about\s+|near\s+)?"
    r"(?P<all>(?P<mi>\d+)\s+miles)", re.IGNORECASE)
_FORMATION = re.compile(
    r"formation\s+chance\s+through\s+(?P<n>\d+|[a-z]+)\s+(?P<unit>hours?|days?)\s*\.{2,4}\s*"
    r"(?P<word>low|medium|high)\s*\.{2,4}\s*(?:near\s+)?(?P<all>(?P<percent>\d+)\s+percent)",
    re.IGNORECASE)
_DAYS = {"two": "2", "five": "5", "seven": "7"}


def discussion(block: Block) -> list[Fact]:
    """Facts of the discussion section, sentence by sentence."""
    facts = list(_formation(block))
    for paragraph in paragraphs(block.text):
        for where in sentences(block.text, paragraph):
            # Substrings first: most sentences need none of these patterns.
            words = where.text.casefold()
            if "category" in words:
                facts += _category(block, where)
            if "extend" in words:
                facts += _radii(block, where)
            if "mph" in words:
                facts += _observed(block, where)
            if _FUTURE.search(where.text):
                facts += _track(block, where)
                facts += _landfall(block, where)
                facts += _intensity(block, where)
            elif _PAST_LANDFALL.search(where.text):
                facts += _past_landfall(block, where)
    return facts


def _formation(block: Block) -> Iterator[Fact]:
    """Chance that a disturbance becomes a tropical cyclone, by period."""
    for match in _FORMATION.finditer(block.text):
        number = _DAYS.get(match["n"].lower(), match["n"])
        if not number.isdigit():
            continue
        hours = int(number) * (24 if match["unit"].lower().startswith("day") else 1)
        where = Piece(match.start(), match.end(), " ".join(match[0].split()))
        yield fact(
            block, where, "forecasts_intensity", ((match["all"], "cyclone_state"),),
            (Attribute("hazard", "formation"), Attribute("period_h", str(hours), "h"),
             Attribute("probability", match["percent"], "%"),
             Attribute("text", f"{match['word'].lower()} chance of formation")),
        )


def _category(block: Block, where: Piece) -> Iterator[Fact]:
    match = _CATEGORY.search(where.text)
    if match:
        yield fact(block, where, "has_category_state", ((match["all"], "cyclone_state"),),
                   (Attribute("category", f"Category {match['n']}"),))


def _radii(block: Block, where: Piece) -> Iterator[Fact]:
    for match in _RADII.finditer(where.text):
        name = f"{match['mph']} mph" if match["mph"] else match["class"].lower().replace("-", " ")
        yield fact(
            block, where, "has_wind_radii", ((match["all"], "cyclone_state"),),
            (Attribute("wind_class", name), Attribute("radius_mi", match["mi"], "mi")),
        )


# --- observations ------------------------------------------------------------

_REPORT = re.compile(r"\b(?:reported|measured|recorded|observed|reporting)\b", re.IGNORECASE)
_GUST = re.compile(
    r"\b(?P<kind>sustained winds?|(?:wind\s+)?gusts?)\s+(?:of|to|up to|near|as high as)\s+"
    r"(?:near\s+|up to\s+|about\s+)?(?P<all>(?P<mph>\d+)\s+mph)", re.IGNORECASE)
_STATION = re.compile(
    r"^(?:(?:during|within|in|over|earlier)\b[^,]*,\s+)?(?P<place>\S.*?),?\s+"
    r"(?:(?:has|have|was|is)\s+)?(?:(?:recently|also|just|earlier)\s+)?"
    r"(?:(?:been\s+)?(?:reported|measured|recorded|observed|reporting))\b", re.IGNORECASE)
_BEHIND = re.compile(
    r"\b(?:at|on|in)\s+(?P<place>(?:the\s+)?(?:[a-z]+\s+)?[A-Z][^.]*?)(?=\s+(?:in|within|during)"
                     r"\s+the\s+(?:past|last)|\.?$|,?\s+(?:and|while)\b|,?\s*\x00)")
_PAST_LANDFALL = re.compile(
    r"\b(?P<all>(?:has\s+)?(?:made\s+landfall|moved\s+(?:inland|onshore|ashore)))\b", re.IGNORECASE)


def _observed(block: Block, where: Piece) -> Iterator[Fact]:
    """Winds that a station reported; its name is the sentence's subject."""
    text = where.text
    if not _REPORT.search(text):
        return
    subject = _STATION.match(text)
    station = place(subject["place"]) if subject else ""
    passive = re.search(r"\b(?:sustained winds?|gusts?)\b|^winds?\b", station, re.IGNORECASE)
    station = "" if passive else re.sub(r"^.*\b(?:winds|have)\b.*\sand\s", "", station)
    for match in _GUST.finditer(text):
        if passive:
            behind = _BEHIND.search(masked(text), match.end())
            station = place(behind["place"]) if behind else ""
        gust = "gust" in match["kind"].lower()
        mentions = [(match["all"], "hazard_observation")]
        if station:
            mentions.append((station, "location"))
        yield fact(
            block, where, "observes_hazard_at_horizon", tuple(mentions),
            (Attribute("hazard", "wind gust" if gust else "sustained wind"),
             Attribute("location", station), Attribute("wind_mph", match["mph"], "mph")),
            0.9 if station else 0.8,
        )


def _past_landfall(block: Block, where: Piece) -> Iterator[Fact]:
    match = _PAST_LANDFALL.search(where.text)
    if match is None:
        return
    spot = _PLACE.match(masked(where.text)[match.end() :])
    area = _cut(spot["place"]) if spot else ""
    mentions = [(match["all"], "hazard_observation")] + ([(area, "area")] if area else [])
    yield fact(block, where, "observes_hazard_at_horizon", tuple(mentions),
               (Attribute("hazard", "landfall"), Attribute("area", area)), 0.85)


# --- track -------------------------------------------------------------------

_MOVES = re.compile(
    r"\bon (?:the|this|its) (?:forecast )?track\b|\bforecast track\b"
    r"|\b(?:turn|motion|movement|heading|track|course|acceleration|drift)\b[^.]*\b(?:expected"
    r"|forecast|anticipated|likely|possible|should|will)\b"
    r"|\b(?:(?:expected|forecast|anticipated|likely|predicted)\s+to|should|will|could|may)\s+"
    r"(?:(?!once|as\b|when|it\b|while)[\w-]+\s+){0,3}?(?:turn|drift|meander|stall|recurve|moving"
    r"|accelerate|slow down|move|pass"
    r"|(?:begin|resume)\s+(?:an?|its|moving|to\s+(?:move|turn|accelerate))"
    r"|approach|cross|reach|emerge|be (?:near|at|close to|just)(?! (?:or|hurricane|major|tropical))"
    r"|be (?:over|passing|along|located)|track|nearing|on this heading"
    r"|remain(?= (?:well|close|near|just|over|off)))\b",
    re.IGNORECASE)
_MOVING = re.compile(r"\b(?:moving|drifting|meandering|stationary|move)\b", re.IGNORECASE)
_NOW = re.compile(
    r"^.*?\b(?:is|are|was|were|been|remains?|continues to move)\s+(?:\w+\s+){0,2}?(?:moving"
    r"|drifting"
    r"|meandering|stationary)\b.*?(?:,\s+(?:and|but|with|although|followed by)\b|,\s|\s+and\s+"
    r"|\s+but\s+|$)(?=(?:(?!\bis moving\b).)*$)",
    re.IGNORECASE)
_LEAD_IN = re.compile(r"^(?:on (?:the|this|its) (?:forecast )?track,?\s+|however,\s+)",
                      re.IGNORECASE)
_BEFORE_HEADING = re.compile(
    r"(?:\btowards?\s+(?:the\s+)?|\b(?:turn(?:ing)?|track|motion|heading|acceleration)\s+"
    r"(?:back\s+)?to\s+the\s+|\bback\s+to\s+the\s+|\bdue\s+)$",
    re.IGNORECASE)
_BEHIND_HEADING = re.compile(
    r"^(?:,?\s+(?:(?:to|or|and|then|and then)\s+)+(?:the\s+)?[a-z]+(?:-\s?[a-z]+)?(?:ward)?)*\s+"
    r"(?:motion|turn|movement|drift|heading|track|direction|course)\b", re.IGNORECASE)
_LINKED = re.compile(
    r"^[\s,]*(?:(?:to|or|and|then|and then|or even)\s+)(?:then\s+)?(?:toward\s+)?(?:the\s+)?$",
    re.IGNORECASE)


def _track(block: Block, where: Piece) -> Iterator[Fact]:
    """Where the storm is forecast to go: each step of the sentence's forecast part."""
    text = where.text
    now = _NOW.match(text) if _MOVING.search(text) else None
    part = text[now.end() :] if now else text
    if not _FUTURE.search(part) or not _MOVES.search(part) or _GRAMMAR.search(text):
        return
    part = _LEAD_IN.sub("", part).strip(" .")
    current = directions(text[: now.end()])[-1:] if now else []
    for step in _STEP.split(part):
        step = step.strip(" ,")
        if not _STEP_VERB.search(step):
            continue
        ways = directions(step)
        if not ways and _GOES_ON.search(step):
            ways = current
        yield fact(
            block, where, "forecasts_track", ((step, "track_forecast"),),
            (Attribute("track", step), Attribute("direction", ", ".join(ways)),
             *timing(block, step)), 0.95,
        )


_STEP = re.compile(r",?\s+(?=followed by\b|with (?:a|an|the)\s+(?:\w+\s+){0,2}?(?:turn|motion)\b"
                   r"|and then\b|then\b)")
_STEP_VERB = re.compile(
    r"\b(?:turn|motion|movement|heading|drift|meander|stall|recurve|accelerat\w+|mov\w+|pass\w*"
    r"|approach\w*|cross\w*|reach\w*|emerge\w*|be|near|track|remain\w*|slow\w*|resume|continue"
    r"|decrease|increase|speed|head)\b|\w+ward\b",
    re.IGNORECASE)
_GOES_ON = re.compile(r"\bthis\s+(?:\w+\s+){0,2}?(?:motion|heading|track)\b", re.IGNORECASE)
_GRAMMAR = re.compile(r"\b(?:aircraft|plane|hunter|mission|reconnaissance)\b[^.]*\b(?:investigate"
                      r"|en route|scheduled)\b|\bswells?\b", re.IGNORECASE)


def directions(text: str) -> list[str]:
    """Compass abbreviations of the headings in a text, in its order.

    A compass word counts where it tells a motion (``toward the north``,
    ``northward``, ``a northwest motion``), not where it names a coast.
    """
    found: list[str] = []
    last: int | None = None
    for match in HEADING.finditer(text):
        name = heading(match)
        before, behind = text[: match.start()], text[match.end() :]
        linked = last is not None and _LINKED.match(text[last : match.start()])
        moving = match[0].lower().endswith(("ward", "wardly", "erly"))
        place_name = re.match(r"\s+(?:coast|of|end|side|portion|shore|part|half)\b", behind)
        if name is None or (place_name and not moving):
            continue
        if not (linked or moving or _BEFORE_HEADING.search(before)
                or _BEHIND_HEADING.match(behind)):
            continue
        last = match.end()
        if not found or found[-1] != name:
            found.append(name)
    return found


# --- landfall ----------------------------------------------------------------

_ASHORE = re.compile(
    r"\b(?P<all>mak(?:e|es|ing)\s+(?:a\s+|its\s+)?(?:second\s+|another\s+|final\s+)?landfall"
    r"|(?:move|moves|moving|be)\s+(?:back\s+)?(?:inland|onshore|ashore)|com(?:e|es|ing)\s+ashore"
    r"|cross(?:es)?\s+(?:the\s+)(?:[\w-]+\s+){0,4}?coast(?:line)?"
    r"|landfall(?:\s+(?:occurs|is\s+(?:expected|likely|possible)))?)\b",
    re.IGNORECASE)
_SUBORDINATE = re.compile(r"\b(?:after|before|until|once|following|if|prior to)\b[^,;]*$",
                          re.IGNORECASE)
_CONDITION = re.compile(r"\b(?:when|as|through|at|by the time|while)\b[^,;]*$", re.IGNORECASE)
_PLACE = re.compile(
    r"^(?:\s+(?:somewhere|again|just|directly))*[\s,\x00]*\s*\b(?:over|along|in|on|near|within"
    r"|across|into|at|between|of)\s+(?P<place>[^\x00]+)", re.IGNORECASE)
_PLACE_END = re.compile(
    r"\s*(?:\x00|;|\.(?=\s|$)(?<!U\.S\.)|,\s+(?:and|then|but|with|before|followed|where|while|as)\b"
    r"|,?\s+(?:and\s+)?then\b|\s+and\s+(?=(?:move|moves|moving|continue|pass|cross|into|weaken"
    r"|across|be|dissipate|become|remain|the\s+move|is|are|will)\b)|\s+and\s*(?=\x00|$)"
    r"|,?\s+\b(?:as|while|before|after|when|is|are|with|late|early|later|by|during)\b|,\s*$"
    r"|,\s*(?=\x00))",
    re.IGNORECASE)


def _landfall(block: Block, where: Piece) -> Iterator[Fact]:
    """Where and when the centre is forecast to come ashore.

    A subordinate clause ("before it makes landfall") counts only if it names a
    place or a time, with less confidence; "weakening after landfall" says nothing.
    """
    for match in _ASHORE.finditer(where.text):
        before = where.text[: match.start()]
        inland = "landfall" not in match["all"].lower()
        if inland and re.search(r"\blandfall\b", before, re.IGNORECASE):
            continue  # "make landfall … and move inland": one landfall, told already
        tail = where.text[match.end() :]
        hidden = masked(where.text)[match.end() :]
        spot = _PLACE.match(hidden)
        location = _cut(spot["place"]) if spot else ""
        when = _landfall_time(tail, hidden, spot, block)
        side = bool(_SUBORDINATE.search(before) or _CONDITION.search(before))
        if (not location and not when) or (side and not location):
            continue
        mentions = [(match["all"], "landfall_forecast")]
        if location:
            mentions.append((location, "location"))
        yield fact(
            block, where, "forecasts_landfall", tuple(mentions),
            (Attribute("landfall_location", location), *when),
            0.95 if location and when and not side and not inland else 0.8,
        )


def _landfall_time(
    tail: str, hidden: str, spot: re.Match[str] | None, block: Block,
) -> tuple[Attribute, ...]:
    """Date, hours and words of the timing right behind the verb or its place."""
    phrase = first_timing(tail)
    if phrase is None:
        return ()
    place_end = 0
    if spot is not None:
        stop = _PLACE_END.search(spot["place"])
        place_end = spot.start("place") + (stop.start() if stop else len(spot["place"]))
    gap = hidden[place_end : phrase.start()] if phrase.start() > place_end else ""
    if re.search(r"\w", gap) and not re.fullmatch(r"[\s,]*(?:and|or)?[\s,]*", gap):
        return ()
    issued = local_time(block)
    when = moment(phrase[0], issued) if issued else None
    hours = (Attribute("hours", f"{when[1]:.0f}", "h"),) if when else ()
    return (*hours, *time_attributes(phrase[0], block))


def _cut(raw: str) -> str:
    stop = _PLACE_END.search(raw)
    return place(raw[: stop.start()] if stop else raw)


# --- intensity ---------------------------------------------------------------

_TREND = re.compile(
    r"\b(?P<no>(?:little|no(?: significant)?|some)\s+(?:if any\s+)?change(?:s)?\s+in\s+(?:strength"
    r"|intensity)|little,?(?: if any,?)? (?:additional |further )?strengthening"
    r"|no (?:significant |additional |further )?"
    r"strengthening)\b"
    r"|\b(?P<flux>fluctuations\s+in\s+(?:strength|intensity))\b"
    r"|\b(?P<up>re-?strengthen(?:ing)?|strengthen(?:ing)?|re-?intensif(?:y|ication)"
    r"|intensif(?:y|ication|ying)|deepening|increase\s+in\s+(?:strength|intensity))\b"
    r"|\b(?P<down>weaken(?:ing)?|decrease\s+in\s+(?:strength|intensity)|dissipat(?:e"
    r"|ion))\b", re.IGNORECASE)
_TREND_NAME = {"no": "little change", "flux": "fluctuations", "up": "strengthening",
               "down": "weakening"}
_BECOMES = re.compile(
    r"\b(?:become|becoming|becomes|be|remain|regain|form"
    r"|(?:weaken(?:s|ing)?|degenerates?|(?:re-?)?develops?|strengthen|transition)"
    r"(?:\s+\w+)?\s+(?:in)?to)\b", re.IGNORECASE)
_STATE = re.compile(
    r"\b(?P<all>(?P<near>near\s+|at\s+or\s+near\s+|near\s+or\s+at\s+)?(?:(?:major\s+)?hurricane"
    r"\s+(?:strength|intensity|status)"
    r"|category\s+[1-5](?:\s+or\s+[1-5])?(?:\s+or\s+category\s+[1-5])?"
    r"(?:\s+hurricane)?|(?:major\s+)?hurricane|tropical\s+storm|tropical\s+depression"
    r"|subtropical\s+storm|subtropical\s+depression"
    r"|tropical\s+or\s+subtropical\s+(?:storm|cyclone)"
    r"|post[- ]tropical(?:\s+cyclone)?|extratropical(?:\s+cyclone)?|remnant\s+low(?:\s+pressure)?"
    r"|tropical\s+cyclone|trough(?:\s+of\s+low\s+pressure)?))\b"
    r"(?!s?[- ]+(?:watch|warning|force|conditions|hunter|wind))", re.IGNORECASE)
_STATED_NOW = re.compile(r"\bon the Saffir\b", re.IGNORECASE)


def _intensity(block: Block, where: Piece) -> Iterator[Fact]:
    """Trends (strengthening, weakening) and the states forecast, each with its own time."""
    text = where.text
    if _GRAMMAR.search(text) or _STATED_NOW.search(text):
        return
    becomes = _BECOMES.search(text)
    found = list(_TREND.finditer(text))
    if becomes:
        found += _STATE.finditer(text, becomes.end())
    found.sort(key=lambda m: m.start())
    for match, after in zip_longest(found, found[1:]):
        end = after.start() if after else len(text)
        if _ABOUT_NOW.search(text[max(0, match.start() - 60) : match.start()]):
            continue
        phrase = first_timing(text, match.end(), end)
        if phrase is None and match is found[0]:
            phrase = first_timing(text, 0, match.start())
        yield _forecast(block, where, match, phrase)


_ABOUT_NOW = re.compile(r"\b(?:is|has been|was|remains)\s+(?:now\s+|still\s+)?(?:an?\s+)?$"
                        r"|\bcenter\s+of\s+(?:the\s+)?$|\b(?:the|of|that)\s+$", re.IGNORECASE)


def _forecast(
    block: Block, where: Piece, match: re.Match[str], phrase: re.Match[str] | None,
) -> Fact:
    groups = match.groupdict()
    kind = next((k for k in _TREND_NAME if groups.get(k)), None)
    if kind:
        value = Attribute("action", _TREND_NAME[kind])
    else:
        value = Attribute("status", re.sub(r"\s+", " ", match[0].lower()))
    return fact(
        block, where, "forecasts_intensity", ((match[0], "cyclone_state"),),
        (value, *time_attributes(phrase[0] if phrase else None, block)), 0.9,
    )
