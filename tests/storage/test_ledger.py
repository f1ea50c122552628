"""The ledger of calls: sums, time, and several writers."""

from __future__ import annotations

import multiprocessing
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from itertools import count
from multiprocessing.queues import Queue
from pathlib import Path

import pytest

from okh.llm.ledger import Entry
from storage.home import Home, HomeError
from storage.ledger import CallLedger

NOON = datetime(2031, 5, 1, 12, tzinfo=UTC)
ENTRY = Entry(
    at=NOON, purpose="extraction", asset="extractions", group="X-2031|port", model="m",
    tokens_in=100, tokens_out=10, tokens_cached=40, cost=0.25, latency_s=0.5, attempt=1,
    outcome="ok",
)


@pytest.fixture
def ledger(tmp_path: Path) -> CallLedger:
    return CallLedger(Home.open(tmp_path / "home", create=True))


def test_rows_come_back_as_they_were(ledger: CallLedger) -> None:
    entries = [ENTRY, replace(ENTRY, cost=None, estimated=True, outcome="unanswered", group="")]
    for entry in entries:
        ledger.append(entry)
    assert [Entry(**row._asdict()) for row in ledger.rows()] == entries
    assert ledger.rows(since=NOON + timedelta(seconds=1)) == []
    assert len(ledger.rows(since=NOON)) == 2


def test_totals_by_each_key(ledger: CallLedger) -> None:
    west = timezone(timedelta(hours=-6))
    late = datetime(2031, 5, 1, 20, tzinfo=west)  # the second of May in UTC
    ledger.append(ENTRY)
    ledger.append(replace(ENTRY, at=late, group="Y-2032|port", cost=0.5))
    ledger.append(replace(ENTRY, purpose="reading", asset="", cost=None, estimated=True))
    days = ledger.totals("day")
    assert [(t.key, t.calls, t.cost, t.unpriced) for t in days] == [
        ("2031-05-01", 2, 0.25, 1), ("2031-05-02", 1, 0.5, 0),
    ]
    assert [t.key for t in ledger.totals("group")] == ["X-2031|port", "Y-2032|port"]
    assert [t.key for t in ledger.totals("asset")] == ["", "extractions"]
    assert [t.tokens_in for t in ledger.totals("asset")] == [100, 200]
    [total] = ledger.totals("model")
    assert (total.calls, total.tokens_out, total.tokens_cached) == (3, 30, 120)
    assert (total.cost, total.estimated, total.latency_s) == (0.75, 1, 1.5)
    assert [t.key for t in ledger.totals("purpose", since=late)] == ["extraction"]
    assert [t.key for t in ledger.totals("outcome")] == ["ok"]
    with pytest.raises(ValueError, match="day"):
        ledger.totals("cost; drop table calls")  # type: ignore[arg-type]


def test_nothing_asked_is_nothing_spent(ledger: CallLedger) -> None:
    assert ledger.totals("day") == ledger.rows() == []


def _write(root: Path, number: int) -> None:
    ledger = CallLedger(Home.open(root))
    threads = [
        threading.Thread(
            target=lambda: [ledger.append(replace(ENTRY, attempt=number)) for _ in range(20)]
        )
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_several_processes_lose_no_entry(tmp_path: Path) -> None:
    root = Home.open(tmp_path / "home", create=True).root
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=_write, args=(root, n)) for n in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    [total] = CallLedger(Home.open(root)).totals("model")
    assert total.calls == 3 * 2 * 20


def _write_on(root: Path, written: Queue[int]) -> None:
    ledger = CallLedger(Home.open(root))
    for number in count(1):
        ledger.append(ENTRY)
        written.put(number)


def test_a_killed_process_loses_no_entry(tmp_path: Path) -> None:
    root = Home.open(tmp_path / "home", create=True).root
    spawn = multiprocessing.get_context("spawn")
    written = spawn.Queue()
    writer = spawn.Process(target=_write_on, args=(root, written))
    writer.start()
    while (last := written.get(timeout=60)) < 20:
        pass
    writer.kill()
    writer.join()
    [total] = CallLedger(Home.open(root)).totals("model")
    assert total.calls >= last


def test_a_damaged_ledger_names_its_file(tmp_path: Path) -> None:
    home = Home.open(tmp_path / "home", create=True)
    home.cache.mkdir()
    (home.cache / "ledger.sqlite").write_bytes(b"no database at all" * 100)
    with pytest.raises(HomeError, match=r"ledger\.sqlite.*move it"):
        CallLedger(home)
