"""The home: whole writes, verified originals, clear refusals."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from storage.home import Home, HomeError, atomic_write
from storage.schemas import SCHEMAS, SchemaError
from tests.storage.samples import CRASHED, crash_before_rename, in_processes, leftovers

DATA = "Odessa – cañón".encode()
DIGEST = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.open(tmp_path / "O'Neil 100%41 #a?b", create=True)


def test_settings_are_kept_and_merged(home: Home) -> None:
    home.update_settings(radius_km=80.0, ports="a.csv")
    home.update_settings(ports=None)
    assert Home.open(home.root).settings == {"radius_km": 80.0, "ports": None}


def test_opening_again_changes_nothing(home: Home) -> None:
    home.update_settings(x=1)
    assert Home.open(home.root, create=True).settings == {"x": 1}


def test_what_is_no_home_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HomeError, match="is not a home: `okh ingest"):
        Home.open(tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()
    (tmp_path / "file").write_text("x")
    with pytest.raises(HomeError, match="is a file"):
        Home.open(tmp_path / "file", create=True)


def test_a_newer_home_is_refused(home: Home) -> None:
    (home.root / "home.json").write_text('{"format": 2}')
    with pytest.raises(HomeError, match="has format 2, this program reads up to 1: use a newer"):
        Home.open(home.root)


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff\xfe", b'{"format": '])
def test_a_damaged_home_is_named(home: Home, content: bytes) -> None:
    (home.root / "home.json").write_bytes(content)
    with pytest.raises(HomeError, match=r"home\.json is damaged: restore it"):
        Home.open(home.root)


def test_originals(home: Home) -> None:
    assert not home.has_raw(DIGEST)
    home.put_raw(DIGEST, DATA)
    home.put_raw(DIGEST, DATA)
    assert home.has_raw(DIGEST) and home.raw_bytes(DIGEST) == DATA
    (home.raw / DIGEST[:2] / DIGEST).write_bytes(b"other")
    with pytest.raises(HomeError, match="was changed: ingest the document again"):
        home.raw_bytes(DIGEST)
    (home.raw / DIGEST[:2] / DIGEST).unlink()
    with pytest.raises(HomeError, match="is gone: ingest the document again"):
        home.raw_bytes(DIGEST)


@pytest.mark.parametrize("name", ["../../etc/passwd", "", DIGEST.upper(), DIGEST + "\n", "a/b"])
def test_only_digests_are_names_of_originals(home: Home, name: str) -> None:
    for call in (home.has_raw, home.raw_bytes, lambda n: home.put_raw(n, DATA)):
        with pytest.raises(HomeError):
            call(name)


def test_bytes_of_another_digest_are_refused(home: Home) -> None:
    with pytest.raises(HomeError, match="do not have the digest"):
        home.put_raw(DIGEST, b"other")
    assert not home.has_raw(DIGEST)


def test_tables_of_the_home(home: Home) -> None:
    assert home.read_table("groups").num_rows == 0
    empty = SCHEMAS["groups"].empty_table()
    home.write_table("groups", empty)
    assert home.read_table("groups").equals(empty)
    with pytest.raises(SchemaError, match="missing columns"):
        home.write_table("groups", empty.drop_columns(["port"]))
    (home.root / "groups.parquet").write_bytes(b"PAR1")
    with pytest.raises(HomeError, match=r"groups\.parquet is damaged"):
        home.read_table("groups")


def test_a_write_that_fails_leaves_the_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "folder" / "file"
    atomic_write(path, b"old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        atomic_write(path, b"new")
    assert path.read_bytes() == b"old" and not leftovers(tmp_path)


def test_files_are_readable_by_whom_the_umask_lets(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        atomic_write(tmp_path / "file", b"x")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o644


def _crash_in_settings(root: str) -> None:
    home = Home.open(root)
    crash_before_rename()
    home.update_settings(x=2)


def _count(root: str, times: int) -> None:
    home = Home.open(root, create=True)
    for _ in range(times):
        with home.lock("counter"):
            number = home.settings.get("number", 0)
            home.update_settings(number=number + 1)


def test_a_crash_leaves_the_old_settings_and_no_lock(home: Home) -> None:
    home.update_settings(x=1)
    assert in_processes(_crash_in_settings, (str(home.root),)) == [CRASHED]
    assert leftovers(home.root)
    assert home.settings == {"x": 1}
    home.update_settings(x=3)
    assert home.settings == {"x": 3}


def test_processes_take_turns(tmp_path: Path) -> None:
    root = tmp_path / "new"
    assert in_processes(_count, (str(root), 20), (str(root), 20)) == [0, 0]
    assert json.loads((root / "home.json").read_text())["settings"] == {"number": 40}
