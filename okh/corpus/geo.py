"""Great circles, boxes and the shipped tables of places.

The tables under ``data/`` are our own: public coordinates to about a
kilometre, which is finer than anything that is decided with them.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib import resources

import numpy as np
from numpy.typing import ArrayLike, NDArray

EARTH_RADIUS_KM = 6371.0088
"""Mean radius (IUGG)."""

FloatArray = NDArray[np.float64]


def haversine_km(lat1: ArrayLike, lon1: ArrayLike, lat2: ArrayLike, lon2: ArrayLike) -> FloatArray:
    """Great-circle distance in kilometres, element by element.

    Parameters
    ----------
    lat1, lon1, lat2, lon2
        Degrees, north and east positive; any shapes that broadcast together.

    Returns
    -------
    numpy.ndarray
        float64 of the broadcast shape (shape ``()`` for four scalars).
    """
    phi1, lam1, phi2, lam2 = (
        np.radians(np.asarray(x, dtype=np.float64)) for x in (lat1, lon1, lat2, lon2)
    )
    half = (
        np.sin((phi2 - phi1) / 2) ** 2
        + np.cos(phi1) * np.cos(phi2) * np.sin((lam2 - lam1) / 2) ** 2
    )
    # Rounding may push the antipodal case just above one.
    distance: FloatArray = np.asarray(
        2 * EARTH_RADIUS_KM * np.arcsin(np.sqrt(np.clip(half, 0.0, 1.0)))
    )
    return distance


@dataclass(frozen=True, slots=True)
class Box:
    """An area as a box of degrees, west and south of the antimeridian's reach."""

    south: float
    north: float
    west: float
    east: float

    def distance_km(self, lat: float, lon: float) -> float:
        """Distance from a point to the box: 0 inside, else to its nearest point (km)."""
        near_lat = min(max(lat, self.south), self.north)
        near_lon = min(max(lon, self.west), self.east)
        return float(haversine_km(lat, lon, near_lat, near_lon))

    def part(self, direction: str) -> Box:
        """The half (``north`` …), quarter (``southeast`` …) or middle ninth (``central``).

        An unknown direction gives the whole box.
        """
        lat, lon = (self.south + self.north) / 2, (self.west + self.east) / 2
        box = self
        if direction == "central":
            dlat, dlon = (self.north - self.south) / 6, (self.east - self.west) / 6
            return Box(lat - dlat, lat + dlat, lon - dlon, lon + dlon)
        if direction.startswith("north"):
            box = replace(box, south=lat)
        elif direction.startswith("south"):
            box = replace(box, north=lat)
        if direction.endswith("east"):
            box = replace(box, west=lon)
        elif direction.endswith("west"):
            box = replace(box, east=lon)
        return box

    def beyond(self, side: str, lat: float, lon: float) -> Box:
        """The part of the box on one side of a point (``south`` of it, ``east`` of it …)."""
        if side == "south":
            return replace(self, north=max(self.south, min(self.north, lat)))
        if side == "north":
            return replace(self, south=min(self.north, max(self.south, lat)))
        if side == "west":
            return replace(self, east=max(self.west, min(self.east, lon)))
        return replace(self, west=min(self.east, max(self.west, lon)))


def fold(text: str) -> str:
    """ASCII text on one line with single spaces: accents off, control and RTL marks gone."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return " ".join(plain.split())


def squeeze(text: str) -> str:
    """Lower-case letters and digits only: the key under which names are compared."""
    return re.sub(r"[^a-z0-9]+", "", fold(text).lower())


def split_aliases(cell: str) -> tuple[str, ...]:
    """The ``|``-separated entries of a cell of a shipped table."""
    return tuple(part.strip() for part in cell.split("|") if part.strip())


def shipped_table(name: str) -> list[dict[str, str]]:
    """Rows of a table that comes with the package, e.g. ``ports.csv``."""
    text = (resources.files("okh.corpus") / "data" / name).read_text(encoding="utf-8")
    return list(csv.DictReader(io.StringIO(text)))


STATES: dict[str, str] = {
    "AL": "Alabama", "AK": "Alaska", "AR": "Arkansas", "CA": "California", "CT": "Connecticut",
    "DC": "District of Columbia", "DE": "Delaware", "FL": "Florida", "GA": "Georgia",
    "HI": "Hawaii", "IA": "Iowa", "IL": "Illinois", "IN": "Indiana", "KY": "Kentucky",
    "LA": "Louisiana", "MA": "Massachusetts", "MD": "Maryland", "ME": "Maine", "MI": "Michigan",
    "MN": "Minnesota", "MO": "Missouri", "MS": "Mississippi", "NC": "North Carolina",
    "NH": "New Hampshire", "NJ": "New Jersey", "NY": "New York", "OH": "Ohio", "OK": "Oklahoma",
    "OR": "Oregon", "PA": "Pennsylvania", "PR": "Puerto Rico", "RI": "Rhode Island",
    "SC": "South Carolina", "TN": "Tennessee", "TX": "Texas", "VA": "Virginia",
    "VI": "Virgin Islands", "VT": "Vermont", "WA": "Washington", "WI": "Wisconsin",
    "WV": "West Virginia", "AZ": "Arizona",
}
"""Postal abbreviations of the states and territories that have a port or a forecast location."""

STATE_OF_NAME: dict[str, str] = {squeeze(name): code for code, name in STATES.items()}
"""Squeezed state name -> abbreviation."""


def split_state(text: str) -> tuple[str, str | None]:
    """Split a trailing state off a name: ``"Tampa FL" -> ("Tampa", "FL")``.

    Abbreviations and full names count, with or without a comma; a text that is
    nothing but a state's name keeps it (``("Virginia", None)``).
    """
    words = fold(text).replace(",", " ").split()
    for count in (1, 2, 3):
        if len(words) <= count:
            break
        tail = " ".join(words[-count:])
        code = tail.upper() if tail.upper() in STATES else STATE_OF_NAME.get(squeeze(tail))
        # "West Virginia" ends in "Virginia": the longer name wins.
        longer = " ".join(words[-count - 1:]) if len(words) > count else ""
        if code and squeeze(longer) not in STATE_OF_NAME:
            return " ".join(words[:-count]), code
    return fold(text), None


def state_boxes(rows: Iterable[dict[str, str]]) -> dict[str, Box]:
    """Boxes of the states among the rows of ``areas.csv``, by abbreviation."""
    return {
        STATE_OF_NAME[squeeze(row["name"])]: row_box(row)
        for row in rows if squeeze(row["name"]) in STATE_OF_NAME
    }


def row_box(row: dict[str, str]) -> Box:
    """The box of a row of ``areas.csv``."""
    return Box(*(float(row[side]) for side in ("south", "north", "west", "east")))
