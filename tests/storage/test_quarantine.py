"""The quarantine: one row a fault, whoever reports it and how often."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from storage.home import Home
from storage.quarantine import Quarantined, add, list_items, remove, replace_stage
from tests.storage import samples as some

AT = datetime(2031, 9, 1, 9, tzinfo=UTC)
FAULT = Quarantined(
    stage="extractions", problem="reply is no JSON", mend="`okh quarantine retry`",
    group=some.GROUP, document="d", block="b", file="O'Neil/…\n.txt", place="line 3",
    reply="{", at=AT,
)
SECOND = replace(FAULT, block="b2", at=None)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.open(tmp_path, create=True)


def test_faults_come_back_in_order(home: Home) -> None:
    assert list_items(home) == []
    add(home, [SECOND, FAULT])
    assert list_items(home) == [SECOND, FAULT]


def test_the_same_fault_is_one_row(home: Home) -> None:
    add(home, [FAULT, replace(FAULT, reply="[")])
    add(home, [replace(FAULT, at=None)])
    assert [item.id for item in list_items(home)] == [FAULT.id]


@pytest.mark.parametrize(
    "field", ["stage", "problem", "group", "document", "block", "file", "place"]
)
def test_another_place_is_another_fault(field: str) -> None:
    change: dict[str, Any] = {field: "other"}
    assert replace(FAULT, **change).id != FAULT.id


def test_faults_are_taken_out(home: Home) -> None:
    add(home, [FAULT, SECOND])
    remove(home, [FAULT.id, "unknown"])
    assert list_items(home) == [SECOND]


def test_a_stage_of_a_group_is_replaced(home: Home) -> None:
    elsewhere = [replace(FAULT, stage="hypergraph"), replace(FAULT, group=some.OTHER)]
    add(home, [FAULT, *elsewhere])
    replace_stage(home, "extractions", some.GROUP, [SECOND])
    assert list_items(home) == [*elsewhere, SECOND]
    replace_stage(home, "extractions", some.GROUP, [])
    assert list_items(home) == elsewhere


def test_no_change_is_no_write(home: Home) -> None:
    replace_stage(home, "extractions", some.GROUP, [])
    assert not (home.root / "quarantine.parquet").exists()


def _report(root: str, name: str) -> None:
    home = Home.open(root)
    for number in range(10):
        add(home, [replace(FAULT, block=f"{name}{number}")])


def test_two_processes_report_at_once(home: Home) -> None:
    root = str(home.root)
    assert some.in_processes(_report, (root, "a"), (root, "b")) == [0, 0]
    assert len(list_items(home)) == 20
