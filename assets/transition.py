"""Between the tables and the transition model: its training set, its storage, its publication.

Knows no Dagster: `okh ask` opens a model through it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from assets.embedding import read_vectors
from okh.domain import Group
from okh.transition import (
    Split,
    TransitionDataset,
    TransitionModel,
    build_dataset,
    group_signals,
    split_storms,
)
from okh.transition.pairs import GroupSignals
from storage.home import Home
from storage.models import load_model, save_model
from storage.publish import Snapshot, read_snapshot
from storage.rows import edges_from_table

MODEL = "transition_model"
"""Name of the transition model among the home's models."""

Induced = Mapping[str, Sequence[tuple[str, str]]]
"""Group key -> (edge id, edge id): consecutive steps of trajectories behind right answers."""


def splits_of(published: Snapshot) -> dict[str, Split]:
    """Split of each storm-year of a snapshot."""
    return split_storms({Group.parse(g).storm_year for g in published.files.get("hyperedges", {})})


def snapshot_dataset(
    home: Home, published: Snapshot, induced: Induced | None = None
) -> TransitionDataset:
    """Training pairs over all groups of a snapshot, with each distinct vector once."""
    stored = read_vectors(home, published)
    codes, texts = pd.factorize(np.array(stored.text_hashes, dtype=object))
    first = np.zeros(len(texts), dtype=np.intp)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    distinct = stored.vectors[first]
    rows = dict(zip(stored.ids, codes.tolist(), strict=True))
    del stored

    def signals() -> Iterator[GroupSignals]:
        for group in sorted(published.files["hyperedges"]):
            edges = edges_from_table(read_snapshot(home, published, "hyperedges", [group]))
            at = np.array([rows[edge.id] for edge in edges], dtype=np.intp)
            yield group_signals(edges, at, induced=(induced or {}).get(group, ()))

    return build_dataset(distinct, signals(), splits_of(published))


def store_model(home: Home, model: TransitionModel) -> str:
    """Save a model; returns its version in the store."""
    tensors, meta = model.state()
    return save_model(home, MODEL, tensors, meta)


def open_model(home: Home, version: str | None) -> TransitionModel | None:
    """A stored transition model, None for no version."""
    if version is None:
        return None
    tensors, meta = load_model(home, version)
    return TransitionModel.from_state(tensors, meta)


def figures_table(rows: Iterable[tuple[str, Mapping[str, float]]]) -> str:
    """Models against measures as a Markdown table."""
    listed = list(rows)
    keys = list(dict.fromkeys(key for _, figures in listed for key in figures))
    lines = ["| | " + " | ".join(keys) + " |", "|" + " --- |" * (len(keys) + 1)]
    for name, figures in listed:
        cells = (f"{figures[key]:.3f}" if key in figures else "" for key in keys)
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)
