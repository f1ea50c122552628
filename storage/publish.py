"""Snapshots: tables, vectors and models that belong together, which queries read.

A build replaces files one by one; a question must not see half of it. So a
snapshot names each file, the version of each vector table, the embedder and the
model, and is published by one rename.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime

import pyarrow as pa

from storage.home import Home, HomeError, atomic_write
from storage.schemas import BY_GROUP
from storage.tables import TableStore


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What belongs together. ``files`` is table -> group -> path inside the home."""

    version: int
    created: str
    files: Mapping[str, Mapping[str, str]]
    vectors: Mapping[str, int]
    embedder: str
    model: str | None


def publish(
    home: Home, store: TableStore, *, vectors: Mapping[str, int], embedder: str, model: str | None
) -> Snapshot:
    """Publish the tables as they are now with these vectors and this model."""
    files = {
        name: {group: store.relative(file) for group, file in store.current(name).items()}
        for name in BY_GROUP
    }
    return _publish(home, Snapshot(0, "", files, dict(vectors), embedder, model))


def republish(home: Home, before: Snapshot, *, model: str) -> Snapshot:
    """Publish ``before`` with another model; its tables and vectors stay as they are."""
    return _publish(home, replace(before, model=model))


def snapshot(home: Home) -> Snapshot | None:
    """The published snapshot, None before the first."""
    path = home.root / "published.json"
    if not path.exists():
        return None
    try:
        return Snapshot(**json.loads(path.read_text(encoding="utf-8")))
    except (json.JSONDecodeError, TypeError) as error:
        raise HomeError(f"{path} is damaged: remove it and run `okh build`") from error


def read_snapshot(
    home: Home, published: Snapshot, table: str, groups: Sequence[str] | None = None
) -> pa.Table:
    """A table as the snapshot has it, of these groups or of all."""
    files = published.files.get(table, {})
    wanted = sorted(files) if groups is None else [g for g in groups if g in files]
    return TableStore(home).read_files(table, [home.root / files[g] for g in wanted])


def _publish(home: Home, what: Snapshot) -> Snapshot:
    with home.lock("publish"):
        before = snapshot(home)
        number = before.version + 1 if before else 1
        made = replace(
            what, version=number, created=datetime.now(UTC).isoformat(timespec="seconds")
        )
        data = json.dumps(asdict(made), ensure_ascii=False).encode()
        atomic_write(home.root / "published.json", data)
    return made
