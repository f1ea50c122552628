"""Vectors of texts that an endpoint was paid for, by embedder version and hash of the text.

The vector tables hold what a build has mirrored; this holds each batch as it comes, and
the vectors of questions. A vector of 1,536 numbers takes 6 kB.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from storage.database import Database, parts
from storage.home import Home

Vector = NDArray[np.float32]


class TextVectors:
    """Float32 vectors of shape ``(d,)``. Safe under threads and processes."""

    def __init__(self, home: Home) -> None:
        self._database = Database(
            home, "text_vectors",
            "create table if not exists vectors (version text not null, key text not null, "
            "vector blob not null, primary key (version, key))",
        )

    def get_many(self, version: str, keys: Sequence[str]) -> dict[str, Vector]:
        """Vectors of those keys that are known."""
        found: dict[str, Vector] = {}
        with self._database.open() as base:
            for some, marks in parts(keys):
                rows = base.execute(
                    f"select key, vector from vectors where version = ? and key in ({marks})",
                    (version, *some),
                )
                found.update((key, np.frombuffer(data, "<f4")) for key, data in rows)
        return found

    def clear(self) -> None:
        """Forget all: what a build has mirrored stays in the vector tables."""
        with self._database.erasing() as base:
            base.execute("delete from vectors")

    def put_many(self, version: str, vectors: Mapping[str, Vector]) -> None:
        """Keep these, in one transaction."""
        rows = [(version, key, v.astype("<f4").tobytes()) for key, v in vectors.items()]
        with self._database.open() as base:
            base.executemany("insert or replace into vectors values (?, ?, ?)", rows)
