"""Documents into a home: read, kept by content, merged, and sorted into groups.

What is refused goes to the quarantine with its mend; the rest of the batch goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assets.corpus import Corpus, fingerprint, group_table, read_fingerprints
from okh.corpus.errors import CorpusError
from okh.corpus.ingestion import Note, ReadResult, read_path, unknown_ports
from okh.corpus.manifest import EMPTY, Manifest, read_manifest
from okh.corpus.merging import merge
from okh.corpus.places import load_ports
from okh.domain import Document, Group
from storage.home import Home
from storage.quarantine import Quarantined, add, list_items, remove
from storage.tombstones import Tombstone, lift, tombstones

STAGE = "ingest"
"""Stage under which refused files lie in the quarantine."""


@dataclass(frozen=True, slots=True)
class FileReport:
    """What became of one file (or of one part of a file)."""

    name: str
    taken_for: str
    documents: int
    blocks: int
    notes: tuple[str, ...]
    refused: str | None
    hashes: tuple[str, ...] = ()


@dataclass(slots=True)
class IngestReport:
    """What became of all."""

    files: list[FileReport] = field(default_factory=list)
    added: int = 0
    aliased: int = 0
    superseded: int = 0
    warnings: list[str] = field(default_factory=list)
    groups: int = 0
    changed: list[str] = field(default_factory=list)

    def by_kind(self) -> dict[str, tuple[int, int, int]]:
        """Kind -> (files, documents, blocks)."""
        kinds: dict[str, tuple[int, int, int]] = {}
        for file in self.files:
            files, documents, blocks = kinds.get(file.taken_for, (0, 0, 0))
            kinds[file.taken_for] = (files + 1, documents + file.documents, blocks + file.blocks)
        return dict(sorted(kinds.items()))

    @property
    def nothing_taken(self) -> bool:
        """Whether all that was given was refused."""
        return bool(self.files) and all(file.refused for file in self.files)

    def payload(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "files": [
                {"file": f.name, "taken_for": f.taken_for, "documents": f.documents,
                 "blocks": f.blocks, "notes": list(f.notes), "refused": f.refused}
                for f in self.files
            ],
            "added": self.added, "aliased": self.aliased, "superseded": self.superseded,
            "warnings": self.warnings, "groups": self.groups, "changed": self.changed,
        }


def ingest_paths(
    home: Home, paths: Iterable[Path], *, manifest: Path | None = None,
    ports: Path | None = None, radius_km: float | None = None,
    progress: Callable[[str], None] = lambda name: None,
) -> IngestReport:
    """Add files and folders to a home.

    Parameters
    ----------
    manifest, ports
        CSV files (:func:`okh.corpus.manifest.read_manifest`,
        :func:`okh.corpus.places.load_ports`); what they say is kept in the home.
    radius_km
        How near a forecast location must be to tie a port to a storm; kept, too.

    Raises
    ------
    CorpusError
        For an unreadable manifest or table of ports; then nothing is added.
    """
    hints = read_manifest(_csv(manifest), manifest.name) if manifest else EMPTY
    with home.lock("corpus"):
        changed_settings = _keep_settings(home, hints, ports, radius_km)
        report = IngestReport()
        found: list[Document] = []
        buried = {t.document.hash: t for t in tombstones(home)}
        for path in paths:
            for result in read_path(path, hints):
                progress(result.name)
                result = _without_forgotten(result, buried, report.warnings)
                _keep(home, result, path.absolute().parent / result.name)
                found += result.documents
                report.files.append(_file_report(result))
        lift(home, {document.hash for document in found} & set(buried))
        _add(home, found, report, changed_settings)
    return report


def _without_forgotten(
    result: ReadResult, buried: Mapping[str, Tombstone], warnings: list[str]
) -> ReadResult:
    """What was read without the documents that a person took out."""
    out = {
        d.hash for d in result.documents
        if d.hash in buried and buried[d.hash].reason == "forgotten"
    }
    if not out:
        return result
    warnings.append(
        f"{result.name}: {len(out)} documents were taken out with `okh forget` and stay out; "
        "`okh forget --undo` lets them in again"
    )
    return replace(
        result, documents=tuple(d for d in result.documents if d.hash not in out),
        raw={h: data for h, data in result.raw.items() if h not in out},
    )


def _add(
    home: Home, found: Sequence[Document], report: IngestReport, changed_settings: bool
) -> None:
    """Join what was read to the corpus, and make the groups concerned again."""
    corpus = Corpus(home)
    merged = merge(corpus.documents, found)
    corpus.save(merged.documents)
    report.added, report.aliased = len(merged.added), len(merged.aliased)
    report.superseded = len(merged.superseded)
    odd = unknown_ports(merged.added, corpus.ports)
    report.warnings += [str(note) for note in (*merged.warnings, *odd)]
    moved = (*merged.added, *merged.updated, *merged.superseded)
    # A storm that got a name leaves groups behind under its number: all of both are made again.
    touched = corpus.documents if changed_settings or merged.updated else moved
    report.changed = regroup(home, corpus, corpus.storm_years(touched))
    grouped = {Group.parse(key).storm_year for key in read_fingerprints(home)}
    report.warnings += [
        f"{storm}: no port is near what its documents name, so it has no group; name ports "
        "with --ports or widen --radius"
        for storm in sorted(corpus.storm_years(merged.added) - grouped)
    ]
    report.groups = len(read_fingerprints(home))


def regroup(home: Home, corpus: Corpus, storm_years: Iterable[str]) -> list[str]:
    """Make the groups of these storm-years again; returns the keys that are new or changed."""
    wanted = set(storm_years)
    before = read_fingerprints(home)
    after = {k: v for k, v in before.items() if Group.parse(k).storm_year not in wanted}
    for storm_year in sorted(wanted):
        for group, views in corpus.groups(storm_year).items():
            after[group.key] = (fingerprint(views), len(views))
    home.write_table("groups", group_table(after))
    return sorted(key for key, value in after.items() if before.get(key) != value)


def retry_refused(home: Home) -> IngestReport:
    """Read the refused files that still lie where they lay; what can be read now is added."""
    items = [item for item in list_items(home) if item.stage == STAGE and item.file]
    paths = sorted({Path(item.file) for item in items if Path(item.file).exists()})
    remove(home, [item.id for item in items if Path(item.file) in paths])
    return ingest_paths(home, paths)


def _csv(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise CorpusError(path.name, "", "not UTF-8 text", "Save it as CSV in UTF-8.") from error


def _keep_settings(
    home: Home, hints: Manifest, ports: Path | None, radius_km: float | None
) -> bool:
    """Write what changes how groups are made; returns whether anything did."""
    new: dict[str, Any] = {}
    if ports is not None:
        new["ports_csv"] = _csv(ports)
        load_ports(new["ports_csv"], ports.name)
    if radius_km is not None:
        new["radius_km"] = radius_km
    if hints.landfalls:
        known = dict(home.settings.get("landfall", {}))
        new["landfall"] = known | {k: t.isoformat() for k, t in hints.landfalls.items()}
    changed = {k: v for k, v in new.items() if home.settings.get(k) != v}
    if changed:
        home.update_settings(**changed)
    return bool(changed)


def _keep(home: Home, result: ReadResult, path: Path) -> None:
    """Keep originals, and what could not be read."""
    for digest, data in result.raw.items():
        if not home.has_raw(digest):
            home.put_raw(digest, data)
    faults = [_unread(note, path) for note in result.notes if note.level == "problem"]
    if result.refused is not None:
        faults.append(_refused(result.refused, path))
    if faults:
        add(home, faults)


def _refused(error: CorpusError, path: Path) -> Quarantined:
    return Quarantined(
        stage=STAGE, file=str(path), place=error.place, problem=error.problem, mend=error.mend,
        at=datetime.now(UTC),
    )


def _unread(note: Note, path: Path) -> Quarantined:
    return Quarantined(
        stage=STAGE, file=str(path), place=note.place, problem=note.problem, mend=note.mend,
        document=note.document or "", block=note.block or "", at=datetime.now(UTC),
    )


def _file_report(result: ReadResult) -> FileReport:
    return FileReport(
        name=result.name, taken_for=result.taken_for, documents=len(result.documents),
        blocks=sum(len(blocks) for blocks in result.blocks.values()),
        notes=tuple(str(note) for note in result.notes),
        refused=str(result.refused) if result.refused else None,
        hashes=tuple(d.hash for d in result.documents),
    )
