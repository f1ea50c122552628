"""``hyperedge_vectors``: embeddings of hyperedges and blocks, and the snapshot queries read."""

import dagster as dg
from pydantic import Field

from assets.embedding import (
    Embedding,
    chunk_texts,
    edge_texts,
    fit_embedder,
    mirror,
    open_embedder,
    stale_groups,
)
from assets.partitions import OWNERS, all_groups_of
from okh.domain import Group
from storage.home import Home
from storage.publish import publish, snapshot
from storage.tables import TableStore
from storage.vectors import VectorStore, assert_embedder, change_embedder


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
    context: dg.AssetExecutionContext, config: EmbedderConfig, home: dg.ResourceParam[Home]
) -> dg.MaterializeResult:
    """Vectors of hyperedges and of blocks in LanceDB, mirrored group by group.

    Each distinct text is embedded once. When the vectors stand, a snapshot is
    published: tables, vectors and model at one version, which queries read.
    """
    store = TableStore(home)
    before = snapshot(home)
    embedder = None if config.refit else open_embedder(home)
    if embedder is None:
        embedder = fit_embedder(home, store, config.dimension)
        change_embedder(home, embedder.version)
    assert_embedder(home, embedder.version)
    if before and before.embedder != embedder.version:
        before = None
    edges = VectorStore(home, "hyperedges", embedder.version, embedder.dimension)
    chunks = VectorStore(home, "chunks", embedder.version, embedder.dimension)
    stale = stale_groups(store, before, "hyperedges")
    gone = edges.groups() - set(store.current("hyperedges"))
    for group in gone:
        edges.remove_group(group)
    embedding = Embedding(embedder, edges)
    texts = (
        edge_texts(g, store.read("hyperedges", g), store.read("entities", g)) for g in stale
    )
    mirrored = mirror(edges, embedding, texts)
    storms = {Group.parse(g).storm_year for g in stale_groups(store, before, "blocks")}
    members = [g for g in store.current("blocks") if Group.parse(g).storm_year in storms]
    chunk_embedding = Embedding(embedder, chunks)
    chunked = mirror(chunks, chunk_embedding, chunk_texts(store, members))
    edges.optimize()
    chunks.optimize()
    published = publish(
        home, store, vectors={edges.name: edges.version, chunks.name: chunks.version},
        model=before.model if before else None, embedder=embedder.version,
    )
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
