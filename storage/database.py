"""One SQLite file of a home, in WAL mode, open for as long as its store lives.

Several threads and processes may write. What was written stays, whatever becomes of the
process; a crash of the machine may lose the last entries. The connection is kept: to close
the last one writes the whole log back, which takes longer than all else of a small write.
"""

from __future__ import annotations

import sqlite3
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from storage.home import Home, HomeError

AT_ONCE = 500
"""Values of one query, below SQLite's limit of variables."""


class Database:
    """The file ``{name}.sqlite`` in the home's cache, with its table made if it is not there."""

    def __init__(self, home: Home, name: str, create: str) -> None:
        home.cache.mkdir(parents=True, exist_ok=True)
        self._path = home.cache / f"{name}.sqlite"
        self._lock = threading.Lock()
        self._base = sqlite3.connect(self._path, timeout=60, check_same_thread=False)
        weakref.finalize(self, self._base.close)
        # SQLite does not wait for its turn at changing the journal's mode: we do.
        with home.lock(name), self.open() as base:
            base.execute("pragma journal_mode=wal")
            base.execute("pragma synchronous=normal")
            base.execute(create)

    @contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        """The connection, for one thread at a time; what is written is committed at the end.

        Raises ``HomeError`` if the file cannot be read or written.
        """
        try:
            with self._lock, self._base:
                yield self._base
        except sqlite3.DatabaseError as error:
            raise HomeError(
                f"{self._path}: {error}. Free the disk or the file; if it is damaged move it "
                "away, a new one is begun"
            ) from error

    @contextmanager
    def erasing(self) -> Iterator[sqlite3.Connection]:
        """The connection, to delete rows so that their bytes are gone from file and log, too."""
        with self.open() as base:
            base.execute("pragma secure_delete=on")
            yield base
        with self.open() as base:
            base.execute("pragma secure_delete=off")
            base.execute("pragma wal_checkpoint(truncate)")


def parts(keys: Sequence[str]) -> Iterator[tuple[Sequence[str], str]]:
    """Keys in pieces that fit into one query, each with its place holders."""
    for start in range(0, len(keys), AT_ONCE):
        some = keys[start : start + AT_ONCE]
        yield some, ",".join("?" * len(some))
