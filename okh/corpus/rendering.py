"""A CyPortQA event as the text of a scenario, in sentences of our own.

Each horizon block states what was known at its lead and nothing later:
``operation.in_12h`` and its kind are labels to be predicted and are never
rendered; ``impact_prediction`` is an outcome, stamped on every lead alike, and
is told once, behind the last horizon. The upstream spelling of keys
(``senario``, ``culmulative_wind_34kt``) is read as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from okh.corpus.sentences import split_sentences

Fields = Mapping[str, object]

GALE_PERIODS = (12, 24, 48, 72, 96)
"""Hours for which an event gives a gale probability."""

_ABSENT = re.compile(
    r"(?:n\.?/?a\.?|none|null|nan|unknown|not (?:available|applicable)|data not provided.*"
    r"|[-–—.\s]*)(?:\s*[(–—-].*)?",
    re.IGNORECASE,
)
_NEGATIVE = re.compile(r"(?:none\b|no\b|not\b|n/a\b|already\b|unknown\b)", re.IGNORECASE)
_NUMBER = re.compile(r"[≈~<>≤≥+\s]*\d")


class EventError(ValueError):
    """An event without what a scenario needs; the message names the missing field."""


def _fields(source: Fields, key: str) -> Fields:
    value = source.get(key)
    return value if isinstance(value, Mapping) else {}


def _value(fields: Fields, key: str) -> str:
    """A field as one run of words: no line breaks, no inner sentence end, no final stop."""
    raw = fields.get(key)
    if raw is None or isinstance(raw, Mapping | list | bool):
        return ""
    text = " ".join(str(raw).split())
    parts = [text[a:b].rstrip(" .;") for a, b in split_sentences(text)]
    return "; ".join(part for part in parts if part)


def _stated(fields: Fields, key: str) -> str:
    """The field where it holds a value, empty where it says that there is none."""
    value = _value(fields, key)
    return "" if _ABSENT.fullmatch(value) else value


def _numeric(fields: Fields, key: str) -> str:
    """The field where it begins with a number (``24``, ``≈12``, ``<1%``), else empty."""
    value = _value(fields, key)
    return value if _NUMBER.match(value) else ""


def _hours(value: str) -> str:
    """``24`` as ``24 hours``; a value that brings its unit or a remark keeps both."""
    number = re.match(r"[≈~<>≤≥]*\s*\d+(?:\s*[-–]\s*\d+)?\+?", value)
    if number is None:
        return value
    rest = re.sub(r"^\s*(?:hours?|hrs?|h)\b", "", value[number.end() :])
    return f"{number[0]} hours{rest}"


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def _cyclone(name: str, fields: Fields) -> Iterator[str]:
    """Sentences on the state, the track and the timing of the cyclone."""
    if category := _stated(fields, "category"):
        yield f"{name} is classified as {category}."
    if coordinates := _stated(fields, "coordinates"):
        yield f"The center of {name} is located at {coordinates}."
    if place := _stated(fields, "current_location"):
        yield f"Relative to land, the center is {place}."
    motion = _fields(fields, "motion")
    direction, speed = _stated(motion, "direction"), _stated(motion, "speed")
    if direction and speed:
        yield f"Its present motion is {direction}, at a forward speed of {speed}."
    elif direction:
        yield f"Its present motion is {direction}."
    elif speed:
        yield f"Its forward speed is {speed}."
    if track := _stated(fields, "trajectory"):
        yield f"Forecast track: {_lower_first(track)}."
    yield from _landfall(fields)
    offshore = _value(fields, "hours_to_offshore")
    if _numeric(fields, "hours_to_offshore"):
        yield f"The storm is expected to move offshore from the port area in {_hours(offshore)}."
    elif offshore and not _ABSENT.fullmatch(offshore):
        yield f"No time is given for the storm to move offshore: {_lower_first(offshore)}."
    strike = _numeric(fields, "hours_of_strike")
    if strike:
        yield f"The strike on the port is expected to last {_hours(strike)}."


def _landfall(fields: Fields) -> Iterator[str]:
    place, date = _value(fields, "expected_landfall_location"), ""
    if re.match(r"\d{4}-", _value(fields, "expected_landfall_date")):
        date = _value(fields, "expected_landfall_date")
    if place and _NEGATIVE.match(place):
        yield f"No landfall is expected: {_lower_first(place)}."
    elif place and date:
        yield f"The expected landfall is {place}, on {date}."
    elif place:
        yield f"The expected landfall is {place}."
    if date and (not place or _NEGATIVE.match(place)):
        yield f"The expected landfall date is {date}."
    if hours := _numeric(fields, "hours_to_landfall"):
        yield f"Landfall is expected in {_hours(hours)}."


def _alerts(fields: Fields) -> Iterator[str]:
    """Sentences on watches and warnings, for the port and along the coast."""
    for kind in ("watch", "warning"):
        port, coast = _value(fields, f"under_{kind}"), _value(fields, f"{kind}_coast")
        remark = re.sub(r"^none\b[\s,–—-]*", "", port, flags=re.IGNORECASE)
        if port and not _NEGATIVE.match(port):
            yield f"The port is under a {kind}: {port}."
        elif port:
            yield f"The port is under no {kind}{f' {remark}' if remark.startswith('(') else ''}."
        if coast and not _NEGATIVE.match(coast):
            yield f"Coast under a {kind}: {coast}."
        elif coast:
            yield f"No coast is under a {kind} at this time."


def _timing(fields: Fields) -> Iterator[str]:
    """Sentences on the cone, the window, the coast and the dates at the port."""
    cone = _stated(fields, "within_uncertainty_cone")
    if cone:
        remark = re.sub(r"^[\w/]+[\s,–—-]*", "", cone)
        remark = f" ({remark.strip('()')})" if remark else ""
        side = "inside" if cone.lower().startswith("yes") else "outside"
        yield f"The port lies {side} the forecast uncertainty cone{remark}."
    if days := _numeric(fields, "forecast_window"):
        yield f"The forecast window covers {days} days."
    if coast := _stated(fields, "impacted_coast"):
        yield f"Coast expected to be affected: {coast}."
    for key, event in (
        ("expected_closest_date_to_port", "The closest approach to the port is expected on"),
        ("expected_leaving_port_date", "The storm is expected to leave the port area on"),
    ):
        if date := _numeric(fields, key):
            yield f"{event} {date}."


def _probabilities(fields: Fields) -> Iterator[str]:
    """Sentences on wind speed probabilities at the forecast location nearest the port."""
    place = _stated(fields, "closest_wind_data_location")
    # The other sentences name the place alone, without a remark, and no place that is none.
    name = place.partition("(")[0].strip()
    listed = name and not re.search(r"\b(?:no|not)\b", name, re.IGNORECASE)
    at = f" at {name}" if listed else ""
    if place:
        yield f"The wind forecast location closest to the port is {place}."
    for speed in ("34", "50"):
        if chance := _numeric(fields, f"culmulative_wind_{speed}kt"):
            yield f"The cumulative 5-day probability of {speed} kt winds{at} is {_percent(chance)}."
    peak, hours = _numeric(fields, "34kt_max"), _numeric(fields, "time_to_34kt_max")
    if peak and hours:
        yield (
            f"The 34 kt wind probability{at} peaks at {_percent(peak)}, "
            f"reached in {_hours(hours)}."
        )
    elif peak:
        yield f"The 34 kt wind probability{at} peaks at {_percent(peak)}."
    elif hours:
        yield f"The 34 kt wind probability{at} reaches its peak in {_hours(hours)}."
    if hours := _numeric(fields, "time_to_34kt_non_zero"):
        yield f"The 34 kt wind probability{at} first becomes non-zero in {_hours(hours)}."
    if hours := _numeric(fields, "time_to_50kt_max"):
        yield f"The 50 kt wind probability{at} reaches its peak in {_hours(hours)}."
    gale = _fields(fields, "gale_probability")
    for period in GALE_PERIODS:
        if chance := _numeric(gale, f"in {period}h"):
            yield f"In {period} hours the gale (34 kt) probability{at} is {_percent(chance)}."


def _percent(value: str) -> str:
    """``5`` as ``5%``; ``X (<3%)`` and the like stay as they are."""
    return f"{value}%" if re.fullmatch(r"[≈~<>≤≥\s]*\d+(?:\.\d+)?", value) else value


def _hazards(fields: Fields) -> Iterator[str]:
    """Sentences on the first hazard, the thresholds and what each hazard brings."""
    if first := _value(fields, "first_hazard"):
        if _NEGATIVE.match(first):
            yield "The first hazard at the port: none expected."
        else:
            yield f"The first hazard at the port: {_lower_first(first)}."
    for key, label in (
        ("rain_fall_above_4_inch", "Rainfall above 4 inches at the port"),
        ("storm_surge_above_3_feet", "Storm surge above 3 feet at the port"),
    ):
        value = _value(fields, key)
        if value and not _ABSENT.fullmatch(value):
            yield f"{label}: {_lower_first(value)}."
    for key, label in (
        ("wind", "Wind outlook"),
        ("storm_surge", "Storm surge outlook"),
        ("rainfall", "Rainfall outlook"),
        ("other_hazards", "Other hazards"),
    ):
        value = _value(fields, key)
        if value.lower() == "none":
            value = "none expected"
        if value and not _ABSENT.fullmatch(value):
            yield f"{label}: {value}."


def _operation(event: Fields, now: Fields) -> Iterator[str]:
    """Sentences on the port condition in force; none where its timing is a guess."""
    if event.get("operation_source") == "simplest":
        return
    if condition := _stated(now, "Condition"):
        yield f"Port condition {condition.upper()} is in effect at the port."
    for key, label in (
        ("VesselOps", "Guidance for all vessels"),
        ("OceanVesselOps", "Guidance for ocean-going vessels"),
        ("FacilityOps", "Guidance for port facilities"),
    ):
        if guidance := _stated(now, key):
            yield f"{label}: {guidance}."


def _iso_date(value: str) -> str:
    """``9/8/2017 0:00`` as ``2017-09-08``; another value as it is."""
    match = re.match(r"(\d{1,2})/(\d{1,2})/(\d{4})\b", value)
    return f"{match[3]}-{int(match[1]):02d}-{int(match[2]):02d}" if match else value


def _outcome(impact: Fields) -> Iterator[str]:
    """Sentences on what was observed afterwards."""
    days = _numeric(impact, "day_of_impact")
    if days in ("0", "0.0"):
        yield "No impact on freight was observed at the port."
        return
    if date := _numeric(impact, "start_impact_date"):
        yield f"The observed impact on freight began on {_iso_date(date)}."
    if date := _numeric(impact, "max_impact_date"):
        yield f"The observed impact on freight peaked on {_iso_date(date)}."
    if days and not days.startswith("-"):
        yield f"The observed impact on freight lasted {days} days."
    if size := _numeric(impact, "max_impact"):
        yield f"The observed peak impact magnitude was {size}."
    if vessels := _numeric(impact, "total_impact_vessels"):
        yield f"The observed impact affected {vessels} in total."
    if days := _numeric(impact, "day_of_recover"):
        yield f"Freight at the port was observed to recover in {days} days."


def _leads(times: Fields) -> list[tuple[int, Fields]]:
    """(lead, fields) of each horizon, farthest first."""
    found = [(int(key), _fields(times, key)) for key in times if str(key).isdecimal()]
    return sorted(found, key=lambda pair: -pair[0])


def render_event(event: Fields) -> str:
    """The scenario text of one CyPortQA event.

    Parameters
    ----------
    event
        One parsed line of ``events.jsonl``.

    Returns
    -------
    str
        A preamble (storm, year, port, coordinates), one block for each lead in
        decreasing order under the header ``T-48 hours before expected
        landfall:``, and one after-action block where an outcome is given.

    Raises
    ------
    EventError
        The event names no storm, year or port, or has no horizon.
    """
    scenario = _fields(event, "senario") or _fields(event, "scenario")
    port, cyclone = _fields(scenario, "port"), _fields(scenario, "cyclone")
    name, year, harbor = _value(cyclone, "name"), _value(cyclone, "year"), _value(port, "name")
    leads = _leads(_fields(scenario, "time"))
    for field, value in (("cyclone.name", name), ("cyclone.year", year), ("port.name", harbor)):
        if not value:
            raise EventError(f"the event has no {field}")
    if not leads:
        raise EventError("the event has no horizon under `time`")
    lines = [f"Storm: {name}", f"Year: {year}", f"Port: {harbor}"]
    place = _fields(port, "location")
    lat, lon = place.get("lat"), place.get("lon")
    if isinstance(lat, int | float) and isinstance(lon, int | float):
        lines.append(
            f"Port coordinates: {abs(lat):.4f}{'N' if lat >= 0 else 'S'}, "
            f"{abs(lon):.4f}{'E' if lon >= 0 else 'W'}"
        )
    for lead, fields in leads:
        lines += ["", f"T-{lead} hours before expected landfall:"]
        cyclone_fields = _fields(fields, "cyclone_condition_and_forecast")
        # One event nests its observations one level too deep; read both places.
        weather = {
            **_fields(cyclone_fields, "weather_observation"),
            **_fields(fields, "weather_observation"),
        }
        lines += _cyclone(name, cyclone_fields)
        lines += _timing(weather)
        lines += _alerts(weather)
        lines += _probabilities(weather)
        lines += _hazards(weather)
        lines += _operation(event, _fields(_fields(fields, "operation"), "now"))
    outcome = list(_outcome(_fields(leads[-1][1], "impact_prediction")))
    if outcome:
        lines += ["", "T+24 hours after expected landfall:", *outcome]
    return "\n".join(lines) + "\n"
