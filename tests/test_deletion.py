"""Deletion: nothing of a document is left anywhere, whatever interrupts its removal."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pyarrow.parquet as pq
import pytest

import assets.deletion as deletion
from assets.corpus import Corpus, read_fingerprints
from assets.deletion import matching, purge
from assets.engine import Engine
from assets.ingest import ingest_paths
from okh.domain import OkhError
from okh.sample import PORTS_CSV, SAMPLE_DIR, demo_question
from orchestration.asking import answer
from orchestration.building import build
from orchestration.forgetting import forget
from orchestration.maintenance import remove_partitions
from storage import quarantine, tombstones, traces
from storage.home import Home
from storage.publish import snapshot
from storage.tables import TableStore


@pytest.fixture(scope="module")
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as made:
        yield made


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, instance: dg.DagsterInstance) -> Home:
    """The scenarios and one storm's products, built, with a trace and a fault."""
    home = Home.open(tmp_path_factory.mktemp("deletion") / "home", create=True)
    storm = demo_question()["storm"]
    files = [*(SAMPLE_DIR / "scenario").glob("*"), *SAMPLE_DIR.glob(f"*/{storm}_*h.txt")]
    ingest_paths(home, sorted(files), ports=PORTS_CSV)
    assert not build(home, instance).failures
    asked = demo_question()
    answer(home, asked["question"], context={
        name: asked[name] for name in ("storm", "year", "port", "lead")
    })
    return home


@pytest.fixture
def home(whole: Home, tmp_path: Path) -> Home:
    shutil.copytree(str(whole.root), tmp_path / "home")
    return Home.open(tmp_path / "home")


def cited(home: Home) -> str:
    """A document that the trace cites."""
    steps = traces.load_all(home)[0].trajectories[0]["steps"]
    return next(s["document"] for step in steps for s in step["sources"])


def traces_of(home: Home, digest: str) -> list[str]:
    """Every file below the home that still names the document, or holds facts of its blocks."""
    found = []
    for path in sorted(p for p in Path(str(home.root)).rglob("*") if p.is_file()):
        if path.suffix == ".parquet":
            rows = pq.read_table(path, partitioning=None).to_pylist()
            held = any(digest in repr(row) for row in rows)
        else:
            held = digest.encode() in path.read_bytes() or digest in path.name
        if held:
            found.append(path.relative_to(home.root).as_posix())
    return found


def cached(home: Home) -> set[str]:
    with sqlite3.connect(home.cache / "extractions.sqlite") as base:
        return {key for (key,) in base.execute("select distinct key from facts")}


def vector_ids(home: Home) -> set[str]:
    """Identifiers in every version of every vector table."""
    import lancedb

    base, found = lancedb.connect(str(home.lance)), set()
    for name in base.list_tables().tables:
        table = base.open_table(name)
        for version in table.list_versions():
            table.checkout(version["version"])
            found |= set(table.search().select(["id"]).limit(None).to_arrow()["id"].to_pylist())
    return found


def assert_gone(home: Home, digest: str, keys: set[str], ids: set[str]) -> None:
    assert traces_of(home, digest) == ["tombstones.parquet"]
    assert not cached(home) & keys
    assert not vector_ids(home) & ids
    assert [t.done for t in tombstones.tombstones(home)] == [True]


def what_hangs_on(home: Home, digest: str) -> tuple[set[str], set[str]]:
    """Cache keys, and identifiers of vectors, that only this document accounts for."""
    corpus = Corpus(home)
    by_document = {d.hash: {b.content_key for b in corpus.blocks(d)} for d in corpus.documents}
    keys = by_document.pop(digest)
    keys -= set().union(*by_document.values())
    store = TableStore(home)
    blocks = store.read_many("blocks", columns=["id", "document"]).to_pylist()
    edges = store.read_many("hyperedges", columns=["id", "spans"]).to_pylist()
    ids = {row["id"] for row in blocks if row["document"] == digest}
    ids |= {
        row["id"] for row in edges
        if row["spans"] and {s["document"] for s in row["spans"]} == {digest}
    }
    return keys, ids


