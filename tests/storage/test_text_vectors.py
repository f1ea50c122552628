"""Vectors of texts: kept exactly, by version, by several writers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from storage.home import Home
from storage.text_vectors import TextVectors


def test_vectors_come_back_as_they_were(tmp_path: Path) -> None:
    home = Home.open(tmp_path, create=True)
    rng = np.random.default_rng(3)
    vectors = {f"k{i}": rng.normal(size=12).astype(np.float32) for i in range(1200)}
    TextVectors(home).put_many("v1", vectors)
    found = TextVectors(home).get_many("v1", [*vectors, "unknown"])
    assert set(found) == set(vectors)
    assert all(np.array_equal(found[key], vectors[key]) for key in vectors)
    assert TextVectors(home).get_many("v2", list(vectors)) == {}


def test_several_writers(tmp_path: Path) -> None:
    home = Home.open(tmp_path, create=True)

    def write(start: int) -> None:
        store = TextVectors(home)
        for i in range(start, start + 20):
            store.put_many("v", {f"k{i}": np.full(4, i, np.float32)})

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(0, 60, 10)))
    found = TextVectors(home).get_many("v", [f"k{i}" for i in range(70)])
    assert [found[f"k{i}"][0] for i in range(70)] == list(range(70))
