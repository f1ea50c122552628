"""Hypothesis strategies of what storage keeps, with any text, and a few plain examples."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from okh.domain import (
    SOURCE_KINDS,
    Attribute,
    Block,
    Document,
    Entity,
    Fact,
    Hyperedge,
    Mention,
    Span,
)
from storage.rows import BlockView, ExtractedFact

GROUP = "ODESSA-2031|port-of-savannah-ga"
OTHER = "ODESSA-2031|galveston-tx"
GROUPS = (GROUP, OTHER, "TEN-2032|san-juan-pr")

quick = settings(max_examples=50, deadline=None)  # no deadline: the machine is shared

texts = st.text(max_size=12)
maybe_texts = st.none() | texts
leads = st.none() | st.integers(-48, 240)
offsets = st.integers(0, 2**40)
shares = st.floats(0, 1)
groups = st.sampled_from(GROUPS)
source_kinds = st.sampled_from(SOURCE_KINDS)
kinds = st.sampled_from(("advisory", "wind_table", "bulletin", "scenario"))
moments = st.none() | st.datetimes(
    datetime(1851, 1, 1), datetime(2200, 1, 1),
    timezones=st.sampled_from((None, UTC, timezone(timedelta(hours=-5)))),
)
attributes = st.lists(st.builds(Attribute, texts, texts, texts), max_size=3).map(tuple)
spans = st.lists(st.builds(Span, texts, offsets, offsets), max_size=3).map(tuple)
origins = st.sampled_from(("text", "linked", "anchor", "synthetic"))
mentions = st.lists(
    st.builds(Mention, texts, texts, texts, shares, origins), max_size=3
).map(tuple)
facts = st.builds(
    Fact, texts, texts, mentions, attributes, shares, st.integers(0, 9999), st.integers(0, 9999)
)
entities = st.builds(Entity, texts, texts, texts, texts, shares, origins)
names = st.lists(texts, max_size=3).map(tuple)
years = st.none() | st.integers(1851, 2200)
documents = st.builds(
    Document, hash=texts, names=names, source_kind=source_kinds, kind=kinds, text=st.just(""),
    storm=maybe_texts, year=years, port=maybe_texts, lead=leads, lead_source=maybe_texts,
    issued=moments, product_id=maybe_texts, corrected=st.booleans(),
)
blocks = st.builds(
    Block, id=texts, document=texts, source_kind=source_kinds, kind=kinds, section=texts,
    seq=st.integers(0, 2**31 - 1), start=offsets, end=offsets, text=texts, context=texts,
    storm=maybe_texts, year=years, port=maybe_texts, lead=leads, issued=moments,
    location=maybe_texts, ports=names,
)
views = st.builds(BlockView, groups, blocks, leads, st.none() | st.floats(0, 2e4), texts)
extracted = st.builds(
    ExtractedFact, group=groups, block=texts, document=texts, fact=facts, start=offsets,
    end=offsets, lead=leads, issued=moments, source_kind=source_kinds, kind=kinds,
    grounded=st.booleans(), static=st.booleans(),
)
edges = st.builds(
    Hyperedge, id=texts, group=groups, relation=texts, raw_relation=texts,
    family=st.integers(1, 13), story=st.integers(1, 13), sub_rank=st.integers(0, 3), phase=texts,
    lead=leads, lead_from=leads, static=st.booleans(), entities=names, evidence=texts,
    attributes=attributes, confidence=shares, grounded=st.booleans(), synthetic=st.booleans(),
    observed=st.booleans(), issued=moments, source_kind=source_kinds, kind=kinds, spans=spans,
)


def edge(number: int, group: str = GROUP) -> Hyperedge:
    """An edge like those of a real group."""
    return Hyperedge(
        id=f"{number:024d}", group=group, relation="has_motion", raw_relation="has_motion",
        family=1, story=1, sub_rank=0, phase="cyclone_state", lead=48, lead_from=None,
        static=False, entities=("cyclone:ODESSA-2031", "horizon:T-48"),
        evidence="Odessa moves toward the west.",
        attributes=(Attribute("direction", "W"), Attribute("speed_mph", "12", "mph")),
        confidence=1.0, grounded=True, synthetic=False, observed=False,
        issued=datetime(2031, 9, 1, 9, tzinfo=UTC), source_kind="products", kind="advisory",
        spans=(Span("a" * 64, number, number + 29),),
    )


def in_processes(work: Callable[..., Any], *calls: tuple[Any, ...]) -> list[int | None]:
    """Call ``work`` at once in a process for each tuple of arguments; their exit codes."""
    context = get_context("spawn")
    running = [context.Process(target=work, args=call) for call in calls]
    for process in running:
        process.start()
    for process in running:
        process.join(60)
    return [process.exitcode for process in running]


CRASHED = 9


def crash_before_rename() -> None:
    """From now on this process dies where a file or folder would get its name."""
    Path.replace = Path.rename = lambda self, target: os._exit(CRASHED)  # type: ignore[assignment]


def leftovers(folder: Path) -> list[Path]:
    """Temporary files below a folder."""
    return sorted(folder.rglob(".tmp-*"))
