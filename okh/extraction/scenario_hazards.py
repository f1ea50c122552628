"""Scenario readers for families 3, 6, 8, 9, 11 and 12: hazards, thresholds, outcomes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from okh.domain import Fact
from okh.extraction.scenario_text import (
    COUNT,
    COUNT_WORDS,
    DATE,
    HOURS,
    PERCENT,
    SPEED_UNIT,
    Statement,
    amount,
    fact,
    iso_date,
    read_amount,
)

_NONE = (
    r"^\W*(?:none|no|nil|n/a|not)\b|\b(?:no|none|not)\s+(?:\w+\s+){0,3}(?:expected|anticipated|"
    r"forecast|likely)\b"
)
_FIRST = (
    r"\bfirst\s+(?:hazard|threat|effect|impact|event)|\bhazard\w*\s+(?:\w+\s+){0,3}first\b|"
    r"\b(?:arrive|reach|felt|begin|come|start|happen)\w*\s+(?:\w+\s+){0,3}first\b"
)
_HAZARDS: tuple[tuple[str, str], ...] = (
    ("heavy rainfall", r"\brain"),
    ("tropical-storm-force winds", r"\bwinds?\b|\bgale"),
    ("storm surge", r"\bsurge\b"),
    ("surf", r"\bsurf\b|\brip\b"),
)
_IN_HOURS = re.compile(amount("h") + HOURS, re.IGNORECASE)


def first_hazard(s: Statement) -> Iterator[Fact]:
    """Which hazard reaches the port first, or that none does."""
    if not s.has(_FIRST):
        return
    found = [
        (m.start(), name, m[0])
        for name, pattern in _HAZARDS
        if (m := re.search(pattern, s.body if s.label else s.text, re.IGNORECASE))
    ]
    if re.match(r"\W*(?:none|no)\b", s.body, re.I) or (s.has(_NONE) and not found):
        hazard, shown = "none", re.search(r"\bno(?:ne)?\b", s.text, re.I)
        value = shown[0] if shown else s.body
    elif found:
        _, hazard, value = min(found)
    else:
        return
    hours = _IN_HOURS.search(s.text)
    yield fact(
        s, "has_hazard_arrival", value, "timing",
        {"hazard": hazard, "hours": read_amount(hours, "h").low if hours else None,
         "text": s.body},
        port=True,
    )


_DEPTH_UNIT = r"\s*[-]?(?P<unit>inch(?:es)?\b|in\b\.?|[\"”″]|feet\b|foot\b|ft\b\.?|['’′])"
_ABOVE = re.compile(
    r"\b(?:above|exceed\w*|over|more\s+than|greater\s+than|in\s+excess\s+of|top(?:s|ping)?|past|pass|"
    r"beyond|surpass\w*)\s+(?:the\s+)?(?P<limit>\d+(?:\.\d+)?)" + _DEPTH_UNIT, re.IGNORECASE,
)
_ASSESSMENT: tuple[tuple[str, str], ...] = (
    ("unlikely", r"unlikely|low\s+chance|low\s+probability|marginal|improbable|doubtful"),
    ("possible", r"possib\w+|potential\w*|may|might|could|borderline"),
    ("likely", r"likely|probable"),
    ("no", r"no|not|none|never|isn't|won't"),
    ("yes", r"yes|expected|forecast|will"),
)
_ASSESSED = re.compile(
    r"\b(?:" + "|".join(f"(?P<{name}>{words})" for name, words in _ASSESSMENT) + r")\b",
    re.IGNORECASE,
)


def threshold(s: Statement) -> Iterator[Fact]:
    """Whether rainfall or surge is expected to exceed an amount."""
    match = _ABOVE.search(s.text)
    hazard = "storm surge" if s.has(r"\bsurge\b|\binundation\b") else "rainfall"
    if match is None or not s.has(r"\bsurge\b|\binundation\b|\brain"):
        return
    if s.label and _ABOVE.search(s.label):
        verdict = _ASSESSED.search(s.body)
    elif re.search(r"\boutlook\b", s.label, re.I):
        return
    else:
        words = list(_ASSESSED.finditer(s.text))
        after = [w for w in words if w.start() >= match.end()]
        verdict = next((w for w in words if w["no"]), next(iter(after or words), None))
    if verdict is None:
        return
    unit = "ft" if match["unit"].lower()[0] in "f'’′" else "in"
    yield fact(
        s, "has_threshold_status", verdict[0], "threshold_status",
        {"hazard": hazard, "threshold": f"{match['limit']} {unit}", "exceeded": verdict.lastgroup,
         "text": s.body if s.label else None},
        port=True,
    )


_AREA = re.compile(
    r"\b(?:along|across|over|at|near|around|for|on)\s+(?:the\s+)?"
    r"(?P<area>[A-Za-z][^,;.()]*?[A-Z][^,;.()]*?)"
    r"(?=[,;.()]|\s+(?:possible|expected|is|are|may|could|with|if|as|through|late|over|during|based|given|this)\b|$)"
)
_DEPTH = re.compile(amount("d") + _DEPTH_UNIT, re.IGNORECASE)
_ISOLATED = re.compile(
    r"(?:isolated|locally|local|localized|maximum)\s+(?:\w+\s+){0,4}?"
    + amount("iso") + _DEPTH_UNIT,
    re.IGNORECASE,
)
_OUTLOOK = (
    r"\b(?:expected|forecast|possible|likely|could|may|should|will|anticipated|outlook|none?)\b|\d"
)
_HAZARD_LABEL = {
    "forecasts_storm_surge": r"\bsurge\b|\binundation\b",
    "forecasts_rainfall": r"\brain",
    "forecasts_wind": r"\bwinds?\b",
}


def outlook(s: Statement) -> Iterator[Fact]:
    """What wind, surge or rain is forecast to bring, with its amounts where they are stated."""
    if s.has(r"\bwatch\b|\bwarning\b") and not s.label:
        return
    for relation, words in _HAZARD_LABEL.items():
        if s.label and re.search(words, s.label, re.I):
            yield _outlook(s, relation, 1.0)
            return
    if s.label or not s.has(_OUTLOOK):
        return
    for relation, words in _HAZARD_LABEL.items():
        if s.has(words):
            yield _outlook(s, relation, 0.8)
            return


def _outlook(s: Statement, relation: str, confidence: float) -> Fact:
    hazard = {"forecasts_storm_surge": "storm surge", "forecasts_rainfall": "rainfall"}.get(
        relation, "wind"
    )
    attributes: dict[str, str | None] = {"hazard": hazard, "text": s.body}
    unit = "mph" if hazard == "wind" else "ft" if hazard == "storm surge" else "in"
    if hazard == "wind":
        unit = _wind_amounts(s, attributes) or unit
    else:
        _depth_amounts(s, attributes, "f'’′" if hazard == "storm surge" else "i\"”″")
        area = _AREA.search(s.body)
        attributes["area"] = area["area"].strip() if area else None
    nothing = re.match(_NONE, s.body, re.I)
    if "low" not in attributes and nothing and re.search(_NONE, s.body, re.I):
        attributes["low"] = attributes["high"] = "0"
    return fact(
        s, relation, s.body, "hazard_forecast", attributes, port=True,
        units={"low": unit, "high": unit, "isolated": unit}, confidence=confidence,
    )


def _wind_amounts(s: Statement, attributes: dict[str, str | None]) -> str | None:
    match = re.search(amount("v") + r"\s*" + SPEED_UNIT, s.body, re.IGNORECASE)
    if match is None:
        return None
    value = read_amount(match, "v")
    attributes["low"] = "0" if value.below else value.low
    attributes["high"] = value.high
    return "kt" if match["unit"].lower().startswith("k") and "/" not in match["unit"] else "mph"


def _depth_amounts(s: Statement, attributes: dict[str, str | None], initials: str) -> None:
    isolated = _ISOLATED.search(s.body)
    if isolated and isolated["unit"].lower()[0] in initials:
        attributes["isolated"] = read_amount(isolated, "iso").high
    for match in _DEPTH.finditer(s.body):
        if match["unit"].lower()[0] not in initials:
            continue
        if isolated and isolated.start() <= match.start() < isolated.end():
            continue
        value = read_amount(match, "d")
        attributes["low"] = "0" if value.below and value.low == value.high else value.low
        attributes["high"] = value.high
        return


_OTHER: tuple[tuple[str, str], ...] = (
    ("tornado", r"\btornad\w+|\bwaterspouts?"),
    ("rip current", r"\brip[\s-]*(?:currents?|tides?)?"),
    ("surf", r"\bsurf\b|\bbreakers?\b"),
    ("high seas", r"\b(?:rough|high|elevated|heavy|confused|large)\s+(?:seas|waves)|\bswells?\b"),
    ("flooding", r"\bflood\w*|\bponding"),
    ("mudslide", r"\bmudslides?|\blandslides?"),
    ("erosion", r"\berosion|\boverwash"),
    ("lightning", r"\blightning|\bthunderstorms?"),
)


def other_hazards(s: Statement) -> Iterator[Fact]:
    """Hazards besides wind, surge and rain, one fact for each that is named."""
    told = re.search(r"\bhazards?\b|\bthreats?\b|\bdangers?\b", s.label or s.text[:60], re.I)
    if s.has(_FIRST) or (s.label and not told):
        return
    if told and re.match(r"\W*(?:none|no\b|not\b|nil\b)", s.body, re.I):
        yield fact(
            s, "has_additional_hazard", s.body, "hazard_forecast",
            {"hazard": "none", "text": s.body}, port=True,
        )
        return
    named = [
        (name, match) for name, pattern in _OTHER
        if (match := re.search(pattern, s.text, re.IGNORECASE))
    ]
    if not told and s.has(r"\brainfall|\bsurge\b|\bnot\b|\bno\b|\bvessels?\b"):
        return
    for name, match in named:
        yield fact(
            s, "has_additional_hazard", match[0], "hazard_forecast",
            {"hazard": name, "text": s.body}, port=True, confidence=1.0 if told else 0.8,
        )
    if told and not named:
        yield fact(
            s, "has_additional_hazard", s.body, "hazard_forecast",
            {"hazard": "other", "text": s.body}, port=True, confidence=0.8,
        )


_DAYS = re.compile(rf"\b(?P<days>{COUNT}(?:\.\d+)?)[\s-]*days?\b", re.IGNORECASE)
_VESSELS = re.compile(
    r"\b(?P<n>\d+(?:\s*[-–]\s*\d+)?)\s+(?:\w+\s+)?vessels?(?P<more>\s+or\s+more)?", re.IGNORECASE
)
_SIZE = re.compile(
    r"\b(?:magnitude|severity|reduction|drop|index)\b[^\d]{0,30}(?P<size>\d+(?:\.\d+)?)(?P<pct>"
    + PERCENT + r")?", re.IGNORECASE,
)
_IMPACT = r"\b(?:impact|disrupt|freight|cargo\s+traffic|port\s+calls|vessel\s+traffic)\w*"


def outcome(s: Statement) -> Iterator[Fact]:
    """Impact on the port and its recovery; observed where told behind landfall."""
    told_later = s.after or s.has(r"\bobserved\b|\bafter\s+the\s+(?:fact|event|storm)")
    observed = "true" if told_later else None
    recovery = s.has(r"\brecover\w*|\bback\s+to\s+normal|\breopen\w*|\bresum\w+\b")
    if not (recovery or s.has(_IMPACT)) or not (observed or s.has(r"\bfreight|\brecover")):
        return
    days = _DAYS.search(s.text)
    when = DATE.search(s.text)
    date = iso_date(when, s.block.year) if when else None
    count = COUNT_WORDS.get(days["days"].lower(), days["days"]) if days else None
    if recovery and (days or date):
        shown = days or when
        assert shown is not None
        yield fact(
            s, "has_recovery_status", shown[0], "recovery_status",
            {"days": count, "date": date, "observed": observed}, port=True, units={"days": "d"},
        )
        return
    yield from _impact(s, observed, (days, count), (when, date))


def _impact(
    s: Statement, observed: str | None,
    days: tuple[re.Match[str] | None, str | None], when: tuple[re.Match[str] | None, str | None],
) -> Iterator[Fact]:
    def told(purpose: str, shown: str, values: dict[str, str | None]) -> Fact:
        return fact(
            s, "has_impact_prediction", shown, "impact_prediction",
            {**values, "purpose": purpose, "observed": observed}, port=True,
        )

    if s.has(r"\bno\s+(?:\w+\s+){0,2}(?:impact|disruption)|\bwithout\s+(?:\w+\s+)?impact"):
        yield told("none", "impact" if s.has(r"\bimpact\b") else "disruption", {"amount": "0"})
        return
    if when[0] and when[1]:
        peak = s.has(r"\bpeak|\bmaxim|\bworst|\bhighest")
        yield told("peak" if peak else "start", when[0][0], {"date": when[1]})
    if days[0] and days[1]:
        yield told("duration", days[0][0], {"days": days[1]})
    if size := _SIZE.search(s.text):
        yield told("magnitude", size[0], {"amount": size["size"] + ("%" if size["pct"] else "")})
    if vessels := _VESSELS.search(s.text):
        amount_text = vessels["n"] + (" or more" if vessels["more"] else "")
        yield told("vessels", vessels[0], {"amount": amount_text})
