"""Fixtures shared by all tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"

# A deadline would fail a law because the machine is busy, and then shrink for minutes.
settings.register_profile("okh", deadline=None)
settings.load_profile("okh")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of the real data that lies beside the checkout; skips where it is not."""
    if not SHARED_DATA.exists():
        pytest.skip("needs the real data in ../shared/data, which is not beside this checkout")
    return SHARED_DATA
