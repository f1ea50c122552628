"""Groups and their views: which blocks concern a storm at a port.

A block exists once; a group is a view over the blocks that concern it, with
the lead at which each was known and, where one is meant, its distance from the
port. Everything is indexed by storm-year once, so that the number of groups
costs little.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Literal

import numpy as np

from okh.corpus.coast import segment_distance_km
from okh.corpus.geo import FloatArray, haversine_km
from okh.corpus.places import Port, PortTable, locate
from okh.domain import Block, Document, Group, slug

Tie = Literal["storm", "location", "segment", "port"]

LEAD_STEP_H = 12
"""Leads of undated blocks are multiples of this, as in the products' file names."""

NEAREST_LOCATIONS = 3
"""Most forecast locations of one wind table that a port looks at."""

_StormYear = tuple[str, int]


@dataclass(frozen=True, slots=True)
class View:
    """A block as one group sees it.

    ``lead`` is in hours before landfall (None: nothing dates the block);
    ``distance_km`` is that of the block's forecast location or coast segment
    from the port; ``tie`` says what ties the block to the group.
    """

    group: Group
    block: Block
    lead: int | None
    distance_km: float | None
    tie: Tie


@dataclass(slots=True)
class _Table:
    """Location blocks of one wind table, with coordinates of shape ``(n,)``."""

    blocks: list[Block]
    lat: FloatArray
    lon: FloatArray


@dataclass(slots=True)
class _Storm:
    """All blocks of one storm-year, sorted by what ties them to a port."""

    shared: list[Block] = field(default_factory=list)
    tables: list[_Table] = field(default_factory=list)
    bulletins: list[tuple[Block, frozenset[str]]] = field(default_factory=list)
    scenarios: dict[str, list[Block]] = field(default_factory=lambda: defaultdict(list))
    located: dict[str, list[Block]] = field(default_factory=lambda: defaultdict(list))


def group_views(
    documents: Iterable[Document],
    blocks: Iterable[Block],
    *,
    ports: PortTable,
    landfall: Mapping[str, datetime] | None = None,
    radius_km: float = 150.0,
    explicit_groups: Iterable[Group] | None = None,
    segments: Mapping[str, Sequence[str]] | None = None,
    near_ports: Literal["auto", "always", "never"] = "auto",
) -> dict[Group, list[View]]:
    """The groups of a corpus, each with its views.

    Parameters
    ----------
    documents, blocks
        The corpus, in any order.
    ports
        Where ports lie. If it was read from a user's file, only that file's
        ports get groups by nearness.
    landfall
        Storm-year (``IRMA-2017``) -> expected landfall. Storm-years that it
        lacks take :func:`infer_landfall`.
    radius_km
        How near a forecast location must be. The nearest one of a table is
        taken up to twice as far.
    explicit_groups
        Groups that exist whatever the documents say, e.g. those of an event list.
    segments
        Block id -> texts of the coast segments under a watch or warning in it.
    near_ports
        Whether ports near a forecast location, inside a segment or covered by
        a bulletin get a group: ``auto`` does so for storm-years that no
        scenario and no explicit group names a port for.

    Returns
    -------
    dict
        Group -> views, both sorted; the same for any order of the input. A
        group never sees blocks of another port. Groups without any block of
        their storm are left out.
    """
    docs = {document.hash: document for document in documents}
    storms = _index(docs, blocks, ports)
    known = infer_landfall(docs.values()) | dict(landfall or {})
    segments = segments or {}
    named = _named_groups(storms, explicit_groups or ())
    result: dict[Group, list[View]] = {}
    for key in sorted(storms):
        storm, slugs = storms[key], named.get(key, set())
        if near_ports == "always" or (near_ports == "auto" and not slugs):
            slugs = slugs | _near_ports(storm, ports, radius_km, segments)
        leads = _leads(storm, docs, known.get(f"{key[0]}-{key[1]}"))
        for port_slug in sorted(slugs):
            group = Group(key[0], key[1], port_slug)
            views = _views(group, storm, ports.get(port_slug), radius_km, segments, leads)
            if views:
                result[group] = views
    return result


