"""Scenario readers for families 4, 5 and 10: alerts, wind probabilities, port conditions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from okh.domain import Fact, Mention
from okh.extraction.scenario_text import (
    DATE,
    HOURS,
    PERCENT,
    Amount,
    Statement,
    amount,
    fact,
    iso_date,
    read_amount,
)

_ALERT = re.compile(
    r"\b(?P<what>hurricane|tropical[\s-]+storm|storm[\s-]+surge)\s+"
    r"(?P<kind>watch|warning)(?:es|s)?\b", re.IGNORECASE,
)
_NO_ALERT = {
    kind: (
        rf"\b(?:no|neither|nor|without)\s+(?:a\s+|any\s+)?(?:[\w-]+\s+)?(?:[\w-]+\s+)?(?:or\s+)?{kind}"
        rf"|{kind}\w*[^.;:]{{0,40}}[:=]\s*(?:none|no\b)|{kind}\w*\s+(?:is|are|status|in\s+effect)?"
        rf"\s*(?:none|not\b)|\bno\s+watch(?:es)?\s+(?:or|and|nor)\s+{kind}|\bnot\s+under\s+(?:a|any)"
        rf"|\bno\s+(?:[\w-]+\s+){{1,3}}(?:is|are|lies?|stands?)\s+(?:\w+\s+)?under\b"
    )
    for kind in ("watch", "warning")
}
_NONE = r"\W*(?:none|no\b|not\b|nil\b|n/a)"
_SEGMENT = (
    r"\bcoast|\bsegment|\bstretch|\bshore|\bfrom\s+\S.*\s+(?:to|through|northward|southward|eastward"
    r"|westward)\b|\bcovers?\b|\bextends?\b"
)
_SEGMENT_TEXT = re.compile(
    r"\b(?:covers?|covering|extends?|extending|runs?|spans?|stretches|in\s+effect\s+(?:for|along|from)|"
    r"along|coast)\b(?:\s+(?:is|the\s+coast|along|over|across|for))*\W+(?P<seg>\S.*)", re.IGNORECASE
)
_FOR_PORT = r"\b(?:port|harbou?r|terminal)\b"


def alerts(s: Statement) -> Iterator[Fact]:
    """Watches and warnings, at the port or along a coast, and their absence."""
    for kind in ("watch", "warning"):
        if s.has(rf"\b{kind}(?:es|s)?\b"):
            yield from _alerts_of(s, kind)


def _alerts_of(s: Statement, kind: str) -> Iterator[Fact]:
    relation = f"has_{kind}_status"
    coastal = s.has(_SEGMENT) and not s.has(r"\bport\s+(?:is|lies|sits|remains|stands)\b")
    word = re.search(rf"\b{kind}(?:es|s)?\b", s.text, re.IGNORECASE)
    assert word is not None
    told_by_label = re.search(rf"\b{kind}", s.label, re.I) is not None
    none = re.match(_NONE, s.body, re.I) if told_by_label else s.has(_NO_ALERT[kind])
    if none:
        yield fact(
            s, relation, word[0], "advisory_status",
            {"advisory": "None", "segment": "coast" if coastal else None, "text": s.body},
            port=not coastal,
        )
        return
    segment = _segment(s) if coastal else None
    named = [m for m in _ALERT.finditer(s.text) if m["kind"].lower() == kind]
    if not named and told_by_label:
        # "Coast under a watch: A to B; Storm Surge Warning …" says its kind in the label alone.
        named = list(_ALERT.finditer(s.body)) if not coastal else []
    if coastal or not named:
        names = dict.fromkeys(_alert_name(m) for m in named)
        advisory = next(iter(names)) if len(names) == 1 else kind.title()
        shown = segment or word[0]
        yield fact(
            s, relation, shown, "coast_segment" if segment else "advisory_status",
            {"advisory": advisory, "segment": segment}, port=not coastal,
            confidence=1.0 if segment else 0.8,
        )
        return
    for name, match in {_alert_name(m): m for m in reversed(named)}.items():
        yield fact(
            s, relation, match[0], "advisory_status",
            {"advisory": name, "hazard": "storm surge" if "Surge" in name else None}, port=True,
        )


def _alert_name(match: re.Match[str]) -> str:
    what = re.sub(r"[\s-]+", " ", match["what"]).title()
    return f"{what} {match['kind'].title()}"


def _segment(s: Statement) -> str | None:
    if s.label and re.search(r"watch|warning|coast", s.label, re.I):
        return s.body
    match = _SEGMENT_TEXT.search(s.text)
    return match["seg"].rstrip(" .") if match else None


_COAST_CUE = re.compile(
    r"(?:affected|impacted|threatened|at\s+risk|exposed|hit|impacts?|effects|brunt)\b"
    r"(?:\s+(?:is|are|runs?|expected|likely|most|lies|felt|be|to|will))*\W+"
    r"(?:(?:along|on|across|for|by|is)\s+)?(?P<coast>\S.*)", re.IGNORECASE,
)


def impacted_coast(s: Statement) -> Iterator[Fact]:
    """The coast that is expected to be affected."""
    other = s.has(r"\b(?:watch|warning|landfall|freight)|%")
    if other or not s.has(r"\b(?:coast|shore|region\b)"):
        return
    if s.label and re.search(r"affect|impact|threat|risk|expos", s.label, re.I):
        coast, confidence = s.body, 1.0
    elif match := _COAST_CUE.search(s.text):
        coast, confidence = match["coast"].rstrip(" ."), 0.8
    else:
        return
    yield fact(
        s, "has_impacted_coast", coast, "coast_segment", {"coast": coast}, confidence=confidence
    )


_WIND_LOCATION = re.compile(
    r"\b(?:closest|nearest)\b[^.:]*?(?:\bis\b|:|=)\s*(?P<place>\S.*)"
    r"|(?P<before>[A-Z][A-Z .'/-]+?)\s+is\s+the\s+(?:closest|nearest)\b"
)


def wind_location(s: Statement) -> Iterator[Fact]:
    """The forecast location of the wind table that is nearest the port."""
    if not s.has(r"\bwind|\bforecast\s+(?:location|point)|\btable\b|\bstation\b") or s.has("%"):
        return
    match = _WIND_LOCATION.search(s.text)
    if match is None:
        return
    place = (match["place"] or match["before"]).rstrip(" .")
    yield fact(
        s, "has_forecast_location", place, "location", {"location": place}, port=True
    )


_KNOTS = re.compile(r"\b(?P<kt>34|50|64)(?:\s|-)*(?:kt|kts|kn|knots?)\b", re.IGNORECASE)
_CHANCE = re.compile(amount("p") + PERCENT, re.IGNORECASE)
_PERIOD = re.compile(
    r"(?<!\d)(?:(?P<from>\d{1,3})\s*[-–]\s*)?(?P<h>\d{1,3})" + HOURS, re.IGNORECASE
)
_AT = re.compile(
    r"\b(?:at|for|near|in)\s+(?P<place>[A-Z][\w.'’]*(?:\s+(?:[A-Z][\w.'’]*|of))*(?:,\s*[A-Z]{2}\b)?)"
)
_HOURS_VALUE = re.compile(amount("h") + HOURS, re.IGNORECASE)
_PROBABLE = r"\bprobab|\bchances?\b|\blikelihood\b|\bodds\b"

_WHOLE_PERIOD = r"\bcumulative|\b(?:5|five)[\s-]days?\b|\b120\s*h|\boverall\b"


def _outside_brackets(text: str) -> str:
    """The text with what stands in brackets blanked out, offsets kept: a remark is no value."""
    return re.sub(r"\([^()]*\)", lambda m: " " * len(m[0]), text)


def _threshold(s: Statement) -> str | None:
    """The wind speed that a probability is about, in knots."""
    if match := _KNOTS.search(s.text):
        return match["kt"]
    if s.has(r"\bgale|\btropical[\s-]+storm[\s-]+(?:force|strength)"):
        return "34"
    if s.has(r"\bhurricane[\s-]+(?:force|strength)"):
        return "64"
    return "50" if s.has(r"\bstorm[\s-]+force") else None


def _chance(value: Amount) -> tuple[str, str | None, float]:
    """(probability, note, confidence): the table's "X", under one per cent, is 0."""
    if value.below:
        low = value.low if float(value.low) > 1 else "0"
        return low, f"<{value.low}", 1.0 if low == "0" else 0.7
    return value.low, None, value.confidence


