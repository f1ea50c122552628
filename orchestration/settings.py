"""Settings from the environment, read in one place and without importing Dagster."""

from __future__ import annotations

import os
from typing import Literal

DEFAULT_HOME = ".okh"
DEFAULT_EMBEDDER = "lsa"


def home_path(home: str | None = None) -> str:
    """The path given, else ``OKH_HOME``, else ``.okh`` in the present folder."""
    return home or os.environ.get("OKH_HOME") or DEFAULT_HOME


def embedder_kind() -> Literal["lsa", "minilm"]:
    """``OKH_EMBEDDER``: ``lsa`` (the default) or ``minilm``. Raises ``ValueError`` for another."""
    kind = os.environ.get("OKH_EMBEDDER") or DEFAULT_EMBEDDER
    if kind == "lsa" or kind == "minilm":
        return kind
    raise ValueError(f"OKH_EMBEDDER is lsa or minilm, not {kind!r}")
