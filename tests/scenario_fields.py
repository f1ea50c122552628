"""Reading the fields of CyPortQA events back from the rules' facts.

One checker for each field: from the event's own value to whether a fact of the
lead's block tells it. None where the event states nothing that could be read.
Values are cut apart here by plain means, without the rules' own patterns.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from okh.domain import Fact

Fields = Mapping[str, Any]
Check = Callable[[Fields, list[Fact]], bool | None]

_EMPTY = re.compile(
    r"(?:n\.?/?a\.?|none|null|nan|unknown|not (?:available|applicable)|data not provided)\b.*|\W*",
    re.IGNORECASE,
)


def _text(fields: Fields, key: str) -> str:
    value = fields.get(key)
    text = "" if value is None else " ".join(str(value).split()).rstrip(" .")
    return "" if _EMPTY.fullmatch(text) else text


def _number(text: str) -> float | None:
    """The number that a field begins with; under one per cent counts as none."""
    match = re.match(r"([≈~<>≤≥+\s]*)(\d+(?:\.\d+)?)", text)
    if match is None:
        return None
    number = float(match[2])
    return 0.0 if number <= 1 and set(match[1]) & set("<≤") else number


def _same(value: str | None, number: float | None) -> bool:
    return value is not None and number is not None and float(value) == number


def _of(facts: list[Fact], *relations: str) -> list[Fact]:
    return [fact for fact in facts if fact.relation in relations]


def _words(text: str) -> str:
    return re.sub(r"\W+", "", text).casefold()


def told(key: str, relation: str, attribute: str = "text") -> Check:
    """The field's words stand in an attribute of such a fact."""
    def check(fields: Fields, facts: list[Fact]) -> bool | None:
        value = _text(fields, key)
        if not value:
            return None
        return any(
            _words(value) in _words(f.attribute(attribute) or "") for f in _of(facts, relation)
        )
    return check


def numeric(key: str, relation: str, attribute: str, **having: str) -> Check:
    """The field's number is that attribute of such a fact."""
    def check(fields: Fields, facts: list[Fact]) -> bool | None:
        number = _number(_text(fields, key))
        if number is None:
            return None
        return any(
            _same(f.attribute(attribute), number)
            for f in _of(facts, relation)
            if all(f.attribute(k) == v for k, v in having.items())
        )
    return check


def dated(key: str, relation: str, **having: str) -> Check:
    def check(fields: Fields, facts: list[Fact]) -> bool | None:
        match = re.match(r"\d{4}-\d\d-\d\d", _text(fields, key))
        if match is None:
            return None
        return any(
            f.attribute("date") == match[0] for f in _of(facts, relation)
            if all(f.attribute(k) == v for k, v in having.items())
        )
    return check


def position(fields: Fields, facts: list[Fact]) -> bool | None:
    match = re.match(r"([\d.]+)°?\s*([NS])[, ]+([\d.]+)°?\s*([EW])", _text(fields, "coordinates"))
    if match is None:
        return None
    lat = float(match[1]) * (-1 if match[2] == "S" else 1)
    lon = float(match[3]) * (-1 if match[4] == "W" else 1)
    return any(
        _same((f.attribute("latitude") or "").lstrip("-") or None, abs(lat))
        and float(f.attribute("latitude") or 0) * lat >= 0
        and float(f.attribute("longitude") or 0) == lon
        for f in _of(facts, "has_position")
    )


def direction(fields: Fields, facts: list[Fact]) -> bool | None:
    value = _text(fields.get("motion") or {}, "direction").partition("(")[0].strip()
    if value.lower().startswith("stationary"):
        return any(f.attribute("direction") == "stationary" for f in _of(facts, "has_motion"))
    letters = "".join(w[0] for w in re.findall(r"north|south|east|west", value.lower())).upper()
    letters = value if re.fullmatch(r"[NESW]{1,3}", value) else letters
    if not re.fullmatch(r"[NESW]{1,3}", letters):
        return None
    return any(f.attribute("direction") == letters for f in _of(facts, "has_motion"))


def speed(fields: Fields, facts: list[Fact]) -> bool | None:
    value = _text(fields.get("motion") or {}, "speed")
    match = re.match(r"[≈~<>\s]*(?:near |about )?(\d+)\s*mph", value)
    if match is None:
        return None
    return any(_same(f.attribute("speed_mph"), float(match[1])) for f in _of(facts, "has_motion"))


