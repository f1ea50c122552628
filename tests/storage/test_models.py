"""Models: tensors and metadata as they were, stored once, whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from storage.home import Home, HomeError
from storage.models import load_model, save_model
from tests.storage import samples as some

META = {"embedder": "lsa-1", "storms": ["ODESSA-2031"], "note": "cañón"}
TENSORS = {"u": np.arange(6, dtype=np.float32).reshape(2, 3), "v": np.ones((2, 3), np.float32)}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.open(tmp_path, create=True)


arrays = hnp.arrays(
    st.sampled_from([np.float32, np.float64, np.int64, np.uint8, np.bool_]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)


@settings(some.quick, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.text("abc", min_size=1), arrays, min_size=1, max_size=3))
def test_tensors_come_back(home: Home, tensors: dict[str, Any]) -> None:
    tensors = {name: array.T for name, array in tensors.items()}  # not contiguous
    found, meta = load_model(home, save_model(home, "transition", tensors, META))
    assert meta == META and found.keys() == tensors.keys()
    for name, array in tensors.items():
        assert found[name].dtype == array.dtype and found[name].shape == array.shape
        np.testing.assert_array_equal(found[name], array)


def test_a_version_is_the_digest_of_the_content(home: Home) -> None:
    version = save_model(home, "transition", TENSORS, META)
    assert version == save_model(home, "transition", dict(reversed(TENSORS.items())), META)
    assert version != save_model(home, "transition", TENSORS, {**META, "note": ""})
    assert version != save_model(home, "transition", {**TENSORS, "v": TENSORS["u"]}, META)
    assert version != save_model(home, "embedder", TENSORS, META)


@pytest.mark.parametrize("version", ["../x-000000000000", "", "x", "embedder-00000000000g"])
def test_what_is_no_version_never_becomes_a_path(home: Home, version: str) -> None:
    with pytest.raises(HomeError, match="not the version of a model"):
        load_model(home, version)


def test_missing_and_damaged_models_are_named(home: Home) -> None:
    with pytest.raises(HomeError, match="no model embedder-000000000000: run"):
        load_model(home, "embedder-000000000000")
    version = save_model(home, "embedder", TENSORS, META)
    (home.models / version / "model.safetensors").write_bytes(b"half")
    with pytest.raises(HomeError, match=f"{version} is damaged: remove"):
        load_model(home, version)


def _crash_in_save(root: str) -> None:
    home = Home.open(root)
    some.crash_before_rename()
    save_model(home, "embedder", TENSORS, META)


def _save(root: str) -> None:
    for number in range(5):
        save_model(Home.open(root), "embedder", TENSORS, {"number": number})


def test_a_crash_leaves_no_half_model(home: Home) -> None:
    assert some.in_processes(_crash_in_save, (str(home.root),)) == [some.CRASHED]
    assert some.leftovers(home.models)
    version = save_model(home, "embedder", TENSORS, META)
    assert load_model(home, version)[1] == META


def test_two_processes_store_the_same(home: Home) -> None:
    assert some.in_processes(_save, (str(home.root),), (str(home.root),)) == [0, 0]
    assert len(list(home.models.iterdir())) == 5
