"""What could not be read: one row a fault, with its place and its mend."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime

import pyarrow as pa

from okh.domain import digest
from storage.home import Home
from storage.schemas import schema_of


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A fault of one file, document, block or group at one stage of the pipeline.

    ``reply`` is what an extractor answered, where one did.
    """

    stage: str
    problem: str
    mend: str
    group: str = ""
    document: str = ""
    block: str = ""
    file: str = ""
    place: str = ""
    reply: str = ""
    at: datetime | None = None

    @property
    def id(self) -> str:
        """The same fault has the same id, however often it is met."""
        return digest(
            self.stage, self.group, self.document, self.block, self.file, self.place, self.problem
        )[:16]


_FIELDS = tuple(field.name for field in fields(Quarantined))


def add(home: Home, items: Iterable[Quarantined]) -> None:
    """Put faults into the quarantine; one that is there already stays one row."""
    _change(home, (), items)


def remove(home: Home, ids: Collection[str]) -> None:
    """Take faults out."""
    _change(home, ids, ())


def replace_stage(home: Home, stage: str, group: str, items: Sequence[Quarantined]) -> None:
    """Put ``items`` in place of the group's faults at this stage; writes only what changes."""
    with home.lock("quarantine"):
        known = list_items(home)
        own = {i.id for i in known if i.stage == stage and i.group == group}
        if own != {i.id for i in items}:
            _write(home, [*(i for i in known if i.id not in own), *items])


def list_items(home: Home) -> list[Quarantined]:
    """All faults, oldest first."""
    return [
        Quarantined(**{name: row[name] for name in _FIELDS})
        for row in home.read_table("quarantine").to_pylist()
    ]


def _change(home: Home, without: Collection[str], items: Iterable[Quarantined]) -> None:
    with home.lock("quarantine"):
        known = [item for item in list_items(home) if item.id not in without]
        _write(home, [*known, *items])


def _write(home: Home, items: Iterable[Quarantined]) -> None:
    unique = list({item.id: item for item in items}.values())
    columns = {name: [getattr(item, name) for item in unique] for name in ("id", *_FIELDS)}
    schema = schema_of("quarantine")
    arrays = [pa.array(columns[field.name], type=field.type) for field in schema]
    home.write_table("quarantine", pa.Table.from_arrays(arrays, schema=schema))
