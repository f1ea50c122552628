"""Two versions of a group's hyperedges against each other: facts gained, lost and changed.

So that an edit of the prompt, the rules or the vocabulary can be judged before it
is rolled out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from okh.domain import Hyperedge, OkhError
from storage.home import Home
from storage.rows import edges_from_table
from storage.tables import TableStore

_COMPARED = ("relation", "lead", "lead_from", "static", "evidence", "entities", "attributes")
"""What a fact says. Identifier, confidence and spans may move without another fact."""


@dataclass(frozen=True, slots=True)
class Change:
    """A fact that says something else now, and the fields in which it does."""

    before: Hyperedge
    after: Hyperedge
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """What became of a group's facts between two versions."""

    gained: tuple[Hyperedge, ...]
    lost: tuple[Hyperedge, ...]
    changed: tuple[Change, ...]
    kept: int

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of facts gained, lost, changed and kept."""
        return {
            "gained": len(self.gained), "lost": len(self.lost), "changed": len(self.changed),
            "kept": self.kept,
        }


def compare(before: Sequence[Hyperedge], after: Sequence[Hyperedge]) -> Difference:
    """Facts of two versions of one group, paired one to one.

    First what says the same; then what speaks of the same entities at the same horizon
    in the same relation; then what was read from the same sentence at the same horizon.
    What is left was lost or gained.
    """
    old, new, kept = _paired(before, after, _content)
    changed: list[tuple[Hyperedge, Hyperedge]] = []
    for key in (_subject, _source):
        old, new, pairs = _paired(old, new, key)
        changed += pairs
    return Difference(
        tuple(new), tuple(old), tuple(Change(a, b, _moved(a, b)) for a, b in changed), len(kept)
    )


def _paired(
    before: Sequence[Hyperedge], after: Sequence[Hyperedge],
    key: Callable[[Hyperedge], Hashable],
) -> tuple[list[Hyperedge], list[Hyperedge], list[tuple[Hyperedge, Hyperedge]]]:
    """What is left of either side, and the pairs of equal keys, each edge in one at most."""
    waiting: dict[Hashable, list[Hyperedge]] = defaultdict(list)
    for edge in reversed(before):
        waiting[key(edge)].append(edge)
    new, pairs = [], []
    for edge in after:
        same = waiting.get(key(edge))
        if same:
            pairs.append((same.pop(), edge))
        else:
            new.append(edge)
    left = {id(edge) for edges in waiting.values() for edge in edges}
    return [edge for edge in before if id(edge) in left], new, pairs


def _content(edge: Hyperedge) -> Hashable:
    return tuple(_value(edge, name) for name in _COMPARED)


def _subject(edge: Hyperedge) -> Hashable:
    return edge.relation, edge.lead, edge.lead_from, edge.static, frozenset(edge.entities)


def _source(edge: Hyperedge) -> Hashable:
    return edge.evidence, edge.lead, edge.lead_from, edge.family


def _value(edge: Hyperedge, name: str) -> Hashable:
    value = getattr(edge, name)
    return tuple(sorted(map(str, value))) if isinstance(value, tuple) else value


def _moved(a: Hyperedge, b: Hyperedge) -> tuple[str, ...]:
    return tuple(name for name in _COMPARED if _value(a, name) != _value(b, name))


# --- versions of a home -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Against:
    """A difference with the versions between which it stands."""

    group: str
    before: int
    after: int
    difference: Difference


def difference(home: Home, group: str, against: int | None = None) -> Against:
    """The current hyperedges of a group against an earlier version.

    ``against`` is the number of a version; None takes the last with another content.
    Raises ``OkhError`` naming the versions that there are.
    """
    store = TableStore(home)
    versions = {number(path): path for path in store.versions("hyperedges", group)}
    if not versions:
        raise OkhError(f"no built group {group!r}: `okh status` counts what is built")
    current = max(versions)
    if against is None:
        content = versions[current].stem.split("-")[1]
        others = [n for n, path in versions.items() if path.stem.split("-")[1] != content]
        against = max(others, default=current)
    if against not in versions:
        kept = ", ".join(map(str, sorted(versions)))
        raise OkhError(f"{group} has no version {against} any more; there are {kept}")
    return Against(
        group, against, current, _of_files(store, versions[against], versions[current])
    )


def since(
    home: Home, files: Mapping[str, str], groups: Sequence[str]
) -> dict[str, Difference]:
    """Groups whose hyperedges are others than in these files of a former snapshot."""
    store = TableStore(home)
    found = {}
    for group, file in store.current("hyperedges", groups).items():
        former = home.root / files[group] if group in files else None
        if former is None:
            found[group] = compare([], edges_from_table(store.read("hyperedges", group)))
        elif former != file.path and former.exists():
            found[group] = _of_files(store, former, file.path)
    return found


def number(path: Path) -> int:
    """The number of a version, from the name of its file."""
    return int(path.name.split("-")[0])


def _of_files(store: TableStore, before: Path, after: Path) -> Difference:
    old, new = (edges_from_table(store.read_files("hyperedges", [p])) for p in (before, after))
    return compare(old, new)
