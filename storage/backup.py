"""A home in one archive, as its published snapshot has it, and back.

Tables are those that the snapshot names; SQLite files are copied by SQLite itself;
of the vectors the manifests come first, because what a manifest names is there
before it. So a build may go on meanwhile; a deletion may not.
"""

from __future__ import annotations

import sqlite3
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from storage.home import TEMPORARY, Home, HomeError, temporary_name
from storage.publish import snapshot

_WHOLE = ("raw", "models", "traces")
_FILES = ("home.json", "folder.json", "prices.csv")


def save_backup(home: Home, target: Path) -> int:
    """Write the archive; returns its size in bytes. Raises ``HomeError`` if it is there."""
    if target.exists():
        raise HomeError(f"{target} is there already: name another file")
    unfinished = target.with_name(temporary_name())
    try:
        with home.lock("corpus"), home.lock("publish"), tarfile.open(unfinished, "w:gz") as tar:
            for path in _members(home):
                tar.add(path, path.relative_to(home.root).as_posix(), recursive=False)
            _add_databases(home, tar)
        unfinished.rename(target)
    finally:
        unfinished.unlink(missing_ok=True)
    return target.stat().st_size


def restore_backup(source: Path, root: Path) -> Home:
    """Make a home from an archive.

    Raises ``HomeError`` if something lies at ``root``, or the archive cannot be read.
    """
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise HomeError(f"{root} is not empty: restore into another folder, then exchange them")
    root.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=TEMPORARY, dir=root.parent) as folder:
        try:
            with tarfile.open(source) as tar:
                tar.extractall(folder, filter="data")
        except (OSError, EOFError, tarfile.TarError) as error:
            raise HomeError(f"{source} is not a whole archive of `okh backup`") from error
        made = Path(folder) / "home"
        made.mkdir()
        for path in Path(folder).iterdir():
            if path != made:
                path.rename(made / path.name)
        Home.open(made)
        if root.exists():
            root.rmdir()
        made.rename(root)
    return Home.open(root)


def _members(home: Home) -> Iterator[Path]:
    """Files of the archive, in an order in which nothing names what comes too late."""
    yield from (home.root / name for name in _FILES if (home.root / name).exists())
    published = snapshot(home)
    if published is not None:
        yield home.root / "published.json"
        for files in published.files.values():
            yield from (home.root / path for path in files.values())
    lance = [p for p in sorted(home.lance.rglob("*")) if p.is_file()]
    yield from sorted(lance, key=lambda p: p.parent.name != "_versions")
    yield from sorted(home.root.glob("*.parquet"))
    for name in _WHOLE:
        for path in sorted((home.root / name).rglob("*")):
            if path.is_file() and TEMPORARY not in path.as_posix():
                yield path


def _add_databases(home: Home, tar: tarfile.TarFile) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(home.cache.glob("*.sqlite")):
            copy = Path(folder) / path.name
            with closing(sqlite3.connect(path)) as base, closing(sqlite3.connect(copy)) as other:
                base.backup(other)
            tar.add(copy, path.relative_to(home.root).as_posix())
