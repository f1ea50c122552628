"""Traces: one document a question, in the order they were asked."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from storage.home import Home, HomeError
from storage.traces import Trace, count, load_all, remove, save

TRACE = Trace(
    id="20310901T090000-abc", asked_at=datetime(2031, 9, 1, 9, tzinfo=UTC),
    question={"text": "¿Dónde?", "lead": 48}, as_of=48, answer={"value": "not stated"},
    trajectories=[{"score": 1.5, "steps": [{"id": "e1"}]}], snapshot=3, correct=False,
    gold_edge="e1", split="train",
)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.open(tmp_path, create=True)


def test_traces_come_back_in_order(home: Home) -> None:
    assert load_all(home) == [] and count(home) == 0
    later = replace(TRACE, id="20310902T090000-aaa", correct=None, gold_edge=None, as_of=None)
    for trace in (later, TRACE, TRACE):
        save(home, trace)
    assert load_all(home) == [TRACE, later] and count(home) == 2


@pytest.mark.parametrize("name", ["", "../x", "a/b", "a.b", "x" * 81, "a\n"])
def test_only_plain_names_become_files(home: Home, name: str) -> None:
    with pytest.raises(HomeError, match="not the id of a trace"):
        save(home, replace(TRACE, id=name))
    remove(home, [name])
    assert count(home) == 0


def test_traces_are_taken_away(home: Home) -> None:
    save(home, TRACE)
    remove(home, [TRACE.id, "unknown"])
    assert load_all(home) == []


def test_damage_and_other_schemas_are_named(home: Home) -> None:
    save(home, TRACE)
    path = home.traces / f"{TRACE.id}.json"
    payload = json.loads(path.read_text())
    path.write_text(json.dumps({**payload, "schema": 99}))
    with pytest.raises(HomeError, match=f"{TRACE.id}.json has another schema"):
        load_all(home)
    path.write_text("{")
    with pytest.raises(HomeError, match=f"{TRACE.id}.json is damaged: remove it"):
        load_all(home)
