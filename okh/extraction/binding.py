"""Ties between facts and the port of a group, by coordinates and by name.

Extraction looks at a block alone, so that each block is read once for all the
groups of its storm. What makes a fact one of *this* port is added here: a
mention of the port with origin ``linked`` and the distance of the place that
the fact is about. Facts about no port and no place near it stay as they are,
shared by all groups.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from okh.corpus.coast import area_distance_km, segment_distance_km
from okh.corpus.geo import squeeze
from okh.corpus.groups import View
from okh.corpus.places import Port
from okh.domain import Attribute, Fact, Group, Mention
from okh.vocabulary import RELATIONS

VERSION = "1"
"""Raise when a rule below changes what is tied."""

NEAR_KM = 50.0
"""A segment or area that ends within this distance still concerns the port."""

_ABOUT_STORM = frozenset(
    relation for relation, (family, _) in RELATIONS.items() if family <= 3
) - {
    "has_location", "within_forecast_cone", "has_closest_approach", "has_departure_time",
    "has_strike_duration", "has_hazard_arrival", "has_hours_to_landfall",
}
"""Relations that tell of the cyclone, not of the port whose scenario states them."""


def bind(facts: Iterable[Fact], view: View, port: Port) -> list[Fact]:
    """Tie the facts of a view's block to the port of its group.

    - A row of a wind table gets the port and the distance of its location.
    - A fact with a ``segment`` or an ``area`` that covers the port, or comes
      within :data:`NEAR_KM` of it, gets the port and that distance (0 inside).
    - A bulletin's fact gets the port; a scenario's fact does if it tells of the
      port and not of the cyclone alone. No distance: none is meant.

    Facts already tied are not tied again. Order and evidence stay.
    """
    return [_bind(fact, view, port) for fact in facts]


def _bind(fact: Fact, view: View, port: Port) -> Fact:
    segment, area = fact.attribute("segment"), fact.attribute("area")
    if view.tie == "location":
        return _tie(fact, port, view.distance_km)
    if view.block.kind == "bulletin":
        return _tie(fact, port, None)
    if view.block.kind == "scenario":
        return fact if fact.relation in _ABOUT_STORM else _tie(fact, port, None)
    if segment:
        distance = segment_distance_km(segment, port)
    elif area:
        distance = area_distance_km(area, port)
    else:
        return fact
    near = distance is not None and distance <= NEAR_KM
    return _tie(fact, port, distance) if near else fact


def _tie(fact: Fact, port: Port, distance_km: float | None) -> Fact:
    names = {squeeze(name) for name in (port.name, *port.aliases)}
    mentions = fact.mentions
    if not any(m.type == "port" and squeeze(m.name) in names for m in mentions):
        mentions = (*mentions, Mention(port.name, "port", origin="linked"))
    attributes = fact.attributes
    if distance_km is not None and fact.attribute("distance_km") is None:
        attributes = (*attributes, Attribute("distance_km", str(round(distance_km)), "km"))
    return replace(fact, mentions=mentions, attributes=attributes)


def group_facts(group: Group, port: Port, nearest: tuple[str, float] | None) -> list[Fact]:
    """Static facts of a group, in sentences of our own.

    Parameters
    ----------
    group
        The group; its storm is not part of the facts.
    port
        Its port.
    nearest
        Name and distance (km) of the nearest forecast location, as
        :func:`okh.corpus.groups.nearest_location` gives it.

    Returns
    -------
    list of Fact
        ``has_location`` facts without source span (offsets 0 to the sentence's
        length); all mentions are ``linked``.

    Raises
    ------
    ValueError
        If the port is not the group's.
    """
    if port.slug != group.port:
        raise ValueError(f"port {port.slug} is not the port of {group.key}")
    position = position_text(port.lat, port.lon)
    facts = [_location_fact(
        f"The port {port.name} lies at {position}.", port, position,
        Attribute("latitude", f"{port.lat:.2f}", "deg"),
        Attribute("longitude", f"{port.lon:.2f}", "deg"),
        Attribute("position", position),
    )]
    if nearest is not None:
        name, distance = nearest
        facts.append(_location_fact(
            f"The forecast location nearest the port {port.name} is {name}, "
            f"{round(distance)} km away.", port, name,
            Attribute("location", name), Attribute("distance_km", str(round(distance)), "km"),
        ))
    return facts


def _location_fact(sentence: str, port: Port, place: str, *attributes: Attribute) -> Fact:
    mentions = (
        Mention(port.name, "port", origin="linked"), Mention(place, "location", origin="linked"),
    )
    return Fact("has_location", sentence, mentions, attributes, 1.0, 0, len(sentence))


def position_text(lat: float, lon: float) -> str:
    """Coordinates as the products print them, to a hundredth: ``32.09N, 81.11W``."""
    return f"{abs(lat):.2f}{'N' if lat >= 0 else 'S'}, {abs(lon):.2f}{'E' if lon >= 0 else 'W'}"
