"""What can be run: everything, the groups alone, the index alone, and retraining."""

from __future__ import annotations

import dagster as dg

from assets.canonical_trajectories import canonical_trajectories
from assets.documents import documents
from assets.extractions import extractions
from assets.hyperedge_vectors import hyperedge_vectors
from assets.hypergraph import hypergraph
from assets.retrieval_traces import retrieval_traces
from assets.self_trained_transition_model import self_trained_transition_model
from assets.transition_model import transition_model

GROUP_ASSETS = (documents, extractions, hypergraph, canonical_trajectories)
INDEX_ASSETS = (hyperedge_vectors, transition_model)
LEARNING_ASSETS = (retrieval_traces, self_trained_transition_model)
ASSETS = (*GROUP_ASSETS, *INDEX_ASSETS, *LEARNING_ASSETS)

build_everything = dg.define_asset_job(
    "build_everything",
    selection=dg.AssetSelection.assets(*GROUP_ASSETS, *INDEX_ASSETS),
    description=(
        "From documents to a published snapshot. Launch it over a range of groups; what did "
        "not change is left alone. The transition model is trained only if there is none."
    ),
)
build_groups = dg.define_asset_job(
    "build_groups",
    selection=dg.AssetSelection.assets(*GROUP_ASSETS),
    description="Documents, extractions, hypergraph and canonical trajectories of some groups.",
)
build_index = dg.define_asset_job(
    "build_index",
    selection=dg.AssetSelection.assets(*INDEX_ASSETS),
    description="Vectors of what changed, the first transition model, and a new snapshot.",
)
retrain = dg.define_asset_job(
    "retrain",
    selection=dg.AssetSelection.assets(transition_model),
    config={"ops": {"transition_model": {"config": {"retrain": True}}}},
    description=(
        "Trains the transition model anew on the present hypergraph. Run it when the corpus "
        "has grown by a storm or the vocabulary changed; refreshing a group never forces it."
    ),
)
learn_from_traces = dg.define_asset_job(
    "learn_from_traces",
    selection=dg.AssetSelection.assets(*LEARNING_ASSETS),
    description="Asks a file of questions, stores the traces, and self-trains from the right ones.",
)
JOBS = (build_everything, build_groups, build_index, retrain, learn_from_traces)