def infer_landfall(documents: Iterable[Document]) -> dict[str, datetime]:
    """Expected landfall by storm-year: the median of issuance + lead of its dated documents."""
    times: dict[str, list[float]] = defaultdict(list)
    for document in documents:
        key = _storm_year(document.storm, document.year)
        if key is not None and document.issued is not None and document.lead is not None:
            moment = _utc(document.issued) + timedelta(hours=document.lead)
            times[f"{key[0]}-{key[1]}"].append(moment.timestamp())
    return {key: datetime.fromtimestamp(median(each), UTC) for key, each in times.items()}


def known_lead(issued: datetime, landfall: datetime) -> int:
    """Lead of a block from its issuance: hours to landfall, rounded down to twelve.

    Down, so that no fact is placed earlier than it was issued: ``T-47 h -> 36``.
    Times without a zone are UTC.
    """
    hours = (_utc(landfall) - _utc(issued)).total_seconds() / 3600
    return math.floor(hours / LEAD_STEP_H) * LEAD_STEP_H


def scenario_group(document: Document, ports: PortTable) -> Group | None:
    """Group that a scenario document names; None if it lacks storm, year or a usable port.

    A port that no table knows still makes a group, under its own slug: its
    scenario needs no coordinates.
    """
    key = _storm_year(document.storm, document.year)
    port_slug = _port_slug(document.port, ports)
    return Group(*key, port_slug) if key is not None and port_slug else None


def nearest_location(views: Iterable[View]) -> tuple[str, float] | None:
    """Name and distance (km) of the forecast location nearest the port, over all its tables."""
    near = [
        (view.distance_km, view.block.location) for view in views
        if view.tie == "location" and view.distance_km is not None and view.block.location
    ]
    if not near:
        return None
    distance, name = min(near)
    return name, distance


def unlocated(blocks: Iterable[Block]) -> tuple[str, ...]:
    """Forecast locations among the blocks that have no known coordinates, sorted."""
    names = {block.location for block in blocks if block.location}
    return tuple(sorted(name for name in names if locate(name) is None))


def _utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _storm_year(storm: str | None, year: int | None) -> _StormYear | None:
    name = slug(storm or "").upper()
    return (name, year) if name and year is not None else None


def _port_slug(name: str | None, ports: PortTable) -> str:
    port = ports.resolve(name) if name else None
    return port.slug if port else slug(name or "")


def _index(
    docs: Mapping[str, Document], blocks: Iterable[Block], ports: PortTable
) -> dict[_StormYear, _Storm]:
    storms: dict[_StormYear, _Storm] = defaultdict(_Storm)
    lists: dict[tuple[str, ...], frozenset[str]] = {}
    for block in sorted(blocks, key=lambda b: (b.document, b.seq, b.start, b.id)):
        document = docs.get(block.document)
        key = _storm_year(
            block.storm or (document.storm if document else None),
            block.year if block.year is not None else (document.year if document else None),
        )
        if key is None:
            continue
        storm = storms[key]
        if block.kind == "bulletin":
            if block.ports not in lists:
                covered, _ = ports.resolve_list(block.ports)
                lists[block.ports] = frozenset(port.slug for port in covered)
            storm.bulletins.append((block, lists[block.ports]))
        elif block.kind == "scenario":
            port_slug = _port_slug(block.port or (document.port if document else None), ports)
            if port_slug:
                storm.scenarios[port_slug].append(block)
        elif block.location:
            storm.located[block.document].append(block)
        else:
            storm.shared.append(block)
    for storm in storms.values():
        storm.tables = [_table(storm.located[key]) for key in sorted(storm.located)]
    return dict(storms)


def _table(blocks: Sequence[Block]) -> _Table:
    placed = [(block, place) for block in blocks if (place := locate(block.location or ""))]
    return _Table(
        [block for block, _ in placed],
        np.array([place.lat for _, place in placed], dtype=np.float64),
        np.array([place.lon for _, place in placed], dtype=np.float64),
    )


