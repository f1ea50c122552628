"""What the group assets hand to each other: tables by group, computed only where stale.

One shape serves a run over one key and a run over many. A group whose inputs and
code did not change is left out of an asset's output: its files stay as they are.
A group that fails is quarantined and the rest goes on, for Dagster would fail
the whole range.
"""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pyarrow as pa

from okh.domain import digest
from okh.llm.errors import LlmError, RunStopped
from storage.home import Home
from storage.quarantine import Quarantined, list_items, replace_stage
from storage.tables import TableFile, TableStore

ASSET_TABLES: dict[str, tuple[str, ...]] = {
    "documents": ("documents", "blocks"),
    "extractions": ("extractions",),
    "hypergraph": ("hyperedges", "entities"),
    "canonical_trajectories": ("canonical_trajectories",),
}
"""Group asset -> the tables it writes, in the order of the pipeline."""

RETRY_TAG = "okh/retry"
"""Tag of a run that computes the groups with faults again although nothing changed."""

Tables = Mapping[str, pa.Table]


@dataclass(frozen=True, slots=True)
class GroupTables:
    """Fresh tables of one group, and the hash of what they were made from."""

    tables: Tables
    input_hash: str


@dataclass(frozen=True, slots=True)
class GroupOutputs:
    """What a group asset gives to the IO manager: only the groups that changed."""

    code_version: str
    groups: Mapping[str, GroupTables]


class GroupInputs:
    """An upstream asset as the groups of a run see it; tables are read when asked for."""

    def __init__(self, store: TableStore, asset: str) -> None:
        self._store = store
        self._names = ASSET_TABLES[asset]
        self._current = {name: store.current(name) for name in self._names}

    def hash(self, group: str) -> str:
        """Digest of the group's content in all tables of the asset."""
        return content_hash(self._current, group)

    def read(self, table: str, group: str) -> pa.Table:
        """One table of one group; empty where there is none."""
        return self._store.read(table, group)


def content_hash(current: Mapping[str, Mapping[str, TableFile]], group: str) -> str:
    """Digest of a group's content hashes over several tables, in the tables' order."""
    files = (current[name].get(group) for name in current)
    return digest(*(file.content_hash if file else "" for file in files))


def is_current(
    current: Mapping[str, Mapping[str, TableFile]], group: str, code_version: str, input_hash: str
) -> bool:
    """Whether every table of the group was made by this code from this input."""
    files = [current[name].get(group) for name in current]
    return all(
        f is not None and f.code_version == code_version and f.input_hash == input_hash
        for f in files
    )


@dataclass(slots=True)
class Counts:
    """What a run reports about a group asset."""

    groups: int = 0
    kept: int = 0
    numbers: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)


def refresh(
    context: dg.AssetExecutionContext,
    home: Home,
    asset: str,
    code_version: str,
    input_hash: Callable[[str], str],
    compute: Callable[[str], Tables],
    measure: Callable[[Tables], dict[str, int]] | None = None,
) -> GroupOutputs:
    """Compute the stale groups of a run, and report on all of them.

    Parameters
    ----------
    asset
        Name of the asset, a key of :data:`ASSET_TABLES`.
    code_version
        Version of everything that decides what ``compute`` gives.
    input_hash, compute
        Group key -> hash of its input, and -> its tables.
    measure
        Tables of a group -> numbers, which are summed over the run and shown.

    Raises
    ------
    dagster.Failure
        If every group of the run failed: then the fault is not a group's.
    """
    store = TableStore(home)
    current = {name: store.current(name) for name in ASSET_TABLES[asset]}
    again = faulty_groups(home) if RETRY_TAG in context.run.tags else frozenset[str]()
    counts, fresh = Counts(), dict[str, GroupTables]()
    for group in context.partition_keys:
        counts.groups += 1
        wanted = input_hash(group)
        if group not in again and is_current(current, group, code_version, wanted):
            counts.kept += 1
            continue
        try:
            tables = compute(group)
        except RunStopped:
            raise
        except Exception as error:  # the boundary of a group: see the module's text
            fault = quarantined(asset, group, error)
            context.log.warning(f"{group}: {fault.problem}; quarantined, the rest goes on")
            replace_stage(home, asset, group, [fault])
            counts.failed.append(group)
            continue
        replace_stage(home, asset, group, [])
        fresh[group] = GroupTables(tables, wanted)
        rows = {f"rows/{name}": table.num_rows for name, table in tables.items()}
        rows |= measure(tables) if measure else {}
        counts.numbers.update(rows)
        if context.has_partition_key_range and len(context.partition_keys) > 1:
            context.add_asset_metadata(rows, partition_key=group)
    if counts.failed and len(counts.failed) == counts.groups:
        raise dg.Failure(
            f"all {counts.groups} groups of this run failed in {asset}",
            metadata={"quarantined": counts.failed[:20]},
        )
    context.add_output_metadata(_metadata(counts, code_version, fresh))
    return GroupOutputs(code_version, fresh)


def faulty_groups(home: Home) -> frozenset[str]:
    """Groups with a fault in the quarantine."""
    return frozenset(item.group for item in list_items(home) if item.group)


def quarantined(stage: str, group: str, error: Exception, **where: str) -> Quarantined:
    """A fault as a row of the quarantine: its kind and place in the code, never document text.

    An error of a language model's endpoint says itself what happened, and what helps.
    """
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(frame.filename).name}:{frame.lineno}"
    return Quarantined(
        stage=stage, group=group,
        problem=str(error) if isinstance(error, LlmError) else f"{type(error).__name__} at {place}",
        mend="`okh quarantine retry` after mending the document or the code.",
        at=datetime.now(UTC), place=place, **where,
    )


def _metadata(
    counts: Counts, code_version: str, fresh: Mapping[str, GroupTables]
) -> dict[str, object]:
    metadata: dict[str, object] = {
        "code version": code_version,
        "run/groups": counts.groups,
        "run/groups computed": len(fresh),
        "run/groups unchanged": counts.kept,
        "run/groups quarantined": len(counts.failed),
        **counts.numbers,
    }
    if fresh:
        last = next(reversed(fresh.values()))
        name, table = next(iter(last.tables.items()))
        metadata[f"preview of {name}"] = dg.MetadataValue.md(preview(table))
    return metadata


_TEXT_COLUMNS = frozenset({"text", "context", "evidence", "mentions", "description"})
"""Columns that hold document text, which stays out of the event log."""


def preview(table: pa.Table, rows: int = 8, width: int = 40) -> str:
    """The first rows as a Markdown table, without the columns that hold document text."""
    names = [name for name in table.column_names if name not in _TEXT_COLUMNS]
    lines = ["| " + " | ".join(names) + " |", "|" + " --- |" * len(names)]
    for row in table.slice(0, rows).to_pylist():
        cells = (_cell(row[name], width) for name in names)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(value: object, width: int) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        value = ", ".join(_attribute(item) for item in value)
    text = "" if value is None else str(value)
    short = text if len(text) <= width else text[: width - 1] + "…"
    return short.replace("|", "\\|").replace("\n", " ")


def _attribute(item: object) -> str:
    if isinstance(item, Mapping) and "key" in item:
        return f"{item['key']}={item['value']}{item['unit']}"
    return str(item)

