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

from storage.home import Home, HomeError, atomic_write, read_json
from storage.schemas import BY_GROUP
from storage.tables import TableStore


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What belongs together.

    ``files`` is table -> group -> path inside the home; ``embedder`` the version of
    what made the vectors, ``embedder_state`` where a fitted one lies among the models.
    """

    version: int
    created: str
    files: Mapping[str, Mapping[str, str]]
    vectors: Mapping[str, int]
    embedder: str
    model: str | None
    embedder_state: str | None = None


def publish(
    home: Home, store: TableStore, *, vectors: Mapping[str, int], embedder: str,
    embedder_state: str | None = None,
) -> Snapshot:
    """Publish the tables as they are now with these vectors.

    The transition model stays if it learned from vectors of the same embedder.
    """
    files = {
        name: {group: store.relative(file) for group, file in store.current(name).items()}
        for name in BY_GROUP
    }
    with home.lock("publish"):
        before = snapshot(home)
        model = before.model if before and before.embedder == embedder else None
        made = Snapshot(0, "", files, dict(vectors), embedder, model, embedder_state)
        return _publish(home, made)


def republish(home: Home, before: Snapshot, *, model: str) -> Snapshot:
    """Publish another model, learned from ``before``; tables and vectors stay as they are.

    What was published since ``before`` stays too: the model goes into the present
    snapshot. Raises ``HomeError`` if that one is of another embedder.
    """
    with home.lock("publish"):
        present = snapshot(home) or before
        if present.embedder != before.embedder:
            raise HomeError(
                "the embedder was changed while the model was trained: run `okh build --retrain`"
            )
        return _publish(home, replace(present, model=model))


def unpublish_tables(home: Home) -> None:
    """Publish no tables, with embedder and model as they are: the next build mirrors all anew."""
    with home.lock("publish"):
        present = snapshot(home)
        if present is not None:
            _publish(home, replace(present, files={}))


def snapshot(home: Home) -> Snapshot | None:
    """The published snapshot, None before the first."""
    path = home.root / "published.json"
    if not path.exists():
        return None
    mend = "remove it and run `okh build`"
    try:
        return Snapshot(**read_json(path, mend=mend))
    except TypeError as error:
        raise HomeError(f"{path} is of another version of this program: {mend}") from error


def read_snapshot(
    home: Home, published: Snapshot, table: str, groups: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
) -> pa.Table:
    """A table as the snapshot has it, of these groups or of all."""
    files = published.files.get(table, {})
    wanted = sorted(files) if groups is None else [g for g in groups if g in files]
    return TableStore(home).read_files(table, [home.root / files[g] for g in wanted], columns)


def _publish(home: Home, what: Snapshot) -> Snapshot:
    before = snapshot(home)
    number = before.version + 1 if before else 1
    made = replace(what, version=number, created=datetime.now(UTC).isoformat(timespec="seconds"))
    data = json.dumps(asdict(made), ensure_ascii=False).encode()
    atomic_write(home.root / "published.json", data)
    return made
