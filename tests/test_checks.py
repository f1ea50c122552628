"""Asset checks: each finds what was planted, and a sound build passes them all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest

from assets import checks
from assets.canonical_trajectories import group_trajectory
from assets.ingest import ingest_paths
from okh.domain import Entity, Hyperedge
from okh.sample import PORTS_CSV, SAMPLE_DIR
from orchestration.building import build
from orchestration.definitions import definitions
from storage.home import Home
from storage.publish import snapshot
from storage.rows import edges_from_table, edges_to_table, entities_to_table
from storage.tables import TableStore
from tests.storage.samples import GROUP, OTHER, edge

EDGES = [edge(number) for number in range(4)]
MEMBERS = [
    Entity("cyclone:ODESSA-2031", "Odessa", "cyclone"),
    Entity("horizon:T-48", "T-48", "horizon_time", origin="anchor"),
]


def table(*edges: Hyperedge) -> pa.Table:
    return edges_to_table(edges)


def test_sound_edges_pass() -> None:
    edges, places = table(*EDGES), group_trajectory(GROUP, table(*EDGES))["canonical_trajectories"]
    entities = entities_to_table(GROUP, MEMBERS)
    for finding in (
        checks.unique_ids(edges), checks.temporal_anchors(edges),
        checks.entities_known(edges, entities), checks.share_unmapped(edges),
        checks.topological(edges, places), checks.vectors_are_edges(["a", "b"], ["b", "a"]),
    ):
        assert finding.passed, finding


def test_empty_tables_pass_but_for_facts() -> None:
    edges = table()
    facts = pa.table({"group": pa.array([], pa.string()), "grounded": pa.array([], pa.bool_()),
                      "static": pa.array([], pa.bool_())})
    assert checks.temporal_anchors(edges).passed and checks.unique_ids(edges).passed
    assert checks.share_grounded(facts).passed
    assert checks.any_facts(facts, []).passed
    found = checks.any_facts(facts, [GROUP])
    assert not found.passed and found.stops and found.examples == (GROUP,)


def test_a_group_without_facts_of_its_own_fails() -> None:
    facts = pa.table({"group": [GROUP, OTHER], "grounded": [True, True], "static": [False, True]})
    found = checks.facts_in_every_group(facts, [GROUP, OTHER])
    assert not found.passed and found.examples == (OTHER,) and not found.stops
    assert checks.any_facts(facts, [GROUP, OTHER]).passed


@pytest.mark.parametrize(("bad", "passed", "stops"), [(1, True, False), (10, False, False),
                                                      (60, False, True)])
def test_share_grounded(bad: int, passed: bool, stops: bool) -> None:
    facts = pa.table({"group": [GROUP] * 100, "grounded": [i >= bad for i in range(100)]})
    found = checks.share_grounded(facts)
    assert (found.passed, found.stops) == (passed, stops)


@pytest.mark.parametrize("wrong", [
    replace(EDGES[0], entities=("cyclone:ODESSA-2031",)),
    replace(EDGES[0], entities=("horizon:T-24", "horizon:T-48")),
    replace(EDGES[0], static=True, lead=None),
    replace(EDGES[0], family=13, lead_from=72),
])
def test_a_wrong_number_of_anchors_is_found(wrong: Hyperedge) -> None:
    found = checks.temporal_anchors(table(*EDGES[1:], wrong))
    assert not found.passed and found.stops and found.examples == (wrong.id,)


def test_a_change_has_two_anchors() -> None:
    change = replace(
        EDGES[0], family=13, lead_from=72, entities=("horizon:T-48", "horizon:T-72")
    )
    assert checks.temporal_anchors(table(change)).passed


def test_repeated_ids_orphans_and_strangers_are_found() -> None:
    assert checks.unique_ids(table(*EDGES, EDGES[2])).examples == (EDGES[2].id,)
    lonely = entities_to_table(GROUP, [*MEMBERS, Entity("port:x", "X", "port")])
    found = checks.entities_known(table(*EDGES), lonely)
    assert not found.passed and not found.stops and "port:x" in found.examples[0]
    found = checks.entities_known(table(*EDGES), entities_to_table(GROUP, MEMBERS[:1]))
    assert not found.passed and found.stops
    # Known in another group is not known.
    assert not checks.entities_known(table(*EDGES), entities_to_table(OTHER, MEMBERS)).passed


def test_an_order_against_precedence_is_found() -> None:
    edges = [replace(e, lead=72 - 24 * n) for n, e in enumerate(EDGES)]
    edges.append(replace(edge(9), static=True, lead=None))
    edges.append(replace(edge(10), lead=None, issued=None))
    places = group_trajectory(GROUP, table(*edges))["canonical_trajectories"]
    assert checks.topological(table(*edges), places).passed
    swapped = places.set_column(
        places.column_names.index("place"), "place", pa.array([0, 2, 1, 3, 4, 5])
    )
    assert not checks.topological(table(*edges), swapped).passed
    assert not checks.topological(table(*edges), places.slice(1)).passed
    assert not checks.topological(table(*edges[1:]), places).passed


def test_vectors_missing_twice_and_orphaned_are_found() -> None:
    for ids, edges in ((["a"], ["a", "b"]), (["a", "b"], ["a"]), (["a", "a"], ["a"])):
        assert not checks.vectors_are_edges(ids, edges).passed


def test_a_horizon_without_facts_is_found() -> None:
    blocks = pa.table({"group": [GROUP] * 3, "lead": pa.array([48, 24, None], pa.int32())})
    found = checks.horizon_coverage(table(*EDGES), blocks)
    assert not found.passed and found.examples == (f"{GROUP} at 24",)
    assert found.numbers["share covered"] == 0.5


def test_drift_against_the_last_version(tmp_path: Path) -> None:
    store = TableStore(Home.open(tmp_path / "home", create=True))
    versions = {"code_version": "1", "input_hash": "x"}
    store.write("hyperedges", GROUP, table(*EDGES), **versions)
    assert checks.drift(store, [GROUP, OTHER]).passed
    store.write("hyperedges", GROUP, table(EDGES[0]), **versions)
    found = checks.drift(store, [GROUP])
    assert found.examples == (f"{GROUP}: 4 -> 1",) and not found.stops


# --- in Dagster -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Home, dg.DagsterInstance]]:
    """One storm of the sample, built."""
    home = Home.open(tmp_path_factory.mktemp("checks") / "home", create=True)
    ingest_paths(home, [SAMPLE_DIR / "scenario"], ports=PORTS_CSV)
    with dg.DagsterInstance.ephemeral() as instance:
        report = build(home, instance)
        assert not report.failures and not report.checks
        yield home, instance


def test_each_asset_of_a_group_is_checked(built: tuple[Home, dg.DagsterInstance]) -> None:
    home, instance = built
    keys = definitions(str(home.root)).resolve_asset_graph().asset_check_keys
    evaluated = instance.event_log_storage.get_latest_asset_check_execution_by_key(list(keys))
    names = {key.name for key in evaluated}
    assert {"any_facts", "temporal_anchors", "topological", "vectors_are_edges"} <= names


def test_a_run_stops_at_a_broken_hypergraph(
    built: tuple[Home, dg.DagsterInstance], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Edges without anchors: the canonical order is not made from them, and none is published."""
    import assets.hypergraph as module

    home, instance = built
    before = snapshot(home)
    whole = module.group_hypergraph
    places = TableStore(home).current("canonical_trajectories")

    def broken(key: str, extractions: pa.Table) -> dict[str, pa.Table]:
        made = dict(whole(key, extractions))
        edges = [replace(e, entities=e.entities[:1]) for e in edges_from_table(made["hyperedges"])]
        return made | {"hyperedges": edges_to_table(edges)}

    monkeypatch.setattr(module, "group_hypergraph", broken)
    monkeypatch.setattr(module, "hypergraph_version", lambda: "planted")
    monkeypatch.setattr("assets.staleness.hypergraph_version", lambda: "planted")
    report = build(home, instance)
    assert report.failures and any("temporal_anchors" in check for check in report.checks)
    assert TableStore(home).current("canonical_trajectories") == places
    assert snapshot(home) == before
    monkeypatch.undo()
    assert not build(home, instance).failures