def probabilities(s: Statement) -> Iterator[Fact]:
    """Wind speed probabilities: by period, cumulative, peak, and the first above zero."""
    speed = _threshold(s)
    if speed is None or not s.has(_PROBABLE + r"|%|\bpercent\b") or s.has(r"\bcone\b"):
        return
    at = _AT.search(s.text)
    place = at["place"] if at and not re.match(_FOR_PORT, at["place"], re.I) else None
    text = _outside_brackets(s.text)
    chances = list(_CHANCE.finditer(text)) or list(_CHANCE.finditer(s.text))
    periods = list(_PERIOD.finditer(text)) or list(_PERIOD.finditer(s.text))
    scope = {"threshold_kt": speed, "location": place}
    if s.has(r"\bfirst\b|\bnon-?\s?zero\b|\babove\s+zero\b|\bstops?\s+being\s+zero"):
        yield from _first_nonzero(s, scope)
    elif s.has(r"\bpeak|\bhighest\b|\bmaximum\b|\bmaxim|\btops?\s+out\b|\blargest\b"):
        yield from _peak(s, scope, chances)
    elif len(chances) > 1 and len(periods) >= len(chances):
        yield from _by_period(s, scope, chances, periods)
    elif chances and s.has(_WHOLE_PERIOD):
        probability, note, confidence = _chance(read_amount(chances[0], "p"))
        yield _probability(
            s, "has_cumulative_probability", chances[0][0], confidence,
            {**scope, "period_h": "120", "probability": probability, "statistic": "cumulative",
             "text": note},
        )
    elif chances and periods:
        yield from _by_period(s, scope, chances, periods)


