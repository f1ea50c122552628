"""Coast segments of watches and warnings, and areas of surge and rain forecasts.

The coast is a graph of breakpoints (``data/coast.csv``): one chain from
Veracruz around the Gulf, the Florida peninsula and the Atlantic to Eastport,
with spurs for the Keys, Long Island, Chesapeake Bay, the Potomac and Delaware
Bay, which forecasts name apart. A segment ``A to B`` is the shortest way along
the graph between its two breakpoints.

A port lies *inside* a segment (distance 0) when it is at most
:data:`INLAND_REACH_KM` from it and no other piece of coast is nearer; so Tampa
lies outside ``Jupiter Inlet … to Bonita Beach`` although the segment runs
around the peninsula. Outside, the distance is that to the nearest point of the
segment. ``north of A`` is read as ``A``: the two differ by less than a
breakpoint's accuracy.

Bays, islands and states are boxes of degrees (``data/areas.csv``). An area
counts for a port of its own states only.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz, process

from okh.corpus.geo import (
    STATE_OF_NAME,
    STATES,
    Box,
    FloatArray,
    fold,
    haversine_km,
    row_box,
    shipped_table,
    split_aliases,
    split_state,
    squeeze,
)
from okh.corpus.places import Port

INLAND_REACH_KM = 100.0
"""How far inland a port may lie and still be inside a segment (Baton Rouge: 85 km)."""

_STEP_KM = 5.0
"""Spacing of the points that stand for the coast between two breakpoints."""

_SLACK_KM = 1.0
"""Two pieces of coast whose distances differ by less are equally near."""

_MAX_TEXT = 400
"""Longest text that is read as a segment."""

_LIKENESS = 90.0

_FOREIGN = re.compile(
    r"\b(?:cuban?|haiti|dominican|bahamas|bahama|abacos?|andros|bimini|inaguas|honduras|nicaragua"
    r"|belize|baja|yucatan|jamaica|cayman|nova scotia|newfoundland|new brunswick|prince edward"
    r"|quebec|mainland mexico|coast of mexico|bermuda|turks|guadeloupe|leeward|windward|haitian)\b"
)
"""Coasts of other countries, some of whose places share a name with ours."""

_SIDE = r"(?:north|south|east|west)(?:ern|ward)?"
_BETWEEN = re.compile(
    rf"^(?P<a>.+?),?(?:\s+(?:{_SIDE}(?:\s+and\s+{_SIDE})?))?"
    r"(?:\s+around the florida peninsula)?\s+(?:to|through)\s+(?P<b>.+)$"
)
_BEYOND = re.compile(rf"^(?P<area>.+?)\s+(?:from\s+)?(?P<side>{_SIDE}) of\s+(?P<point>.+)$")
_ONWARD = re.compile(rf"^(?P<area>.+?)\s+from\s+(?P<point>.+?)\s+(?P<side>{_SIDE})$")
_TOWARD = re.compile(rf"^(?:.*\b{_SIDE}\s+of\s+|.*\band\s+the\s+|of\s+|the\s+|near\s+)+")


@dataclass(frozen=True, slots=True)
class _Coast:
    """Points along the coast: coordinates, the edge of each, and edges by breakpoint pair."""

    lat: FloatArray
    lon: FloatArray
    edge: NDArray[np.int32]
    edges: dict[tuple[int, int], int]
    neighbours: dict[int, tuple[tuple[int, float], ...]]
    nodes: tuple[tuple[str, float, float], ...]
    keys: dict[str, int]


@dataclass(frozen=True, slots=True)
class Area:
    """A named box and the states whose ports it may concern."""

    box: Box
    states: frozenset[str]

    def distance_km(self, port: Port) -> float | None:
        """Distance to a port of its states (0 inside), None for a port of another state."""
        if not self.states & port.states:
            return None
        return self.box.distance_km(port.lat, port.lon)


@dataclass(frozen=True, slots=True)
class Segment:
    """A parsed segment: edges of the coast, areas beside them, areas left out."""

    edges: frozenset[int] = frozenset()
    areas: tuple[Area, ...] = ()
    without: tuple[Area, ...] = ()


def segment_distance_km(segment_text: str, port: Port) -> float | None:
    """Distance from a port to a coast segment or area as an advisory words it.

    Returns
    -------
    float or None
        0 when the port lies inside (see the module's rule), kilometres
        otherwise; None for a text that no breakpoint or area explains, and for
        coasts of other countries.
    """
    segment = parse_segment(segment_text)
    if segment is None or any(area.distance_km(port) == 0 for area in segment.without):
        return None
    distances = [d for area in segment.areas if (d := area.distance_km(port)) is not None]
    if segment.edges:
        distances.append(_edge_distance(segment.edges, port.lat, port.lon))
    return min(distances, default=None)


def area_distance_km(area_text: str, port: Port) -> float | None:
    """Distance from a port to the area of a surge or rainfall statement.

    A text that is a segment is one; in other texts the named areas are found,
    with directions before them (``southeast Louisiana``, ``central and
    northern Florida``), and the nearest counts. None if none concerns the port.
    """
    found = segment_distance_km(area_text, port)
    if found is not None or parse_segment(area_text) is not None:
        return found
    distances = [area.distance_km(port) for area in named_areas(area_text)]
    return min((d for d in distances if d is not None), default=None)


@lru_cache(maxsize=8192)
def parse_segment(segment_text: str) -> Segment | None:
    """Read a segment's text; None if nothing in it is known (or it is another country's)."""
    text = _clean(segment_text)
    if not text or len(text) > _MAX_TEXT:
        return None
    text, _, left_out = _cut(text, r",?\s*\b(?:excluding|except(?:\s+for)?)\s+")
    main, _, added = _cut(text, r",?\s*\b(?:including|as well as)\s+")
    if _FOREIGN.search(main):
        return None
    edges, areas = _stretch(main)
    for item in _items(added):
        areas += _area(item)
    without = tuple(area for item in _items(left_out) for area in _area(item))
    if not edges and not areas:
        return None
    return Segment(edges, tuple(areas), without)


def _clean(text: str) -> str:
    # Advisories write county and state lines with a slash, a dash or spaces around them.
    folded = re.sub(r"\s*/\s*", "/", fold(text).lower()).strip(" .*")
    folded = re.sub(r"(?<=[a-z])-(?=[a-z]+ (?:border|(?:county )?line))", "/", folded)
    return re.sub(r"^(?:for|along)\s+", "", folded)


def _cut(text: str, pattern: str) -> tuple[str, str, str]:
    match = re.search(pattern, text)
    return (text, "", "") if match is None else (text[:match.start()], match[0], text[match.end():])


def _items(text: str) -> list[str]:
    return [item.strip() for item in re.split(r",\s*(?:and\s+)?|\s+and\s+", text) if item.strip()]


def _stretch(text: str) -> tuple[frozenset[int], list[Area]]:
    """Edges and areas of the part before ``including``."""
    whole = _area(text)
    if whole:
        return frozenset(), whole
    beyond = _BEYOND.match(text) or _ONWARD.match(text)
    if beyond and (areas := _area(beyond["area"])):
        node = _breakpoint(beyond["point"])
        if node is not None:
            _, lat, lon = _coast().nodes[node]
            side = re.sub(r"(?:ern|ward)$", "", beyond["side"])
            return frozenset(), [Area(a.box.beyond(side, lat, lon), a.states) for a in areas]
    between = _BETWEEN.match(text.rpartition(" from ")[2])
    if between:
        a, b = _breakpoint(between["a"]), _breakpoint(between["b"])
        if a is not None and b is not None:
            return _way(a, b), []
        return frozenset(), []
    return frozenset(), [area for item in _items(text) for area in _area(item)]


def _breakpoint(text: str) -> int | None:
    """Index of a breakpoint, by its name without direction and state."""
    keys = _coast().keys
    name = _TOWARD.sub("", text.strip(" ,."))
    bare = split_state(name)[0].removesuffix(" mexico")
    # "Flagler/Volusia County FL line": a state inside the name.
    inner = " ".join(w for w in bare.split() if w.upper() not in STATES or len(w) > 2)
    for form in (name, bare, inner):
        node = keys.get(squeeze(form))
        if node is not None:
            return node
    like = process.extractOne(
        squeeze(inner), list(keys), scorer=fuzz.ratio, score_cutoff=_LIKENESS
    ) if len(squeeze(inner)) > 6 else None
    return keys[like[0]] if like else None


def _way(start: int, goal: int) -> frozenset[int]:
    """Edges of the shortest way along the coast (Dijkstra over some 200 breakpoints)."""
    coast = _coast()
    best, before = {start: 0.0}, dict[int, int]()
    queue = [(0.0, start)]
    while queue:
        length, node = heapq.heappop(queue)
        if node == goal:
            break
        if length > best[node]:
            continue
        for other, step in coast.neighbours[node]:
            if length + step < best.get(other, np.inf):
                best[other], before[other] = length + step, node
                heapq.heappush(queue, (length + step, other))
    edges, node = set(), goal
    while node != start:
        edges.add(coast.edges[node, before[node]])
        node = before[node]
    if not edges:  # one and the same breakpoint: the coast on both sides of it
        edges = {coast.edges[start, other] for other, _ in coast.neighbours[start]}
    return frozenset(edges)


@lru_cache(maxsize=4096)
def _coast_distances(lat: float, lon: float) -> FloatArray:
    """Distance from a point to every edge of the coast, shape ``(n_edges,)`` (km)."""
    coast = _coast()
    distance = haversine_km(lat, lon, coast.lat, coast.lon)
    nearest = np.full(int(coast.edge.max()) + 1, np.inf)
    np.minimum.at(nearest, coast.edge, distance)
    return nearest


def _edge_distance(edges: frozenset[int], lat: float, lon: float) -> float:
    every = _coast_distances(lat, lon)
    own = float(every[list(edges)].min())
    inside = own <= INLAND_REACH_KM and own <= float(every.min()) + _SLACK_KM
    return 0.0 if inside else own


@lru_cache(maxsize=1)
def _coast() -> _Coast:
    nodes: list[tuple[str, float, float]] = []
    keys: dict[str, int] = {}
    pairs: list[tuple[int, int]] = []
    chain, last = "", -1
    for row in shipped_table("coast.csv"):
        key = squeeze(row["name"])
        if row["lat"]:
            node = len(nodes)
            nodes.append((row["name"], float(row["lat"]), float(row["lon"])))
            for name in (row["name"], *split_aliases(row["aliases"])):
                # The main chain comes first and keeps a name that a spur repeats.
                keys.setdefault(squeeze(name), node)
        else:
            node = keys[key]
        if row["chain"] == chain:
            pairs.append((last, node))
        chain, last = row["chain"], node
    return _densify(tuple(nodes), keys, pairs)


def _densify(
    nodes: tuple[tuple[str, float, float], ...],
    keys: dict[str, int],
    pairs: Sequence[tuple[int, int]],
) -> _Coast:
    lats, lons, owners = [], [], []
    edges: dict[tuple[int, int], int] = {}
    around: dict[int, list[tuple[int, float]]] = {}
    for index, (a, b) in enumerate(pairs):
        (_, lat_a, lon_a), (_, lat_b, lon_b) = nodes[a], nodes[b]
        length = float(haversine_km(lat_a, lon_a, lat_b, lon_b))
        count = max(2, int(np.ceil(length / _STEP_KM)) + 1)
        lats.append(np.linspace(lat_a, lat_b, count))
        lons.append(np.linspace(lon_a, lon_b, count))
        owners.append(np.full(count, index, dtype=np.int32))
        edges[a, b] = edges[b, a] = index
        around.setdefault(a, []).append((b, length))
        around.setdefault(b, []).append((a, length))
    return _Coast(
        np.concatenate(lats), np.concatenate(lons), np.concatenate(owners), edges,
        {node: tuple(others) for node, others in around.items()}, nodes, keys,
    )


@lru_cache(maxsize=1)
def _areas() -> dict[str, Area]:
    table: dict[str, Area] = {}
    for row in shipped_table("areas.csv"):
        area = Area(row_box(row), frozenset(split_aliases(row["states"])))
        for name in (row["name"], *split_aliases(row["aliases"])):
            table[squeeze(name)] = area
    return table


def _area(text: str) -> list[Area]:
    """The area with exactly this name (directions and a trailing state allowed), if any."""
    name = re.sub(r"^(?:all of|the|portions of(?: the)?)\s+", "", text.strip(" ,."))
    for form in (name, split_state(name)[0]):
        # "Southeast" is a region, but in "southeast Louisiana" a direction.
        area = None if form != name and form in _DIRECTIONS else _areas().get(squeeze(form))
        if area is not None:
            return [area]
    return []


_DIRECTIONS: dict[str, str] = {
    **{f"{side}{end}": side for side in (
        "north", "south", "east", "west", "northeast", "northwest", "southeast", "southwest"
    ) for end in ("", "ern")},
    "central": "central", "middle": "central",
}
_FILLERS = frozenset(("far", "extreme", "coastal", "and", "or", "to", "into", "the", "through"))


@lru_cache(maxsize=1)
def _area_pattern() -> re.Pattern[str]:
    names = {fold(name).lower() for row in shipped_table("areas.csv")
             for name in (row["name"], *split_aliases(row["aliases"]))}
    longest = sorted(names, key=lambda name: (-len(name), name))
    return re.compile(r"\b(" + "|".join(re.escape(name) for name in longest) + r")\b")


def _is_direction(rest: str) -> bool:
    """Whether words like these behind ``southeast`` make it a direction: an area is named next."""
    for word in re.finditer(r"[a-z]+", rest):
        if _area_pattern().match(rest, word.start()) and word[0] not in _DIRECTIONS:
            return True
        if word[0] not in _DIRECTIONS and word[0] not in _FILLERS:
            return False
    return False


@lru_cache(maxsize=8192)
def named_areas(text: str) -> tuple[Area, ...]:
    """Areas that a free text names, each cut to the directions before its name.

    ``"central and southwest Louisiana"`` gives two parts of Louisiana's box.
    """
    folded = re.sub(r"(?<=[a-z])-(?=(?:central|\w+ern)\b)", " ", fold(text).lower())
    found: list[Area] = []
    for match in _area_pattern().finditer(folded):
        if match[1] in _DIRECTIONS and _is_direction(folded[match.end():]):
            continue
        area = _areas()[squeeze(match[1])]
        directions: list[str] = []
        for word in reversed(re.findall(r"[a-z]+", folded[:match.start()])):
            if word in _DIRECTIONS:
                directions.append(_DIRECTIONS[word])
            elif word not in _FILLERS:
                break
        is_state = squeeze(match[1]) in STATE_OF_NAME
        parts = [area.box.part(d) for d in directions] if is_state else []
        found += [Area(box, area.states) for box in parts or [area.box]]
    return tuple(found)
