"""``hyperedge_vectors``: embeddings of hyperedges and blocks, and the snapshot queries read."""

import dagster as dg
from pydantic import Field

from assets.corpus import read_fingerprints
from assets.embedding import (
    EmbedderSource,
    Embedding,
    choose_embedder,
    chunk_texts,
    edge_texts,
    mirror,
    stale_groups,
)
from assets.partitions import OWNERS, all_groups_of
from okh.domain import Group
from storage.home import Home
from storage.publish import publish, snapshot
from storage.tables import TableStore
from storage.vectors import VectorStore


class EmbedderConfig(dg.Config):
    """Settings of ``hyperedge_vectors``."""

    refit: bool = Field(
        default=False,
        description="Fit the embedder again on the present corpus. It gets a new version: every "
        "vector is made again, and the transition model must be trained again.",
    )
    dimension: int = Field(default=256, description="Dimensions of a fitted embedder.")


@dg.asset(
    deps=[all_groups_of("hypergraph"), all_groups_of("canonical_trajectories")],
    group_name="index",
    kinds={"lancedb"},
    owners=OWNERS,
    pool="vectors",
    code_version="1",
)
def hyperedge_vectors(
    context: dg.AssetExecutionContext, config: EmbedderConfig, home: dg.ResourceParam[Home],
    embedder_source: dg.ResourceParam[EmbedderSource],
) -> dg.MaterializeResult:
    """Vectors of hyperedges and of blocks in LanceDB, mirrored group by group.

    Each distinct text is embedded once. When the vectors stand, a snapshot is
    published: tables, vectors and model at one version, which queries read.
    """
    with home.lock("vectors"):  # a second build waits, and finds what the first one wrote
        return _mirror_and_publish(config, home, embedder_source)


def _mirror_and_publish(
    config: EmbedderConfig, home: Home, embedder_source: EmbedderSource
) -> dg.MaterializeResult:
    store = TableStore(home, only=read_fingerprints(home))
    before = snapshot(home)
    embedder, state = choose_embedder(
        home, store, embedder_source, before, refit=config.refit, dimension=config.dimension
    )
    if before and before.embedder != embedder.version:
        before = None
    edges = VectorStore(home, "hyperedges", embedder.version, embedder.dimension)
    chunks = VectorStore(home, "chunks", embedder.version, embedder.dimension)
    stale = stale_groups(store, before, "hyperedges")
    gone = edges.groups() - set(store.current("hyperedges"))
    for group in gone:
        edges.remove_group(group)
    for storm in chunks.groups() - {Group.parse(g).storm_year for g in store.current("blocks")}:
        chunks.remove_group(storm)
    embedding = Embedding(embedder, edges)
    texts = (
        edge_texts(g, store.read("hyperedges", g), store.read("entities", g)) for g in stale
    )
    mirrored = mirror(edges, embedding, texts)
    touched = {*stale_groups(store, before, "blocks"), *gone}
    storms = {Group.parse(g).storm_year for g in touched}
    members = [g for g in store.current("blocks") if Group.parse(g).storm_year in storms]
    chunk_embedding = Embedding(embedder, chunks)
    chunked = mirror(chunks, chunk_embedding, chunk_texts(store, members))
    edges.optimize()
    chunks.optimize()
    published = publish(
        home, store, vectors={edges.name: edges.version, chunks.name: chunks.version},
        embedder=embedder.version, embedder_state=state,
    )
    kept = {path for files in published.files.values() for path in files.values()}
    store.prune(kept, before=True)
    return dg.MaterializeResult(metadata={
        "embedder": embedder.version,
        "dimension": embedder.dimension,
        "groups mirrored": len(stale),
        "groups removed": len(gone),
        "vectors written": mirrored,
        "distinct texts embedded": embedding.embedded,
        "block vectors written": chunked,
        "snapshot": published.version,
    })
