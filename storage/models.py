"""Models as safetensors, with a JSON of what they were made from beside them.

``models/<name>-<version>/``: a version is the digest of tensors and metadata, so
the same model is stored once. Nothing is pickled.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from okh.domain import digest
from storage.home import Home, HomeError, atomic_write, read_json, temporary_name

Tensors = dict[str, NDArray[Any]]

_VERSION = re.compile(r"[a-z_]+-[0-9a-f]{12}")


def save_model(
    home: Home, name: str, tensors: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]
) -> str:
    """Store a model; returns its version, ``<name>-<12 hex digits>``."""
    # Not ascontiguousarray, which makes a vector of a number.
    data = save({key: np.asarray(value, order="C") for key, value in tensors.items()})
    text = json.dumps(meta, ensure_ascii=False, sort_keys=True, indent=1)
    version = f"{name}-{digest(data.hex(), text)[:12]}"
    folder = _folder(home, version)
    if folder.exists():
        return version
    temporary = home.models / temporary_name()
    try:
        atomic_write(temporary / "model.safetensors", data)
        atomic_write(temporary / "meta.json", text.encode())
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
    mend = f"remove {folder} and run `okh build --retrain`"
    meta = read_json(folder / "meta.json", mend=mend)
    try:
        return load_file(folder / "model.safetensors"), meta
    except (SafetensorError, FileNotFoundError) as error:
        raise HomeError(f"the model {version} is damaged: {mend}") from error


def drop_models(home: Home, keep: Collection[str]) -> list[str]:
    """Remove the models whose version is not in ``keep``; returns their versions."""
    gone = [
        path for path in (home.models.iterdir() if home.models.is_dir() else ())
        if _VERSION.fullmatch(path.name) and path.name not in keep
    ]
    for path in gone:
        shutil.rmtree(path)
    return sorted(path.name for path in gone)


def _folder(home: Home, version: str) -> Path:
    if not _VERSION.fullmatch(version):
        raise HomeError(f"{version!r} is not the version of a model")
    return home.models / version
