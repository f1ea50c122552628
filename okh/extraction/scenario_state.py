"""Scenario readers for family 1: position, motion, category, wind and pressure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from okh.domain import Fact
from okh.extraction.scenario_text import (
    COMPASS,
    DIRECTION,
    KM_PER_MILE,
    MPH_PER_KNOT,
    SPEED_UNIT,
    Statement,
    amount,
    compass,
    decimal,
    fact,
    read_amount,
)

_COORDINATES = re.compile(
    r"(?<![\w.])(?:lat(?:itude|\.)?\s*)?(?P<lat>\d{1,2}(?:\.\d+)?)\s*°?\s*(?P<ns>N|S|north|south)\b"
    r"(?:\s*(?:latitude\b)?[\s,;/]*(?:and\s+)?)(?:lon(?:g|gitude|\.)?\s*)?"
    r"(?P<lon>\d{1,3}(?:\.\d+)?)\s*°?\s*(?P<ew>W|E|west|east)\b(?:\s+longitude\b)?",
    re.IGNORECASE,
)
_SIGNED = re.compile(
    r"lat(?:itude)?\W{0,3}(?P<lat>-?\d{1,2}\.\d+)[^\d-]{1,16}(?P<lon>-?\d{1,3}\.\d+)",
    re.IGNORECASE,
)
_STORM_WORDS = r"\b(?:cent(?:er|re)|eye|storm|cyclone|hurricane|depression|system)\b"


def position(s: Statement) -> Iterator[Fact]:
    """Coordinates: of the port where the statement is about it alone, else of the cyclone."""
    if match := _COORDINATES.search(s.text):
        south, west = match["ns"][0] in "Ss", match["ew"][0] in "Ww"
        latitude = f"{'-' if south else ''}{match['lat']}"
        longitude = f"{'-' if west else ''}{match['lon']}"
    elif match := _SIGNED.search(s.text):
        latitude, longitude = match["lat"], match["lon"]
    else:
        return
    place = (
        f"{latitude.lstrip('-')}{'S' if latitude.startswith('-') else 'N'}, "
        f"{longitude.lstrip('-')}{'W' if longitude.startswith('-') else 'E'}"
    )
    of_port = s.has(r"\b(?:port|harbou?r)\b") and not s.has(_STORM_WORDS)
    yield fact(
        s, "has_location" if of_port else "has_position", match[0],
        "location" if of_port else "cyclone_state",
        {"latitude": latitude, "longitude": longitude, "position": place}, port=of_port,
    )


_REFERENCE = re.compile(
    amount("far") + r"\s*"
    r"(?P<unit>miles?|mi\b\.?|km\b|kilomet(?:er|re)s?|nautical\s+miles?|nm\b|nmi\b)"
    rf"\s*(?:\([^)]*\)\s*)?(?:to\s+the\s+)?(?P<dir>{DIRECTION})\s+of\s+(?P<ref>.+?)"
    r"(?=\s*(?:[;(]|,?\s+(?:and\s+)?(?:moving|heading|with|tracking)\b|\s+and\s+about\b|\.?\s*$))"
)
_PLACE = re.compile(
    r"\b(?:cent(?:er|re)|eye|storm|it)\s+(?:of\s+\S+\s+)?(?:is|was|lies|sits)\s+"
    r"(?:currently\s+|now\s+)?(?P<ref>(?:near|over|between|just|moving|passing|lingering|eye|inland|"
    r"close\s+to|off)\b.+)",
    re.IGNORECASE,
)
_LOCATED = (
    r"\b(?:cent(?:er|re)(?:ed|d)?|eye|located|location|positioned|position|situated|lies|sits"
    r"|relative\s+to)\b"
)


def reference(s: Statement) -> Iterator[Fact]:
    """Distance and bearing from a named place, or the place that the center is near."""
    if not s.has(_LOCATED) or s.has(r"\bremains?\b|\bprobab"):
        return
    found = False
    for match in _REFERENCE.finditer(s.text):
        distance = read_amount(match, "far")
        miles = float(distance.low)
        if match["unit"].lower().startswith("k"):
            miles /= KM_PER_MILE
        elif match["unit"].lower().startswith("n"):
            miles *= MPH_PER_KNOT
        bearing = compass(match["dir"])
        if bearing:
            found = True
            yield fact(
                s, "has_reference_distance", match["ref"], "location",
                {"reference": match["ref"].strip(" ,"), "distance_mi": decimal(miles),
                 "bearing": bearing},
            )
    if not found and (place := _PLACE.search(s.text)):
        where = place["ref"].rstrip(" .")
        yield fact(
            s, "has_reference_distance", where, "location", {"reference": where}, confidence=0.8
        )


_MOTION_CUE = re.compile(
    r"\b(?:present\s+motion|motion|movement|moving|moves|moved|heading|headed|drift(?:ing|s|ed)|"
    r"travel(?:l?ing|s|led)|creeping|crawling|forward\s+speed|stationary|stalled|"
    r"tracking(?=.{0,40}\bat\s))",
    re.IGNORECASE,
)
_FUTURE = (
    r"forecast\s+track|trajectory|\b(?:will|should|forecast|expected|projected|likely)\s+(?:to\s+)?"
    r"(?:then\s+)?(?:begin\s+)?(?:move|turn|track|curve|recurve|drift|head|continue)"
)
_HEADING = re.compile(rf"(?P<dir>{DIRECTION})|(?P<still>(?i:stationary|stalled))")
_SPEED = re.compile(amount("v") + r"\s*" + SPEED_UNIT, re.IGNORECASE)
_BEARING = re.compile(r"\b(\d{1,3})\s*(?:°|deg(?:rees?)?\b)", re.IGNORECASE)


def motion(s: Statement) -> Iterator[Fact]:
    """Present direction and forward speed."""
    cue = _MOTION_CUE.search(s.text)
    if cue is None or s.has(r"\boffshore\b|\blandfall\b|\bcone\b"):
        return
    speed = next(
        (m for m in _SPEED.finditer(s.text, cue.start())
         if not re.search(r"\b(?:winds?|gusts?)\b[^,;]{0,30}$", s.text[: m.start()], re.I)), None,
    )
    future = re.search(_FUTURE, s.text, re.IGNORECASE)
    if future and (speed is None or future.start() < cue.start()):
        return
    span = s.text[cue.start() : cue.end() + 70]
    heading = _HEADING.search(span) or _HEADING.search(s.text[max(0, cue.start() - 30) :])
    if heading is None and speed is None:
        return
    if speed is None and not re.match(r"(?:present\s+)?(?:motion|movement)|stationary|stalled|head",
                                      cue[0], re.I):
        return
    yield _motion_fact(s, heading, speed)


def _motion_fact(
    s: Statement, heading: re.Match[str] | None, speed: re.Match[str] | None
) -> Fact:
    direction = bearing = ""
    if heading is not None:
        direction = "stationary" if heading["still"] else compass(heading["dir"])
    if degrees := _BEARING.search(s.text):
        bearing = degrees[1].lstrip("0") or "0"
    elif direction in COMPASS:
        bearing = decimal(COMPASS.index(direction) * 22.5)
    mph = kmh = None
    confidence = 1.0
    if speed is not None:
        value = read_amount(speed, "v")
        confidence = value.confidence
        rate = float(value.low)
        unit = speed["unit"].lower()
        if unit.startswith("km") or unit == "kph":
            mph, kmh = decimal(round(rate / KM_PER_MILE)), value.low
        elif unit.startswith("k"):
            mph = decimal(round(rate * MPH_PER_KNOT))
        else:
            mph = value.low
    elif direction == "stationary":
        mph = "0"
    shown = heading or speed
    assert shown is not None
    return fact(
        s, "has_motion", shown[0].strip(), "motion_state",
        {"direction": direction, "bearing_deg": bearing, "speed_mph": mph, "speed_kmh": kmh},
        confidence=confidence,
    )


_CATEGORY = re.compile(
    r"\bcat(?:egory|\.)?[\s-]*(?P<n>[1-5])(?!\d|\.\d|\s*(?:threshold|scale))"
    r"|\b(?P<kind>potential\s+tropical\s+cyclone|post-?tropical\s+cyclone|extra-?tropical\s+cyclone|"
    r"subtropical\s+(?:storm|depression)|tropical\s+(?:storm|depression|disturbance)|"
    r"(?:major\s+)?hurricane|remnants?(?:\s+low)?)\b"
    r"(?!s|[\s-]*(?:watch|warning|force|condition|wind|strength|scale|plan|prep|season|swell|advis|"
    r"surge|cent(?:er|re)\b|track))",
    re.IGNORECASE,
)
_NOT_YET = re.compile(
    r"(?:\bbelow|\bnot\s+yet|\b(?:forecast|expected)\s+to|\bbecom\w+|\breach\w*|\bstrengthen\w*|"
    r"\bweaken\w*|\bintensif\w*|\bpre-?|\bnear(?:ing)?-?|\bbefore|\bcould|\bmay|\buntil|\bfrom\s+an?|"
    r"\bno\s+longer|\bshort\s+of|/\s*pre-?)[\s(-]*(?:an?\s+|into\s+|being\s+)?(?:\w+\s+){0,2}$",
    re.IGNORECASE,
)
_CLASSED = (
    r"\bclass(?:ed|if)|\brat(?:ed|ing)\b|\branks?\b|\bcategor|\bstatus\b|\bintensity\b|\bSSHS\b"
    r"|\bSaffir|\b(?:is|was|remains|remained|be)\s+(?:now\s+|currently\s+|still\s+|again\s+)?an?\b"
    r"|\b(?:now|currently|still|upgraded|downgraded|strength)\b|,\s*an?\s"
)
_STATUS = {"major hurricane": "hurricane", "extratropical cyclone": "post-tropical cyclone"}


def category(s: Statement) -> Iterator[Fact]:
    """Category and status that the cyclone has now, not one that it may reach."""
    present = [
        m for m in _CATEGORY.finditer(s.text) if not _NOT_YET.search(s.text[: m.start()])
    ]
    if not present or s.has(r"\bno\s+longer\b"):
        return
    name = re.escape(s.block.storm or "")
    chosen = present[0]
    titled = bool(name) and re.match(rf"\s+{name}\b", s.text[chosen.end() :], re.I) is not None
    if not (titled or s.has(_CLASSED)):
        return
    if (chosen["kind"] or "").lower().endswith("hurricane"):
        chosen = next((m for m in present if m["n"]), chosen)
    confidence = 1.0 if s.has(r"\bclass|\bcategor|\brated|\bstatus") or titled else 0.9
    if chosen["n"]:
        status, label = "hurricane", f"Category {chosen['n']}"
    else:
        words = re.sub(r"\s+", " ", chosen["kind"].lower()).replace("posttropical", "post-tropical")
        status = _STATUS.get(words, "remnants" if words.startswith("remnant") else words)
        label = "" if status == "hurricane" else status.title()
    if label:
        yield fact(
            s, "has_category_state", chosen[0], "cyclone_state", {"category": label},
            confidence=confidence,
        )
    yield fact(
        s, "has_cyclone_state", chosen[0], "cyclone_state", {"status": status},
        confidence=confidence,
    )


_MAX_WIND = re.compile(
    r"(?:max(?:imum|\.)?\s+(?:sustained\s+)?winds?|winds?\s+(?:near|of)\s+(?=\d+\s*\w+\s+at\s+(?:its|the)"
    r"\s+(?:cent|core))|(?:hurricane|storm|depression|cyclone)\s+with\s+winds?|(?:peak|top)\s+(?:sustained\s+)?winds?|sustained\s+winds?)"
    r"(?:\s+(?:speed|are|is|were|was|of|near|about|around|at|to|increased|have))*\s*[:=]?\s*"
    + amount("v") + r"\s*" + SPEED_UNIT,
    re.IGNORECASE,
)
_PRESSURE = re.compile(r"\b(?P<mb>[89]\d\d|10[0-4]\d)\s*(?:mb\b|hPa\b|millibars?\b)", re.IGNORECASE)


def intensity(s: Statement) -> Iterator[Fact]:
    """Maximum sustained wind and central pressure of the cyclone."""
    wind = _MAX_WIND.search(s.text)
    if wind and not s.has(r"\b(?:port|probab\w*|possible|gusts?|gusty|chance|outlook|could)\b"):
        value, unit = read_amount(wind, "v"), wind["unit"].lower()
        rate = float(value.low)
        knots = None
        if unit.startswith("km") or unit == "kph":
            rate /= KM_PER_MILE
        elif unit.startswith("k"):
            knots, rate = value.low, rate * MPH_PER_KNOT
        yield fact(
            s, "has_intensity", wind[0], "cyclone_state",
            {"wind_mph": decimal(round(rate)), "wind_kt": knots}, confidence=value.confidence,
        )
    if match := _PRESSURE.search(s.text):
        yield fact(
            s, "has_pressure", match[0], "cyclone_state", {"pressure_mb": match["mb"]}
        )
