"""Domain to Arrow and back: nothing is lost, times come back in UTC."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.rows import (
    blocks_from_table,
    blocks_to_table,
    documents_from_table,
    documents_to_table,
    edges_from_table,
    edges_to_table,
    entities_from_table,
    entities_to_table,
    facts_from_table,
    facts_to_table,
)
from storage.schemas import check
from tests.storage import samples as some


def utc(item: Any) -> Any:
    """The item with its times read as storage reads them."""
    if item.issued is None or item.issued.tzinfo is not None:
        return item
    return replace(item, issued=item.issued.replace(tzinfo=UTC))


def round_trip(
    name: str, items: list[Any], write: Callable[..., pa.Table], read: Callable[..., Any]
) -> Any:
    table = write(items)
    assert check(name, table).equals(table)
    return read(table)


@some.quick
@given(st.lists(some.documents, max_size=4), st.none() | some.groups)
def test_documents(documents: list[Any], group: str | None) -> None:
    table = documents_to_table(documents, group)
    assert check("documents" if group else "corpus", table).equals(table)
    assert documents_from_table(table) == [utc(d) for d in documents]


@some.quick
@given(st.lists(some.views, max_size=4))
def test_blocks(views: list[Any]) -> None:
    expected = [replace(v, block=utc(v.block)) for v in views]
    found = round_trip("blocks", views, blocks_to_table, blocks_from_table)
    assert found == expected
    for before, after in zip(expected, found, strict=True):
        if before.block.issued is None or before.block.issued.tzinfo is UTC:
            assert after.block.content_key == before.block.content_key  # the cache's key


@some.quick
@given(st.lists(some.extracted, max_size=4))
def test_facts(rows: list[Any]) -> None:
    found = round_trip("extractions", rows, facts_to_table, facts_from_table)
    assert found == [utc(r) for r in rows]


@some.quick
@given(st.lists(some.edges, max_size=4))
def test_edges(edges: list[Any]) -> None:
    found = round_trip("hyperedges", edges, edges_to_table, edges_from_table)
    assert found == [utc(e) for e in edges]


@some.quick
@given(st.lists(some.entities, max_size=4, unique_by=lambda e: e.id), some.groups)
def test_entities(entities: list[Any], group: str) -> None:
    table = entities_to_table(group, entities)
    assert check("entities", table).equals(table)
    assert entities_from_table(table) == ({group: {e.id: e for e in entities}} if entities else {})


def test_storm_year_and_port_are_columns() -> None:
    row = edges_to_table([some.edge(1)]).to_pylist()[0]
    assert (row["storm"], row["year"], row["port"]) == ("ODESSA", 2031, "port-of-savannah-ga")


def test_a_key_that_is_no_group_is_refused() -> None:
    with pytest.raises(ValueError, match="not a group key"):
        edges_to_table([some.edge(1, group="../../etc")])


def test_ten_thousand_edges_are_quick() -> None:
    edges = [some.edge(n) for n in range(10_000)]
    started = time.process_time()
    table = edges_to_table(edges)
    written = time.process_time()
    assert edges_from_table(table) == edges
    assert written - started < 1.0  # 0.1 to 0.2 s measured
    assert time.process_time() - written < 2.5  # 0.4 to 0.6 s measured
