"""Tables by group: one Parquet file a table, group and version.

``tables/<table>/<group slug>-<digest>/<seq>-<content hash>.parquet``; the file with
the highest number is current. Superseded files stay until :meth:`TableStore.prune`,
so that a snapshot keeps reading what it names. Versions stand in the file's own
metadata: what made it (code version) and from what (input hash).
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from okh.domain import digest, slug
from storage.home import Home, HomeError, write_parquet
from storage.schemas import SchemaError, check, only_group, schema_of

_META = ("group", "code_version", "input_hash", "content_hash")


@dataclass(frozen=True, slots=True)
class TableFile:
    """The current file of one table and group."""

    group: str
    path: Path
    content_hash: str
    code_version: str
    input_hash: str
    rows: int


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a write; ``changed`` tells whether the content is another."""

    path: Path
    content_hash: str
    changed: bool
    rows: int


class TableStore:
    """The tables by group of one home.

    With ``only``, tables of other groups count as not there: those that the corpus
    no longer makes and that wait for their removal.
    """

    def __init__(self, home: Home, only: Collection[str] | None = None) -> None:
        self._home = home
        self._only = None if only is None else frozenset(only)

    def write(
        self, name: str, group: str, table: pa.Table, *, code_version: str, input_hash: str
    ) -> Written:
        """Make ``table`` the current one of its group.

        Nothing is written if content and versions are those of the current file.
        Raises ``SchemaError`` for a table that does not fit, or with rows of another group.
        """
        table = check(name, table)
        if not only_group(table, group):
            raise SchemaError(f"table {name}: rows of another group than {group}")
        content = content_hash(table)
        before = self._file(self._folder(name, group))
        wanted = (code_version, input_hash, content)
        if before and (before.code_version, before.input_hash, before.content_hash) == wanted:
            return Written(before.path, content, False, table.num_rows)
        number = 1 + (int(before.path.name.split("-")[0]) if before else 0)
        path = self._folder(name, group) / f"{number:08d}-{content[:12]}.parquet"
        values = (group, code_version, input_hash, content)
        table = table.replace_schema_metadata(dict(zip(_META, values, strict=True)))
        write_parquet(path, table)
        return Written(
            path, content, before is None or before.content_hash != content, table.num_rows
        )

    def read(self, name: str, group: str) -> pa.Table:
        """The current table of one group; empty where there is none."""
        file = self._file(self._folder(name, group))
        return self.read_files(name, [file.path] if file else [])

    def read_many(
        self, name: str, groups: Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
    ) -> pa.Table:
        """The current tables of these groups, or of all, in the order of their keys."""
        current = self.current(name, groups)
        wanted = sorted(current) if groups is None else [g for g in groups if g in current]
        return self.read_files(name, [current[g].path for g in wanted], columns)

    def read_files(
        self, name: str, paths: Sequence[Path], columns: Sequence[str] | None = None
    ) -> pa.Table:
        """The rows of these files, one after the other."""
        schema = schema_of(name)
        if columns is not None:
            schema = pa.schema([schema.field(c) for c in columns])
        if not paths:
            return schema.empty_table()
        try:
            source = ds.dataset([str(p) for p in paths], schema=schema, format="parquet")
            return source.to_table(columns=schema.names)
        except FileNotFoundError as error:
            raise HomeError(f"a file of table {name} is gone: run `okh build`") from error

    def current(
        self, name: str, groups: Collection[str] | None = None
    ) -> dict[str, TableFile]:
        """Group -> current file, of these groups or of all, in the order of keys."""
        folder = self._home.tables / name
        schema_of(name)
        if groups is not None:
            folders: Iterable[Path] = (self._folder(name, group) for group in groups)
        else:
            folders = folder.iterdir() if folder.is_dir() else ()
        found = [self._file(each) for each in folders]
        wanted = (f for f in found if f and (self._only is None or f.group in self._only))
        return {f.group: f for f in sorted(wanted, key=lambda f: f.group)}

    def versions(self, name: str, group: str) -> list[Path]:
        """Files of one table and group that are still there, oldest first."""
        return sorted(_versions(self._folder(name, group)))

    def rows(self, path: Path) -> int:
        """Number of rows of a file, from its footer."""
        return int(pq.read_metadata(path).num_rows)

    def remove(self, name: str, group: str) -> None:
        """Take the table of one group away, with all its versions."""
        folder = self._folder(name, group)
        if folder.is_dir():
            shutil.rmtree(folder)

    def prune(self, keep: Collection[str], *, before: bool = False) -> int:
        """Drop superseded files that are not in ``keep`` (relative paths); returns their number.

        With ``before`` the last version with another content stays, too: what a new
        one is compared with (`okh diff`).
        """
        dropped = 0
        for folder in self._home.tables.glob("*/*"):
            paths = sorted(_versions(folder))
            others = [p for p in paths if before and _content(p) != _content(paths[-1])]
            for path in paths[:-1]:
                if self.relative(path) not in keep and path not in others[-1:]:
                    path.unlink()
                    dropped += 1
        return dropped

    def relative(self, file: TableFile | Path) -> str:
        """A file's path inside the home, as snapshots keep it."""
        path = file.path if isinstance(file, TableFile) else file
        return path.relative_to(self._home.root).as_posix()

    def _folder(self, name: str, group: str) -> Path:
        return self._home.tables / name / f"{slug(group)[:60]}-{digest(group)[:8]}"

    def _file(self, folder: Path) -> TableFile | None:
        paths = sorted(_versions(folder))
        if not paths:
            return None
        try:
            meta = pq.read_metadata(paths[-1])
        except pa.ArrowInvalid as error:
            raise HomeError(f"{paths[-1]} is damaged: remove it and run `okh build`") from error
        values = {key.decode(): value.decode() for key, value in (meta.metadata or {}).items()}
        try:
            group, code_version, input_hash, content = (values[key] for key in _META)
        except KeyError as error:
            raise HomeError(f"{paths[-1]} is not a table of this program: remove it") from error
        return TableFile(group, paths[-1], content, code_version, input_hash, meta.num_rows)


def _versions(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from (p for p in folder.iterdir() if p.suffix == ".parquet" and p.name[0].isdigit())


def _content(path: Path) -> str:
    return path.stem.split("-")[1]


def content_hash(table: pa.Table) -> str:
    """SHA-256 over schema and values, however they lie in files, chunks or slices."""
    plain = table.combine_chunks().replace_schema_metadata(None)
    # Taken row by row into new buffers: a slice of a table may have others than its like.
    fresh = plain.take(pa.array(range(plain.num_rows), pa.int64()))
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, fresh.schema) as writer:
        writer.write_table(fresh)
    sink = hashlib.sha256(plain.schema.to_string().encode())
    sink.update(stream.getvalue())
    return sink.hexdigest()
