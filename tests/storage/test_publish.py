"""Snapshots: what belongs together is read together, whatever is written meanwhile."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from storage.home import Home, HomeError
from storage.publish import Snapshot, publish, read_snapshot, republish, snapshot
from storage.rows import edges_to_table
from storage.tables import TableStore
from tests.storage import samples as some

GROUP, OTHER = some.GROUP, some.OTHER
ONE, TWO = edges_to_table([some.edge(1)]), edges_to_table([some.edge(1), some.edge(2)])
ELSEWHERE = edges_to_table([some.edge(3, OTHER)])


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.open(tmp_path, create=True)


def write(home: Home, table: pa.Table, group: str = GROUP) -> None:
    TableStore(home).write("hyperedges", group, table, code_version="c", input_hash="i")


def put_out(home: Home, embedder: str = "lsa-1") -> Snapshot:
    return publish(
        home, TableStore(home), vectors={"hyperedges_lsa_1_4": 7}, embedder=embedder
    )


def files_of(published: Snapshot) -> set[str]:
    return {path for groups in published.files.values() for path in groups.values()}


def test_a_snapshot_is_read_as_it_was_published(home: Home) -> None:
    assert snapshot(home) is None
    write(home, ONE)
    published = put_out(home)
    assert snapshot(home) == published and published.version == 1
    assert published.vectors == {"hyperedges_lsa_1_4": 7}
    assert put_out(home).version == 2


def test_newer_writes_and_prune_leave_a_snapshot_as_it_is(home: Home) -> None:
    store = TableStore(home)
    write(home, ONE)
    published = put_out(home)
    for table in (ONE.slice(0, 0), TWO):
        write(home, table)
    write(home, ELSEWHERE, OTHER)
    assert store.prune(files_of(published)) == 1
    assert read_snapshot(home, published, "hyperedges").equals(ONE)
    assert read_snapshot(home, published, "hyperedges", [GROUP, OTHER]).equals(ONE)
    assert read_snapshot(home, published, "hyperedges", [OTHER]).num_rows == 0
    assert read_snapshot(home, published, "entities").num_rows == 0
    newer = put_out(home)
    assert read_snapshot(home, newer, "hyperedges", [GROUP]).equals(TWO)
    assert read_snapshot(home, newer, "hyperedges").num_rows == 3
    assert store.prune(files_of(newer)) == 1
    with pytest.raises(HomeError, match="a file of table hyperedges is gone: run"):
        read_snapshot(home, published, "hyperedges")


def test_another_model_leaves_tables_and_vectors(home: Home) -> None:
    write(home, ONE)
    before = put_out(home)
    write(home, TWO)
    after = republish(home, before, model="transition-000000000000")
    assert snapshot(home) == after and after.version == 2
    assert (after.files, after.vectors, after.embedder) == (
        before.files, before.vectors, before.embedder
    )


def test_a_model_does_not_bring_back_older_tables(home: Home) -> None:
    write(home, ONE)
    before = put_out(home)
    write(home, TWO)
    between = put_out(home)
    after = republish(home, before, model="transition-000000000000")
    assert (after.files, after.version) == (between.files, 3)


def test_a_model_of_another_embedder_is_not_published(home: Home) -> None:
    before = put_out(home)
    between = put_out(home, embedder="lsa-2")
    with pytest.raises(HomeError, match="the embedder was changed"):
        republish(home, before, model="transition-000000000000")
    assert snapshot(home) == between


def test_damage_is_named_with_its_mend(home: Home) -> None:
    path = home.root / "published.json"
    for content in (b"", b"\xff", b"[]", b'{"version": 1, "mood": 2}'):
        path.write_bytes(content)
        with pytest.raises(HomeError, match=r"published\.json is .*: remove it and run"):
            snapshot(home)


def _crash_in_publish(root: str) -> None:
    home = Home.open(root)
    write(home, TWO)
    some.crash_before_rename()
    put_out(home)


def _publish_often(root: str) -> None:
    for _ in range(10):
        put_out(Home.open(root))


def test_a_crash_leaves_the_last_snapshot(home: Home) -> None:
    write(home, ONE)
    published = put_out(home)
    assert some.in_processes(_crash_in_publish, (str(home.root),)) == [some.CRASHED]
    assert snapshot(home) == published
    assert read_snapshot(home, published, "hyperedges").equals(ONE)


def test_each_snapshot_has_a_number_of_its_own(home: Home) -> None:
    assert some.in_processes(_publish_often, (str(home.root),), (str(home.root),)) == [0, 0]
    published = snapshot(home)
    assert published is not None and published.version == 20
