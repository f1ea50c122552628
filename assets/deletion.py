"""Documents out of a home, without a trace: one step that can be repeated after a crash.

1. ``bury``: a tombstone, then the corpus and its groups without the document.
2. A build makes the groups that lost it again and publishes a snapshot without it.
3. ``purge``: superseded files, older versions of vectors, cached facts, traces,
   faults, and last the original. Only then the tombstone is done.

Each step looks at what is there, not at what it did before. What stays, and why: the
names and the hash in the tombstone; word statistics inside a fitted embedder and a
trained model, until they are made again (``refit``); Dagster's own event log.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from assets.corpus import Corpus, read_fingerprints
from assets.embedding import vector_store
from assets.ingest import regroup
from okh.domain import Document, OkhError
from storage import quarantine, tombstones, traces
from storage.cache import ExtractionCache
from storage.home import Home
from storage.models import drop_models
from storage.publish import snapshot
from storage.replies import Replies
from storage.schemas import BY_GROUP
from storage.tables import TableStore
from storage.text_vectors import TextVectors
from storage.tombstones import Reason
from storage.vectors import drop_tables

_CITING = {"documents": "hash", "blocks": "document", "extractions": "document"}
"""Table by group -> its column that names documents."""


class NotRebuilt(OkhError):
    """A document is still in current tables: the groups that lost it were not made again."""


@dataclass(frozen=True, slots=True)
class Purged:
    """What was removed with the documents."""

    documents: int = 0
    groups: tuple[str, ...] = ()
    files: int = 0
    cached: int = 0
    traces: int = 0
    faults: int = 0


def matching(home: Home, pattern: str = "", digest: str = "") -> list[Document]:
    """Documents of the corpus, and buried ones that are not done, by name or by hash.

    ``pattern`` is like ``*IRMA_2017*``, over any of a document's names; ``digest`` is
    the beginning of a hash, eight digits at least. Raises ``OkhError`` without either.
    """
    if not pattern and len(digest) < 8:
        raise OkhError("name documents by a pattern, or by eight digits of their hash at least")
    pending = [t.document for t in tombstones.tombstones(home) if not t.done]
    return [
        document for document in (*Corpus(home).documents, *pending)
        if meant(document, pattern, digest)
    ]


def meant(document: Document, pattern: str, digest: str) -> bool:
    """Whether a pattern of names or the beginning of a hash names a document."""
    by_hash = bool(digest) and document.hash.startswith(digest)
    return by_hash or any(fnmatchcase(name, pattern) for name in document.names if pattern)


def bury(home: Home, documents: Iterable[Document], reason: Reason) -> list[str]:
    """Take documents out of the corpus and of its groups; returns the groups concerned.

    Those are the groups whose documents are others now, and those that are no more.
    """
    tombstones.bury(home, documents, reason)
    return settle(home)


def settle(home: Home) -> list[str]:
    """Make corpus and groups agree with the tombstones that are not done."""
    with home.lock("corpus"):
        pending = {t.document.hash: t.document for t in tombstones.tombstones(home) if not t.done}
        if not pending:
            return []
        corpus = Corpus(home)
        # The original goes last: where it is gone, all this was done.
        there = [document for document in pending.values() if home.has_raw(document.hash)]
        storms = corpus.storm_years(there)
        before = set(read_fingerprints(home))
        corpus.save([d for d in corpus.documents if d.hash not in pending])
        changed = regroup(home, corpus, storms)
        return sorted({*changed, *(before - set(read_fingerprints(home)))})


def purge(home: Home) -> Purged:
    """Remove what is left of buried documents, and of groups that are no more.

    Raises ``NotRebuilt`` while a current table still holds one.
    """
    pending = [t.document for t in tombstones.tombstones(home) if not t.done]
    hashes = {document.hash for document in pending}
    store, manifest = TableStore(home), read_fingerprints(home)
    holding = sorted(_holding(TableStore(home, only=manifest), hashes))
    if holding:
        raise NotRebuilt(
            f"{len(holding)} groups still hold a document that was taken out, such as "
            f"{holding[0]}: run `okh build`, then `okh forget` again"
        )
    gone = {g for name in BY_GROUP for g in store.current(name)} - set(manifest)
    for group in gone:
        for name in BY_GROUP:
            store.remove(name, group)
    if not pending and not gone:
        return Purged()
    published = snapshot(home)
    kept = {p for f in published.files.values() for p in f.values()} if published else set()
    files = store.prune(kept)
    _forget_vectors(home)
    cached = _forget_cached(home, _own_keys(home, pending))
    told = [t.id for t in traces.load_all(home) if _cites(t.trajectories, hashes)]
    traces.remove(home, told)
    faults = [
        item.id for item in quarantine.list_items(home)
        if item.document in hashes or item.group in gone
    ]
    quarantine.remove(home, faults)
    for digest in hashes:
        home.remove_raw(digest)
    tombstones.finish(home, hashes)
    return Purged(len(pending), tuple(sorted(gone)), files, cached, len(told), len(faults))


def _holding(store: TableStore, hashes: set[str]) -> set[str]:
    """Groups whose current tables name one of the documents."""
    found: set[str] = set()
    for table, column in _CITING.items() if hashes else ():
        rows = store.read_many(table, columns=["group", column])
        held = rows.filter(pc.is_in(rows[column], value_set=pa.array(sorted(hashes))))
        found |= set(held["group"].to_pylist())
    return found


def _forget_vectors(home: Home) -> None:
    """Older versions of vectors, and vectors and models of former embedders."""
    published = snapshot(home)
    if published is None:
        return
    with home.lock("vectors"):
        drop_tables(home, published.vectors)
        for kind in ("hyperedges", "chunks"):
            vector_store(home, published, kind).forget_history()
    drop_models(home, {m for m in (published.model, published.embedder_state) if m})


def _forget_cached(home: Home, keys: Sequence[str]) -> int:
    """Facts and replies of these blocks, and the vectors of texts that no table holds."""
    replies = Replies(home)
    for key in keys:
        replies.drop(key)
    TextVectors(home).clear()
    return ExtractionCache(home).remove(keys)


def _own_keys(home: Home, documents: Sequence[Document]) -> list[str]:
    """Keys of cached facts of these documents' blocks that no other document shares."""
    corpus = Corpus(home)
    there = [d for d in documents if home.has_raw(d.hash)]
    own = {b.content_key for d in there for b in corpus.blocks(d)}
    storms = {(b.storm, b.year) for d in there for b in corpus.blocks(d)}
    for other in corpus.documents:
        if other.storm is None or not own or any(s == other.storm for s, _ in storms):
            own -= {b.content_key for b in corpus.blocks(other)}
    return sorted(own)


def _cites(trajectories: Iterable[dict[str, Any]], hashes: set[str]) -> bool:
    return any(
        source["document"] in hashes
        for trajectory in trajectories
        for step in trajectory["steps"]
        for source in step["sources"]
    )
