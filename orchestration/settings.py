"""Settings from the environment, read in one place and without importing Dagster."""

from __future__ import annotations

import os

DEFAULT_HOME = ".okh"


def home_path(home: str | None = None) -> str:
    """The path given, else ``OKH_HOME``, else ``.okh`` in the present folder."""
    return home or os.environ.get("OKH_HOME") or DEFAULT_HOME
