"""Scenario readers for families 2 and 3: track, landfall, cone, and the times at the port."""

from __future__ import annotations

import re
from collections.abc import Iterator

from okh.domain import Fact
from okh.extraction.scenario_text import (
    COUNT,
    COUNT_WORDS,
    DATE,
    HOURS,
    Statement,
    amount,
    fact,
    iso_date,
    read_amount,
)

_TRACK = re.compile(
    r"\b(?:(?:is|are|was)\s+)?(?:forecast|expected|projected|predicted|anticipated|likely)\s+to\s+"
    r"(?:begin\s+|keep\s+)?(?:move|turn|curve|recurve|track|head|drift|continue|lift|stall|follow|cross)"
    r"|\b(?:will|should)\s+(?:then\s+)?(?:move|turn|curve|recurve|track|head|drift|continue|stall)"
    r"|\b(?:track|path|trajectory|course)\b(?:\s+(?:is|has|takes|carries|leads|runs|shows|brings))*",
    re.IGNORECASE,
)


def track(s: Statement) -> Iterator[Fact]:
    """Where the cyclone is forecast to go, in the words of the text."""
    if re.search(r"track|path|trajectory|course", s.label, re.IGNORECASE):
        words, confidence = s.body, 1.0
    elif (cue := _TRACK.search(s.text)) and not s.has(r"\bcone\b|\bprobab"):
        tail = s.text[cue.end() :].strip(" .:,–—")
        words, confidence = (tail or s.body), 0.8
    else:
        return
    if words:
        yield fact(
            s, "forecasts_track", words, "track_forecast", {"track": words}, confidence=confidence
        )


_NO_LANDFALL = (
    r"\bno\s+(?:\w+\s+)?landfall|\bnot\s+(?:expected|forecast|projected|likely|predicted)\s+to\s+"
    r"(?:make\s+landfall|come\s+ashore)|\blandfall\s+(?:is\s+)?(?:not|un)|\blandfall\W+none"
)
_ASHORE = r"\blandfall\b|\b(?:come|comes|coming|go|goes|going|move|moves|moving)\s+ashore\b"
_WHEN = (
    r"(?=,?\s+(?:(?:on|by|around|about|late|early|sometime|during)\s+)*(?:on\s+)?(?:"
    + DATE.pattern.replace("(?P<", "(?P<w_")
    + r")|,?\s+(?:in|within)\s+(?:about\s+|≈\s*)?\d|\.?\s*$)"
)
_LANDFALL_PLACE = re.compile(
    r"(?:\blandfall(?:\s+(?:location|point|site|area|place|spot))?\s*(?:is|:|=|will\s+be)\s+"
    r"(?!expected\b(?!\s+(?:near|at|on|along|between))|in\b\s+\d|on\b\s+\d|forecast\b|\d|≈)"
    r"|\b(?:landfall|ashore)\s+(?:is\s+\w+\s+)?"
    r"(?=(?:near|at|on|along|between|over|close|around|just|somewhere|in\s+(?!\d|about|≈|roughly))\b)"
    r"(?!on\s+\d))(?:expected\s+)?(?P<place>\S.*?)" + _WHEN,
    re.IGNORECASE,
)
_IN_HOURS = re.compile(amount("h") + HOURS, re.IGNORECASE)


def landfall(s: Statement) -> Iterator[Fact]:
    """Place, date and hours of the expected landfall."""
    if not s.has(_ASHORE):
        return
    if s.has(_NO_LANDFALL):
        yield fact(
            s, "forecasts_landfall", s.text, "landfall_forecast",
            {"landfall_location": "none", "text": s.body},
        )
        return
    place = _LANDFALL_PLACE.search(s.text)
    when = DATE.search(s.text, place.end("place") if place else 0)
    where = place["place"].strip(" .,") if place else None
    date = iso_date(when, s.block.year) if when else None
    if where or date:
        shown = where or (when[0] if when else s.text)
        yield fact(
            s, "forecasts_landfall", shown, "landfall_forecast",
            {"landfall_location": where, "date": date},
        )
    if hours := _IN_HOURS.search(s.text):
        value = read_amount(hours, "h")
        yield fact(
            s, "has_hours_to_landfall", hours[0], "timing",
            {"hours": value.low, "high": value.high if value.high != value.low else None},
            units={"hours": "h"}, confidence=value.confidence,
        )


def hours_or_date(s: Statement) -> tuple[str, dict[str, str | None], float] | None:
    """The date or the hours of a statement: (its words, attributes, confidence)."""
    if (when := DATE.search(s.text)) and (date := iso_date(when, s.block.year)):
        return when[0], {"date": date}, 1.0
    if match := _IN_HOURS.search(s.text):
        value = read_amount(match, "h")
        return match[0], {"hours": value.low}, value.confidence
    return None


