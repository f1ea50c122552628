"""``self_trained_transition_model``: the transition model, taught by its own right answers (§5)."""

import dagster as dg

from assets.partitions import OWNERS
from assets.traces import induced_pairs
from assets.transition import (
    figures_table,
    open_model,
    snapshot_dataset,
    splits_of,
    store_model,
)
from assets.transition_model import TransitionConfig
from okh.transition import evaluate, promotes, train
from storage.home import Home, HomeError
from storage.publish import republish, snapshot
from storage.traces import load_all


@dg.asset(
    deps=["retrieval_traces"],
    group_name="learning",
    kinds={"pytorch"},
    owners=OWNERS,
    code_version="1",
)
def self_trained_transition_model(
    context: dg.AssetExecutionContext, config: TransitionConfig, home: dg.ResourceParam[Home]
) -> dg.MaterializeResult:
    """A model trained with retrieval-induced pairs beside the others.

    It becomes the snapshot's model only if it gains on dev storms, in next-step
    MRR or in direction where ≺ says nothing. Without held-out storms, or without
    a right answer that hangs on its evidence, nothing is trained.
    """
    published = snapshot(home)
    if published is None or published.model is None:
        raise HomeError("there is no transition model to improve on: run `okh build` first")
    splits = splits_of(published)
    induced = induced_pairs(load_all(home), splits)
    pairs = sum(len(each) for each in induced.values())
    if not pairs or "dev" not in splits.values():
        reason = "no storm is held out" if pairs else "no trace on a training storm teaches"
        return dg.MaterializeResult(metadata={"trained": False, "reason": reason})
    current = open_model(home, published.model)
    assert current is not None
    dataset = snapshot_dataset(home, published, induced)
    result = train(dataset, config.training(), embedder=published.embedder)
    before, after = evaluate(current, dataset, "dev"), result.metrics["dev"]
    promoted = promotes(after, before)
    version = store_model(home, result.model)
    if promoted:
        republish(home, published, model=version)
    return dg.MaterializeResult(metadata={
        "trained": True,
        "promoted": promoted,
        "model": version,
        "induced pairs": pairs,
        "dev figures": dg.MetadataValue.md(
            figures_table([("current", before), ("self-trained", after)])
        ),
    })
