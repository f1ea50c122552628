"""Backfills and differences: what a change made stale, no more, newest first, old against new."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest
from typer.testing import CliRunner

from assets.diff import compare, difference, since
from assets.ingest import ingest_paths
from assets.staleness import newest_first, ranges_newest_first
from okh.domain import Attribute, OkhError
from okh.sample import PORTS_CSV, SAMPLE_DIR
from orchestration.building import build
from orchestration.cli import app
from storage.home import Home
from storage.publish import snapshot
from tests.storage.samples import edge

A, B, C = (replace(edge(n), evidence=f"Sentence {n}.", entities=(f"e{n}",)) for n in range(3))


def test_the_same_facts_have_no_difference() -> None:
    found = compare([A, B, A], [B, replace(A, id="another", confidence=0.5), A])
    assert found.counts == {"gained": 0, "lost": 0, "changed": 0, "kept": 3}


def test_gained_lost_and_changed() -> None:
    other = replace(A, attributes=(Attribute("direction", "E"),))
    read_again = replace(B, entities=("e9",))
    found = compare([A, B], [other, read_again, C])
    assert [c.fields for c in found.changed] == [("attributes",), ("entities",)]
    assert found.gained == (C,) and found.lost == () and found.kept == 0
    back = compare([other, read_again, C], [A, B])
    assert back.lost == (C,) and len(back.changed) == 2


def test_each_fact_is_paired_once() -> None:
    found = compare([A], [A, A])
    assert found.counts == {"gained": 1, "lost": 0, "changed": 0, "kept": 1}


def test_newest_storms_come_first() -> None:
    keys = ["A-2001|p", "A-2001|q", "B-2005|p", "C-2003|p", "C-2003|q", "C-2003|r"]
    assert [k.split("|")[0] for k in newest_first(keys)] == ["B-2005", *["C-2003"] * 3,
                                                             *["A-2001"] * 2]
    assert ranges_newest_first(set(keys) - {"C-2003|q"}, keys, 10) == [
        ("B-2005|p", "B-2005|p"), ("C-2003|p", "C-2003|r"), ("A-2001|p", "A-2001|q"),
    ]


def test_a_changed_vocabulary_rebuilds_the_hypergraph_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan, what is done, and the facts of either version, as a person sees them."""
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    home = Home.open(tmp_path / "home", create=True)
    ingest_paths(home, [SAMPLE_DIR / "scenario"], ports=PORTS_CSV)
    with dg.DagsterInstance.ephemeral() as instance:
        assert not build(home, instance).failures
    (group,) = ingest_paths(home, []).changed or [*snapshot(home).files["hyperedges"]]  # type: ignore[union-attr]
    before = snapshot(home)
    assert before is not None

    import assets.hypergraph as module
    whole = module.normalize

    def fewer(key: object, facts: list[object]) -> object:
        return whole(key, [f for f in facts if "pressure" not in f.fact.relation])  # type: ignore

    monkeypatch.setattr(module, "normalize", fewer)
    for name in ("assets.hypergraph", "assets.staleness"):
        monkeypatch.setattr(f"{name}.hypergraph_version", lambda: "edited")

    def run(*words: str) -> dict[str, object]:
        result = CliRunner().invoke(app, [*words, "--home", str(home.root), "--json"])
        assert result.exit_code == 0, result.output
        return dict(json.loads(result.stdout))

    assert run("backfill", "--stale", "--dry-run")["groups"] == {group: "hypergraph"}
    assert snapshot(home) == before
    done = run("backfill", "--stale")
    assert done["groups"] == [group] and done["runs"] == 2
    counts = done["facts"][group]  # type: ignore[index]
    assert counts["lost"] > 0 and counts["kept"] > 0 and counts["gained"] == 0
    again = run("backfill", "--stale")
    assert again["groups"] == [] and again["runs"] == 0

    shown = run("diff", group)
    assert {k: shown[k] for k in counts} == counts
    assert (shown["before"], shown["after"]) == (1, 2)
    assert run("diff", group, "--against", "2")["lost"] == 0
    with pytest.raises(OkhError, match="no version 7 any more; there are 1, 2"):
        difference(home, group, 7)
    with pytest.raises(OkhError, match="no built group"):
        difference(home, "NOBODY-2000|x")
    assert since(home, before.files["hyperedges"], [group])[group].counts == counts
