"""Incremental refresh: the folder, the sensor's ticks, and the night's schedules."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import dagster as dg
import pytest

from assets.corpus import Corpus, read_fingerprints
from assets.folder import FolderError, refresh_folder
from assets.ingest import ingest_paths
from okh.sample import PORTS_CSV, SAMPLE_DIR
from orchestration import sensors
from orchestration.definitions import definitions
from orchestration.resources import HomeResource
from orchestration.schedules import daily_index, daily_refresh
from orchestration.sensors import documents_sensor
from storage.home import Home
from storage.publish import snapshot
from storage.tombstones import tombstones


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A watched folder with six advisories and tables of one storm."""
    path = tmp_path / "documents"
    for kind in ("advisory", "wind"):
        for file in sorted((SAMPLE_DIR / kind).glob("*_2031_[246]*h.txt")):
            (path / kind).mkdir(parents=True, exist_ok=True)
            shutil.copy(file, path / kind)
    monkeypatch.setenv("OKH_DOCUMENTS", str(path))
    return path


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home.open(tmp_path / "home", create=True)
    ingest_paths(home, [], ports=PORTS_CSV)
    return home


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as made:
        yield made


class Daemon:
    """Evaluates the sensor and launches what it requests, each run key once."""

    def __init__(self, home: Home, instance: dg.DagsterInstance) -> None:
        self.home, self.instance = home, instance
        self.cursor: str | None = None
        self.keys: set[str] = set()
        self.defs = definitions(str(home.root))

    def tick(self, *, launch: bool = True) -> list[dg.RunRequest]:
        """One tick; returns the requests whose run keys are new."""
        context = dg.build_sensor_context(
            self.instance, cursor=self.cursor,
            resources={"home": HomeResource(path=str(self.home.root))},
            definitions=self.defs,
        )
        result = documents_sensor(context)
        assert isinstance(result, dg.SensorResult), result
        self.cursor = result.cursor
        for request in result.dynamic_partitions_requests or ():
            self.instance.add_dynamic_partitions("group", list(request.partition_keys))
        new = [r for r in result.run_requests or () if r.run_key not in self.keys]
        self.keys |= {str(r.run_key) for r in new}
        for request in new if launch else ():
            done = self.defs.resolve_job_def(str(request.job_name)).execute_in_process(
                instance=self.instance, tags=dict(request.tags),
                run_config={"loggers": {"console": {"config": {"log_level": "ERROR"}}}},
            )
            assert done.success
        return new

    def settle(self) -> list[str]:
        """Ticks until one requests nothing; returns the jobs that ran."""
        jobs: list[str] = []
        for _ in range(8):
            new = self.tick()
            if not new:
                return jobs
            jobs += [str(r.job_name) for r in new]
        raise AssertionError(f"the sensor does not come to rest: {jobs}")


def test_the_folder_is_read_once(home: Home, folder: Path) -> None:
    files = sum(1 for p in folder.rglob("*") if p.is_file())
    first = refresh_folder(home, folder, limit=5)
    assert (first.read, first.left) == (5, files - 5)
    assert refresh_folder(home, folder).read == files - 5
    again = refresh_folder(home, folder)
    assert (again.read, again.gone, again.groups) == (0, 0, ())
    assert len(Corpus(home).documents) == files


def test_a_folder_that_is_not_there_deletes_nothing(home: Home, folder: Path) -> None:
    refresh_folder(home, folder)
    folder.rename(folder.with_name("elsewhere"))
    with pytest.raises(FolderError, match="not there"):
        refresh_folder(home, folder)
    assert Corpus(home).documents and not tombstones(home)


def test_content_under_two_names_goes_with_the_last(home: Home, folder: Path) -> None:
    file = sorted(folder.glob("advisory/*"))[0]
    shutil.copy(file, folder / f"copy_{file.name}")
    refresh_folder(home, folder)
    known = len(Corpus(home).documents)
    file.unlink()
    assert refresh_folder(home, folder).gone == 0
    (folder / f"copy_{file.name}").unlink()
    assert refresh_folder(home, folder).gone == 1
    assert len(Corpus(home).documents) == known - 1


