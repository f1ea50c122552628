"""The extraction cache: facts of a block, kept by extractor version and block content.

SQLite in WAL mode: several processes may read and write, and what one has paid
for is there for all, whatever crashes.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import islice

from okh.domain import Attribute, Fact, Mention
from storage.home import Home

_AT_ONCE = 500
"""Keys a query, below SQLite's limit of variables."""


class ExtractionCache:
    """Facts by (extractor version, ``Block.content_key``)."""

    def __init__(self, home: Home) -> None:
        home.cache.mkdir(parents=True, exist_ok=True)
        self._path = home.cache / "extractions.sqlite"
        with self._open() as base:
            base.execute("pragma journal_mode=wal")
            base.execute(
                "create table if not exists facts (version text not null, key text not null, "
                "facts text not null, primary key (version, key)) without rowid"
            )

    def get_many(self, version: str, keys: Sequence[str]) -> dict[str, list[Fact]]:
        """Facts of those keys that are known."""
        found: dict[str, list[Fact]] = {}
        with self._open() as base:
            for some in _parts(keys):
                marks = ",".join("?" * len(some))
                rows = base.execute(
                    f"select key, facts from facts where version = ? and key in ({marks})",
                    (version, *some),
                )
                found.update((key, decode_facts(facts)) for key, facts in rows)
        return found

    def put_many(self, version: str, facts: Mapping[str, Sequence[Fact]]) -> None:
        """Keep these facts, in one transaction."""
        if not facts:
            return
        rows = [(version, key, encode_facts(value)) for key, value in facts.items()]
        with self._open() as base, base:
            base.executemany("insert or replace into facts values (?, ?, ?)", rows)

    def stats(self) -> dict[str, int]:
        """Extractor version -> number of blocks."""
        with self._open() as base:
            return dict(base.execute("select version, count(*) from facts group by version"))

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._path, timeout=60)) as base:
            yield base


def _parts(keys: Sequence[str]) -> Iterator[list[str]]:
    iterator = iter(keys)
    while some := list(islice(iterator, _AT_ONCE)):
        yield some


def encode_facts(facts: Sequence[Fact]) -> str:
    """Facts as JSON."""
    return json.dumps([_fact(fact) for fact in facts], ensure_ascii=False)


def _fact(fact: Fact) -> dict[str, object]:
    # Spelled out: dataclasses.asdict copies deeply and takes ten times as long.
    return {
        "relation": fact.relation, "evidence": fact.evidence, "confidence": fact.confidence,
        "start": fact.start, "end": fact.end,
        "mentions": [
            {
                "name": m.name, "type": m.type, "description": m.description,
                "confidence": m.confidence, "origin": m.origin,
            }
            for m in fact.mentions
        ],
        "attributes": [
            {"key": a.key, "value": a.value, "unit": a.unit} for a in fact.attributes
        ],
    }


def decode_facts(text: str) -> list[Fact]:
    """Inverse of :func:`encode_facts`."""
    return [
        Fact(
            relation=row["relation"], evidence=row["evidence"],
            mentions=tuple(Mention(**m) for m in row["mentions"]),
            attributes=tuple(Attribute(**a) for a in row["attributes"]),
            confidence=row["confidence"], start=row["start"], end=row["end"],
        )
        for row in json.loads(text)
    ]
