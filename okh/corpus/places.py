"""Ports, Coast Guard zones and forecast locations: names to coordinates.

Ports
    A shipped table of US ports, over which a user's file is merged. A name is
    looked up by slug, then exactly (case, punctuation, ``Port of``,
    ``Port Authority`` and camel case aside, a state if one is given), then by
    likeness. A name that two ports share and nothing decides is no match.
Zones
    Sector and Captain of the Port names, each the set of ports it covers.
Forecast locations
    :func:`locate`, from :mod:`okh.corpus.locations`.

Nothing here raises for a name that is unknown or hostile: the answer is
``None`` or an empty tuple. Only a user's file of ports is refused.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from rapidfuzz import fuzz, process

from okh.corpus.errors import CorpusError
from okh.corpus.geo import (
    STATES,
    FloatArray,
    fold,
    haversine_km,
    shipped_table,
    split_aliases,
    split_state,
    squeeze,
)
from okh.corpus.locations import Place, locate
from okh.domain import digest, slug

__all__ = [
    "MAX_NAME", "Place", "Port", "PortTable", "default_ports", "load_ports", "locate",
    "resolve_port", "resolve_zone",
]

MAX_NAME = 120
"""Longest name that is looked at; real ones stay below 60 characters."""

LIKENESS = 90.0
"""Cut-off of the fuzzy match (rapidfuzz ratio of squeezed names)."""

SAME_PORT_KM = 100.0
"""A user's port with a shipped port's name is that port only if it lies this near."""

_LONGEST_RUN = 4
"""Most words of a bulletin's list that are read as one name."""

_MIN_FUZZY = 6
"""Shorter names are too easily alike."""