def offshore(s: Statement) -> Iterator[Fact]:
    """Hours until the cyclone moves offshore from the port's coast."""
    if not s.has(r"\boffshore\b") or s.has(r"\blandfall\b|\bcone\b"):
        return
    if not s.has(r"\b(?:mov|pass|exit|emerg|push|head|go|be\b|back\s+off|hours\s+to\s+off)"):
        return
    match = _IN_HOURS.search(s.text)
    value = read_amount(match, "h") if match else None
    negative = s.has(r"\bno\s+time\b|\bnot\s+(?:expected|forecast|applicable|move)|\bnever\b")
    if value is None and not negative:
        return
    yield fact(
        s, "has_departure_time", match[0] if match else "offshore", "timing",
        {"hours": value.low if value and not (negative and value) else None, "area": "offshore",
         "text": s.body if negative else None},
        port=True, units={"hours": "h"}, confidence=value.confidence if value else 0.8,
    )


def strike(s: Statement) -> Iterator[Fact]:
    """How long the port is expected to be affected."""
    cue = s.has(r"\b(?:strike|hit|affect|effects?|influence|impact|conditions)\w*\b") and s.has(
        r"\b(?:last|duration|for|persist|span|linger|experienc)\w*\b"
    )
    match = _IN_HOURS.search(s.text)
    other = s.has(r"\b(?:landfall|probab\w*|first|offshore|outlook)\b|%")
    if not cue or match is None or other:
        return
    value = read_amount(match, "h")
    yield fact(
        s, "has_strike_duration", match[0], "timing",
        {"hours": value.low, "high": value.high if value.high != value.low else None},
        port=True, units={"hours": "h"}, confidence=value.confidence,
    )


_DAYS = re.compile(rf"\b(?P<days>{COUNT})[\s-]*days?\b", re.IGNORECASE)


def window(s: Statement) -> Iterator[Fact]:
    """Days that the forecast covers."""
    match = _DAYS.search(s.text)
    if match is None or not s.has(
        r"\b(?:forecast|outlook|prediction)s?\s+(?:window|period|horizon|range|covers?|extends?|runs|"
        r"spans?|looks|reaches)|\blook-?ahead\b"
    ) or s.has(r"%|\bprobab|\bcone\b|\bwithin\b"):
        return
    days = COUNT_WORDS.get(match["days"].lower(), match["days"])
    yield fact(
        s, "has_forecast_window", match[0], "timing", {"days": days}, units={"days": "d"}
    )


def cone(s: Statement) -> Iterator[Fact]:
    """Whether the port lies inside the forecast cone."""
    match = re.search(r"\bcone\b", s.text, re.IGNORECASE)
    if match is None or not (s.label or s.has(r"\b(?:port|harbou?r|it)\b") or s.port):
        return
    head = s.body if re.search(r"cone", s.label, re.I) else s.text
    outside = re.match(r"\W*(?:no\b|borderline)", head, re.I) or re.search(
        r"\b(?:outside|beyond|not\s+(?:\w+\s+)?(?:in|within|inside|covered)|out\s+of|misses|excludes|"
        r"does\s+not|clear\s+of)\b", head, re.I
    )
    inside = re.match(r"\W*yes\b", head, re.I) or re.search(
        r"\b(?:inside|within|in\s+the|covers|includes|contains|takes\s+in)\b", head, re.I
    )
    if not outside and not inside:
        return
    yield fact(
        s, "within_forecast_cone", match[0], "track_forecast",
        {"within_cone": "no" if outside else "yes"}, port=True,
    )


def dates(s: Statement) -> Iterator[Fact]:
    """When the cyclone is closest to the port, and when it leaves."""
    if s.has(r"\bwinds?\b|\bstation\b|\btable\b|\bvessel|\bships?\b|\blandfall\b|\boffshore\b|%"):
        return
    relation = ""
    if s.has(r"\b(?:closest|nearest)\b|\bclose(?:st)?\s+approach\b"):
        relation = "has_closest_approach"
    elif s.has(r"\b(?:leav\w+|left|depart\w*|clear(?:s|ed|ing|\s+of)?|exit\w*|away\s+from|gone)\b"):
        relation = "has_departure_time"
    found = hours_or_date(s) if relation else None
    if found is None:
        return
    words, attributes, confidence = found
    if relation == "has_departure_time":
        attributes["area"] = "port"
    yield fact(s, relation, words, "timing", attributes, port=True, confidence=confidence)
