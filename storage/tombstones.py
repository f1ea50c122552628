"""Documents that were taken out of a home: which, why, and whether their traces are gone.

A tombstone is written before anything is removed, so that a removal that was cut
short is taken up again; and it stays, so that the document does not come back with
the next reading of its folder.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

import pyarrow as pa

from okh.domain import Document
from storage.home import Home
from storage.rows import documents_from_table, documents_to_table
from storage.schemas import schema_of

Reason = Literal["forgotten", "folder"]
"""A person asked for it, or its file left the watched folder."""


@dataclass(frozen=True, slots=True)
class Tombstone:
    """A document without its text; ``done`` once nothing of it is left."""

    document: Document
    reason: Reason
    at: datetime
    done: bool = False


def tombstones(home: Home) -> list[Tombstone]:
    """All tombstones, in the order of burial."""
    table = home.read_table("tombstones")
    columns = (table[name].to_pylist() for name in ("reason", "at", "done"))
    return [Tombstone(*row) for row in zip(documents_from_table(table), *columns, strict=True)]


def bury(home: Home, documents: Iterable[Document], reason: Reason) -> None:
    """Write tombstones; a document that has one keeps its place and is not done any more."""
    now = datetime.now(UTC)
    with home.lock("tombstones"):
        known = {t.document.hash: t for t in tombstones(home)}
        for document in documents:
            old = known.get(document.hash)
            # Asked for by a person once, it comes back by a person only.
            kept = "forgotten" if old is not None and old.reason == "forgotten" else reason
            known[document.hash] = Tombstone(replace(document, text=""), kept, now)
        _write(home, list(known.values()))


def finish(home: Home, hashes: Collection[str]) -> None:
    """Note that nothing of these documents is left."""
    with home.lock("tombstones"):
        _write(home, [
            replace(t, done=True) if t.document.hash in hashes else t for t in tombstones(home)
        ])


def lift(home: Home, hashes: Collection[str]) -> None:
    """Take tombstones away, so that these documents may come again."""
    with home.lock("tombstones"):
        known = tombstones(home)
        left = [t for t in known if t.document.hash not in hashes]
        if len(left) < len(known):
            _write(home, left)


def _write(home: Home, items: Sequence[Tombstone]) -> None:
    table = documents_to_table([item.document for item in items])
    for name in ("reason", "at", "done"):
        values = [getattr(item, name) for item in items]
        field = schema_of("tombstones").field(name)
        table = table.append_column(field, pa.array(values, field.type))
    home.write_table("tombstones", table)