def category(fields: Fields, facts: list[Fact]) -> bool | None:
    value = _text(fields, "category").lower()
    if match := re.match(r"(?:hurricane\W+)?(?:\()?cat(?:egory)?\W*([1-5])", value):
        wanted, key, relation = f"Category {match[1]}", "category", "has_category_state"
    else:
        kinds = ("potential tropical cyclone", "post-tropical cyclone", "subtropical storm",
                 "subtropical depression", "tropical storm", "tropical depression")
        wanted = next((k for k in kinds if value.startswith(k)), "")
        key, relation = "status", "has_cyclone_state"
    if not wanted:
        return None
    return any(f.attribute(key) == wanted for f in _of(facts, relation))


def landfall_place(fields: Fields, facts: list[Fact]) -> bool | None:
    value = _text(fields, "expected_landfall_location")
    if not value:
        return None
    if re.match(r"(?:no|not|already)\b", value, re.IGNORECASE):
        return any(f.attribute("landfall_location") == "none"
                   for f in _of(facts, "forecasts_landfall"))
    return any(
        _words(value) == _words(f.attribute("landfall_location") or "")
        for f in _of(facts, "forecasts_landfall")
    )


def alert(kind: str, coastal: bool) -> Check:
    """Whether a watch or warning is told where there is one, and its absence where not."""
    def check(fields: Fields, facts: list[Fact]) -> bool | None:
        raw = fields.get(f"{kind}_coast" if coastal else f"under_{kind}")
        value = " ".join(str(raw or "").split())
        if not value:
            return None
        found = [
            f for f in _of(facts, f"has_{kind}_status")
            if (f.attribute("segment") is not None) == coastal
        ]
        if re.match(r"(?:none|no|not|n/a)\b", value, re.IGNORECASE):
            return any(f.attribute("advisory") == "None" for f in found)
        if coastal:
            return any(_words(value) in _words(f.attribute("segment") or "") for f in found)
        return any(f.attribute("advisory") not in (None, "None") for f in found)
    return check


def gale(fields: Fields, facts: list[Fact]) -> bool | None:
    """All gale probabilities of the lead, each with its period."""
    wanted = []
    for key, value in (fields.get("gale_probability") or {}).items():
        number, hours = _number(str(value)), re.search(r"\d+", key)
        if number is not None and hours is not None:
            wanted.append((hours[0], number))
    if not wanted:
        return None
    told_facts = _of(facts, "has_leadtime_probability")
    return all(
        any(f.attribute("period_h") == hours and _same(f.attribute("probability"), number)
            for f in told_facts)
        for hours, number in wanted
    )


def cone(fields: Fields, facts: list[Fact]) -> bool | None:
    value = _text(fields, "within_uncertainty_cone").lower()
    if not value.startswith(("yes", "no")):
        return None
    wanted = "yes" if value.startswith("yes") else "no"
    return any(f.attribute("within_cone") == wanted for f in _of(facts, "within_forecast_cone"))


def exceeded(key: str, hazard: str) -> Check:
    def check(fields: Fields, facts: list[Fact]) -> bool | None:
        value = _text(fields, key).lower()
        match = re.match(r"(yes|no|possible|likely|unlikely)\b", value)
        if match is None:
            return None
        return any(
            f.attribute("hazard") == hazard and f.attribute("exceeded") == match[1]
            for f in _of(facts, "has_threshold_status")
        )
    return check


def first_hazard(fields: Fields, facts: list[Fact]) -> bool | None:
    value = " ".join(str(fields.get("first_hazard") or "").split()).lower()
    names = {"rain": "heavy rainfall", "wind": "tropical-storm-force winds", "surge": "storm surge"}
    if not value:
        return None
    if re.match(r"(?:none|no\b|n/a)", value):
        wanted = "none"
    else:
        near = [(value.find(w), name) for w, name in names.items() if w in value]
        if not near:
            return None
        wanted = min(near)[1]
    return any(f.attribute("hazard") == wanted for f in _of(facts, "has_hazard_arrival"))


def condition(fields: Fields, facts: list[Fact]) -> bool | None:
    value = _text(fields, "Condition").upper()
    if not value:
        return None
    return any(f.attribute("condition") == value for f in _of(facts, "has_operation_status"))


