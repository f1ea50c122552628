"""What a person looks at in Dagster's UI: pictures of a group, and the columns of its tables."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

import dagster as dg

from assets.group_tables import ASSET_TABLES, GroupOutputs
from okh.domain import Entity, Hyperedge
from storage.home import Home
from storage.rows import edges_from_table, entities_from_table
from storage.schemas import schema_of
from storage.tables import TableStore

Draw = Callable[[list[Hyperedge], Mapping[str, Entity]], bytes]


def show_group(
    context: dg.AssetExecutionContext, home: Home, outputs: GroupOutputs, name: str, draw: Draw
) -> GroupOutputs:
    """Add a picture to the metadata of a run over one group; of a range nobody looks at one.

    The tables are those that the run made, else those that lie there.
    """
    if len(context.partition_keys) == 1:
        (group,) = context.partition_keys
        store = TableStore(home)
        made = outputs.groups[group].tables if group in outputs.groups else {}
        edges, entities = (
            made[table] if table in made else store.read(table, group)
            for table in ("hyperedges", "entities")
        )
        if edges.num_rows:
            known = entities_from_table(entities).get(group, {})
            context.add_output_metadata({name: image(draw(edges_from_table(edges), known))})
    return outputs


def image(png: bytes) -> dg.MarkdownMetadataValue:
    """A PNG inside the metadata itself, so that it needs no server of files."""
    return dg.MetadataValue.md(f"![](data:image/png;base64,{base64.b64encode(png).decode()})")


def column_metadata(asset: str) -> dict[str, Any]:
    """Columns of an asset's tables; the first is the one that the UI shows as the asset's."""
    first, *others = ASSET_TABLES[asset]
    columns: dict[str, Any] = {"dagster/column_schema": _columns(first)}
    return columns | {f"columns of {table}": _columns(table) for table in others}


def _columns(table: str) -> dg.TableSchema:
    return dg.TableSchema(columns=[
        dg.TableColumn(
            field.name, str(field.type),
            constraints=dg.TableColumnConstraints(nullable=field.nullable),
        )
        for field in schema_of(table)
    ])
