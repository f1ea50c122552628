"""``okh export``: tables and hypergraph for other tools."""

from __future__ import annotations

import json
from enum import Enum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any

import typer

from orchestration.cli.shared import HomeOption, UserError, console, open_home


class Format(str, Enum):
    """What `okh export` writes."""

    hif = "hif"
    graphml = "graphml"
    parquet = "parquet"
    csv = "csv"


def export(
    to: Annotated[Path, typer.Argument(help="A file (hif, graphml) or a folder (parquet, csv).")],
    format_: Annotated[Format, typer.Option("--format", help="What to write.")] = Format.hif,
    group: Annotated[str, typer.Option(help="Only groups like this, e.g. 'IRMA-2017|*'.")] = "*",
    home: HomeOption = None,
) -> None:
    """Write the hypergraph (HIF JSON, GraphML of the incidence graph) or all tables."""
    from storage.tables import TableStore

    store = TableStore(open_home(home))
    groups = [key for key in sorted(store.current("hyperedges")) if fnmatchcase(key, group)]
    if not groups:
        raise UserError(f"no built group matches {group!r}")
    if format_ in (Format.hif, Format.graphml):
        to.parent.mkdir(parents=True, exist_ok=True)
        number = _hypergraph(store, groups, to, format_)
        console.print(f"{number} hyperedges of {len(groups)} groups written to {to}", markup=False)
    else:
        to.mkdir(parents=True, exist_ok=True)
        written = _tables(store, groups, to, format_)
        console.print(f"{', '.join(written)} written to {to}", markup=False)


def _hypergraph(store: Any, groups: list[str], to: Path, format_: Format) -> int:
    import networkx as nx

    from okh.interchange import incidence_graph, to_hif
    from storage.rows import edges_from_table, entities_from_table

    edges = edges_from_table(store.read_many("hyperedges", groups))
    entities = {}
    for members in entities_from_table(store.read_many("entities", groups)).values():
        entities |= members
    if format_ is Format.hif:
        to.write_text(json.dumps(to_hif(entities, edges), ensure_ascii=False), encoding="utf-8")
    else:
        nx.write_graphml(incidence_graph(entities, edges), to)
    return len(edges)


def _tables(store: Any, groups: list[str], to: Path, format_: Format) -> list[str]:
    import pyarrow.parquet as pq

    from assets.group_tables import ASSET_TABLES

    written = []
    for name in (name for names in ASSET_TABLES.values() for name in names):
        table = store.read_many(name, groups)
        file = to / f"{name}.{format_.value}"
        if format_ is Format.parquet:
            pq.write_table(table, file)
        else:
            frame = table.to_pandas()
            for column in table.schema:
                if "list" in str(column.type):
                    frame[column.name] = [
                        json.dumps(v, ensure_ascii=False, default=str)
                        for v in table[column.name].to_pylist()
                    ]
            frame.to_csv(file, index=False)
        written.append(file.name)
    return written
