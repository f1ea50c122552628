"""Relations, families, phases, entity types and attribute keys: data, not code (Table 3).

Another domain is another :class:`Vocabulary`; nothing else in ``okh`` names a
cyclone relation outside the extraction rules of its own documents.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from okh.domain import digest

CROSS_HORIZON = 13
"""Family number of the change edges that join two horizons."""

FAMILIES: dict[int, tuple[str, str]] = {
    1: ("cyclone_state", "cyclone_state"),
    2: ("track_landfall", "track_landfall"),
    3: ("timing", "timing"),
    4: ("advisory", "advisory"),
    5: ("probability", "probability"),
    6: ("hazard_forecast", "hazard_forecast"),
    7: ("hazard_observation", "hazard_observation"),
    8: ("threshold", "threshold"),
    9: ("additional_hazard", "additional_hazard"),
    10: ("operations", "operation_status"),
    11: ("impact", "impact_prediction"),
    12: ("recovery", "recovery_status"),
    13: ("cross_horizon", "cross_horizon"),
}
"""Family number -> (name, phase φ), in canonical phase order."""

COVERAGE_PHASES: tuple[str, ...] = (
    "advisory", "hazard_forecast", "hazard_observation",
    "operation_status", "impact_prediction", "recovery_status",
)
"""The set S of Eq. 13."""

RELATIONS: dict[str, tuple[int, int]] = {
    "has_location": (1, 0),
    "has_cyclone_state": (1, 0),
    "has_category_state": (1, 0),
    "has_position": (1, 0),
    "has_reference_distance": (1, 0),
    "has_motion": (1, 0),
    "has_intensity": (1, 0),
    "has_pressure": (1, 0),
    "has_wind_radii": (1, 0),
    "forecasts_track": (2, 0),
    "forecasts_intensity": (2, 0),
    "within_forecast_cone": (2, 0),
    "forecasts_landfall": (2, 1),
    "has_hours_to_landfall": (3, 0),
    "has_forecast_window": (3, 0),
    "has_closest_approach": (3, 0),
    "has_departure_time": (3, 0),
    "has_strike_duration": (3, 0),
    "has_hazard_arrival": (3, 0),
    "has_next_advisory": (3, 0),
    "has_watch_status": (4, 0),
    "has_warning_status": (4, 0),
    "has_advisory_change": (4, 0),
    "has_advisory_statement": (4, 0),
    "has_impacted_coast": (4, 0),
    "has_forecast_location": (5, 0),
    "has_cumulative_probability": (5, 0),
    "has_leadtime_probability": (5, 0),
    "has_peak_probability": (5, 0),
    "has_first_nonzero_probability": (5, 0),
    "forecasts_hazard_at_horizon": (6, 0),
    "forecasts_wind": (6, 0),
    "forecasts_storm_surge": (6, 0),
    "forecasts_rainfall": (6, 0),
    "observes_hazard_at_horizon": (7, 0),
    "has_threshold_status": (8, 0),
    "has_additional_hazard": (9, 0),
    "has_operation_status": (10, 0),
    "affects_vessel_handling": (10, 0),
    "affects_facility_operation": (10, 0),
    "has_impact_prediction": (11, 0),
    "causes_operational_disruption": (11, 0),
    "has_recovery_status": (12, 0),
    "starts_recovery": (12, 0),
    "forecast_updates_to": (13, 0),
    "changes_probability_to": (13, 0),
    "intensifies_to": (13, 0),
    "weakens_to": (13, 0),
    "changes_status_to": (13, 0),
}
"""Relation -> (family, sub-rank inside the family)."""

UNMAPPED = "unmapped"
"""Relation given to a label that neither alias nor fuzzy matching knows."""

ALIASES: dict[str, str] = {
    "closes_port": "has_operation_status",
    "reopens_port": "starts_recovery",
    "port_condition": "has_operation_status",
    "has_port_condition": "has_operation_status",
    "sets_port_condition": "has_operation_status",
    "restricts_vessels": "affects_vessel_handling",
    "vessel_guidance": "affects_vessel_handling",
    "facility_guidance": "affects_facility_operation",
    "located_at": "has_position",
    "is_located_near": "has_position",
    "has_coordinates": "has_position",
    "moves_toward": "has_motion",
    "moving": "has_motion",
    "has_movement": "has_motion",
    "has_wind_speed": "has_intensity",
    "has_maximum_winds": "has_intensity",
    "has_max_sustained_winds": "has_intensity",
    "has_minimum_pressure": "has_pressure",
    "has_central_pressure": "has_pressure",
    "has_category": "has_category_state",
    "is_category": "has_category_state",
    "has_status": "has_cyclone_state",
    "expected_track": "forecasts_track",
    "has_trajectory": "forecasts_track",
    "expected_landfall": "forecasts_landfall",
    "makes_landfall": "forecasts_landfall",
    "hours_to_landfall": "has_hours_to_landfall",
    "under_watch": "has_watch_status",
    "under_warning": "has_warning_status",
    "issues_watch": "has_watch_status",
    "issues_warning": "has_warning_status",
    "cumulative_probability": "has_cumulative_probability",
    "onset_probability": "has_leadtime_probability",
    "gale_probability": "has_leadtime_probability",
    "peak_probability": "has_peak_probability",
    "expects_storm_surge": "forecasts_storm_surge",
    "expects_surge": "forecasts_storm_surge",
    "expects_rainfall": "forecasts_rainfall",
    "expects_wind": "forecasts_wind",
    "forecasts_hazard": "forecasts_hazard_at_horizon",
    "observes_hazard": "observes_hazard_at_horizon",
    "exceeds_threshold": "has_threshold_status",
    "other_hazard": "has_additional_hazard",
    "predicts_impact": "has_impact_prediction",
    "disrupts_operations": "causes_operational_disruption",
    "recovers": "has_recovery_status",
    "updates_to": "forecast_updates_to",
    "strengthens_to": "intensifies_to",
}

EntityCategory = Literal["persistent", "transient", "anchor"]

ENTITY_TYPES: dict[str, EntityCategory] = {
    "cyclone": "persistent",
    "port": "persistent",
    "location": "persistent",
    "coast_segment": "persistent",
    "area": "persistent",
    "agency": "persistent",
    "vessel_class": "persistent",
    "facility": "persistent",
    "cyclone_state": "transient",
    "motion_state": "transient",
    "track_forecast": "transient",
    "landfall_forecast": "transient",
    "timing": "transient",
    "advisory_status": "transient",
    "wind_probability": "transient",
    "hazard_forecast": "transient",
    "hazard_observation": "transient",
    "threshold_status": "transient",
    "operation_status": "transient",
    "impact_prediction": "transient",
    "recovery_status": "transient",
    "horizon_time": "anchor",
}
"""Entity type -> category (§3.1: persistent objects, transient states, temporal anchors)."""

ID_PREFIX: dict[str, str] = {
    "wind_probability": "wind_fcst",
    "horizon_time": "horizon",
}
"""Entity types whose identifiers start with another word than the type itself."""

AttributeRole = Literal["scope", "value", "note"]

ATTRIBUTES: dict[str, AttributeRole] = {
    # scope: tells which thing the fact is about; part of a slot's identity
    "location": "scope",
    "area": "scope",
    "segment": "scope",
    "reference": "scope",
    "hazard": "scope",
    "threshold_kt": "scope",
    "period_h": "scope",
    "wind_class": "scope",
    "vessels": "scope",
    "threshold": "scope",
    # value: what may change from one horizon to the next
    "status": "value",
    "category": "value",
    "latitude": "value",
    "longitude": "value",
    "direction": "value",
    "bearing_deg": "value",
    "speed_mph": "value",
    "speed_kmh": "value",
    "wind_mph": "value",
    "wind_kt": "value",
    "pressure_mb": "value",
    "radius_mi": "value",
    "distance_mi": "value",
    "bearing": "value",
    "advisory": "value",
    "action": "value",
    "probability": "value",
    "onset": "value",
    "hours": "value",
    "date": "value",
    "days": "value",
    "low": "value",
    "high": "value",
    "isolated": "value",
    "exceeded": "value",
    "condition": "value",
    "effective": "value",
    "guidance": "value",
    "landfall_location": "value",
    "track": "value",
    "coast": "value",
    "amount": "value",
    "within_cone": "value",
    # note: told with the fact, neither slot nor tracked value
    "statistic": "note",
    "period_from": "note",
    "period_to": "note",
    "distance_km": "note",
    "position": "note",
    "text": "note",
    "observed": "note",
    "purpose": "note",
    # told by a family-13 edge about the change
    "changed": "note",
    "of": "note",
    "from": "note",
    "to": "note",
    "delta": "note",
}

SLOT_VALUES: dict[str, tuple[str, ...]] = {
    "has_category_state": ("category",),
    "has_cyclone_state": ("status",),
    "has_intensity": ("wind_mph",),
    "has_pressure": ("pressure_mb",),
    "has_motion": ("direction", "speed_mph"),
    "forecasts_track": ("track",),
    "forecasts_landfall": ("landfall_location", "date"),
    "within_forecast_cone": ("within_cone",),
    "has_hours_to_landfall": ("hours",),
    "has_forecast_window": ("days",),
    "has_closest_approach": ("date",),
    "has_departure_time": ("date", "hours"),
    "has_strike_duration": ("hours",),
    "has_hazard_arrival": ("hours",),
    "has_watch_status": ("advisory",),
    "has_warning_status": ("advisory",),
    "has_impacted_coast": ("coast",),
    "has_cumulative_probability": ("probability",),
    "has_peak_probability": ("probability", "hours"),
    "has_first_nonzero_probability": ("hours",),
    "forecasts_storm_surge": ("low", "high"),
    "forecasts_rainfall": ("low", "high"),
    "forecasts_wind": ("low", "high"),
    "has_threshold_status": ("exceeded",),
    "has_operation_status": ("condition",),
}
"""Relation -> attributes whose change between horizons becomes a family-13 edge."""

SEVERITY: tuple[str, ...] = (
    "remnants", "post-tropical cyclone", "potential tropical cyclone", "tropical depression",
    "subtropical depression", "subtropical storm", "tropical storm", "hurricane",
    "category 1", "category 2", "category 3", "category 4", "category 5",
)
"""Cyclone states from weak to strong: decides intensifies_to against weakens_to."""


_NUMBERED = re.compile(
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen"
    r"|sixteen|seventeen|eighteen|nineteen|twenty|thirty)(?:-[a-z]+)*",
    re.IGNORECASE,
)


def is_number_name(storm: str) -> bool:
    """Whether a storm bears its number until it is named (``NINE``, ``TWENTY-TWO``, ``NINE-E``)."""
    return _NUMBERED.fullmatch(storm) is not None


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Everything that ties the method to one domain."""

    families: dict[int, tuple[str, str]]
    relations: dict[str, tuple[int, int]]
    aliases: dict[str, str]
    entity_types: dict[str, EntityCategory]
    id_prefix: dict[str, str]
    attributes: dict[str, AttributeRole]
    slot_values: dict[str, tuple[str, ...]]
    severity: tuple[str, ...]
    coverage_phases: tuple[str, ...]

    @property
    def version(self) -> str:
        """Twelve hex digits over the whole content."""
        return digest(repr(self))[:12]

    def phase(self, family: int) -> str:
        """φ of a family (a family-13 edge takes the phase of its ``story`` family)."""
        return self.families[family][1] if family in self.families else "other"


CYCLONE_PORTS = Vocabulary(
    families=FAMILIES, relations=RELATIONS, aliases=ALIASES, entity_types=ENTITY_TYPES,
    id_prefix=ID_PREFIX, attributes=ATTRIBUTES, slot_values=SLOT_VALUES, severity=SEVERITY,
    coverage_phases=COVERAGE_PHASES,
)
