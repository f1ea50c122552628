"""Texts to vectors: each distinct text of hyperedges and blocks embedded once.

Knows no Dagster: `okh ask` opens embedder and vectors through it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from okh.domain import Group, digest
from okh.embedding import Embedder, LsaEmbedder, edge_text
from okh.transition import split_storms
from storage.home import Home
from storage.models import latest, load_model, save_model, set_latest
from storage.publish import Snapshot
from storage.rows import edges_from_table, entities_from_table
from storage.tables import TableStore
from storage.vectors import VectorStore

EMBEDDER = "embedder"
"""Name of the stored embedder among the home's models."""

BATCH = 4096
"""Texts embedded at once."""

MIRRORED_AT_ONCE = 64
"""Groups whose vectors are held in memory before they are written."""


@dataclass(frozen=True, slots=True)
class GroupTexts:
    """Ids and texts to embed of one group (or of the blocks of one storm-year)."""

    group: str
    ids: list[str]
    texts: list[str]

    @property
    def hashes(self) -> list[str]:
        return [digest(text)[:32] for text in self.texts]


def edge_texts(group: str, hyperedges: pa.Table, entities: pa.Table) -> GroupTexts:
    """Embedded texts (§5) of a group's hyperedges."""
    edges = edges_from_table(hyperedges)
    known = entities_from_table(entities).get(group, {})
    return GroupTexts(group, [e.id for e in edges], [edge_text(e, known) for e in edges])


def chunk_texts(store: TableStore, groups: Sequence[str]) -> Iterator[GroupTexts]:
    """Texts of the blocks of these groups, each block once, by storm-year."""
    by_storm: dict[str, list[str]] = defaultdict(list)
    for group in groups:
        by_storm[Group.parse(group).storm_year].append(group)
    for storm_year, members in sorted(by_storm.items()):
        table = store.read_many("blocks", members, columns=["id", "text"])
        texts = dict(zip(table["id"].to_pylist(), table["text"].to_pylist(), strict=True))
        yield GroupTexts(storm_year, list(texts), list(texts.values()))


def open_embedder(home: Home) -> Embedder | None:
    """The embedder that made the home's vectors; None before the first build."""
    version = latest(home, EMBEDDER)
    if version is None:
        return None
    tensors, meta = load_model(home, version)
    return LsaEmbedder.from_state(tensors, meta)


def fit_embedder(home: Home, store: TableStore, dimension: int) -> Embedder:
    """Fit, save and return an embedder on the distinct texts of the training storms."""
    groups = sorted(store.current("hyperedges"))
    split = split_storms({Group.parse(g).storm_year for g in groups})
    training = [g for g in groups if split[Group.parse(g).storm_year] == "train"]
    texts: dict[str, None] = {}
    for group in training:
        found = edge_texts(group, store.read("hyperedges", group), store.read("entities", group))
        texts.update(dict.fromkeys(found.texts))
    embedder = LsaEmbedder.fit(list(texts), dimension=dimension)
    tensors, meta = embedder.state()
    set_latest(home, EMBEDDER, save_model(home, EMBEDDER, tensors, meta))
    return embedder


class Embedding:
    """Vectors by text, each distinct text embedded once."""

    def __init__(self, embedder: Embedder, store: VectorStore) -> None:
        self._embedder, self._store = embedder, store
        self._known: dict[str, NDArray[np.float32]] = {}
        self.embedded = 0

    def vectors(self, hashes: Sequence[str], texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of shape ``(n, d)``."""
        missing = {h: t for h, t in zip(hashes, texts, strict=True) if h not in self._known}
        if missing:
            self._known |= self._store.known_vectors(list(missing))
        new = [(h, t) for h, t in missing.items() if h not in self._known]
        for start in range(0, len(new), BATCH):
            part = new[start : start + BATCH]
            made = self._embedder.embed([t for _, t in part])
            self._known.update(zip((h for h, _ in part), made, strict=True))
        self.embedded += len(new)
        return np.array([self._known[h] for h in hashes], dtype=np.float32).reshape(
            len(hashes), self._embedder.dimension
        )


def batched(items: Iterable[GroupTexts], size: int) -> Iterator[list[GroupTexts]]:
    """Items in lists of at most ``size`` (itertools has it from Python 3.12 on)."""
    iterator = iter(items)
    while some := list(islice(iterator, size)):
        yield some


def mirror(store: VectorStore, embedding: Embedding, items: Iterable[GroupTexts]) -> int:
    """Write the vectors of these groups in place of those they had; returns their number."""
    count = 0
    for some in batched(items, MIRRORED_AT_ONCE):
        batch = {}
        for item in some:
            hashes = item.hashes
            batch[item.group] = (item.ids, hashes, embedding.vectors(hashes, item.texts))
            count += len(item.ids)
        store.mirror_many(batch)
    return count


def stale_groups(store: TableStore, before: Snapshot | None, table: str) -> list[str]:
    """Groups whose file of ``table`` is not the one that the snapshot holds."""
    known = before.files.get(table, {}) if before else {}
    return [
        group for group, file in sorted(store.current(table).items())
        if known.get(group) != store.relative(file)
    ]


def read_vectors(
    home: Home, published: Snapshot, groups: Sequence[str] | None = None
) -> tuple[list[str], list[str], NDArray[np.float32]]:
    """Edge ids, groups and vectors ``(n, d)`` of a snapshot, of all groups or of some."""
    embedder = open_embedder(home)
    if embedder is None:
        raise ValueError("the home has no embedder: run `okh build`")
    store = VectorStore(home, "hyperedges", published.embedder, embedder.dimension)
    return store.read(groups, published.vectors.get(store.name))
