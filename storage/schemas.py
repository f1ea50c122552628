"""One Arrow schema for each table, checked on write.

``storm``, ``year`` and ``port`` are columns of every table by group, so that a
table can be read without taking group keys apart.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from okh.domain import OkhError


class SchemaError(OkhError):
    """A table that does not fit its schema; names the table and the column."""


TIME = pa.timestamp("us", tz="UTC")
ATTRIBUTE = pa.struct([("key", pa.string()), ("value", pa.string()), ("unit", pa.string())])
MENTION = pa.struct([
    ("name", pa.string()), ("type", pa.string()), ("description", pa.string()),
    ("confidence", pa.float64()), ("origin", pa.string()),
])
SPAN = pa.struct([("document", pa.string()), ("start", pa.int64()), ("end", pa.int64())])


def _field(name: str, kind: pa.DataType, *, null: bool = False) -> pa.Field:
    return pa.field(name, kind, nullable=null)


_GROUP = [
    _field("group", pa.string()), _field("storm", pa.string()), _field("year", pa.int32()),
    _field("port", pa.string()),
]
_DOCUMENT = [
    _field("hash", pa.string()),
    _field("names", pa.list_(pa.string())),
    _field("source_kind", pa.string()),
    _field("kind", pa.string()),
    _field("document_storm", pa.string(), null=True),
    _field("document_year", pa.int32(), null=True),
    _field("document_port", pa.string(), null=True),
    _field("lead", pa.int32(), null=True),
    _field("lead_source", pa.string(), null=True),
    _field("issued", TIME, null=True),
    _field("product_id", pa.string(), null=True),
    _field("corrected", pa.bool_()),
]

SCHEMAS: dict[str, pa.Schema] = {
    "corpus": pa.schema(_DOCUMENT),
    "groups": pa.schema([
        *_GROUP, _field("fingerprint", pa.string()), _field("blocks", pa.int64()),
    ]),
    "quarantine": pa.schema([
        _field("id", pa.string()),
        _field("stage", pa.string()),
        _field("group", pa.string()),
        _field("document", pa.string()),
        _field("block", pa.string()),
        _field("file", pa.string()),
        _field("place", pa.string()),
        _field("problem", pa.string()),
        _field("mend", pa.string()),
        _field("reply", pa.string()),
        _field("at", TIME, null=True),
    ]),
    "tombstones": pa.schema([
        *_DOCUMENT, _field("reason", pa.string()), _field("at", TIME), _field("done", pa.bool_()),
    ]),
    "documents": pa.schema([*_GROUP, *_DOCUMENT]),
    "blocks": pa.schema([
        *_GROUP,
        _field("id", pa.string()),
        _field("document", pa.string()),
        _field("source_kind", pa.string()),
        _field("kind", pa.string()),
        _field("section", pa.string()),
        _field("seq", pa.int32()),
        _field("start", pa.int64()),
        _field("end", pa.int64()),
        _field("text", pa.string()),
        _field("context", pa.string()),
        _field("block_storm", pa.string(), null=True),
        _field("block_year", pa.int32(), null=True),
        _field("block_port", pa.string(), null=True),
        _field("block_lead", pa.int32(), null=True),
        _field("issued", TIME, null=True),
        _field("location", pa.string(), null=True),
        _field("ports", pa.list_(pa.string())),
        _field("lead", pa.int32(), null=True),
        _field("distance_km", pa.float64(), null=True),
        _field("tie", pa.string()),
    ]),
    "extractions": pa.schema([
        *_GROUP,
        _field("block", pa.string()),
        _field("document", pa.string()),
        _field("source_kind", pa.string()),
        _field("kind", pa.string()),
        _field("lead", pa.int32(), null=True),
        _field("issued", TIME, null=True),
        _field("relation", pa.string()),
        _field("evidence", pa.string()),
        _field("mentions", pa.list_(MENTION)),
        _field("attributes", pa.list_(ATTRIBUTE)),
        _field("confidence", pa.float64()),
        _field("fact_start", pa.int64()),
        _field("fact_end", pa.int64()),
        _field("start", pa.int64()),
        _field("end", pa.int64()),
        _field("grounded", pa.bool_()),
        _field("static", pa.bool_()),
    ]),
    "hyperedges": pa.schema([
        *_GROUP,
        _field("id", pa.string()),
        _field("relation", pa.string()),
        _field("raw_relation", pa.string()),
        _field("family", pa.int32()),
        _field("story", pa.int32()),
        _field("sub_rank", pa.int32()),
        _field("phase", pa.string()),
        _field("lead", pa.int32(), null=True),
        _field("lead_from", pa.int32(), null=True),
        _field("static", pa.bool_()),
        _field("entities", pa.list_(pa.string())),
        _field("evidence", pa.string()),
        _field("attributes", pa.list_(ATTRIBUTE)),
        _field("confidence", pa.float64()),
        _field("grounded", pa.bool_()),
        _field("synthetic", pa.bool_()),
        _field("observed", pa.bool_()),
        _field("issued", TIME, null=True),
        _field("source_kind", pa.string()),
        _field("kind", pa.string()),
        _field("spans", pa.list_(SPAN)),
    ]),
    "entities": pa.schema([
        *_GROUP,
        _field("id", pa.string()),
        _field("name", pa.string()),
        _field("type", pa.string()),
        _field("description", pa.string()),
        _field("confidence", pa.float64()),
        _field("origin", pa.string()),
    ]),
    "canonical_trajectories": pa.schema([
        *_GROUP,
        _field("place", pa.int32()),
        _field("edge", pa.string()),
        _field("position", pa.float64(), null=True),
        _field("horizon", pa.string()),
        _field("phase", pa.string()),
        _field("family", pa.int32()),
        _field("relation", pa.string()),
        _field("source_kind", pa.string()),
    ]),
}
"""Table -> schema. The first four belong to a home, the others to its groups."""

BY_GROUP: tuple[str, ...] = tuple(SCHEMAS)[4:]
"""Tables that have one file a group."""


def schema_of(table: str) -> pa.Schema:
    """Schema of a table. Raises ``SchemaError`` for a table that is not there."""
    try:
        return SCHEMAS[table]
    except KeyError:
        raise SchemaError(f"no table {table!r}; there are {', '.join(SCHEMAS)}") from None


def check(name: str, table: pa.Table) -> pa.Table:
    """The table with its columns in the schema's order and types.

    Raises ``SchemaError`` for missing, unknown or repeated columns, values that do
    not fit the type, and nulls where there may be none: lists and the fields of
    what they hold have no nulls either.
    """
    schema = schema_of(name)
    known, found = schema.names, table.column_names
    missing = [c for c in known if c not in found]
    unknown = [c for c in found if c not in known]
    if missing or unknown:
        raise SchemaError(f"table {name}: missing columns {missing}, unknown columns {unknown}")
    repeated = sorted({c for c in found if found.count(c) > 1})
    if repeated:
        raise SchemaError(f"table {name}: repeated columns {repeated}")
    columns = []
    for field in schema:
        column = table[field.name]
        try:
            if _unknown_fields(column.type, field.type):  # which a cast would drop
                raise pa.ArrowInvalid("unknown fields")
            column = column.cast(field.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
            raise SchemaError(
                f"table {name}, column {field.name}: {column.type} does not fit {field.type}"
            ) from error
        nulls = 0 if field.nullable else _nulls(column)
        if nulls:
            raise SchemaError(f"table {name}, column {field.name}: {nulls} values are missing")
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=schema)


def _unknown_fields(found: pa.DataType, wanted: pa.DataType) -> set[str]:
    """Fields of what a list holds that the schema's list does not know."""
    kinds = [kind.value_type for kind in (found, wanted) if hasattr(kind, "value_type")]
    if len(kinds) < 2 or not all(pa.types.is_struct(kind) for kind in kinds):
        return set()
    return {field.name for field in kinds[0]} - {field.name for field in kinds[1]}


def _nulls(column: pa.ChunkedArray) -> int:
    """Nulls in a column and, for a list, in all that it holds."""
    count: int = column.null_count
    if pa.types.is_list(column.type):
        count += _nulls(pc.list_flatten(column))
    elif pa.types.is_struct(column.type):
        count += sum(_nulls(part) for part in column.flatten())
    return count


def only_group(table: pa.Table, group: str) -> bool:
    """Whether every row belongs to this group (true for no rows)."""
    return bool(pc.all(pc.equal(table["group"], group)).as_py() is not False)
