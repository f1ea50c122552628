"""Vectors in LanceDB: one table for each kind, embedder and dimension.

Measured facts behind the choices (LanceDB 0.40): the key column carries
``lance-schema:unenforced-primary-key`` and no nulls, for else several writers
duplicate rows; a group is replaced in one transaction by ``merge_insert`` with
``when_not_matched_by_source_delete``; tables of this size are scanned flat.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

import lancedb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from okh.domain import OkhError, slug
from storage.home import Home
from storage.publish import snapshot

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Rows:
    """Stored vectors: three columns of ``n`` values, and a matrix of shape ``(n, d)``."""

    ids: list[str]
    groups: list[str]
    text_hashes: list[str]
    vectors: Vectors


GroupVectors = tuple[Sequence[str], Sequence[str], Vectors]
"""Ids, text hashes, and vectors of shape ``(n, d)``."""

_KEY = {b"lance-schema:unenforced-primary-key": b"true"}
_AT_ONCE = 2000
_KEEP = timedelta(days=7)
"""How long versions stay that no snapshot needs any more."""
_MARGIN = timedelta(seconds=10)


class EmbedderMismatch(OkhError):
    """Vectors of another embedder, or of another dimension, than those at hand."""


class VectorStore:
    """The vectors of one kind (``hyperedges`` or ``chunks``) under one embedder."""

    def __init__(self, home: Home, kind: str, embedder_version: str, dimension: int) -> None:
        home.lance.mkdir(parents=True, exist_ok=True)
        self._home = home
        self.name = f"{kind}_{slug(embedder_version).replace('-', '_')}_{dimension}"
        self._dimension = dimension
        self._schema = pa.schema([
            pa.field("id", pa.string(), nullable=False, metadata=_KEY),
            pa.field("group", pa.string(), nullable=False),
            pa.field("text_hash", pa.string(), nullable=False),
            pa.field("vector", pa.list_(pa.float32(), dimension), nullable=False),
        ])
        self._base = lancedb.connect(str(home.lance))
        self._table = self._base.create_table(self.name, schema=self._schema, exist_ok=True)

    @property
    def version(self) -> int:
        """Version of the table; each write makes a new one."""
        return int(self._table.version)

    def mirror(
        self, group: str, ids: Sequence[str], text_hashes: Sequence[str], vectors: Vectors
    ) -> None:
        """Make these the vectors of the group, deletions included, in one transaction."""
        self.mirror_many({group: (ids, text_hashes, vectors)})

    def mirror_many(self, groups: Mapping[str, GroupVectors]) -> None:
        """Make these the vectors of several groups, in one transaction."""
        if not groups:
            return
        # merge_insert for a first build too: rows that two writers add would be there twice.
        (
            self._table.merge_insert("id")
            .when_matched_update_all()
            .when_not_matched_insert_all()
            .when_not_matched_by_source_delete(_in("group", groups))
            .execute(pa.concat_tables([self._rows(g, *rows) for g, rows in groups.items()]))
        )

    def groups(self) -> set[str]:
        """Groups that have vectors."""
        return set(self._column("group").to_pylist())

    def remove_group(self, group: str) -> None:
        """Take a group's vectors away."""
        self._table.delete(_in("group", [group]))

    def known_vectors(self, text_hashes: Sequence[str]) -> dict[str, Vectors]:
        """Vectors by text hash, of those texts that were embedded before."""
        if not self._table.count_rows():
            return {}
        found: dict[str, Vectors] = {}
        for some in _parts(text_hashes):
            table = (
                self._table.search().where(_in("text_hash", some))
                .select(["text_hash", "vector"]).limit(None).to_arrow()
            )
            matrix = self._matrix(table["vector"])
            found.update(zip(table["text_hash"].to_pylist(), matrix, strict=True))
        return found

    def read(
        self, groups: Sequence[str] | None = None, version: int | None = None
    ) -> Rows:
        """The rows of these groups, or of all, at a version."""
        table = self._at(version)
        if groups is None:
            found = table.to_arrow()
        else:
            found = table.search().where(_in("group", groups)).limit(None).to_arrow()
        ids, owners, hashes = (found[c].to_pylist() for c in ("id", "group", "text_hash"))
        return Rows(ids, owners, hashes, self._matrix(found["vector"]))

    def ids(self, version: int | None = None) -> list[str]:
        """Identifiers of all rows at a version, without the vectors."""
        found = self._at(version).search().select(["id"]).limit(None).to_arrow()
        return list(found["id"].to_pylist())

    def optimize(self) -> None:
        """Join fragments, and drop versions older than a week that no snapshot needs.

        The published version and those after it stay, however old: questions read
        it until another is published.
        """
        self._table.optimize(cleanup_older_than=max(_KEEP, self._age_of_published()))

    def forget_history(self) -> bool:
        """Drop every version but the present one, if that is the published one.

        What was deleted from the table is still in its older versions. Returns whether
        it was done; no writer may be at work.
        """
        published = snapshot(self._home)
        if published is None or published.vectors.get(self.name) != self.version:
            return False
        # The published version was compacted before it was published: this adds none.
        self._table.optimize(cleanup_older_than=timedelta(0), delete_unverified=True)
        return True

    def _age_of_published(self) -> timedelta:
        published = snapshot(self._home)
        version = published.vectors.get(self.name) if published else None
        made = [v["timestamp"] for v in self._table.list_versions() if v["version"] == version]
        return datetime.now() - made[0] + _MARGIN if made else timedelta(0)

    def _rows(
        self, group: str, ids: Sequence[str], text_hashes: Sequence[str], vectors: Vectors
    ) -> pa.Table:
        if vectors.shape != (len(ids), self._dimension):
            raise EmbedderMismatch(
                f"{len(ids)} ids, but vectors of shape {vectors.shape} for a table of "
                f"dimension {self._dimension}"
            )
        flat = pa.array(np.ascontiguousarray(vectors, dtype=np.float32).reshape(-1))
        columns: list[Any] = [
            pa.array(ids, pa.string()),
            pa.array([group] * len(ids), pa.string()),
            pa.array(text_hashes, pa.string()),
            pa.FixedSizeListArray.from_arrays(flat, self._dimension),
        ]
        return pa.Table.from_arrays(columns, schema=self._schema)

    def _at(self, version: int | None) -> Any:
        if version is None or version == self.version:
            return self._table
        # A handle of its own: checking out a version changes the handle's state.
        table = self._base.open_table(self.name)
        table.checkout(version)
        return table

    def _column(self, name: str) -> pa.ChunkedArray:
        return self._table.search().select([name]).limit(None).to_arrow()[name]

    def _matrix(self, column: pa.ChunkedArray) -> Vectors:
        whole = column.combine_chunks()
        flat: Vectors = whole.flatten().to_numpy(zero_copy_only=False)
        return flat.reshape(-1, self._dimension)


def drop_tables(home: Home, keep: Collection[str]) -> list[str]:
    """Drop the vector tables that are not in ``keep``, e.g. those of a former embedder."""
    if not home.lance.is_dir():
        return []
    base = lancedb.connect(str(home.lance))
    gone = [name for name in base.list_tables().tables if name not in keep]
    for name in gone:
        base.drop_table(name)
    return gone


def _in(column: str, values: Iterable[str]) -> str:
    """SQL filter "column is one of values": the one place where values are put into SQL."""
    listed = ", ".join("'" + value.replace("'", "''") + "'" for value in values)
    return f"`{column}` in ({listed})" if listed else "false"


def _parts(items: Sequence[str]) -> Iterator[list[str]]:
    iterator = iter(items)
    while some := list(islice(iterator, _AT_ONCE)):
        yield some
