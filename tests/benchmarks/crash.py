"""The groups of a real storm, killed twenty times: `python -m tests.benchmarks.crash [SEED]`.

The same harness as ``tests/test_crash.py``, on Harvey at its 32 ports.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from storage.home import Home
from storage.tables import TableStore
from tests.conftest import SHARED_DATA
from tests.crashing import Builder
from tests.test_crash import ROOT, crash_and_compare

KILLS = 20


def main(seed: int) -> None:
    """Print how many builds were killed, and how long all took."""
    files = sorted(SHARED_DATA.glob("nhc/*/HARVEY_2017_*h.txt"))
    started, builder = time.monotonic(), Builder(ROOT)
    with tempfile.TemporaryDirectory(prefix="okh-crash-") as folder:
        try:
            killed = crash_and_compare(
                builder, Path(folder), files, kills=KILLS, seed=seed, ports=None
            )
        finally:
            builder.close()
        groups = len(TableStore(Home.open(Path(folder) / "crashed")).current("hyperedges"))
    sys.stdout.write(
        f"{groups} groups, {killed} of {KILLS} builds killed (seed {seed}), the same tables, "
        f"vectors and models; {time.monotonic() - started:.0f} s\n"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4)
