"""Traces of questions: one JSON file each, written once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from storage.home import Home, HomeError, atomic_write, read_json

SCHEMA = 1

_ID = re.compile(r"[A-Za-z0-9-]{1,80}")


@dataclass(frozen=True, slots=True)
class Trace:
    """A question with its trajectories and answer, as plain data.

    ``correct`` is None where nobody knows the answer; ``gold_edge`` is the edge
    without which the answer breaks; ``split`` that of the question's storm.
    """

    id: str
    asked_at: datetime
    question: dict[str, Any]
    as_of: int | None
    answer: dict[str, Any]
    trajectories: list[dict[str, Any]]
    snapshot: int
    correct: bool | None = None
    gold_edge: str | None = None
    split: str | None = None


def save(home: Home, trace: Trace) -> None:
    """Keep a trace."""
    if not _ID.fullmatch(trace.id):
        raise HomeError(f"{trace.id!r} is not the id of a trace")
    payload = {"schema": SCHEMA, **asdict(trace), "asked_at": trace.asked_at.isoformat()}
    data = json.dumps(payload, ensure_ascii=False).encode()
    atomic_write(home.traces / f"{trace.id}.json", data)


def load_all(home: Home) -> list[Trace]:
    """All traces in the order they were asked."""
    found = []
    for path in sorted(home.traces.glob("*.json")) if home.traces.is_dir() else ():
        row = read_json(path, mend="remove it")
        if row.pop("schema", None) != SCHEMA:
            raise HomeError(f"{path} has another schema than {SCHEMA}: remove it")
        found.append(Trace(**{**row, "asked_at": datetime.fromisoformat(row["asked_at"])}))
    return found


def count(home: Home) -> int:
    """Number of traces."""
    return sum(1 for _ in home.traces.glob("*.json")) if home.traces.is_dir() else 0


def remove(home: Home, ids: Iterable[str]) -> None:
    """Take traces away."""
    for each in ids:
        if _ID.fullmatch(each):
            (home.traces / f"{each}.json").unlink(missing_ok=True)