def _probability(
    s: Statement, relation: str, value: str, confidence: float, attributes: dict[str, str | None]
) -> Fact:
    place = attributes.get("location")
    others = (Mention(place, "location"),) if place else ()
    return fact(
        s, relation, value, "wind_probability", attributes, port=True, others=others,
        units={"probability": "%", "hours": "h", "threshold_kt": "kt", "period_h": "h"},
        confidence=confidence,
    )


def _first_nonzero(s: Statement, scope: dict[str, str | None]) -> Iterator[Fact]:
    match = _HOURS_VALUE.search(s.text)
    if match is None:
        return
    value = read_amount(match, "h")
    yield _probability(
        s, "has_first_nonzero_probability", match[0], value.confidence,
        {**scope, "hours": value.low, "statistic": _statistic(s) or "onset"},
    )


def _peak(
    s: Statement, scope: dict[str, str | None], chances: list[re.Match[str]]
) -> Iterator[Fact]:
    hours = _HOURS_VALUE.search(_outside_brackets(s.text)) or _HOURS_VALUE.search(s.text)
    if not chances and hours is None:
        return
    confidence, probability, note, when = 1.0, None, None, None
    if chances:
        probability, note, confidence = _chance(read_amount(chances[0], "p"))
    if hours:
        value = read_amount(hours, "h")
        when, confidence = value.low, min(confidence, value.confidence)
    shown = chances[0] if chances else hours
    assert shown is not None
    yield _probability(
        s, "has_peak_probability", shown[0], confidence,
        {**scope, "probability": probability, "hours": when, "text": note,
         "statistic": _statistic(s) or "onset"},
    )


