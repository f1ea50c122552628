"""Builds that are killed (SIGKILL) at chosen points and started again; see ``test_crash``.

A point is an event of the interpreter's audit hook that changes a file of the home:
an opening for writing, a renaming, a removal, a database. A process of its own makes
the heavy imports once and forks a child for each build, so that a kill costs no start.
LanceDB is not among them: it has threads, which a fork would lose.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

_CHANGES = frozenset({"os.rename", "os.remove", "os.mkdir", "sqlite3.connect"})


class Builder:
    """A process that builds homes on request."""

    def __init__(self, root: Path) -> None:
        environment = os.environ | {"PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
        environment.pop("DAGSTER_HOME", None)
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "tests.crashing"], cwd=root, env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )

    def build(
        self, home: Path, files: Sequence[Path], ports: Path | None, *, kill_at: int = 0
    ) -> int:
        """Ingest and build; returns the number of points passed, or -1 if it was killed."""
        assert self._process.stdin is not None and self._process.stdout is not None
        order = [str(home), [str(f) for f in files], ports and str(ports), kill_at]
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return int(json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)


def serve() -> None:
    """Fork a child for each order on standard input; answer with what became of it."""
    import dagster  # noqa: F401
    import pandas  # noqa: F401
    import sklearn.decomposition  # noqa: F401
    import torch  # noqa: F401

    for line in sys.stdin:
        home, files, ports, kill_at = json.loads(line)
        back, forth = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(back)
            os.dup2(2, 1)  # what a build prints is no answer
            points = _build(home, files, ports, kill_at)
            os.write(forth, str(points).encode())
            os._exit(0)
        os.close(forth)
        with os.fdopen(back) as pipe:
            told = pipe.read()
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        sys.stdout.write(json.dumps(-1 if killed else int(told or -2)) + "\n")
        sys.stdout.flush()


def _build(home: str, files: Sequence[str], ports: str | None, kill_at: int) -> int:
    """One build in this process, which kills itself at a point; returns the points passed."""
    points = 0

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal points
        writes = event == "open" and isinstance(arguments[1], str) and arguments[1][0] in "wxa"
        if (writes or event in _CHANGES) and home in str(arguments[0]):
            points += 1
            if points == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    from assets.ingest import ingest_paths
    from orchestration.building import build, open_instance
    from storage.home import Home

    opened = Home.open(home, create=True)
    ingest_paths(opened, [Path(f) for f in files], ports=Path(ports) if ports else None)
    with open_instance(opened) as instance:
        report = build(opened, instance)
    return points if not report.failures else -3


if __name__ == "__main__":
    serve()