def _named_groups(
    storms: Mapping[_StormYear, _Storm], explicit: Iterable[Group]
) -> dict[_StormYear, set[str]]:
    named: dict[_StormYear, set[str]] = defaultdict(set)
    for group in explicit:
        named[group.storm, group.year].add(group.port)
    for key, storm in storms.items():
        named[key] |= set(storm.scenarios)
    return named


def _near_ports(
    storm: _Storm, ports: PortTable, radius_km: float, segments: Mapping[str, Sequence[str]]
) -> set[str]:
    """Slugs of the ports near a listed location, inside a segment or named by a bulletin."""
    found = {name for _, covered in storm.bulletins for name in covered}
    lat, lon = ports.coordinates
    places = {(a, b) for table in storm.tables for a, b in zip(table.lat, table.lon, strict=True)}
    if places and len(ports):
        spots = np.array(sorted(places), dtype=np.float64)
        distance = haversine_km(lat[:, None], lon[:, None], spots[None, :, 0], spots[None, :, 1])
        near = distance.min(axis=1) <= radius_km
        found |= {port.slug for port, is_near in zip(ports, near, strict=True) if is_near}
    texts = {text for block in storm.shared for text in segments.get(block.id, ())}
    for port in ports:
        if port.slug not in found and any(segment_distance_km(t, port) == 0 for t in texts):
            found.add(port.slug)
    return found & ports.given if ports.given else found


def _leads(
    storm: _Storm, docs: Mapping[str, Document], landfall: datetime | None
) -> dict[str, int | None]:
    """Lead by block id: the block's own, its document's, or from issuance and landfall."""
    leads: dict[str, int | None] = {}
    for block in _all_blocks(storm):
        document = docs.get(block.document)
        lead = block.lead
        if lead is None and document is not None and block.kind != "scenario":
            # A scenario's preamble stands before its horizons, whatever its file is called.
            lead = document.lead
        issued = block.issued or (document.issued if document else None)
        if lead is None and issued is not None and landfall is not None:
            lead = known_lead(issued, landfall)
        leads[block.id] = lead
    return leads


def _all_blocks(storm: _Storm) -> Iterable[Block]:
    yield from storm.shared
    for table in storm.tables:
        yield from table.blocks
    for block, _ in storm.bulletins:
        yield block
    for own in storm.scenarios.values():
        yield from own


def _views(
    group: Group,
    storm: _Storm,
    port: Port | None,
    radius_km: float,
    segments: Mapping[str, Sequence[str]],
    leads: Mapping[str, int | None],
) -> list[View]:
    views: list[View] = []

    def add(block: Block, tie: Tie, distance: float | None = None) -> None:
        views.append(View(group, block, leads[block.id], distance, tie))

    for block in storm.shared:
        distance = _segment_km(segments.get(block.id, ()), port)
        add(block, "storm" if distance != 0 else "segment", distance)
    for table in storm.tables if port else ():
        for block, distance in _near_locations(table, port, radius_km):
            add(block, "location", distance)
    for block, covered in storm.bulletins:
        if group.port in covered:
            add(block, "port")
    for block in storm.scenarios.get(group.port, ()):
        add(block, "port")
    views.sort(key=lambda v: (v.block.document, v.block.seq, v.block.start, v.block.id))
    return views


def _segment_km(texts: Iterable[str], port: Port | None) -> float | None:
    if port is None:
        return None
    found = (segment_distance_km(text, port) for text in texts)
    return min((distance for distance in found if distance is not None), default=None)


def _near_locations(
    table: _Table, port: Port | None, radius_km: float
) -> list[tuple[Block, float]]:
    """The nearest locations of one table: at most three in the radius, one up to twice it."""
    if port is None or not table.blocks:
        return []
    distance = haversine_km(port.lat, port.lon, table.lat, table.lon)
    order = np.argsort(distance, kind="stable")[:NEAREST_LOCATIONS]
    near = [(table.blocks[i], float(distance[i])) for i in order]
    within = [pair for pair in near if pair[1] <= radius_km]
    return within or [pair for pair in near[:1] if pair[1] <= 2 * radius_km]
