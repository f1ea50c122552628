"""Builds killed (SIGKILL) at random points: at the end all is as if nothing had happened."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from assets import checks
from assets.embedding import read_vectors
from assets.staleness import find_stale
from okh.extraction.rules import RulesExtractor
from okh.sample import PORTS_CSV, SAMPLE_DIR
from storage.home import TEMPORARY, Home
from storage.publish import read_snapshot, snapshot
from storage.schemas import BY_GROUP
from storage.tables import TableStore
from tests.crashing import Builder

SEED = 4
KILLS = 5
ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def builder() -> Iterator[Builder]:
    made = Builder(ROOT)
    yield made
    made.close()


def sample_files() -> list[Path]:
    """All five groups of the sample, with one lead of each storm."""
    return sorted([*SAMPLE_DIR.glob("*/*_48h.txt"), *(SAMPLE_DIR / "scenario").glob("*")])


def assert_readable(root: Path) -> None:
    """Whatever was killed when: a reader sees whole tables, and a snapshot that agrees."""
    if not (root / "home.json").exists():
        return
    home = Home.open(root)
    store = TableStore(home)
    for name in BY_GROUP:
        store.read_many(name)
    published = snapshot(home)
    if published is not None:
        edges = read_snapshot(home, published, "hyperedges", columns=["id"])["id"].to_pylist()
        assert checks.vectors_are_edges(read_vectors(home, published).ids, edges).passed


def assert_same(left: Home, right: Home) -> None:
    """The same tables, vectors and models in both homes."""
    for name in BY_GROUP:
        contents = [
            {g: f.content_hash for g, f in TableStore(home).current(name).items()}
            for home in (left, right)
        ]
        assert contents[0] == contents[1] != {}
    published = [snapshot(home) for home in (left, right)]
    assert published[0] is not None and published[1] is not None
    assert published[0].embedder == published[1].embedder
    assert published[0].model == published[1].model
    rows = [
        read_vectors(home, each) for home, each in zip((left, right), published, strict=True)
        if each is not None
    ]
    order = [np.argsort(r.ids) for r in rows]
    assert sorted(rows[0].ids) == sorted(rows[1].ids)
    assert np.array_equal(rows[0].vectors[order[0]], rows[1].vectors[order[1]])


def crash_and_compare(
    builder: Builder, tmp_path: Path, files: list[Path], *, kills: int, seed: int,
    ports: Path | None = PORTS_CSV,
) -> int:
    """Build once undisturbed and once with kills; returns how often it was killed."""
    points = builder.build(tmp_path / "calm", files, ports)
    assert points > 0
    chance, root, killed, left = random.Random(seed), tmp_path / "crashed", 0, points
    for _ in range(kills):
        # What was done is not done again: a later start passes fewer points.
        at = chance.randint(1, max(left // 2, 20))
        if builder.build(root, files, ports, kill_at=at) == -1:
            killed, left = killed + 1, left - at
        assert_readable(root)
    assert builder.build(root, files, ports) > 0
    assert_readable(root)
    crashed = Home.open(root)
    assert_same(Home.open(tmp_path / "calm"), crashed)
    found = find_stale(crashed, RulesExtractor(), snapshot(crashed))
    assert not found.reasons and not found.index
    assert not list(root.rglob(f"{TEMPORARY}*"))
    return killed


def test_a_killed_build_ends_like_an_undisturbed_one(builder: Builder, tmp_path: Path) -> None:
    killed = crash_and_compare(builder, tmp_path, sample_files(), kills=KILLS, seed=SEED)
    assert killed >= 3


def test_what_the_dead_left_is_swept_and_the_rest_stays(tmp_path: Path) -> None:
    import os

    from storage.home import temporary_name

    home = Home.open(tmp_path / "home", create=True)
    own = temporary_name()
    dead = own.replace(f"-{os.getpid()}-", "-999999999-")
    for name in (own, dead, f"{TEMPORARY}of-another-host"):
        (home.root / name).write_bytes(b"half")
    assert home.sweep() == 1
    assert {p.name for p in home.root.glob(f"{TEMPORARY}*")} == {
        own, f"{TEMPORARY}of-another-host"
    }
