"""A table that does not fit is refused, and the error names table and column."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from storage.rows import edges_to_table
from storage.schemas import BY_GROUP, SCHEMAS, SchemaError, check, only_group, schema_of
from tests.storage import samples as some

TABLE = edges_to_table([some.edge(1), some.edge(2)])
WRONG_STRUCT = pa.list_(pa.struct([("key", pa.string()), ("valeu", pa.string())]))
EXTRA_FIELD = pa.list_(pa.struct([(n, pa.string()) for n in ("key", "value", "unit", "note")]))


def with_column(name: str, values: Any, kind: pa.DataType | None = None) -> pa.Table:
    return TABLE.set_column(
        TABLE.schema.get_field_index(name), name, pa.array(values, kind)
    )


def test_columns_are_put_in_order_and_cast() -> None:
    shuffled = with_column("lead", [48, 48], pa.int64()).select(sorted(TABLE.column_names))
    assert check("hyperedges", shuffled).equals(TABLE)
    assert check("hyperedges", TABLE.replace_schema_metadata({"x": "y"})).schema.metadata is None


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (TABLE.drop_columns(["phase"]), r"hyperedges: missing columns \['phase'\]"),
        (TABLE.append_column("mood", pa.array([1, 2])), r"unknown columns \['mood'\]"),
        (TABLE.append_column("id", TABLE["id"]), r"hyperedges: repeated columns \['id'\]"),
        (with_column("lead", ["x", "y"]), "hyperedges, column lead: string does not fit int32"),
        (with_column("lead", [2**40, 0]), "hyperedges, column lead: int64 does not fit int32"),
        (with_column("confidence", [[1.0], [1.0]]), "hyperedges, column confidence: list"),
        (with_column("phase", [None, "x"]), "hyperedges, column phase: 1 values are missing"),
        (with_column("entities", [["a", None], None]), "column entities: 2 values are missing"),
        (with_column("attributes", [[{"key": "k"}], []], WRONG_STRUCT), "column attributes"),
        (with_column("attributes", [[{"key": "k"}], []], EXTRA_FIELD), "column attributes"),
        (
            with_column("attributes", [[{"key": "k", "value": "v"}], []],
                        TABLE.schema.field("attributes").type),
            "column attributes: 1 values are missing",
        ),
    ],
)
def test_what_does_not_fit_is_refused(table: pa.Table, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        check("hyperedges", table)


def test_a_table_that_is_not_there_is_named() -> None:
    with pytest.raises(SchemaError, match="no table 'hyperedgse'; there are corpus"):
        schema_of("hyperedgse")


def test_tables_by_group_have_storm_year_and_port() -> None:
    assert {"corpus", "groups", "quarantine", "tombstones"} == set(SCHEMAS) - set(BY_GROUP)
    for name in BY_GROUP:
        for column in ("group", "storm", "year", "port"):
            assert not SCHEMAS[name].field(column).nullable


def test_only_group() -> None:
    assert only_group(TABLE, some.GROUP) and only_group(TABLE.slice(0, 0), some.OTHER)
    assert not only_group(TABLE, some.OTHER)
