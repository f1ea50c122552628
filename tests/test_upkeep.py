"""Damage repaired by one command, backups that hold a whole home, and the maintenance job."""

from __future__ import annotations

import json
import shutil
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import dagster as dg
import pytest
from typer.testing import CliRunner

from assets.engine import Engine
from assets.ingest import ingest_paths
from assets.repair import take_away_damaged
from okh.sample import PORTS_CSV, SAMPLE_DIR
from orchestration.building import build
from orchestration.cli import app
from orchestration.definitions import definitions
from orchestration.hooks import AlertError, alert_on_failure, post
from storage.backup import restore_backup, save_backup
from storage.home import Home, HomeError
from storage.publish import snapshot
from storage.tables import TableStore


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home.open(tmp_path_factory.mktemp("upkeep") / "home", create=True)
    ingest_paths(home, [SAMPLE_DIR / "scenario"], ports=PORTS_CSV)
    with dg.DagsterInstance.ephemeral() as instance:
        assert not build(home, instance).failures
    return home


@pytest.fixture
def home(built: Home, tmp_path: Path) -> Home:
    shutil.copytree(str(built.root), tmp_path / "home")
    return Home.open(tmp_path / "home")


def run(home: Home, *words: str) -> dict[str, object]:
    result = CliRunner().invoke(app, [*words, "--home", str(home.root), "--json"])
    assert result.exit_code == 0, result.output
    return dict(json.loads(result.stdout))


def test_a_sound_home_is_left_alone(home: Home) -> None:
    before = snapshot(home)
    assert take_away_damaged(home) == []
    assert snapshot(home) == before


@pytest.mark.parametrize("cut", [100, -200])
def test_a_damaged_table_is_named_and_made_again(
    home: Home, built: Home, monkeypatch: pytest.MonkeyPatch, cut: int
) -> None:
    """Cut off, or with zeros in the middle and a sound footer."""
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    (path,) = home.tables.glob("hyperedges/*/*.parquet")
    data = path.read_bytes()
    path.write_bytes(data[:cut] if cut > 0 else data[:300] + bytes(2000) + data[2300:])
    told = run(home, "maintain", "--repair")
    assert told["damaged"] == [path.relative_to(home.root).as_posix()]
    (group,) = TableStore(home).current("hyperedges")
    same = [TableStore(h).read("hyperedges", group) for h in (home, built)]
    assert same[0].equals(same[1])
    Engine.open(home).index()


def test_lost_vectors_are_made_again_with_the_same_embedder(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    before = snapshot(home)
    for path in home.lance.glob("hyperedges_*/data/*"):
        path.unlink()
    told = run(home, "maintain", "--repair")
    assert any("lance/hyperedges" in str(name) for name in told["damaged"])  # type: ignore[union-attr]
    after = snapshot(home)
    assert before is not None and after is not None
    assert (after.embedder, after.model) == (before.embedder, before.model)
    Engine.open(home).index()


def test_a_backup_is_a_whole_home(home: Home, tmp_path: Path) -> None:
    archive = tmp_path / "backup.tar.gz"
    assert save_backup(home, archive) == archive.stat().st_size
    with pytest.raises(HomeError, match="there already"):
        save_backup(home, archive)
    with pytest.raises(HomeError, match="not empty"):
        restore_backup(archive, home.root)
    made = restore_backup(archive, tmp_path / "restored")
    assert snapshot(made) == snapshot(home)
    Engine.open(made).index()
    with dg.DagsterInstance.ephemeral() as instance:
        assert build(made, instance).did_nothing
    archive.write_bytes(archive.read_bytes()[:1000])
    with pytest.raises(HomeError, match="not a whole archive"):
        restore_backup(archive, tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_a_failed_run_is_noted_and_posted(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    got: list[dict[str, object]] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    @dg.op
    def breaks() -> None:
        raise ValueError("planted")

    @dg.job
    def broken() -> None:
        breaks()

    with HTTPServer(("127.0.0.1", 0), Receiver) as server, \
            dg.DagsterInstance.ephemeral() as instance:
        Thread(target=server.handle_request, daemon=True).start()
        monkeypatch.setenv("OKH_ALERT_URL", f"http://127.0.0.1:{server.server_port}/token")
        failed = broken.execute_in_process(instance=instance, raise_on_error=False)
        context = dg.build_run_status_sensor_context(
            "alert_on_failure", failed.get_run_failure_event(), instance, failed.dagster_run,
            resources={"home": home},
        ).for_run_failure()
        alert_on_failure(context)
    (noted,) = (home.root / "alerts.jsonl").read_text().splitlines()
    assert got == [json.loads(noted)]
    assert got[0]["job"] == "broken" and got[0]["steps"] == ["breaks"]
    assert "planted" not in noted
    with pytest.raises(AlertError) as caught:
        post("http://127.0.0.1:1/token", {})
    assert "token" not in str(caught.value)


def test_the_maintenance_job(home: Home) -> None:
    store = TableStore(home)
    (group,) = store.current("hyperedges")
    versions = {"code_version": "x", "input_hash": "x"}
    for rows in (1, 2, 3):
        store.write("hyperedges", group, store.read("hyperedges", group).slice(rows), **versions)
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("group", [group, "GONE-2000|x"])
        job = definitions(str(home.root)).resolve_job_def("maintenance")
        assert job.execute_in_process(instance=instance).success
        assert instance.get_dynamic_partitions("group") == [group]
    # The present one, the one before it, and that of the snapshot.
    assert [int(p.name[:8]) for p in store.versions("hyperedges", group)] == [1, 3, 4]
