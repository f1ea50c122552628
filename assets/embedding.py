"""Texts to vectors: each distinct text of hyperedges and blocks embedded once.

Knows no Dagster: `okh ask` opens embedder and vectors through it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from okh.domain import Group, digest
from okh.embedding import Embedder, LsaEmbedder, edge_text
from okh.transition import split_storms
from storage.home import Home
from storage.models import load_model, save_model
from storage.publish import Snapshot
from storage.rows import edges_from_table, entities_from_table
from storage.tables import TableStore
from storage.vectors import EmbedderMismatch, Rows, VectorStore

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


@dataclass(frozen=True, slots=True)
class EmbedderSource:
    """The kind of embedder that is asked for; ``make`` gives one that needs no fitting."""

    kind: str = "lsa"
    make: Callable[[], Embedder] | None = None


def require_kind(published: Snapshot, source: EmbedderSource) -> None:
    """Raise ``EmbedderMismatch`` where the embedder asked for is not of the snapshot's kind."""
    if not published.embedder.startswith(f"{source.kind}-"):
        raise EmbedderMismatch(
            f"this home was made by the embedder {published.embedder}, and {source.kind!r} is "
            f"asked for: set OKH_EMBEDDER to {published.embedder.partition('-')[0]}, or "
            "`okh build --refit` makes all vectors again with the other"
        )


def open_embedder(home: Home, published: Snapshot, source: EmbedderSource) -> Embedder:
    """The embedder that made a snapshot's vectors.

    Raises ``EmbeddingError`` if it cannot be had, ``EmbedderMismatch`` if what is
    asked for is another one.
    """
    require_kind(published, source)
    if published.embedder_state is not None:
        embedder: Embedder = LsaEmbedder.from_state(*load_model(home, published.embedder_state))
    elif source.make is not None:
        embedder = source.make()
    else:
        raise EmbedderMismatch(
            "the published snapshot names no fitted embedder: `okh build --refit` makes one"
        )
    if embedder.version != published.embedder:
        raise EmbedderMismatch(
            f"the vectors were made by the embedder {published.embedder}, but this one is "
            f"{embedder.version}: `okh build --refit` makes them again"
        )
    return embedder


def choose_embedder(
    home: Home, store: TableStore, source: EmbedderSource, before: Snapshot | None, *,
    refit: bool, dimension: int,
) -> tuple[Embedder, str | None]:
    """The embedder of a build, and where its state lies (None: nothing was fitted).

    An embedder is frozen: it is the snapshot's, unless there is none or ``refit``
    asks for another. Raises ``EmbedderMismatch`` if the snapshot's is of another kind.
    """
    if before is not None and not refit:
        return open_embedder(home, before, source), before.embedder_state
    if source.make is not None:
        return source.make(), None
    fitted = LsaEmbedder.fit(training_texts(store), dimension=dimension)
    return fitted, save_model(home, EMBEDDER, *fitted.state())


def training_texts(store: TableStore) -> list[str]:
    """Distinct texts of the training storms' hyperedges: all that an embedder is fitted on."""
    groups = sorted(store.current("hyperedges"))
    split = split_storms({Group.parse(g).storm_year for g in groups})
    texts: dict[str, None] = {}
    for group in (g for g in groups if split[Group.parse(g).storm_year] == "train"):
        found = edge_texts(group, store.read("hyperedges", group), store.read("entities", group))
        texts.update(dict.fromkeys(found.texts))
    return list(texts)


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
) -> Rows:
    """Vectors of a snapshot's hyperedges, of all groups or of some."""
    store = vector_store(home, published, "hyperedges")
    return store.read(groups, published.vectors[store.name])


def vector_store(home: Home, published: Snapshot, kind: str) -> VectorStore:
    """The vectors of a kind (``hyperedges`` or ``chunks``) that a snapshot is of."""
    name = next(name for name in published.vectors if name.startswith(f"{kind}_"))
    return VectorStore(home, kind, published.embedder, int(name.rsplit("_", 1)[1]))