_LEAD_WORDS = re.compile(r"^(?:the )?(?:(?:sea)?port (?:of |at )?)", re.IGNORECASE)
_TRAIL_WORD = re.compile(
    r" (?:port|seaport|harbou?r|authority|district|commission|regional|unified|nav|navigation"
    r"|parish|county|corp|corporation|riverport|of)$",
    re.IGNORECASE,
)
_ZONE_WORDS = re.compile(
    r"^(?:(?:uscg|coast guard) )?(?:sector|captain of the port|cotp|msu|marine safety unit|zone"
    r"|port zone)(?: zone)?(?: of)? ",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Port:
    """A port: ``slug`` is the key in :class:`okh.domain.Group`; degrees, W negative."""

    slug: str
    name: str
    lat: float
    lon: float
    aliases: tuple[str, ...] = ()

    @property
    def states(self) -> frozenset[str]:
        """State abbreviations in the name (``"New York, NY & NJ"`` has two)."""
        return frozenset(re.findall(r"\b[A-Z]{2}\b", self.name.partition(",")[2])) & STATES.keys()


class PortTable:
    """Ports by slug, with look-up by name and by zone.

    Parameters
    ----------
    ports
        The ports; slugs are unique.
    zones
        Squeezed zone name -> slugs of the ports it covers. Slugs that the table
        lacks are left out.
    given
        Slugs of the ports that a user's file named (empty without one).
    """

    def __init__(
        self,
        ports: Iterable[Port],
        zones: Mapping[str, Sequence[str]],
        given: Iterable[str] = (),
    ) -> None:
        self._by_slug = {port.slug: port for port in ports}
        self.given = frozenset(given)
        self._zones = {
            key: tuple(self._by_slug[s] for s in slugs if s in self._by_slug)
            for key, slugs in zones.items()
        }
        self._by_key: dict[str, list[Port]] = {}
        for port in self._by_slug.values():
            base = split_base(port.name)[0]
            # Sorted, because the order of a set of strings changes from run to run.
            for key in sorted({squeeze(name) for name in (port.name, base, *port.aliases)}):
                self._by_key.setdefault(key, []).append(port)

    def __iter__(self) -> Iterator[Port]:
        return iter(self._by_slug.values())

    def __len__(self) -> int:
        return len(self._by_slug)

    @cached_property
    def coordinates(self) -> tuple[FloatArray, FloatArray]:
        """Latitudes and longitudes of the ports in order, each of shape ``(n,)``."""
        return (
            np.array([port.lat for port in self], dtype=np.float64),
            np.array([port.lon for port in self], dtype=np.float64),
        )

    @cached_property
    def version(self) -> str:
        """Twelve hex digits over ports and zones: changes when a resolution may."""
        zones = [(key, [p.slug for p in ports]) for key, ports in sorted(self._zones.items())]
        return digest(repr(sorted(self, key=lambda p: p.slug)), repr(zones))[:12]

    def get(self, port_slug: str) -> Port | None:
        """The port with exactly this slug."""
        return self._by_slug.get(port_slug)

    def candidates(self, name: str) -> tuple[Port, ...]:
        """All ports that an exact look-up of the name allows (two for ``Wilmington``)."""
        if len(name) > MAX_NAME:
            return ()
        direct = self._by_slug.get(name)
        if direct is not None:
            return (direct,)
        base, states = split_base(name)
        # Whole first: in "South Louisiana" the state is part of the name.
        texts = [(text, frozenset[str]()) for text in _variants(fold(_split_camel(name)))]
        texts += [(text, states) for text in _variants(base)]
        for text, wanted in texts:
            found = self._by_key.get(squeeze(text), [])
            match = tuple(p for p in found if not wanted or wanted & p.states)
            if match:
                return match
        return ()

    def resolve(self, name: str) -> Port | None:
        """The port that a name means, or None if none or several could be meant."""
        exact = self.candidates(name)
        if exact:
            return exact[0] if len(exact) == 1 else None
        return self._alike(name) if len(name) <= MAX_NAME else None

    def _alike(self, name: str) -> Port | None:
        base, states = split_base(name)
        keys = [
            key for key, ports in self._by_key.items()
            if len(ports) == 1 and (not states or states & ports[0].states)
        ]
        best: dict[str, float] = {}
        for text in _variants(base):
            query = squeeze(text)
            if len(query) < _MIN_FUZZY:
                continue
            for key, score, _ in process.extract(
                query, keys, scorer=fuzz.ratio, score_cutoff=LIKENESS, limit=5
            ):
                port_slug = self._by_key[key][0].slug
                best[port_slug] = max(best.get(port_slug, 0.0), score)
        ranked = sorted(best.items(), key=lambda item: (-item[1], item[0]))
        if not ranked or (len(ranked) > 1 and ranked[1][1] == ranked[0][1]):
            return None
        return self._by_slug[ranked[0][0]]

    def resolve_zone(self, name: str) -> tuple[Port, ...]:
        """Ports that a bulletin's name covers; ``()`` if it is unknown.

        ``Sector X`` and ``COTP X`` are zones. A bare name is the port of that
        name if there is one, since bulletins list further ports by name; else
        the zone.
        """
        if len(name) > MAX_NAME:
            return ()
        text = _split_camel(fold(name))
        bare = _ZONE_WORDS.sub("", text)
        zone = self._zones.get(squeeze(bare), ())
        if bare != text:
            return zone
        port = self.candidates(name)
        if len(port) == 1:
            return port
        if zone:
            return zone
        like = self.resolve(name) if not port else None
        return (like,) if like else ()

    def resolve_list(self, parts: Sequence[str]) -> tuple[tuple[Port, ...], tuple[str, ...]]:
        """Ports that a bulletin's list covers, and the parts that stay unknown.

        Parts may be whole names or the words of names (``NEW``, ``ORLEANS``):
        the longest run of up to four that means something is taken. A name that
        several ports share goes to the one nearest its neighbours in the list.
        """
        runs: list[tuple[str, tuple[Port, ...], tuple[Port, ...]]] = []
        at = 0
        while at < len(parts):
            for count in range(min(_LONGEST_RUN, len(parts) - at), 0, -1):
                name = " ".join(parts[at:at + count])
                covered = self.resolve_zone(name) if count == 1 else self._exact_zone(name)
                shared = self.candidates(name) if count == 1 and not covered else ()
                if covered or shared:
                    break
            runs.append((name, covered, shared))
            at += count
        known = {port.slug: port for _, covered, _ in runs for port in covered}
        unknown: list[str] = []
        for at, (name, covered, shared) in enumerate(runs):
            beside = [p for run in (*runs[max(at - 1, 0):at], *runs[at + 1:at + 2]) for p in run[1]]
            others = beside or [p for run in runs for p in run[1]]
            if shared and others:
                nearest = _nearest(shared, others)
                known[nearest.slug] = nearest
            elif not covered:
                unknown.append(name)
        return tuple(known[s] for s in sorted(known)), tuple(unknown)

    def _exact_zone(self, name: str) -> tuple[Port, ...]:
        """Ports of several words read as one name, without guessing."""
        zone = self._zones.get(squeeze(_ZONE_WORDS.sub("", fold(name))), ())
        # Only a key that holds all the words: "Houston" must not swallow "Galveston".
        exact = self._by_key.get(squeeze(name), [])
        return tuple(exact) if len(exact) == 1 else zone


def split_base(name: str) -> tuple[str, frozenset[str]]:
    """Split a port's name into its own words and the states it names.

    ``"New York, NY & NJ" -> ("New York", {"NY", "NJ"})``;
    ``"South Louisiana, LA, Port of" -> ("South Louisiana", {"LA"})``.
    """
    head, *tail = [fold(part) for part in _split_camel(name).split(",")]
    states: set[str] = set()
    for part in tail:
        rest, state = split_state(f"x {part}")
        words = set(re.findall(r"\b[A-Z]{2}\b", part)) & STATES.keys()
        states |= words
        if state:
            states.add(state)
        elif not words:
            head = f"{rest.removeprefix('x ')} {head}"
    if not states:
        head, state = split_state(head)
        states |= {state} if state else set()
    return head, frozenset(states)


def _split_camel(text: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)


def _variants(base: str) -> list[str]:
    """A name and its shorter forms: without ``Port of``, without ``Port Authority`` …"""
    forms: list[str] = []
    for start in (base, _LEAD_WORDS.sub("", base)):
        text = start
        while text and text not in forms:
            forms.append(text)
            text = _TRAIL_WORD.sub("", text)
    return forms


def _nearest(several: Sequence[Port], others: Sequence[Port]) -> Port:
    lats, lons = [p.lat for p in others], [p.lon for p in others]
    return min(
        several, key=lambda p: (float(haversine_km(p.lat, p.lon, lats, lons).min()), p.slug)
    )


@lru_cache(maxsize=1)
def default_ports() -> PortTable:
    """The shipped ports and zones."""
    ports = [
        Port(
            slug(row["name"]), row["name"], float(row["lat"]), float(row["lon"]),
            split_aliases(row["aliases"]),
        )
        for row in shipped_table("ports.csv")
    ]
    return PortTable(ports, _shipped_zones())


@lru_cache(maxsize=1)
def _shipped_zones() -> dict[str, tuple[str, ...]]:
    return {
        squeeze(name): split_aliases(row["ports"])
        for row in shipped_table("zones.csv")
        for name in (row["name"], *split_aliases(row["aliases"]))
    }


def resolve_port(name: str) -> Port | None:
    """The shipped port that a name means (:meth:`PortTable.resolve`)."""
    return default_ports().resolve(name)


def resolve_zone(name: str) -> tuple[Port, ...]:
    """The shipped ports that a bulletin's name covers (:meth:`PortTable.resolve_zone`)."""
    return default_ports().resolve_zone(name)


def load_ports(csv_text: str, file: str = "ports") -> PortTable:
    """Read a user's table of ports and merge it over the shipped one.

    Parameters
    ----------
    csv_text
        CSV with the columns ``name``, ``lon``, ``lat`` (degrees) and optionally
        ``aliases`` (separated by ``|``), in any order.
    file
        Name for messages.

    Returns
    -------
    PortTable
        ``given`` holds the file's ports. A row that means a shipped port keeps
        that port's slug and name, so that keys stay put, and takes the file's
        coordinates.

    Raises
    ------
    CorpusError
        For a missing column or the first bad row, with its line.
    """
    reader = csv.DictReader(io.StringIO(csv_text.removeprefix("\ufeff")))
    names = [(column or "").strip().lower() for column in reader.fieldnames or ()]
    missing = [column for column in ("name", "lon", "lat") if column not in names]
    if missing:
        raise CorpusError(
            file, "header", f"no column {', '.join(missing)}",
            "A table of ports starts with the line name,lon,lat.",
        )
    reader.fieldnames = names
    shipped, given = default_ports(), dict[str, Port]()
    try:
        for row in reader:
            port = _user_port(row, file, reader.line_num, shipped)
            if port.slug in given:
                raise CorpusError(
                    file, f"line {reader.line_num}", "this port stands in the file twice",
                    "Leave one of the two rows, or give the ports different names.",
                )
            given[port.slug] = port
    except csv.Error as error:
        raise CorpusError(
            file, f"line {reader.line_num}", "not readable as CSV", "Save the table as plain CSV."
        ) from error
    if not given:
        raise CorpusError(file, "", "no rows", "Add at least one row name,lon,lat.")
    return PortTable(({p.slug: p for p in shipped} | given).values(), _shipped_zones(), given)


def _user_port(row: Mapping[str, str | None], file: str, line: int, shipped: PortTable) -> Port:
    place = f"line {line}"
    name = " ".join(c for c in (row["name"] or "").split())
    if not name.isprintable() or len(name) > MAX_NAME or not slug(name):
        raise CorpusError(
            file, place, "the name is empty, too long or has no plain letters",
            f"Give a name of 1 to {MAX_NAME} printable characters.",
        )
    try:
        lat, lon = float(row["lat"] or ""), float(row["lon"] or "")
    except ValueError as error:
        raise CorpusError(
            file, place, "lon or lat is not a number", "Write degrees, e.g. -81.11 and 32.09."
        ) from error
    if not (math.isfinite(lat) and math.isfinite(lon) and abs(lat) <= 90 and abs(lon) <= 180):
        raise CorpusError(
            file, place, "lon or lat is out of range",
            "Write degrees: lon from -180 to 180, lat from -90 to 90.",
        )
    aliases = split_aliases(row.get("aliases") or "")
    known = shipped.candidates(name)
    if len(known) == 1 and float(
        haversine_km(lat, lon, known[0].lat, known[0].lon)
    ) <= SAME_PORT_KM:
        merged = dict.fromkeys((*known[0].aliases, name, *aliases))
        return replace(known[0], lat=lat, lon=lon, aliases=tuple(merged))
    return Port(slug(name), name, lat, lon, aliases)
