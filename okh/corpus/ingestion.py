"""From files to documents and blocks: reading, dating, and what was refused and why.

``read_path`` walks files and folders, ``read_bytes`` reads one file, and
``blocks_of`` cuts a stored document again, into the same blocks. One bad file,
row or line is refused alone; nothing here raises for what a file holds.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Literal

from okh.corpus import bulletin, wind_table
from okh.corpus.advisory import parse_advisory, truncated_at
from okh.corpus.bulletin import parse_bulletins
from okh.corpus.errors import CorpusError
from okh.corpus.groups import known_lead
from okh.corpus.manifest import EMPTY, Hints, Manifest, hints_of_name
from okh.corpus.places import PortTable
from okh.corpus.recognition import (
    MAX_BYTES,
    Refusal,
    decode,
    recognise,
    unpack,
    whole_json,
)
from okh.corpus.scenario import (
    Subject,
    parse_scenario,
    read_events,
    repeated_horizons,
)
from okh.corpus.wind_table import parse_wind_table
from okh.domain import Block, Document, DocumentKind, horizon_label
from okh.vocabulary import is_number_name

__all__ = [
    "Note", "ReadResult", "blocks_of", "read_bytes", "read_path", "unknown_ports",
]

Level = Literal["info", "warning", "problem"]


@dataclass(frozen=True, slots=True)
class Note:
    """Something to say about a file that was read.

    ``level`` is ``problem`` where a part of it could not be read (these belong in
    the quarantine), ``warning`` where a rule had to choose, else ``info``. ``code``
    is one word for all notes of a sort, so that a report can count them.
    """

    code: str
    level: Level
    file: str
    place: str
    problem: str
    mend: str
    document: str | None = None
    block: str | None = None

    @classmethod
    def of(cls, code: str, level: Level, error: CorpusError, document: str | None = None) -> Note:
        return cls(code, level, error.file, error.place, error.problem, error.mend, document)

    def __str__(self) -> str:
        return str(CorpusError(self.file, self.place, self.problem, self.mend))


@dataclass(frozen=True, slots=True)
class ReadResult:
    """What came of one file.

    ``taken_for`` is what it was recognised as (``advisory``, ``events``,
    ``questions`` …). ``blocks`` and ``raw`` are keyed by document hash; ``raw`` holds
    the bytes to keep: ``decode(raw[hash])`` is the document's text. ``refused`` is
    the error of a file of which nothing was read.
    """

    name: str
    taken_for: str
    documents: tuple[Document, ...] = ()
    blocks: Mapping[str, tuple[Block, ...]] = field(default_factory=dict)
    raw: Mapping[str, bytes] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    refused: CorpusError | None = None


# --- one file -------------------------------------------------------------------------


def read_bytes(
    data: bytes,
    name: str,
    hints: Hints | None = None,
    landfalls: Mapping[str, datetime] | None = None,
) -> ReadResult:
    """Read one file.

    Parameters
    ----------
    data
        Its bytes; a gzip envelope is taken off.
    name
        Name it came under, for errors and, without ``hints``, for storm, year, port, lead.
    hints
        What a manifest and the name say (:meth:`Manifest.hints`).
    landfalls
        Storm-year -> expected landfall (UTC), to date what has no lead otherwise.

    Returns
    -------
    ReadResult
        One document for a file, one for each readable row of an events file.
    """
    hints = hints_of_name(name) if hints is None else hints
    try:
        data = unpack(data, name)
    except CorpusError as error:
        return ReadResult(name, "unreadable file", refused=error)
    kind = recognise(data, name, subject_known=hints.stated)
    if isinstance(kind, Refusal):
        return ReadResult(name, kind.what, refused=kind.error(name))
    text = decode(data)
    assert text is not None, "recognise refuses what is no text"
    if kind == "events":
        return _read_events(text, name)
    doc_hash = hashlib.sha256(data).hexdigest()
    subject = Subject(hints.storm, hints.year, hints.port)
    try:
        parsed, blocks = _parse(kind, text, doc_hash, name, subject)
        document, notes = _dated(parsed, blocks, hints, landfalls or {})
    except CorpusError as error:
        return ReadResult(name, kind, refused=error)
    dressed = _dressed(document, blocks)
    notes += _problems(document, dressed)
    return ReadResult(
        name, kind, (document,), {doc_hash: dressed}, {doc_hash: data}, tuple(notes)
    )


def blocks_of(document: Document) -> list[Block]:
    """Cut a stored document again: the same blocks that :func:`read_bytes` gave with it.

    A pure function of the document, its storm, year, port and lead included.

    Raises
    ------
    CorpusError
        If the text is not that of a document that was read.
    """
    subject = Subject(document.storm, document.year, document.port)
    _, blocks = _parse(
        document.kind, document.text, document.hash, document.names[0], subject
    )
    return list(_dressed(document, blocks))


def _parse(
    kind: DocumentKind, text: str, doc_hash: str, name: str, subject: Subject
) -> tuple[Document, list[Block]]:
    if kind == "advisory":
        return parse_advisory(text, doc_hash, name)
    if kind == "wind_table":
        return parse_wind_table(text, doc_hash, name)
    if kind == "bulletin":
        return parse_bulletins(text, doc_hash, name)
    return parse_scenario(text, doc_hash, name, subject)


def _dressed(document: Document, blocks: Iterable[Block]) -> tuple[Block, ...]:
    """The blocks with what the document's metadata decides: storm and year, and the lead."""
    if document.kind == "bulletin":
        return tuple(blocks)
    dressed = []
    for block in blocks:
        # A scenario's lead is set where it has no horizon of its own: see _dated.
        lead = document.lead if block.lead is None else block.lead
        dressed.append(replace(
            block, storm=document.storm, year=document.year, port=document.port, lead=lead
        ))
    return tuple(dressed)


