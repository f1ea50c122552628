"""Which groups must be built again: read from the tables, not from the event log.

Dagster's own staleness is per asset (#22553) or behind a private API, so each
table keeps the version of its code and the hash of its input, and comparing
them is the truth.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from assets.corpus import read_fingerprints
from assets.group_tables import ASSET_TABLES, content_hash, is_current
from assets.versions import (
    canonical_version,
    documents_version,
    extractions_version,
    hypergraph_version,
)
from okh.domain import Group
from okh.extraction.extractor import Extractor
from storage.home import Home
from storage.publish import Snapshot
from storage.tables import TableFile, TableStore

MAX_GAP = 3
"""Unchanged groups that a range may cover: a no-op costs less than a run."""


@dataclass(frozen=True, slots=True)
class Staleness:
    """Stale groups with the first asset that must be made again, in the order of keys."""

    reasons: Mapping[str, str]
    groups: tuple[str, ...]
    index: bool


def find_stale(
    home: Home, extractor: Extractor, published: Snapshot | None, pattern: str = "*"
) -> Staleness:
    """Groups to build (of those whose key matches ``pattern``), and whether the index is behind."""
    fingerprints = read_fingerprints(home)
    store = TableStore(home, only=fingerprints)
    groups = tuple(sorted(fingerprints))
    current = {
        asset: {name: store.current(name) for name in names}
        for asset, names in ASSET_TABLES.items()
    }
    versions = {
        "documents": documents_version(),
        "extractions": extractions_version(extractor),
        "hypergraph": hypergraph_version(),
        "canonical_trajectories": canonical_version(),
    }
    reasons = {}
    for group in groups:
        if fnmatchcase(group, pattern):
            reason = _reason(group, fingerprints[group][0], current, versions)
            if reason:
                reasons[group] = reason
    return Staleness(reasons, groups, _index_behind(store, published))


def _reason(
    group: str, fingerprint: str, current: Mapping[str, Mapping[str, Mapping[str, TableFile]]],
    versions: Mapping[str, str],
) -> str:
    expected = fingerprint
    for asset, tables in current.items():
        if not is_current(tables, group, versions[asset], expected):
            return asset
        expected = content_hash(tables, group)
    return ""


def _index_behind(store: TableStore, published: Snapshot | None) -> bool:
    if published is None:
        return any(store.current("hyperedges"))
    if published.model is None:
        return True
    for names in ASSET_TABLES.values():
        for name in names:
            present = {g: store.relative(f) for g, f in store.current(name).items()}
            if present != published.files.get(name, {}):
                return True
    return False


def newest_first(groups: Iterable[str]) -> list[str]:
    """Group keys by year, the latest first, then by storm and port."""
    return sorted(groups, key=lambda key: (-Group.parse(key).year, key))


def ranges_newest_first(
    stale: Iterable[str], ordered: Iterable[str], size: int
) -> list[tuple[str, str]]:
    """Ranges like those of :func:`contiguous_ranges`, a storm at a time, the latest year first."""
    storms: dict[str, list[str]] = {}
    for key in newest_first(stale):
        storms.setdefault(Group.parse(key).storm_year, []).append(key)
    keys = list(ordered)
    return [each for members in storms.values() for each in contiguous_ranges(members, keys, size)]


def contiguous_ranges(
    stale: Iterable[str], ordered: Iterable[str], size: int, gap: int = MAX_GAP
) -> list[tuple[str, str]]:
    """Stale keys as ranges (first, last) over the keys in partition order.

    Ranges hold at most ``size`` keys and may cover up to ``gap`` fresh ones.
    """
    wanted = set(stale)
    keys = list(ordered)
    places = [i for i, key in enumerate(keys) if key in wanted]
    ranges: list[tuple[int, int]] = []
    for place in places:
        if ranges and place - ranges[-1][1] <= gap + 1 and place - ranges[-1][0] < size:
            ranges[-1] = (ranges[-1][0], place)
        else:
            ranges.append((place, place))
    return [(keys[a], keys[b]) for a, b in ranges]
