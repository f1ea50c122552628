"""What a user says about files: a CSV of their storms, years, leads and ports.

A file's name says the same where it follows ``STORM_YEAR[_Port][_48h]``; the
manifest decides over the name.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import PurePosixPath

from okh.corpus.errors import CorpusError
from okh.corpus.scenario import MAX_LEAD, lead_of_name, subject_of_name
from okh.domain import slug

__all__ = ["EMPTY", "Hints", "Manifest", "hints_of_name", "read_manifest"]

COLUMNS = ("file", "storm", "year", "lead", "port", "landfall")
_MEND = (
    "A manifest is a CSV with the columns file, storm, year and lead, and optionally port and "
    "landfall (such as 2017-09-10T13:00Z)."
)


@dataclass(frozen=True, slots=True)
class Hints:
    """What is known of a file beside its content.

    ``storm`` is an upper-case slug, ``port`` a name as printed, ``lead`` in hours
    before landfall; ``lead_source`` says who gave it (``manifest`` or ``name``),
    ``landfall`` is the expected landfall of the storm (UTC). ``stated`` tells that a
    manifest lists the file.
    """

    storm: str | None = None
    year: int | None = None
    port: str | None = None
    lead: int | None = None
    lead_source: str | None = None
    landfall: datetime | None = None
    stated: bool = False


def hints_of_name(name: str) -> Hints:
    """Storm, year, port and lead from a name like ``IRMA_2017_48h.txt``."""
    subject, lead = subject_of_name(name), lead_of_name(name)
    source = "name" if lead is not None else None
    return Hints(subject.storm, subject.year, subject.port, lead, source)


@dataclass(frozen=True, slots=True)
class Manifest:
    """Hints by file, and landfall by storm-year (``IRMA-2017``)."""

    files: Mapping[str, Hints] = field(default_factory=dict)
    landfalls: Mapping[str, datetime] = field(default_factory=dict)

    def hints(self, name: str) -> Hints:
        """Everything known of a file: the manifest's row for it, its gaps filled from its name.

        A row is found by the longest end of the path that the manifest lists
        (``nhc/IRMA.txt`` before ``IRMA.txt``), with or without ``.gz``.
        """
        by_name = hints_of_name(name)
        row = next((self.files[key] for key in _path_ends(name) if key in self.files), None)
        known = by_name if row is None else _filled(row, by_name)
        if known.landfall is None and known.storm is not None and known.year is not None:
            known = replace(known, landfall=self.landfalls.get(f"{known.storm}-{known.year}"))
        return known


EMPTY = Manifest()


def _filled(row: Hints, name: Hints) -> Hints:
    lead_from = row if row.lead is not None else name
    return Hints(
        row.storm or name.storm, row.year or name.year, row.port or name.port,
        lead_from.lead, lead_from.lead_source, row.landfall, True,
    )


def _path_ends(name: str) -> Iterator[str]:
    parts = PurePosixPath(name.replace("\\", "/")).parts
    for first in range(len(parts)):
        end = "/".join(parts[first:])
        yield end
        if end.lower().endswith(".gz"):
            yield end[:-3]


def read_manifest(text: str, name: str = "manifest") -> Manifest:
    """Read a manifest.

    Parameters
    ----------
    text
        CSV with the columns file, storm, year, lead, and optionally port and
        landfall (ISO time, UTC unless it names a zone), in any order. A cell
        may be empty; a row without file gives its storm's landfall alone.
    name
        Name that errors show.

    Raises
    ------
    CorpusError
        For a missing column, or a cell that cannot be read, with its line. A
        manifest is refused whole: half of one would date half of the files.
    """
    reader = csv.DictReader(io.StringIO(text.lstrip("\ufeff")))
    columns = {(c or "").strip().casefold() for c in reader.fieldnames or ()}
    missing = [c for c in COLUMNS[:3] if c not in columns]
    if not {"lead", "landfall"} & columns:
        missing.append("lead")
    if missing:
        raise CorpusError(name, "header line", f"columns missing: {', '.join(missing)}", _MEND)
    files: dict[str, Hints] = {}
    landfalls: dict[str, datetime] = {}
    for row in reader:
        cells = {
            key.strip().casefold(): (value or "").strip()
            for key, value in row.items()
            if isinstance(key, str) and not isinstance(value, list)
        }
        if not any(cells.values()):
            continue
        hints = _row(cells, name, reader.line_num)
        if hints.landfall is not None and hints.storm is not None and hints.year is not None:
            landfalls[f"{hints.storm}-{hints.year}"] = hints.landfall
        file = cells.get("file", "").replace("\\", "/").removeprefix("./")
        if file:
            files[file] = hints
        elif hints.landfall is None:
            raise CorpusError(name, f"line {reader.line_num}", "the row names no file", _MEND)
    return Manifest(files, landfalls)


def _row(cells: Mapping[str, str], name: str, line: int) -> Hints:
    def refuse(column: str, problem: str) -> CorpusError:
        return CorpusError(name, f"line {line}, column {column}", problem, _MEND)

    storm = slug(cells.get("storm", "")).upper()
    if cells.get("storm") and not storm:
        raise refuse("storm", "the storm has no letter or digit")
    year = cells.get("year", "")
    if year and not re.fullmatch(r"(?:18|19|20|21)\d\d", year):
        raise refuse("year", "the year is no four-digit year")
    lead_match = re.fullmatch(r"(?:T\s*-\s*)?([+-]?\d{1,3})\s*h?", cells.get("lead", ""), re.I)
    if cells.get("lead") and (lead_match is None or abs(int(lead_match[1])) > MAX_LEAD):
        raise refuse("lead", "the lead is no number of hours before landfall")
    lead = int(lead_match[1]) if lead_match else None
    landfall = _moment(cells.get("landfall", ""))
    if cells.get("landfall") and landfall is None:
        raise refuse("landfall", "the landfall is no ISO time")
    return Hints(
        storm or None, int(year) if year else None, cells.get("port") or None,
        lead, None if lead is None else "manifest", landfall, True,
    )


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