def _dated(
    parsed: Document, blocks: list[Block], hints: Hints, landfalls: Mapping[str, datetime]
) -> tuple[Document, list[Note]]:
    """The document with storm, year and lead decided, and what is to be said about it."""
    if parsed.kind == "bulletin":
        return parsed, []
    if parsed.kind == "scenario":
        return _dated_scenario(parsed, blocks, hints)
    document, notes = _named(parsed, hints)
    lead, source = hints.lead, hints.lead_source
    landfall = hints.landfall or landfalls.get(f"{document.storm}-{document.year}")
    if lead is None and landfall is not None and document.issued is not None:
        lead, source = known_lead(document.issued, landfall), "landfall"
    if lead is None:
        notes.append(_no_lead(document))
    return replace(document, lead=lead, lead_source=source), notes


def _named(parsed: Document, hints: Hints) -> tuple[Document, list[Note]]:
    """A product's storm and year: manifest, then its title, then its file name.

    A title that bears a number (``NINE``) gives way to the name that the file has.
    """
    storm, year = parsed.storm, parsed.year
    notes: list[Note] = []
    if hints.storm and hints.storm != storm:
        if hints.stated or storm is None or is_number_name(storm):
            storm = hints.storm
        else:
            notes.append(_differs(parsed, "storm"))
    if hints.year and hints.year != year:
        if hints.stated:
            year = hints.year
        else:
            notes.append(_differs(parsed, "year"))
    return replace(parsed, storm=storm, year=year), notes


def _dated_scenario(
    parsed: Document, blocks: list[Block], hints: Hints
) -> tuple[Document, list[Note]]:
    missing = [
        word for word, value in
        (("storm", parsed.storm), ("year", parsed.year), ("port", parsed.port)) if not value
    ]
    if missing:
        raise CorpusError(
            parsed.names[0], "first lines", f"the scenario does not say its {', '.join(missing)}",
            "Write lines such as 'Storm: …', 'Year: …', 'Port: …' on top, name the file "
            "STORM_YEAR_Port.txt, or list it in a manifest.",
        )
    if any(block.lead is not None for block in blocks):
        return replace(parsed, lead_source="scenario"), []
    notes = [] if hints.lead is not None else [_no_lead(parsed)]
    return replace(parsed, lead=hints.lead, lead_source=hints.lead_source), notes


def _no_lead(document: Document) -> Note:
    by_time = document.issued is not None
    return Note(
        "no-lead", "warning", document.names[0], "",
        "nothing gives its lead time"
        + (", so its facts are ordered by time of issuance" if by_time else ""),
        "Horizons come from a file name that ends in _48h, from a manifest with a lead for each "
        "file" + (", or from a manifest with the storm's landfall time." if by_time
                  else ", or from headers such as 'T-48 hours before expected landfall:'."),
        document.hash,
    )


def _differs(document: Document, what: str) -> Note:
    return Note(
        f"{what}-differs", "warning", document.names[0], "title",
        f"the product names another {what} than the file does; the product is believed",
        "Rename the file, or give the right one in a manifest.", document.hash,
    )


