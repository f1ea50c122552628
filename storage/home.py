"""The home: one folder where documents, tables, vectors, models and traces lie.

Every write is whole or not at all (temporary file, then rename), so that a crash
leaves the last good version readable. Names from documents never become paths:
files are named by digests and slugs.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import socket
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from okh.domain import OkhError
from storage.schemas import check, schema_of

FORMAT = 1
"""Format of a home; a newer one is refused."""

TEMPORARY = ".tmp-"
"""Beginning of the names of files that are still being written, or were when a process died."""

_HASH = re.compile(r"[0-9a-f]{64}")


class HomeError(OkhError):
    """A home that is not there, is of another format, or is damaged."""


class Home:
    """A home on a local disk; see :meth:`open`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.raw = root / "raw"
        self.tables = root / "tables"
        self.lance = root / "lance"
        self.models = root / "models"
        self.cache = root / "cache"
        self.traces = root / "traces"
        self.snapshots = root / "snapshots"

    @classmethod
    def open(cls, root: str | Path, *, create: bool = False) -> Home:
        """The home at ``root``.

        Raises ``HomeError`` if there is none (and ``create`` is off), if it is a file,
        if it is damaged, or if a newer program made it.
        """
        home = cls(Path(root).expanduser().absolute())
        marker = home.root / "home.json"
        if not marker.exists():
            if not create:
                raise HomeError(
                    f"{home.root} is not a home: `okh ingest PATH…` makes one, "
                    "OKH_HOME or --home names another"
                )
            if (home.root / "corpus.parquet").exists() or home.raw.exists():
                raise HomeError(
                    f"{marker} is gone, and with it what the home was told (ports, radius): "
                    "restore it from a copy"
                )
            if home.root.exists() and not home.root.is_dir():
                raise HomeError(f"{home.root} is a file, not a folder")
            home.root.mkdir(parents=True, exist_ok=True)
            with home.lock("home"):
                if not marker.exists():  # another process may have been here in between
                    empty = {"format": FORMAT, "settings": {}}
                    atomic_write(marker, json.dumps(empty).encode())
        found = home._marker().get("format")
        if not isinstance(found, int) or found > FORMAT:
            raise HomeError(
                f"{home.root} has format {found}, this program reads up to {FORMAT}: "
                "use a newer okh-rag"
            )
        return home

    # --- settings -----------------------------------------------------------------------

    @property
    def settings(self) -> dict[str, Any]:
        """What the home was told once and keeps: ports, radius, landfalls, embedder."""
        return dict(self._marker().get("settings", {}))

    def update_settings(self, **values: Any) -> None:
        """Change some settings; the others stay."""
        with self.lock("home"):
            marker = self._marker()
            marker["settings"] = {**marker.get("settings", {}), **values}
            atomic_write(
                self.root / "home.json", json.dumps(marker, ensure_ascii=False, indent=1).encode()
            )

    def _marker(self) -> dict[str, Any]:
        return read_json(self.root / "home.json", mend="restore it from a copy")

    # --- original documents -------------------------------------------------------------

    def has_raw(self, digest: str) -> bool:
        """Whether the original of this document is kept."""
        return self._raw_path(digest).exists()

    def put_raw(self, digest: str, data: bytes) -> None:
        """Keep an original under its SHA-256. Raises ``HomeError`` if it is not its digest."""
        path = self._raw_path(digest)
        if hashlib.sha256(data).hexdigest() != digest:
            raise HomeError(f"the bytes do not have the digest {digest[:12]}")
        atomic_write(path, data)

    def raw_bytes(self, digest: str) -> bytes:
        """The original of a document. Raises ``HomeError`` if it is gone or was changed."""
        path = self._raw_path(digest)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise HomeError(f"{path} is gone: ingest the document again") from None
        if hashlib.sha256(data).hexdigest() != digest:
            raise HomeError(f"{path} was changed: ingest the document again")
        return data

    def remove_raw(self, digest: str) -> None:
        """Take an original away."""
        self._raw_path(digest).unlink(missing_ok=True)

    def sweep(self) -> int:
        """Remove what processes that died left half-written; returns the number of files."""
        left = [p for p in sorted(self.root.rglob(f"{TEMPORARY}*"), reverse=True) if _left(p)]
        for path in left:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        return len(left)

    def _raw_path(self, digest: str) -> Path:
        if not _HASH.fullmatch(digest):
            raise HomeError(f"{digest[:12]!r} is not a SHA-256")
        return self.raw / digest[:2] / digest

    # --- tables of the home -------------------------------------------------------------

    def write_table(self, name: str, table: pa.Table) -> None:
        """Replace a table of the home (``corpus``, ``groups``, ``quarantine``)."""
        write_parquet(self.root / f"{name}.parquet", check(name, table))

    def read_table(self, name: str) -> pa.Table:
        """A table of the home; empty before it was first written."""
        path = self.root / f"{name}.parquet"
        if not path.exists():
            return schema_of(name).empty_table()
        try:
            return check(name, pq.read_table(path, partitioning=None))
        except pa.ArrowInvalid as error:
            raise HomeError(f"{path} is damaged: restore it from a copy") from error

    @contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """One writer at a time, across processes; released when its process dies."""
        folder = self.root / "locks"
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / f"{name}.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def read_json(path: Path, *, mend: str) -> dict[str, Any]:
    """The JSON object in a file. Raises ``HomeError`` with the mend if it holds none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # not JSON, or not even text
        raise HomeError(f"{path} is damaged: {mend}") from error
    if not isinstance(found, dict):
        raise HomeError(f"{path} is damaged: {mend}")
    return found


def atomic_write(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    with _whole(path) as file:
        file.write(data)


def write_parquet(path: Path, table: pa.Table) -> None:
    """Write a Parquet file whole or not at all."""
    with _whole(path) as file:
        pq.write_table(table, file, compression="zstd")


def temporary_name() -> str:
    """A name for what is being written, which tells host and process, so that others can sweep."""
    return f"{TEMPORARY}{_HOST}-{os.getpid()}-{uuid.uuid4().hex}"


_HOST = hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]
_DAY = 86400.0


def _left(path: Path) -> bool:
    """Whether nobody writes to a temporary file any more: its process is dead, or a day is gone."""
    name = re.fullmatch(rf"{re.escape(TEMPORARY)}{_HOST}-(\d+)-[0-9a-f]+", path.name)
    try:
        if name is None:
            return time.time() - path.stat().st_mtime > _DAY
        os.kill(int(name[1]), 0)
    except ProcessLookupError:
        return True
    except (FileNotFoundError, PermissionError):  # gone by now, or another user's process
        return False
    return False


@contextmanager
def _whole(path: Path) -> Iterator[IO[bytes]]:
    """A file that takes the place of ``path`` once its block ends without an error.

    It is on the disk before it gets its name: a power cut leaves no empty file there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not tempfile's: those are readable by their owner alone, whatever the umask.
    temporary = path.with_name(temporary_name())
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