def test_a_reading_that_was_cut_short_is_repeated(
    home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refresh_folder(home, folder)
    file = sorted(folder.glob("advisory/*"))[0]
    file.write_text(file.read_text() + "\n\n")

    def crash(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("assets.folder.atomic_write", crash)
    with pytest.raises(KeyboardInterrupt):
        refresh_folder(home, folder)
    monkeypatch.undo()
    report = refresh_folder(home, folder)
    assert report.read == 1
    assert len(Corpus(home).documents) == sum(1 for p in folder.rglob("*") if p.is_file())


def test_new_changed_and_deleted_files(
    home: Home, instance: dg.DagsterInstance, folder: Path
) -> None:
    daemon = Daemon(home, instance)
    assert daemon.settle() == ["build_groups", "build_index"]
    assert daemon.settle() == []
    groups = set(read_fingerprints(home))
    published = snapshot(home)
    assert published is not None and set(published.files["hyperedges"]) == groups
    file = sorted(folder.glob("advisory/*"))[0]
    original = file.read_text()

    # A -> B: the old document leaves no trace, the new one is built.
    file.write_text(original + "\n\n\n")
    assert daemon.settle() == ["build_groups", "build_index", "maintenance"]
    (old,) = [t for t in tombstones(home) if t.done]
    assert not home.has_raw(old.document.hash)
    # B -> A: the same state as at first, and yet it is built.
    file.write_text(original)
    assert daemon.settle() == ["build_groups", "build_index", "maintenance"]
    assert home.has_raw(old.document.hash)
    assert old.document.hash not in {t.document.hash for t in tombstones(home)}

    # All files of a storm go: its groups go, with their partition keys.
    for path in folder.rglob("*_2031_*"):
        path.unlink()
    (folder / "keep").mkdir()
    jobs = daemon.settle()
    assert "maintenance" in jobs
    assert not read_fingerprints(home)
    assert not instance.get_dynamic_partitions("group")


def test_requests_are_made_once_and_wait_for_runs(
    home: Home, instance: dg.DagsterInstance, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon = Daemon(home, instance)
    (request,) = daemon.tick(launch=False)
    assert request.run_key and "dagster/asset_partition_range_start" in request.tags
    assert daemon.tick(launch=False) == []  # the run may wait in the queue for hours
    monkeypatch.setattr(sensors, "under_way", lambda instance: True)
    (folder / "advisory" / "more_2031_96h.txt").write_text("no product at all")
    assert daemon.tick(launch=False) == []


def test_at_most_so_many_groups_a_tick_in_as_few_runs_as_possible() -> None:
    order = [f"S-2000|p{n:03d}" for n in range(300)]
    requests = sensors.range_requests(order[:250], order, "k", "build_groups", size=100)
    assert len(requests) == 3
    assert len({r.run_key for r in requests}) == 3
    again = sensors.range_requests(order[:250], order, "k", "build_groups", size=100)
    assert [r.run_key for r in again] == [r.run_key for r in requests]
    assert sensors.range_requests(order[:1], order, "other")[0].run_key != requests[0].run_key


def test_no_folder_no_tick(
    home: Home, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OKH_DOCUMENTS", raising=False)
    context = dg.build_sensor_context(
        instance, resources={"home": HomeResource(path=str(home.root))}
    )
    assert isinstance(documents_sensor(context), dg.SkipReason)


def test_the_night(home: Home, folder: Path) -> None:
    # A schedule's context wants an instance that another process could open.
    with dg.DagsterInstance.local_temp() as instance:
        assert_nightly(home, instance)


def assert_nightly(home: Home, instance: dg.DagsterInstance) -> None:
    context = dg.build_schedule_context(
        instance, scheduled_execution_time=datetime(2031, 9, 1, 3),
        resources={"home": HomeResource(path=str(home.root))},
    )
    requests = daily_refresh(context)
    assert isinstance(requests, list) and requests
    assert set(instance.get_dynamic_partitions("group")) == set(read_fingerprints(home))
    defs = definitions(str(home.root))
    for request in requests:
        job = defs.resolve_job_def("build_groups")
        assert job.execute_in_process(instance=instance, tags=dict(request.tags)).success
    assert isinstance(daily_refresh(context), dg.SkipReason)
    assert isinstance(daily_index(context), dg.RunRequest)


def test_nothing_runs_by_itself() -> None:
    repository = definitions(".okh").get_repository_def()
    assert {s.default_status.value for s in repository.sensor_defs} == {"STOPPED"}
    assert {s.default_status.value for s in repository.schedule_defs} == {"STOPPED"}
