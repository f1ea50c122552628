"""The command line as its users meet it: output, JSON, exit codes."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import networkx as nx
import pyarrow.parquet as pq
import pytest
from click.testing import Result
from typer.testing import CliRunner

from okh.sample import PORTS_CSV, documents, questions
from orchestration.cli import NO_EVIDENCE, USER_ERROR, app

runner = CliRunner()


def okh(*args: str | Path) -> Result:
    return runner.invoke(app, [str(a) for a in args])


def okh_json(*args: str | Path) -> Any:
    result = okh(*args, "--json")
    assert result.exit_code in (0, NO_EVIDENCE), result.output
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the sample, made through the commands alone."""
    folder = tmp_path_factory.mktemp("cli") / "home"
    said = okh_json("ingest", *documents(), "--ports", PORTS_CSV, "--home", folder)
    assert said["added"] == len(said["files"]) + said["files"].count(None)
    built = okh_json("build", "--home", folder)
    assert built["failures"] == [] and built["groups"] == len(built["stale"]) == 5
    return folder


def test_every_sample_question_is_answered(home: Path) -> None:
    for row in questions():
        args = ["ask", row["question"], "--home", home, "--type", row["type"],
                "--storm", row["storm"], "--year", row["year"], "--port", row["port"],
                "--lead", row["lead"]]
        for choice in row.get("choices", ()):
            args += ["--choice", choice]
        said = okh_json(*args)
        assert said["schema"] == "okh.answer/1"
        if row["type"] != "TD":
            assert said["answer"]["value"] == row["answer"], row["question"]
        for trajectory in said["trajectories"]:
            assert set(trajectory["terms"]) == {"rel", "trans", "prec", "ovlp", "cov"}
            for step in trajectory["steps"]:
                assert step["lead"] is None or step["lead"] >= row["lead"]
                assert step["synthetic"] or all(s["file"] for s in step["sources"])


def test_context_is_found_in_the_words(home: Path) -> None:
    row = next(q for q in questions() if q["type"] == "SA" and q["answer"] != "not stated")
    words = f"{row['question']} Storm {row['storm'].title()} {row['year']}, {row['port']}, " \
            f"T-{row['lead']}."
    asked = okh_json("ask", words, "--home", home)["question"]
    assert (asked["storm"], asked["year"], asked["lead"], asked["as_of"]) == (
        row["storm"], row["year"], row["lead"], row["lead"]
    )


def test_hindsight_lifts_as_of(home: Path) -> None:
    row = next(q for q in questions() if q.get("demo"))
    context = ("--storm", row["storm"], "--year", row["year"], "--port", row["port"],
               "--lead", row["lead"], "--home", home)
    now = okh_json("ask", row["question"], *context)
    later = okh_json("ask", row["question"], *context, "--hindsight")
    assert now["question"]["as_of"] == row["lead"] and later["question"]["as_of"] is None

    def leads(payload: Any) -> list[int]:
        return [s["lead"] for t in payload["trajectories"] for s in t["steps"] if s["lead"]]

    assert min(leads(now)) >= row["lead"] > min(leads(later))


@pytest.mark.parametrize("args", [
    ("ask", ""),
    ("ask", "How strong is it?", "--storm", "NOBODY"),
    ("ask", "How strong is it?", "--type", "XX"),
    ("ask", "How strong is it?", "--source", "rumour"),
    ("show", "BRELLAN-2031|nowhere"),
    ("export", "x.json", "--group", "NOBODY*"),
    ("ingest", "/no/such/file"),
])
def test_user_errors_are_one_line_and_exit_2(home: Path, args: tuple[str, ...]) -> None:
    from orchestration.cli import main

    result = _main([*args, "--home", str(home)])
    assert result.returncode == USER_ERROR, result.stderr
    assert "Traceback" not in result.stderr
    assert "error" in result.stderr.lower()
    assert main


def _main(args: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    code = f"import sys; sys.argv = {['okh', *args]!r}; from orchestration.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, **environment},
    )


def test_a_home_that_is_not_there_says_what_makes_one(tmp_path: Path) -> None:
    result = _main(["status", "--home", str(tmp_path / "none")])
    assert result.returncode == USER_ERROR
    assert "okh ingest" in result.stderr


def test_ask_imports_neither_dagster_nor_torch(home: Path) -> None:
    code = (
        "import sys\n"
        "from orchestration.asking import answer\n"
        "from storage.home import Home\n"
        f"answer(Home.open({str(home)!r}), 'Which category?')\n"
        "print(sorted(m for m in ('dagster', 'torch', 'openai') if m in sys.modules))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert result.stdout.strip() == "[]"


def test_show_gives_the_canonical_trajectory(home: Path) -> None:
    status = okh_json("status", "--home", home)
    assert status["stale"] == {} and not status["index_stale"] and status["quarantined"] == 0
    row = questions()[0]
    group = f"{row['storm']}-{row['year']}|{row['port']}"
    steps = okh_json("show", group, "--home", home)["steps"]
    leads = [s["lead"] for s in steps if s["lead"] is not None]
    assert leads == sorted(leads, reverse=True) and len(steps) > 20
    text = okh("show", group, "--home", home, "--relation", "has_position").stdout
    assert "has_position" in text and "has_motion" not in text


def test_exports_are_read_by_other_tools(home: Path, tmp_path: Path) -> None:
    assert okh("export", tmp_path / "g.json", "--home", home).exit_code == 0
    hif = json.loads((tmp_path / "g.json").read_text())
    nodes = {n["node"] for n in hif["nodes"]}
    edges = {e["edge"] for e in hif["edges"]}
    assert {i["node"] for i in hif["incidences"]} <= nodes
    assert {i["edge"] for i in hif["incidences"]} == edges
    assert okh("export", tmp_path / "g.graphml", "--format", "graphml", "--home", home,
               "--group", "BRELLAN*").exit_code == 0
    graph = nx.read_graphml(tmp_path / "g.graphml")
    assert nx.is_bipartite(graph) and graph.number_of_edges() > 100
    for kind in ("parquet", "csv"):
        assert okh("export", tmp_path / kind, "--format", kind, "--home", home).exit_code == 0
    rows = pq.read_table(tmp_path / "parquet" / "hyperedges.parquet").num_rows
    with (tmp_path / "csv" / "hyperedges.csv").open(newline="") as file:
        assert sum(1 for _ in csv.DictReader(file)) == rows == len(edges)


def test_refused_files_are_listed_and_retried(tmp_path: Path) -> None:
    folder = tmp_path / "home"
    bad = tmp_path / "ODD_2031_48h.txt"
    bad.write_bytes(b"")
    good = documents()[0]
    said = okh_json("ingest", bad, good, "--ports", PORTS_CSV, "--home", folder)
    assert said["added"] == 1
    items = okh_json("quarantine", "list", "--home", folder)["items"]
    assert [Path(i["file"]).name for i in items] == [bad.name] and items[0]["mend"]
    bad.write_bytes(documents()[1].read_bytes())
    done = okh_json("quarantine", "retry", "--home", folder)
    assert (done["before"], done["left"]) == (1, 0)


def test_another_embedder_is_refused(home: Path) -> None:
    result = _main(["build", "--home", str(home), "--retrain"], OKH_EMBEDDER="minilm")
    assert result.returncode != 0
    assert "embedder lsa-" in result.stderr + result.stdout
