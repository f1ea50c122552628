"""Models as safetensors, with a JSON of what they were made from beside them.

``models/<name>-<version>/``: a version is the digest of tensors and metadata, so
the same model is stored once. Nothing is pickled.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save

from okh.domain import digest
from storage.home import Home, HomeError, atomic_write

Tensors = dict[str, NDArray[Any]]

_VERSION = re.compile(r"[a-z_]+-[0-9a-f]{12}")


def save_model(
    home: Home, name: str, tensors: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]
) -> str:
    """Store a model; returns its version, ``<name>-<12 hex digits>``."""
    data = save({key: np.ascontiguousarray(value) for key, value in tensors.items()})
    text = json.dumps(meta, ensure_ascii=False, sort_keys=True, indent=1)
    version = f"{name}-{digest(data.hex(), text)[:12]}"
    folder = _folder(home, version)
    if folder.exists():
        return version
    home.models.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=".tmp-", dir=home.models))
    try:
        (temporary / "model.safetensors").write_bytes(data)
        (temporary / "meta.json").write_text(text, encoding="utf-8")
        temporary.rename(folder)
    except OSError:
        # Another process stored the same model in between: then it is there.
        shutil.rmtree(temporary, ignore_errors=True)
        if not folder.exists():
            raise
    return version


def load_model(home: Home, version: str) -> tuple[Tensors, dict[str, Any]]:
    """Tensors and metadata of a version. Raises ``HomeError`` if it is not there."""
    folder = _folder(home, version)
    if not folder.is_dir():
        raise HomeError(f"the home has no model {version}: run `okh build --retrain`")
    meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    return load_file(folder / "model.safetensors"), meta


def set_latest(home: Home, name: str, version: str) -> None:
    """Make ``version`` the latest of its name."""
    with home.lock("models"):
        known = _latest(home)
        known[name] = version
        atomic_write(home.models / "latest.json", json.dumps(known, indent=1).encode())


def latest(home: Home, name: str) -> str | None:
    """The latest version of a name, None if there is none."""
    return _latest(home).get(name)


def _latest(home: Home) -> dict[str, str]:
    path = home.models / "latest.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def _folder(home: Home, version: str) -> Path:
    if not _VERSION.fullmatch(version):
        raise HomeError(f"{version!r} is not the version of a model")
    return home.models / version
