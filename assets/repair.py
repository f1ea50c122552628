"""Damaged files found, named and taken away, so that the next build makes them again."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from assets.embedding import vector_store
from storage.home import Home
from storage.publish import snapshot, unpublish_tables
from storage.vectors import drop_tables


def take_away_damaged(home: Home) -> list[str]:
    """Remove table files that cannot be read, and vectors if any of them cannot.

    Returns the paths inside the home. Every file is read whole: what is damaged in
    the middle has a sound footer. A build makes what is missing.
    """
    bad = [path for path in sorted(home.tables.glob("*/*/*.parquet")) if not _sound(path)]
    for path in bad:
        path.unlink()
    named = [path.relative_to(home.root).as_posix() for path in bad]
    if not _vectors_sound(home):
        named += [f"lance/{name}" for name in drop_tables(home, ())]
        unpublish_tables(home)
    return named


def _sound(path: Path) -> bool:
    try:
        pq.read_table(path, partitioning=None)
    except (pa.ArrowException, OSError):
        return False
    return True


def _vectors_sound(home: Home) -> bool:
    published = snapshot(home)
    if published is None:
        return True
    try:
        for kind in ("hyperedges", "chunks"):
            store = vector_store(home, published, kind)
            store.read(version=published.vectors[store.name])
    except (RuntimeError, ValueError, OSError):  # what LanceDB raises for a lost file or version
        return False
    return True
