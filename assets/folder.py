"""A watched folder of documents: what came, what changed and what went since it was last read.

What was read lies in the home (``folder.json``): path -> digest of the file, and the
documents that were in it. It is written last, so that a reading that was cut short
is repeated; reading twice changes nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from assets.corpus import Corpus
from assets.deletion import bury
from assets.ingest import ingest_paths
from okh.domain import OkhError
from storage.home import Home, atomic_write, read_json

MANIFEST = "manifest.csv"
"""A file of this name at the top of the folder says storm, year, lead and port of the others."""


class FolderError(OkhError):
    """A watched folder that is not there."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A file as it was read."""

    size: int
    modified: int
    digest: str
    documents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FolderReport:
    """What one look at the folder did; ``left`` files wait for the next."""

    read: int
    gone: int
    left: int
    groups: tuple[str, ...]


def refresh_folder(home: Home, folder: Path, *, limit: int | None = None) -> FolderReport:
    """Add what is new or changed, take out what is gone.

    Parameters
    ----------
    limit
        Files to read at most; those left are read the next time.

    Raises
    ------
    FolderError
        If the folder is not there: an unmounted disk must not look like a deletion.
    """
    if not folder.is_dir():
        raise FolderError(f"the documents' folder {folder} is not there: mount or make it")
    with home.lock("folder"):
        before = _seen(home)
        present = _scan(folder, before)
        manifest = folder / MANIFEST
        again = _digest(present.get(MANIFEST)) != _digest(before.get(MANIFEST))
        todo = [
            name for name, seen in present.items() if name != MANIFEST
            and (again or _digest(before.get(name)) != seen.digest)
        ]
        now = sorted(todo)[:limit]
        late = set(todo) - set(now)
        changed: set[str] = set()
        if now:
            report = ingest_paths(
                home, [folder / name for name in now],
                manifest=manifest if manifest.is_file() else None,
            )
            changed |= set(report.changed)
            for name, file in zip(now, report.files, strict=True):
                present[name] = Seen(**{**asdict(present[name]), "documents": file.hashes})
        after = {
            name: before.get(name) if name in late else seen for name, seen in present.items()
        }
        if late and MANIFEST in after and again:
            after[MANIFEST] = before.get(MANIFEST)
        kept = {name: seen for name, seen in after.items() if seen is not None}
        held = {h for seen in kept.values() for h in seen.documents}
        lost = {h for seen in before.values() for h in seen.documents} - held
        gone = [d for d in Corpus(home).documents if d.hash in lost]
        if gone:
            changed |= set(bury(home, gone, "folder"))
        if kept != before:
            data = {name: asdict(seen) for name, seen in kept.items()}
            atomic_write(home.root / "folder.json", json.dumps(data).encode())
    return FolderReport(len(now), len(gone), len(late), tuple(sorted(changed)))


def _digest(seen: Seen | None) -> str:
    return seen.digest if seen else ""


def _seen(home: Home) -> dict[str, Seen]:
    path = home.root / "folder.json"
    if not path.exists():
        return {}
    rows = read_json(path, mend="remove it: the folder is then read as a new one")
    return {
        name: Seen(**{**row, "documents": tuple(row["documents"])}) for name, row in rows.items()
    }


def _scan(folder: Path, before: Mapping[str, Seen]) -> dict[str, Seen]:
    """Files below the folder; one of the same size and time as before is not read again."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if any(part.startswith(".") for part in name.parts) or not path.is_file():
            continue
        stat, known = path.stat(), before.get(name.as_posix())
        if known and (known.size, known.modified) == (stat.st_size, stat.st_mtime_ns):
            found[name.as_posix()] = known
            continue
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        documents = known.documents if known and known.digest == digest else ()
        found[name.as_posix()] = Seen(stat.st_size, stat.st_mtime_ns, digest, documents)
    return found
