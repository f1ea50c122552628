"""Vectors: a group is mirrored whole, deletions included, whoever writes beside."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest

import storage.vectors
from storage.home import Home
from storage.publish import publish
from storage.tables import TableStore
from storage.vectors import (
    EmbedderMismatch,
    GroupVectors,
    VectorStore,
)

DIMENSION = 4
QUOTED = "O'NEIL-2031|a\"b' or 1=1 --"
GROUPS = ("ODESSA-2031|port-of-savannah-ga", "ODESSA-2031|galveston-tx", QUOTED)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.open(tmp_path / "O'Neil 100%41 #a?b", create=True)


def opened(home: Home) -> VectorStore:
    return VectorStore(home, "hyperedges", "lsa-1", DIMENSION)


def rows(*numbers: int, prefix: str = "e") -> GroupVectors:
    """Ids, text hashes and vectors that tell their number."""
    vectors = np.array([[n, n + 0.25, -n, 1] for n in numbers], np.float32)
    ids = [f"{prefix}{n}" for n in numbers]
    return ids, [f"t{n}" for n in numbers], vectors.reshape(-1, DIMENSION)


def held(
    store: VectorStore, groups: Sequence[str] | None = None, version: int | None = None
) -> dict[str, tuple[str, float]]:
    """Id -> (group, first component)."""
    read = store.read(groups, version)
    assert read.vectors.shape == (len(read.ids), DIMENSION) and read.vectors.dtype == np.float32
    assert len(read.text_hashes) == len(read.ids) == len(set(read.ids))
    firsts = read.vectors[:, 0].tolist()
    return dict(zip(read.ids, zip(read.groups, firsts, strict=True), strict=True))


def test_an_empty_table(home: Home) -> None:
    store = opened(home)
    assert held(store) == held(store, GROUPS) == held(store, []) == {}
    assert store.groups() == set() and store.known_vectors(["t1"]) == {}
    store.mirror(GROUPS[0], *rows())
    store.mirror_many({})
    assert held(store) == {}


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_is_mirrored_with_its_deletions(home: Home, group: str) -> None:
    store = opened(home)
    others = [g for g in GROUPS if g != group]
    store.mirror_many({g: rows(1, 2, prefix=f"{n}-") for n, g in enumerate(others)})
    store.mirror(group, *rows(1, 2, 3))
    ids, hashes, vectors = rows(2, 3, 4)
    store.mirror(group, ids, hashes, vectors + 10)
    assert held(store, [group]) == {f"e{n}": (group, n + 10.0) for n in (2, 3, 4)}
    assert len(held(store)) == 7 and store.groups() == set(GROUPS)
    store.mirror(group, *rows())
    assert held(store, [group]) == {} and store.groups() == set(others)
    store.remove_group(others[0])
    assert store.groups() == {others[1]} and len(held(store)) == 2


def test_many_groups_are_mirrored_in_one_version(home: Home) -> None:
    store = opened(home)
    first, second, third = GROUPS
    store.mirror_many({first: rows(1, 2), second: rows(3), third: rows(5)})
    before = store.version
    store.mirror_many({first: rows(2, 6), second: rows()})
    assert store.version == before + 1
    assert held(store) == {"e2": (first, 2.0), "e6": (first, 6.0), "e5": (third, 5.0)}


def test_a_text_is_embedded_once(home: Home) -> None:
    store = opened(home)
    store.mirror(GROUPS[0], ["a", "b"], ["t'1", "t2"], rows(1, 2)[2])
    store.mirror(GROUPS[1], ["c"], ["t'1"], rows(1)[2])
    asked = ["t'1", "t2", "t3", *(f"x{n}" for n in range(2500))]
    found = store.known_vectors(asked)
    assert {h: v[0] for h, v in found.items()} == {"t'1": 1.0, "t2": 2.0}
    assert store.known_vectors([]) == {}


def test_a_version_is_read_after_newer_writes(home: Home) -> None:
    store = opened(home)
    store.mirror(GROUPS[0], *rows(1, 2))
    published = store.version
    store.mirror(GROUPS[0], *rows(3))
    for reader in (store, opened(home)):
        assert sorted(held(reader, version=published)) == ["e1", "e2"]
        assert sorted(held(reader, [GROUPS[0]], published)) == ["e1", "e2"]
        assert sorted(held(reader)) == ["e3"]


def test_optimize_keeps_the_published_version(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage.vectors, "_KEEP", timedelta(milliseconds=1))
    store = opened(home)
    store.mirror(GROUPS[0], *rows(1, 2))
    published = store.version
    publish(home, TableStore(home), vectors={store.name: published}, embedder="lsa-1")
    store.mirror(GROUPS[0], *rows(3))
    store.optimize()
    assert sorted(held(opened(home), version=published)) == ["e1", "e2"]
    assert sorted(held(store)) == ["e3"]


def test_optimize_drops_what_no_snapshot_needs(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage.vectors, "_KEEP", timedelta(milliseconds=1))
    store = opened(home)
    store.mirror(GROUPS[0], *rows(1, 2))
    old = store.version
    store.mirror(GROUPS[0], *rows(3))
    store.optimize()
    with pytest.raises(ValueError, match="no longer exists"):
        store.read(version=old)
    assert sorted(held(store)) == ["e3"]


def test_embedders_and_dimensions_have_tables_of_their_own(home: Home) -> None:
    opened(home).mirror(GROUPS[0], *rows(1))
    for other in (
        VectorStore(home, "hyperedges", "lsa-2", DIMENSION),
        VectorStore(home, "hyperedges", "lsa-1", 8),
        VectorStore(home, "chunks", "lsa-1", DIMENSION),
    ):
        assert other.groups() == set()
    assert opened(home).groups() == {GROUPS[0]}


def test_vectors_of_another_shape_are_refused(home: Home) -> None:
    store = opened(home)
    ids, hashes, vectors = rows(1, 2)
    with pytest.raises(EmbedderMismatch, match=r"shape \(2, 8\) for a table of dimension 4"):
        store.mirror(GROUPS[0], ids, hashes, np.zeros((2, 8), np.float32))
    with pytest.raises(EmbedderMismatch, match="1 ids"):
        store.mirror(GROUPS[0], ids[:1], hashes, vectors)



def test_writers_at_once_do_not_double_rows(home: Home) -> None:
    opened(home)
    writers = [opened(home) for _ in range(4)]  # handles that know nothing of each other
    together = Barrier(len(writers))
    ids, hashes, vectors = rows(*range(100))

    def write(number: int) -> None:
        together.wait(60)
        writers[number].mirror(GROUPS[0], ids, hashes, vectors + number)

    with ThreadPoolExecutor(len(writers)) as pool:
        list(pool.map(write, range(len(writers))))
    found = held(opened(home))
    assert len(found) == 100  # 400 without the key in the schema's metadata
    assert len({value - int(name[1:]) for name, (_, value) in found.items()}) == 1  # one writer's