CYCLONE: dict[str, Check] = {
    "coordinates": position, "motion.direction": direction, "motion.speed": speed,
    "category": category, "trajectory": told("trajectory", "forecasts_track", "track"),
    "current_location": lambda fields, facts: (
        bool(_of(facts, "has_reference_distance")) if _text(fields, "current_location") else None
    ),
    "expected_landfall_location": landfall_place,
    "expected_landfall_date": dated("expected_landfall_date", "forecasts_landfall"),
    "hours_to_landfall": numeric("hours_to_landfall", "has_hours_to_landfall", "hours"),
    "hours_to_offshore": numeric("hours_to_offshore", "has_departure_time", "hours"),
    "hours_of_strike": numeric("hours_of_strike", "has_strike_duration", "hours"),
}
WEATHER: dict[str, Check] = {
    "within_uncertainty_cone": cone,
    "forecast_window": numeric("forecast_window", "has_forecast_window", "days"),
    "under_watch": alert("watch", False), "under_warning": alert("warning", False),
    "watch_coast": alert("watch", True), "warning_coast": alert("warning", True),
    "impacted_coast": told("impacted_coast", "has_impacted_coast", "coast"),
    "expected_closest_date_to_port": dated(
        "expected_closest_date_to_port", "has_closest_approach"),
    "expected_leaving_port_date": dated(
        "expected_leaving_port_date", "has_departure_time", area="port"),
    "closest_wind_data_location": told(
        "closest_wind_data_location", "has_forecast_location", "location"),
    "culmulative_wind_34kt": numeric(
        "culmulative_wind_34kt", "has_cumulative_probability", "probability", threshold_kt="34"),
    "culmulative_wind_50kt": numeric(
        "culmulative_wind_50kt", "has_cumulative_probability", "probability", threshold_kt="50"),
    "34kt_max": numeric("34kt_max", "has_peak_probability", "probability", threshold_kt="34"),
    "time_to_34kt_max": numeric(
        "time_to_34kt_max", "has_peak_probability", "hours", threshold_kt="34"),
    "time_to_34kt_non_zero": numeric(
        "time_to_34kt_non_zero", "has_first_nonzero_probability", "hours", threshold_kt="34"),
    "time_to_50kt_max": numeric(
        "time_to_50kt_max", "has_peak_probability", "hours", threshold_kt="50"),
    "gale_probability": gale,
    "first_hazard": first_hazard,
    "rain_fall_above_4_inch": exceeded("rain_fall_above_4_inch", "rainfall"),
    "storm_surge_above_3_feet": exceeded("storm_surge_above_3_feet", "storm surge"),
    "wind": told("wind", "forecasts_wind"),
    "storm_surge": told("storm_surge", "forecasts_storm_surge"),
    "rainfall": told("rainfall", "forecasts_rainfall"),
    "other_hazards": told("other_hazards", "has_additional_hazard"),
}
OPERATION: dict[str, Check] = {
    "operation.now.Condition": condition,
    "operation.now.VesselOps": told("VesselOps", "affects_vessel_handling", "guidance"),
    "operation.now.OceanVesselOps": told("OceanVesselOps", "affects_vessel_handling", "guidance"),
    "operation.now.FacilityOps": told("FacilityOps", "affects_facility_operation", "guidance"),
}
OUTCOME: dict[str, Check] = {
    "impact.max_impact": numeric(
        "max_impact", "has_impact_prediction", "amount", purpose="magnitude", observed="true"),
    "impact.day_of_recover": numeric(
        "day_of_recover", "has_recovery_status", "days", observed="true"),
}


def checks(event: Fields, by_lead: Mapping[int, list[Fact]]) -> Iterator[tuple[str, int, bool]]:
    """(field, lead, whether it was read back) for everything that an event states."""
    times: Fields = event["senario"]["time"]
    for key, now in times.items():
        lead = int(key)
        facts = by_lead.get(lead, [])
        cyclone = now.get("cyclone_condition_and_forecast") or {}
        weather = now.get("weather_observation") or cyclone.get("weather_observation") or {}
        parts: list[tuple[Fields, dict[str, Check]]] = [(cyclone, CYCLONE), (weather, WEATHER)]
        if event.get("operation_source") != "simplest":
            parts.append(((now.get("operation") or {}).get("now") or {}, OPERATION))
        for fields, table in parts:
            for field, check in table.items():
                if (right := check(fields, facts)) is not None:
                    yield field, lead, right
    last = times[min(times, key=int)].get("impact_prediction") or {}
    if not str(last.get("day_of_impact")).startswith(("0", "-")):
        for field, check in OUTCOME.items():
            if (right := check(last, by_lead.get(-24, []))) is not None:
                yield field, -24, right


def shares(results: Iterator[tuple[str, int, bool]]) -> dict[str, tuple[int, int]]:
    """Field -> (read back, stated)."""
    right: Counter[str] = Counter()
    stated: Counter[str] = Counter()
    for field, _, good in results:
        stated[field] += 1
        right[field] += good
    return {field: (right[field], stated[field]) for field in stated}