def test_nothing_of_a_document_is_left(home: Home, instance: dg.DagsterInstance) -> None:
    digest = cited(home)
    keys, ids = what_hangs_on(home, digest)
    assert keys and ids and keys <= cached(home) and ids <= vector_ids(home)
    quarantine.add(home, [quarantine.Quarantined("x", "planted", "none", document=digest)])
    before = snapshot(home)
    done = forget(home, instance, matching(home, digest=digest[:12]))
    assert done.purged is not None and done.purged.documents == 1
    assert done.groups and done.purged.traces == 1 and done.purged.faults == 1
    assert_gone(home, digest, keys, ids)
    after = snapshot(home)
    assert before is not None and after is not None and after.version > before.version
    assert build(home, instance).did_nothing
    Engine.open(home).index()  # vectors and edges of the new snapshot agree


def test_a_group_without_documents_goes_with_its_partition(
    home: Home, instance: dg.DagsterInstance
) -> None:
    storm = demo_question()["storm"]
    gone = [d for d in Corpus(home).documents if d.storm == storm]
    groups = {g for g in read_fingerprints(home) if g.startswith(storm)}
    assert groups
    done = forget(home, instance, gone)
    assert done.purged is not None and set(done.purged.groups) == groups
    assert not groups & set(instance.get_dynamic_partitions("group"))
    assert not any(storm in path.name.upper() for path in home.tables.glob("*/*"))
    published = snapshot(home)
    assert published is not None
    assert not groups & set(published.files["hyperedges"])
    assert all(not g.startswith(storm) for g in {h.key for h in Engine.open(home).groups})


@pytest.mark.parametrize("step", [
    "settle", "regroup", "build", "_forget_vectors", "ExtractionCache", "quarantine", "finish",
])
def test_a_removal_that_was_cut_short_is_taken_up_again(
    home: Home, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    class Crash(BaseException):
        pass

    def crash(*args: object, **kwargs: object) -> None:
        raise Crash

    digest = cited(home)
    keys, ids = what_hangs_on(home, digest)
    target = {
        "build": ("orchestration.forgetting", "build"),
        "quarantine": ("storage.quarantine", "remove"), "finish": ("storage.tombstones", "finish"),
    }.get(step, ("assets.deletion", step))
    monkeypatch.setattr(".".join(target), crash)
    with pytest.raises(Crash):
        forget(home, instance, matching(home, digest=digest))
    monkeypatch.undo()
    assert matching(home, digest=digest)
    assert forget(home, instance, []).purged is not None
    assert_gone(home, digest, keys, ids)


def test_a_forgotten_document_stays_out_until_it_is_let_in(
    home: Home, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    digest = cited(home)
    document = next(d for d in Corpus(home).documents if d.hash == digest)
    path = tmp_path / Path(document.names[0]).name
    path.write_bytes(home.raw_bytes(digest))
    forget(home, instance, [document])
    report = ingest_paths(home, [path])
    assert report.added == 0 and "stay out" in report.warnings[0]
    assert not home.has_raw(digest)
    tombstones.lift(home, {digest})
    assert ingest_paths(home, [path]).added == 1
    assert not build(home, instance).failures


def test_nothing_is_purged_before_the_groups_are_made_again(home: Home) -> None:
    digest = cited(home)
    deletion.bury(home, matching(home, digest=digest), "forgotten")
    with pytest.raises(deletion.NotRebuilt, match="okh build"):
        purge(home)
    assert home.has_raw(digest)


def test_a_pattern_is_needed(home: Home) -> None:
    with pytest.raises(OkhError, match="eight digits"):
        matching(home, digest="abc")
    assert matching(home, pattern="*no such name*") == []


def test_partitions_of_a_manifest_stay(home: Home) -> None:
    with dg.DagsterInstance.ephemeral() as own:
        keys = sorted(read_fingerprints(home))
        own.add_dynamic_partitions("group", [*keys, "GONE-2000|nowhere"])
        assert remove_partitions(home, own) == ["GONE-2000|nowhere"]
        assert set(own.get_dynamic_partitions("group")) == set(keys)
