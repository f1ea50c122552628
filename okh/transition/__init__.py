"""The transition model P(e_j | e_i): signals, the model, training, held-out measures (§3.1)."""

from okh.transition.evaluation import baselines, evaluate, promotes
from okh.transition.model import ModelMeta, TransitionError, TransitionModel
from okh.transition.pairs import GroupSignals, TransitionDataset, build_dataset, group_signals
from okh.transition.split import FEWEST, SPLITS, Split, split_storms, training_only
from okh.transition.training import TrainingConfig, TrainResult, train

__all__ = [
    "FEWEST", "SPLITS", "GroupSignals", "ModelMeta", "Split", "TrainResult", "TrainingConfig",
    "TransitionDataset", "TransitionError", "TransitionModel", "baselines", "build_dataset",
    "evaluate", "group_signals", "promotes", "split_storms", "train", "training_only",
]
