"""``transition_model``: P(next hyperedge | hyperedge), learned from the canonical order (§3.1)."""

from typing import Literal

import dagster as dg
from pydantic import Field

from assets.partitions import OWNERS
from assets.transition import figures_table, open_model, snapshot_dataset, store_model
from okh.transition import TrainingConfig, baselines, train
from okh.transition import TransitionError as NoPairs
from storage.home import Home, HomeError
from storage.publish import republish, snapshot


class TransitionConfig(dg.Config):
    """Hyperparameters of the transition model (method.md §5)."""

    retrain: bool = Field(
        default=False,
        description="Train although the snapshot has a model. Off: refreshing never retrains.",
    )
    rank: int = Field(default=64, description="r: rows of U and V.")
    objective: Literal["direction", "eq4", "unlikelihood"] = Field(
        default="direction", description="The default loss, or one of the ablation's variants."
    )
    negatives: int = Field(default=64, description="K: sampled negatives a positive.")
    seed: int = Field(default=0, description="Of sampling and initial values.")

    def training(self) -> TrainingConfig:
        return TrainingConfig(
            rank=self.rank, objective=self.objective, negatives=self.negatives, seed=self.seed
        )


@dg.asset(
    deps=["hyperedge_vectors"],
    group_name="index",
    kinds={"pytorch"},
    owners=OWNERS,
    code_version="1",
)
def transition_model(
    context: dg.AssetExecutionContext, config: TransitionConfig, home: dg.ResourceParam[Home]
) -> dg.MaterializeResult:
    """Bilinear transition model in safetensors, with embedder and training storms beside it.

    Trained on document order and entity overlap, early stop on dev storms. It is
    trained when the snapshot has none (a new home or a new embedder) and on
    request (the job ``retrain``), never because a group was refreshed.
    """
    published = snapshot(home)
    if published is None:
        raise HomeError("no snapshot to learn from: materialize hyperedge_vectors first")
    known = open_model(home, published.model)
    if known is not None and not config.retrain:
        return dg.MaterializeResult(metadata={
            "trained": False, "model": known.version, "snapshot": published.version,
            "training storms": len(known.meta.training_storms),
        })
    dataset = snapshot_dataset(home, published)
    try:
        result = train(
            dataset, config.training(), embedder=published.embedder,
            progress=lambda step, of: context.log.debug(f"training step {step} of {of}"),
        )
    except NoPairs as error:
        context.log.warning(f"no transition model: {error}; retrieval goes on without its term")
        return dg.MaterializeResult(metadata={"trained": False, "reason": str(error)})
    version = store_model(home, result.model)
    after = republish(home, published, model=version)
    figures = [
        (f"{name} ({split})", values)
        for split, measured in result.metrics.items()
        for name, values in {"model": measured, **baselines(dataset, split)}.items()
    ]
    return dg.MaterializeResult(metadata={
        "trained": True,
        "model": version,
        "embedder": published.embedder,
        "training storms": len(result.model.meta.training_storms),
        "steps": len(result.history),
        **{f"pairs/{name}": number for name, number in result.counts.items()},
        "held-out figures": dg.MetadataValue.md(figures_table(figures)),
        "snapshot": after.version,
    })
