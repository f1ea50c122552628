"""Keys and slugs survive hostile names; grounding means what it says."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from okh.domain import Fact, Group, Mention, horizon_label, slug
from okh.extraction.extractor import is_grounded

HOSTILE = ["../../x", "'; DROP TABLE x", "a\nb", "x" * 300, "\u202eevil", "O'BRIEN/IAN", ""]


@given(st.text())
def test_slug_is_safe(text: str) -> None:
    assert re.fullmatch(r"[a-z0-9-]{0,80}", slug(text))
    assert slug(slug(text)) == slug(text)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_refused_or_made_safe(name: str) -> None:
    with pytest.raises(ValueError, match="slug"):
        Group(name, 2031, "galveston-tx")
    if slug(name):
        key = Group(slug(name).upper(), 2031, slug(name)).key
        assert re.fullmatch(r"[A-Z0-9-]+-2031\|[a-z0-9-]+", key)


@given(
    st.from_regex(r"[A-Z0-9]+(-[A-Z0-9]+)?", fullmatch=True).filter(lambda s: len(s) <= 80),
    st.integers(1900, 2100),
    st.from_regex(r"[a-z0-9]+(-[a-z0-9]+)*", fullmatch=True).filter(lambda s: len(s) <= 80),
)
def test_group_key_round_trip(storm: str, year: int, port: str) -> None:
    group = Group(storm, year, port)
    assert Group.parse(group.key) == group


def test_group_key_refuses_anything_else() -> None:
    for key in ("IRMA|miami", "IRMA-2017", "IRMA-2017|../x", "irma-2017|x"):
        with pytest.raises(ValueError):
            Group.parse(key)


def test_horizon_labels() -> None:
    assert [horizon_label(h) for h in (48, 0, -24)] == ["T-48", "T-0", "T+24"]


def test_grounding() -> None:
    block = "The center of Odessa was\nnear latitude 30.1 north."
    evidence = "Odessa was\nnear latitude 30.1 north"
    start = block.index(evidence)

    def fact(text: str, *names: Mention) -> Fact:
        return Fact("has_position", text, names, start=start, end=start + len(evidence))

    storm, value = Mention("ODESSA", "cyclone"), Mention("latitude 30.1 North", "cyclone_state")
    assert is_grounded(fact(evidence, storm, value), block)
    assert is_grounded(fact("odessa was near latitude", storm), block), "white space is folded"
    assert not is_grounded(fact(evidence, storm, Mention("Savannah", "port")), block)
    assert is_grounded(fact(evidence, storm, Mention("Savannah", "port", origin="linked")), block)
    assert not is_grounded(fact("the wind rises", storm), block)
    assert not is_grounded(fact("", Mention("x", "port", origin="linked")), "")
