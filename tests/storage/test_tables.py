"""Tables by group: written whole, told apart by content, read as they were."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.home import Home, HomeError
from storage.rows import edges_from_table, edges_to_table
from storage.schemas import SchemaError, check, schema_of
from storage.tables import TableStore, Written, content_hash
from tests.storage import samples as some

GROUP, OTHER = some.GROUP, some.OTHER
ONE, TWO = edges_to_table([some.edge(1)]), edges_to_table([some.edge(1), some.edge(2)])


@pytest.fixture
def store(tmp_path: Path) -> TableStore:
    return TableStore(Home.open(tmp_path / "O'Neil 100%41 #a?b", create=True))


def write(
    store: TableStore, table: pa.Table, group: str = GROUP, code: str = "c1", made_from: str = "i1"
) -> Written:
    return store.write("hyperedges", group, table, code_version=code, input_hash=made_from)


def test_what_was_written_is_read(store: TableStore) -> None:
    assert store.read("hyperedges", GROUP).equals(schema_of("hyperedges").empty_table())
    written = write(store, TWO)
    assert written.changed and written.rows == 2
    assert store.read("hyperedges", GROUP).equals(TWO)
    file = store.current("hyperedges")[GROUP]
    assert (file.path, file.content_hash) == (written.path, written.content_hash)
    assert (file.code_version, file.input_hash, file.rows) == ("c1", "i1", 2)


def test_the_same_again_writes_nothing(store: TableStore) -> None:
    first = write(store, TWO)
    again = write(store, TWO)
    assert (again.changed, again.path) == (False, first.path)
    assert len(list(first.path.parent.iterdir())) == 1


def test_another_version_of_the_code_is_kept_but_changes_nothing(store: TableStore) -> None:
    first = write(store, TWO)
    later = write(store, TWO, code="c2")
    assert not later.changed and later.content_hash == first.content_hash
    assert store.current("hyperedges")[GROUP].code_version == "c2"


def test_a_table_may_come_back(store: TableStore) -> None:
    paths = [write(store, table).path for table in (ONE, TWO, ONE)]
    assert len(set(paths)) == 3
    assert store.read("hyperedges", GROUP).equals(ONE)
    assert store.prune(keep=()) == 2
    assert store.read("hyperedges", GROUP).equals(ONE)


def test_a_group_without_rows_is_not_a_missing_one(store: TableStore) -> None:
    assert write(store, ONE.slice(0, 0)).changed
    assert store.current("hyperedges")[GROUP].rows == 0


def test_rows_of_another_group_are_refused(store: TableStore) -> None:
    with pytest.raises(SchemaError, match="rows of another group"):
        write(store, ONE, group=OTHER)
    with pytest.raises(SchemaError, match="missing columns"):
        write(store, ONE.drop_columns(["id"]))
    assert not store.current("hyperedges")


def test_many_groups_are_read_in_the_order_of_keys(store: TableStore) -> None:
    write(store, TWO)
    write(store, edges_to_table([some.edge(3, OTHER)]), group=OTHER)
    assert store.read_many("hyperedges", columns=["id", "group"]).to_pydict() == {
        "id": [f"{n:024d}" for n in (3, 1, 2)], "group": [OTHER, GROUP, GROUP],
    }
    assert store.read_many("hyperedges", [GROUP, "NOBODY-2000|x"]).equals(TWO)
    assert store.read_many("hyperedges", []).num_rows == 0


@pytest.mark.parametrize("group", ["../../X|y", "O'NEIL/2-2031|a'b", "é-1|\n", "." * 300])
def test_names_never_become_paths(store: TableStore, group: str) -> None:
    table = check("hyperedges", ONE.set_column(0, "group", pa.array([group])))
    path = write(store, table, group=group).path
    parts = Path(store.relative(path)).parts
    assert parts[:2] == ("tables", "hyperedges") and len(parts) == 4 and ".." not in parts
    assert len(parts[2]) < 100 and parts[2].isascii() and "'" not in parts[2]
    assert store.current("hyperedges")[group].path == path


def test_groups_of_one_slug_are_kept_apart(store: TableStore) -> None:
    names = ["A B|c", "A-B|c", "A_B|c"]
    for number, group in enumerate(names):
        row = edges_to_table([some.edge(number)]).set_column(0, "group", pa.array([group]))
        write(store, check("hyperedges", row), group=group)
    assert sorted(store.current("hyperedges")) == sorted(names)


def test_prune_keeps_what_it_is_told(store: TableStore) -> None:
    first, second, third = (write(store, table).path for table in (ONE, TWO, ONE.slice(0, 0)))
    assert store.prune(keep={store.relative(first)}) == 1
    assert first.exists() and not second.exists() and third.exists()
    assert store.read("hyperedges", GROUP).num_rows == 0


def test_a_removed_group_is_gone_whatever_lay_there(store: TableStore) -> None:
    path = write(store, TWO).path
    (path.parent / ".tmp-of-a-dead-process").write_bytes(b"half")
    store.remove("hyperedges", GROUP)
    store.remove("hyperedges", GROUP)
    assert not store.current("hyperedges") and not path.parent.exists()


def test_a_damaged_file_is_named_with_its_mend(store: TableStore) -> None:
    first, second = write(store, ONE).path, write(store, TWO).path
    second.write_bytes(second.read_bytes()[:100])
    with pytest.raises(HomeError, match=f"{second.name} is damaged: remove it"):
        store.current("hyperedges")
    second.unlink()
    assert store.current("hyperedges")[GROUP].path == first


def _crash_in_write(root: str) -> None:
    store = TableStore(Home.open(root))
    some.crash_before_rename()
    write(store, TWO)


def test_a_crash_leaves_the_last_good_version(tmp_path: Path) -> None:
    store = TableStore(Home.open(tmp_path, create=True))
    before = write(store, ONE)
    assert some.in_processes(_crash_in_write, (str(tmp_path),)) == [some.CRASHED]
    assert some.leftovers(before.path.parent)
    assert store.read("hyperedges", GROUP).equals(ONE)
    assert write(store, ONE).path == before.path
    assert write(store, TWO).changed and store.read("hyperedges", GROUP).equals(TWO)


@some.quick
@given(st.lists(some.edges, max_size=6), st.data())
def test_the_content_hash_sees_values_only(edges: list[Any], data: st.DataObject) -> None:
    table = edges_to_table(edges)
    cut = data.draw(st.integers(0, len(edges)))
    pieces = pa.concat_tables([table.slice(0, cut), table.slice(cut)])
    assert content_hash(pieces) == content_hash(table)
    for part in (slice(None, cut), slice(cut, None)):
        start, stop, _ = part.indices(len(edges))
        piece = table.slice(start, stop - start)
        assert content_hash(piece) == content_hash(edges_to_table(edges[part]))
    assert content_hash(edges_to_table(edges_from_table(table))) == content_hash(table)
    if edges:
        other = [replace(edges[0], evidence=edges[0].evidence + "."), *edges[1:]]
        assert content_hash(edges_to_table(other)) != content_hash(table)


def test_the_content_hash_does_not_see_what_lies_under_nulls() -> None:
    validity, values = pa.py_buffer(b"\x05"), pa.array([1, 99, 3], pa.int32()).buffers()[1]
    hidden = pa.Array.from_buffers(pa.int32(), 3, [validity, values])
    plain = pa.array([1, None, 3], pa.int32())
    assert content_hash(pa.table({"x": hidden})) == content_hash(pa.table({"x": plain}))


def test_the_content_hash_survives_the_file(store: TableStore) -> None:
    edges = [replace(some.edge(n), lead=n if n % 3 else None, attributes=()) for n in range(50)]
    written = write(store, edges_to_table(edges).slice(7))
    assert content_hash(store.read("hyperedges", GROUP)) == written.content_hash


def test_a_hundred_groups_are_written_in_seconds(tmp_path: Path) -> None:
    store = TableStore(Home.open(tmp_path, create=True))
    edges = edges_to_table([some.edge(n) for n in range(700)])
    place = edges.schema.get_field_index("group")
    started = time.monotonic()
    for number in range(100):
        group = f"ODESSA-{2031 + number}|port-of-savannah-ga"
        table = edges.set_column(place, edges.schema.field("group"), pa.array([group] * 700))
        write(store, table, group=group)
    assert time.monotonic() - started < 10  # 0.5 to 1 s measured
    started = time.monotonic()
    assert len(store.current("hyperedges")) == 100
    assert time.monotonic() - started < 2  # 0.03 s measured