def _problems(document: Document, blocks: tuple[Block, ...]) -> list[Note]:
    """What of a parsed document could not be read, or had to be read with a doubt."""
    key, name = document.hash, document.names[0]
    if document.kind == "wind_table":
        return [Note.of("unreadable-part", "problem", error, key)
                for error in wind_table.problems(document, blocks)]
    if document.kind == "bulletin":
        return [Note.of("unreadable-row", "problem", error, key)
                for error in bulletin.problems(document, blocks)]
    if document.kind == "scenario":
        return [
            Note(
                "repeated-horizon", "warning", name, horizon_label(lead),
                "this horizon has more than one header; all its blocks are read",
                "Join them, or correct the lead of one.", key,
            )
            for lead in repeated_horizons(list(blocks))
        ]
    place = truncated_at(document.text)
    if place is None:
        return []
    return [Note(
        "truncated", "problem", name, place, "the product stops in this section",
        "What is there is read; fetch the whole product to have the rest.", key,
    )]


def _read_events(text: str, name: str) -> ReadResult:
    rows = whole_json(text)
    if rows:
        text = "\n".join(json.dumps(row) for row in rows)
    errors: list[CorpusError] = []
    documents: dict[str, Document] = {}
    blocks: dict[str, tuple[Block, ...]] = {}
    notes: list[Note] = []
    for parsed, cut in read_events(text, name, errors.append):
        try:
            document, _ = _dated_scenario(parsed, cut, Hints())
        except CorpusError as error:
            errors.append(error)
            continue
        known = documents.get(document.hash)
        if known is not None:
            document = replace(known, names=tuple(dict.fromkeys((*known.names, *document.names))))
        documents[document.hash] = document
        blocks[document.hash] = _dressed(document, cut)
        notes += _problems(document, blocks[document.hash])
    notes += [Note.of("unreadable-row", "problem", error) for error in errors]
    if not documents:
        return ReadResult(name, "events", notes=tuple(notes), refused=CorpusError(
            name, "", "no row of the file could be read", str(errors[0].mend) if errors else ""
        ))
    raw = {key: document.text.encode() for key, document in documents.items()}
    return ReadResult(name, "events", tuple(documents.values()), blocks, raw, tuple(notes))


def unknown_ports(documents: Iterable[Document], ports: PortTable) -> list[Note]:
    """A note for each port that a scenario names and no table knows, one a port."""
    notes: dict[str, Note] = {}
    for document in documents:
        port = document.port
        if port and port not in notes and ports.resolve(port) is None:
            notes[port] = Note(
                "unknown-port", "warning", document.names[0], "port",
                "no table of ports knows the port; its group has no coordinates, so no "
                "forecast location or coast is tied to it",
                "Correct the name, or give a table with name, lat and lon by --ports.",
                document.hash,
            )
    return list(notes.values())


# --- files and folders ----------------------------------------------------------------


def read_path(path: str | os.PathLike[str], manifest: Manifest = EMPTY) -> Iterator[ReadResult]:
    """Read a file, or all files below a folder in the order of their names.

    Hidden files and folders are passed over; links to folders are not followed.
    A file is called by its path from the folder's own name on.

    Yields
    ------
    ReadResult
        One for each file, as it is read. A path that does not exist, and an
        empty folder, give one result that is refused.
    """
    root = Path(path)
    if root.is_dir():
        base = root.resolve().name
        empty = True
        for found in _files(root):
            empty = False
            name = "/".join(part for part in (base, found.relative_to(root).as_posix()) if part)
            yield _read_file(found, _printable(name), manifest)
        if empty:
            yield ReadResult(_printable(str(root)), "empty folder", refused=CorpusError(
                _printable(str(root)), "", "the folder holds no file", "Give another one."
            ))
    else:
        yield _read_file(root, _printable(root.name or str(root)), manifest)


def _files(root: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(root):
        # os.walk goes down the folders that are left here, in this order.
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        for file in sorted(files):
            if not file.startswith("."):
                yield Path(folder, file)


def _printable(name: str) -> str:
    """A file name with bytes that are no text replaced, so that it can be shown and stored."""
    return os.fsencode(name).decode("utf-8", "replace")


def _read_file(path: Path, name: str, manifest: Manifest) -> ReadResult:
    try:
        if not path.exists():
            raise CorpusError(name, "", "there is no such file", "Check the path.")
        if not path.is_file():
            raise CorpusError(name, "", "it is no regular file", "Give a file or a folder.")
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except CorpusError as error:
        return ReadResult(name, "unreadable file", refused=error)
    except OSError as error:
        problem = f"the file cannot be opened ({error.strerror})"
        return ReadResult(name, "unreadable file", refused=CorpusError(
            name, "", problem, "Check its permissions, or copy it elsewhere."
        ))
    return read_bytes(data, name, manifest.hints(name), manifest.landfalls)
