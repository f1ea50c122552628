"""The extraction cache: facts of a block, kept by extractor version and block content.

SQLite in WAL mode: several processes may read and write, and what one has paid
for is there for all, whatever crashes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from okh.domain import Attribute, Fact, Mention
from storage.database import Database, parts
from storage.home import Home


class ExtractionCache:
    """Facts by (extractor version, ``Block.content_key``)."""

    def __init__(self, home: Home) -> None:
        self._database = Database(
            home, "extractions",
            "create table if not exists facts (version text not null, key text not null, "
            "facts text not null, primary key (version, key)) without rowid",
        )

    def get_many(self, version: str, keys: Sequence[str]) -> dict[str, list[Fact]]:
        """Facts of those keys that are known."""
        found: dict[str, list[Fact]] = {}
        with self._database.open() as base:
            for some, marks in parts(keys):
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
        with self._database.open() as base:
            base.executemany("insert or replace into facts values (?, ?, ?)", rows)

    def remove(self, keys: Sequence[str]) -> int:
        """Take the facts of these blocks away, of all versions, and their bytes with them."""
        count = 0
        with self._database.erasing() as base:
            for some, marks in parts(keys):
                found = base.execute(f"delete from facts where key in ({marks})", some)
                count += found.rowcount
        return count

    def stats(self) -> dict[str, int]:
        """Extractor version -> number of blocks."""
        with self._database.open() as base:
            return dict(base.execute("select version, count(*) from facts group by version"))


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
