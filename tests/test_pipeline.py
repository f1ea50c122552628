"""The pipeline from door to door, on the shipped sample, in an ephemeral Dagster instance."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from assets.corpus import Corpus
from assets.engine import Engine
from assets.group_tables import ASSET_TABLES
from assets.ingest import ingest_paths
from assets.payload import result_payload, source_names
from assets.staleness import contiguous_ranges, find_stale
from assets.traces import induced_pairs
from okh.domain import Group
from okh.extraction.rules import RulesExtractor
from okh.precedence import precedence_keys, precedence_matrix
from okh.sample import PORTS_CSV, QUESTIONS, SAMPLE_DIR, documents, questions
from okh.vocabulary import UNMAPPED
from orchestration.building import BuildReport, build
from orchestration.definitions import definitions
from storage.home import Home
from storage.publish import snapshot
from storage.rows import edges_from_table
from storage.tables import TableStore
from storage.traces import load_all


@pytest.fixture(scope="module")
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as made:
        yield made


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, instance: dg.DagsterInstance) -> Home:
    """A home with the sample, built once for the tests that only read it."""
    home = Home.open(tmp_path_factory.mktemp("sample") / "home", create=True)
    ingest_paths(home, documents(), ports=PORTS_CSV)
    report = build(home, instance)
    assert not report.failures
    return home


def rebuild(home: Home, instance: dg.DagsterInstance) -> BuildReport:
    report = build(home, instance)
    assert not report.failures
    return report


def copied(home: Home, tmp_path: Path) -> Home:
    shutil.copytree(str(home.root), tmp_path / "copy")
    return Home.open(tmp_path / "copy")


def test_every_table_holds_every_group(built: Home) -> None:
    store = TableStore(built)
    groups = set(store.current("blocks"))
    assert len(groups) >= 4
    for names in ASSET_TABLES.values():
        for name in names:
            current = store.current(name)
            assert set(current) == groups
            assert all(file.rows > 0 for file in current.values()), name


def test_a_second_build_does_nothing(built: Home, instance: dg.DagsterInstance) -> None:
    before = snapshot(built)
    assert rebuild(built, instance).did_nothing
    assert snapshot(built) == before


def test_one_more_file_rebuilds_its_groups_only(
    built: Home, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    home = copied(built, tmp_path)
    source = sorted((SAMPLE_DIR / "advisory").glob("*_48h.txt"))[0]
    storm = source.name.split("_")[0]
    again = tmp_path / source.name.replace("_48h", "_84h")
    again.write_text(source.read_text().rstrip() + "\n\n\n")
    report = ingest_paths(home, [again])
    assert report.added == 1
    assert report.changed and all(key.startswith(storm) for key in report.changed)
    result = build(home, instance)
    assert set(result.stale) == set(report.changed)
    assert not result.failures


def test_trajectories_go_forward_and_name_their_source(built: Home) -> None:
    engine = Engine.open(built)
    corpus = Corpus(built)
    texts = {d.hash: corpus.text(d.hash) for d in corpus.documents}
    group = engine.groups[0]
    understood = engine.understand(
        "What is the cumulative probability of 34-kt winds?", storm=group.storm, year=group.year,
        port=group.port, lead=24,
    )
    result = engine.ask(understood)
    assert result.trajectories
    for trajectory in result.trajectories:
        keys = precedence_keys(trajectory.edges)
        before = precedence_matrix(keys)
        for i in range(len(trajectory.edges) - 1):
            assert not before[i + 1, i] or trajectory.terms.prec < 1
        for edge in trajectory.edges:
            assert edge.lead is None or edge.static or edge.lead >= 24
            if not edge.synthetic and not edge.static:
                assert any(
                    texts[s.document][s.start : s.end] == edge.evidence for s in edge.spans
                )
    payload = result_payload(result, source_names(corpus.documents))
    assert json.loads(json.dumps(payload))["schema"] == "okh.answer/1"


def test_a_later_document_never_changes_an_earlier_answer(
    built: Home, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    """Take the last horizon away: a question asked at an earlier one sees the same evidence."""
    full = Engine.open(built)
    group = full.groups[0]
    home = Home.open(tmp_path / "home", create=True)
    shorter = [path for path in documents() if not path.name.endswith("_12h.txt")]
    ingest_paths(home, shorter, ports=PORTS_CSV)
    rebuild(home, instance)
    ask = {"storm": group.storm, "year": group.year, "port": group.port, "lead": 36}
    index_full, index_less = full.index([group.key]), Engine.open(home).index([group.key])

    def known(index: object, lead: int) -> set[str]:
        rows = range(len(index))  # type: ignore[arg-type]
        return {
            e.id for e in index.edges(list(rows))  # type: ignore[attr-defined]
            if not e.static and not e.observed and e.lead is not None and e.lead >= lead
        }

    assert known(index_full, ask["lead"]) == known(index_less, ask["lead"])


def test_a_bad_group_is_quarantined_and_the_rest_is_built(
    instance: dg.DagsterInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import assets.hypergraph as module
    from storage.quarantine import list_items

    home = Home.open(tmp_path / "home", create=True)
    ingest_paths(home, documents(), ports=PORTS_CSV)
    bad = sorted(find_stale(home, RulesExtractor(), None).groups)[0]
    whole = module.normalize

    def failing(group: object, facts: object) -> object:
        if getattr(group, "key", "") == bad:
            raise ValueError("planted")
        return whole(group, facts)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "normalize", failing)
    rebuild(home, instance)
    store = TableStore(home)
    assert bad not in store.current("hyperedges")
    assert len(store.current("hyperedges")) == len(store.current("blocks")) - 1
    assert [i.group for i in list_items(home) if i.stage == "hypergraph"] == [bad]
    monkeypatch.undo()
    assert set(rebuild(home, instance).stale) == {bad}
    assert not [i for i in list_items(home) if i.stage == "hypergraph"]


def test_a_range_run_by_the_two_tags(instance: dg.DagsterInstance, tmp_path: Path) -> None:
    home = Home.open(tmp_path / "home", create=True)
    ingest_paths(home, documents(), ports=PORTS_CSV)
    defs = definitions(str(home.root))
    groups = list(find_stale(home, RulesExtractor(), None).groups)
    with dg.DagsterInstance.ephemeral() as own:
        own.add_dynamic_partitions("group", groups)
        result = defs.resolve_job_def("build_everything").execute_in_process(
            instance=own,
            tags={
                "dagster/asset_partition_range_start": groups[0],
                "dagster/asset_partition_range_end": groups[1],
            },
        )
        assert result.success
        records = own.get_materialized_partitions(dg.AssetKey("hypergraph"))
        assert records == set(groups[:2])
    assert set(TableStore(home).current("hyperedges")) == set(groups[:2])
    published = snapshot(home)
    assert published is not None
    assert set(published.files["hyperedges"]) == set(groups[:2])


def test_traces_teach_only_what_hangs_on_evidence(
    built: Home, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    home = copied(built, tmp_path)
    defs = definitions(str(home.root))
    result = defs.resolve_job_def("learn_from_traces").execute_in_process(
        instance=instance,
        run_config={"ops": {"retrieval_traces": {"config": {"questions": str(QUESTIONS)}}}},
    )
    assert result.success
    traces = load_all(home)
    assert len(traces) == len(questions())
    judged = [t for t in traces if t.correct is not None]
    assert len(judged) >= 8 and all(t.split in ("train", "dev", "test") for t in judged)
    for trace in traces:
        if trace.gold_edge is not None:
            assert trace.correct
            steps = trace.trajectories[trace.answer["trajectory"] - 1]["steps"]
            assert trace.gold_edge in {step["id"] for step in steps}
    splits = {t.question["storm"] + "-" + str(t.question["year"]): t.split for t in judged}
    pairs = induced_pairs(traces, splits)
    assert all(splits[key.split("|")[0]] == "train" for key in pairs)
    made = result.asset_materializations_for_node("self_trained_transition_model")[0]
    assert "trained" in made.metadata


def test_ranges_cover_all_stale_keys_and_stay_small() -> None:
    keys = [f"k{i}" for i in range(50)]
    stale = {f"k{i}" for i in (0, 1, 2, 5, 20, 21, 40)}
    ranges = contiguous_ranges(stale, keys, size=4, gap=2)
    covered = set()
    for first, last in ranges:
        part = keys[keys.index(first) : keys.index(last) + 1]
        assert len(part) <= 4
        covered |= set(part)
    assert stale <= covered
    assert "k10" not in covered


def test_every_asset_explains_itself() -> None:
    defs = definitions(".okh")
    for asset in defs.resolve_asset_graph().assets_defs:
        for key in asset.keys:
            spec = asset.get_asset_spec(key)
            assert spec.description and spec.group_name and spec.kinds and spec.owners
            assert spec.code_version


@pytest.mark.shared
def test_real_products_from_door_to_door(
    shared_data: Path, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    """Irma at Miami: real advisories, tables and posts, read by the rules of this project."""
    ports = tmp_path / "ports.csv"
    ports.write_text("name,lon,lat\nPortMiami,-80.17,25.77\n")
    home = Home.open(tmp_path / "home", create=True)
    files = [*shared_data.glob("nhc/*/IRMA_2017_*h.txt"),
             shared_data / "cyportqa" / "uscg_port_conditions.csv"]
    report = ingest_paths(home, sorted(files), ports=ports)
    assert report.groups > 0
    result = build(home, instance, pattern="IRMA-2017|*")
    assert not result.failures and len(result.stale) == 1
    (group,) = result.stale
    edges = edges_from_table(TableStore(home).read("hyperedges", group))
    told = [e for e in edges if not e.synthetic]
    assert len(told) > 300
    assert sum(e.grounded for e in told) == len(told)
    assert not [e for e in edges if e.relation == UNMAPPED]
    engine = Engine.open(home)
    asked = engine.understand(
        "What is the five-day cumulative probability of 34-kt winds?", storm="IRMA", year=2017,
        port=Group.parse(group).port, lead=48,
    )
    found = engine.ask(asked)
    answer = found.answer
    printed = re.search(
        r"^MIAMI FL\s+34 .*\(\s*(\d+)\)\s*$",
        (shared_data / "nhc/wind/IRMA_2017_48h.txt").read_text(), re.MULTILINE,
    )
    assert printed is not None
    assert answer.value == printed[1]
    assert answer.details["statistic"] == "cumulative" and answer.details["unit"] == "%"
    assert answer.details["location"].upper().startswith("MIAMI")
