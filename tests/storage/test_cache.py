"""The extraction cache: nothing is paid for twice, whoever asks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from okh.domain import Fact
from storage.cache import ExtractionCache, decode_facts, encode_facts
from storage.home import Home
from tests.storage import samples as some

FACTS = [Fact("has_motion", "Odessa's wind; drop table facts --", ())]


@pytest.fixture
def cache(tmp_path: Path) -> ExtractionCache:
    return ExtractionCache(Home.open(tmp_path, create=True))


@some.quick
@given(st.lists(some.facts, max_size=4))
def test_facts_come_back(facts: list[Any]) -> None:
    assert decode_facts(encode_facts(facts)) == facts


def test_an_empty_reply_is_known_too(cache: ExtractionCache) -> None:
    cache.put_many("v1", {"a": FACTS, "b": []})
    cache.put_many("v1", {})
    assert cache.get_many("v1", ["a", "b", "c"]) == {"a": FACTS, "b": []}
    assert cache.get_many("v1", []) == {}


def test_versions_are_apart(cache: ExtractionCache) -> None:
    cache.put_many("v1", {"a": FACTS})
    cache.put_many("v2", {"a": [], "b": []})
    assert cache.get_many("v2", ["a"]) == {"a": []}
    assert cache.stats() == {"v1": 1, "v2": 2}


def test_names_are_values_never_sql(cache: ExtractionCache) -> None:
    key = "k'; drop table facts; --"
    cache.put_many(key, {key: FACTS})
    assert cache.get_many(key, [key]) == {key: FACTS} and cache.stats() == {key: 1}


def test_more_keys_than_sqlite_takes_variables(cache: ExtractionCache) -> None:
    cache.put_many("v", {f"k{n}": [] for n in range(0, 3000, 2)})
    assert len(cache.get_many("v", [f"k{n}" for n in range(3000)])) == 1500


def _fill(root: str, name: str) -> None:
    cache = ExtractionCache(Home.open(root, create=True))
    for number in range(40):
        cache.put_many("v", {f"{name}-{number}": FACTS, f"both-{number}": FACTS})


def _fill_and_die(root: str) -> None:
    cache = ExtractionCache(Home.open(root))
    cache.put_many("v", {"paid": FACTS})
    with cache._database.open() as base:
        base.execute("insert into facts values ('v', 'half', '[]')")
        os._exit(some.CRASHED)


def test_two_processes_write_at_once(tmp_path: Path) -> None:
    root = str(tmp_path / "new")
    assert some.in_processes(_fill, (root, "a"), (root, "b")) == [0, 0]
    assert ExtractionCache(Home.open(root)).stats() == {"v": 120}


def test_what_was_paid_for_survives_a_crash(cache: ExtractionCache, tmp_path: Path) -> None:
    assert some.in_processes(_fill_and_die, (str(tmp_path),)) == [some.CRASHED]
    assert cache.get_many("v", ["paid", "half"]) == {"paid": FACTS}