def _statistic(s: Statement) -> str | None:
    """``cumulative`` or ``onset`` where the words say so."""
    if s.has(r"\bcumulative"):
        return "cumulative"
    return "onset" if s.has(r"\bonset|\bsingle[\s-]period") else None


def _by_period(
    s: Statement, scope: dict[str, str | None],
    chances: list[re.Match[str]], periods: list[re.Match[str]],
) -> Iterator[Fact]:
    """Pairs "12 h: 5 %" or "5 % by 12 h": the side on which the first hours stand decides."""
    before = periods[0].start() < chances[0].start()
    for chance in chances:
        if before:
            near = [p for p in periods if p.end() <= chance.start()][-1:]
        else:
            near = [p for p in periods if p.start() >= chance.end()][:1]
        if not near:
            continue
        probability, note, confidence = _chance(read_amount(chance, "p"))
        yield _probability(
            s, "has_leadtime_probability", chance[0], confidence,
            {**scope, "period_h": near[0]["h"].lstrip("0") or "0", "probability": probability,
             "statistic": _statistic(s) or "unspecified", "text": note},
        )


_CONDITION = re.compile(
    r"\b(?P<name>NORMAL|WHISKEY|X-?\s?RAY|YANKEE|ZULU)\b(?!\s*(?:tide|water|level|wind))",
    re.IGNORECASE,
)
_MODAL = (
    r"\b(?:must|should|shall|may|prohibit\w*|suspend\w*|clos\w+|restrict\w*|advis\w+|require\w*|"
    r"permit\w*|remain\w*|secure\w*|continue\w*|cease\w*|prepare\w*|review\w*|depart\w*|guidance|"
    r"orders?|ordered|told|asked)\b"
)


def operations(s: Statement) -> Iterator[Fact]:
    """The port condition in force and the guidance for vessels and facilities."""
    match = _CONDITION.search(s.text)
    named = match is not None and (
        match["name"].upper() != "NORMAL" or s.has(r"\bcondition\s+(?:is\s+)?normal")
    )
    if match and named and s.has(r"\bcondition|\bport\b|\bCOTP\b|\bset\b|\bhurricon"):
        name = re.sub(r"\W", "", match["name"].upper()).replace("XRAY", "X-RAY")
        when = DATE.search(s.text)
        yield fact(
            s, "has_operation_status", match[0], "operation_status",
            {"condition": name, "effective": iso_date(when, s.block.year) if when else None},
            port=True,
        )
    yield from _guidance(s, opening=bool(match and named))


def _guidance(s: Statement, *, opening: bool) -> Iterator[Fact]:
    """Guidance: told by a label, or a sentence whose subject is vessels or facilities."""
    told = re.search(r"guidance|vessel|ship|facilit|operat|terminal", s.label, re.I)
    label = s.label if told else ""
    subject = label or s.text[:90]
    if not label and (opening or not s.has(_MODAL)):
        return
    if s.has(r"\bsurge\b|\brip\b|\btornado|\bimpact\s+affected|\bobserved\b") and not label:
        return
    words = s.body if label else s.text.rstrip(" .")
    if re.search(r"\bfacilit|\bterminals?\b|\bcargo\s+handling|\bwaterfront", subject, re.I):
        yield fact(
            s, "affects_facility_operation", words, "operation_status", {"guidance": words},
            port=True, confidence=1.0 if label else 0.8,
        )
    elif re.search(r"\bvessels?\b|\bships?\b|\bbarges?\b|\bmariners\b", subject, re.I):
        ocean = re.search(r"\bocean[\s-]?going|\bcommercial|\bdeep[\s-]draft", subject, re.I)
        yield fact(
            s, "affects_vessel_handling", words, "operation_status",
            {"vessels": "ocean-going" if ocean else "all", "guidance": words},
            port=True, confidence=1.0 if label else 0.8,
        )
