"""Training of the transition model (§3.1, A.4, Eq. 4; method.md §5 for the loss).

All draws come from one seeded generator, and torch runs on one thread, so that
equal data and settings give equal weights on one machine. torch is imported here
only, when a model is trained.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from okh.transition.evaluation import evaluate
from okh.transition.model import ModelMeta, TransitionError, TransitionModel
from okh.transition.pairs import TransitionDataset
from okh.transition.sampling import Draw, Sampler
from okh.transition.split import Split

if TYPE_CHECKING:
    import torch

Objective = Literal["direction", "eq4", "unlikelihood"]
Progress = Callable[[int, int], None]

VALIDATION_GROUPS = 24
"""Groups looked at when training asks whether to stop; the model kept is measured on all."""

LOG_P_FLOOR = -15.0
"""Where log P of a negative is clamped in Eq. 4, which has no lower bound as printed."""


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """How a model is trained; the defaults are the decisions of method.md §5.

    Attributes
    ----------
    rank
        r, rows of U and V.
    objective
        ``direction``: softmax on listed pairs plus a logistic term on ordered ones.
        ``eq4``: the paper's loss on ordered pairs, log P clamped at -15.
        ``unlikelihood``: the same with -log(1 - P) on negatives.
    negatives
        K for each source: half from its own group, logQ-corrected, and half from all
        training groups, uncorrected. (Next-step MRR on dev .88; correcting the
        second half too, so that P is over the whole corpus, gives .84.)
    batch, groups_per_batch
        Pairs in a step, and the groups they come from, which share their negatives.
    learning_rate
        Of Adam. Next-step MRR and direction on dev after 1,500 steps: .69 and .91
        at 1e-3, .79 and .96 at 3e-3.
    max_steps, max_epochs, evaluate_every, patience
        Most steps, and most passes over the adjacent pairs (which bounds a small
        corpus: the whole shared one sees thirty). Training stops when next-step MRR
        and open direction together have not risen on the dev storms in ``patience``
        evaluations; the best weights stay.
    blind_steps
        Steps where no dev storm can tell when to stop.
    direction_weight, open_share
        Weight of the logistic term, and the share of its pairs that ≺ leaves open.
    overlap_share
        Share of the softmax's pairs that are the next holders of a shared entity,
        which compete with the next step. Dev MRR of the next step and of the next
        holder: .92 and .12 at 0, .88 and .44 at 0.1, .79 and .70 at 0.33.
    alpha
        Weight of negatives in ``eq4`` and ``unlikelihood``.
    seed
        Of the initial weights and of all draws.
    """

    rank: int = 64
    objective: Objective = "direction"
    negatives: int = 64
    batch: int = 1024
    groups_per_batch: int = 16
    learning_rate: float = 3e-3
    max_steps: int = 3000
    max_epochs: int = 100
    evaluate_every: int = 200
    patience: int = 3
    blind_steps: int = 400
    direction_weight: float = 2.0
    open_share: float = 0.5
    overlap_share: float = 0.1
    alpha: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        counts = (
            self.rank, self.groups_per_batch, self.max_steps, self.evaluate_every,
            self.patience, self.blind_steps,
        )
        if min(counts) < 1 or self.negatives < 2 or self.batch < self.groups_per_batch:
            raise TransitionError(
                "rank, steps and patience are at least 1, negatives 2, and a batch holds a "
                "pair of each of its groups"
            )
        if not (0.0 <= self.open_share <= 1.0 and 0.0 <= self.overlap_share <= 1.0):
            raise TransitionError("open_share and overlap_share are shares between 0 and 1")


@dataclass(frozen=True, slots=True)
class TrainResult:
    """A model with how it came about.

    ``history`` has one row for each evaluation (``step``, ``loss`` and the measures);
    ``counts`` are those of the dataset; ``metrics`` maps ``dev`` to the measures of
    the model kept, or ``train`` where no storm is held out.
    """

    model: TransitionModel
    history: tuple[dict[str, float], ...]
    counts: dict[str, int]
    metrics: dict[str, dict[str, float]]


def train(
    dataset: TransitionDataset, config: TrainingConfig | None = None, *, embedder: str,
    progress: Progress | None = None,
) -> TrainResult:
    """Train on the training storms, stop on the dev storms.

    Parameters
    ----------
    dataset
        Vectors and signals; see :func:`okh.transition.pairs.build_dataset`.
    config
        Settings; the defaults where None.
    embedder
        Version of the embedder of the vectors, kept with the model.
    progress
        Called with (step, most steps) after each evaluation.

    Raises
    ------
    TransitionError
        The training storms hold no ordered pair.
    """
    import torch

    config = config or TrainingConfig()
    sampler = Sampler(
        dataset, config.negatives, config.groups_per_batch, config.seed, config.overlap_share
    )
    held_out: Split = "dev" if any(len(g.adjacent) for g in dataset.of("dev")) else "train"
    epoch = -(-sum(len(g.adjacent) for g in dataset.of("train")) // config.batch)
    steps = min(config.max_steps, max(config.evaluate_every, config.max_epochs * epoch))
    if held_out == "train":
        steps = min(steps, config.blind_steps)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        run = _Run(dataset, config, sampler, embedder)
        best, history = _fit(run, held_out, steps, progress)
    finally:
        torch.set_num_threads(threads)
    return TrainResult(
        best, tuple(history), dataset.counts(), {held_out: evaluate(best, dataset, held_out)}
    )


def _fit(
    run: _Run, held_out: Split, steps: int, progress: Progress | None
) -> tuple[TransitionModel, list[dict[str, float]]]:
    """The best model seen at an evaluation (the last one where nothing is held out)."""
    config = run.config
    best, best_value, since = run.snapshot(0), -np.inf, 0
    history: list[dict[str, float]] = []
    losses: list[float] = []
    for step in range(1, steps + 1):
        losses.append(run.step())
        if step % config.evaluate_every and step != steps:
            continue
        model = run.snapshot(step)
        measures = evaluate(model, run.dataset, held_out, most_groups=VALIDATION_GROUPS)
        history.append({"step": float(step), "loss": float(np.mean(losses)), **measures})
        losses.clear()
        if progress is not None:
            progress(step, steps)
        value = float(np.nansum([measures["mrr"], measures["open_direction"]]))
        since += 1
        if value > best_value or held_out == "train":
            best, best_value, since = model, value, 0
        if since >= config.patience:
            break
    return best, history


class _Run:
    """Weights, optimizer and one step of training."""

    def __init__(
        self, dataset: TransitionDataset, config: TrainingConfig, sampler: Sampler, embedder: str
    ) -> None:
        import torch

        self.dataset, self.config, self._sampler = dataset, config, sampler
        self._embedder = embedder
        d = dataset.vectors.shape[1]
        rng = np.random.default_rng(config.seed)
        self._u, self._v = (
            torch.tensor(
                rng.normal(0.0, d**-0.5, (config.rank, d)), dtype=torch.float32, requires_grad=True
            )
            for _ in range(2)
        )
        self._adam = torch.optim.Adam([self._u, self._v], lr=config.learning_rate)

    def snapshot(self, step: int) -> TransitionModel:
        """The model as it stands."""
        meta = ModelMeta(
            self._embedder, self.dataset.training_storms, self.config.objective, step,
            self.config.seed,
        )
        return TransitionModel(
            self._u.detach().numpy().copy(), self._v.detach().numpy().copy(), meta
        )

    def step(self) -> float:
        """One batch; returns its loss."""
        config = self.config
        self._adam.zero_grad()
        if config.objective == "direction":
            open_pairs = round(config.open_share * config.batch)
            loss = self._softmax(self._sampler.listed(config.batch))
            loss = loss + config.direction_weight * (
                self._logistic(self._sampler.ordered(config.batch - open_pairs))
                + self._logistic(self._sampler.in_text(open_pairs))
            )
        else:
            loss = self._paper(self._sampler.all_pairs(config.batch))
        loss.backward()  # type: ignore[no-untyped-call]
        self._adam.step()
        return float(loss.detach())

    def _project(self, weights: torch.Tensor, rows: NDArray[np.intp]) -> torch.Tensor:
        import torch

        return torch.from_numpy(self.dataset.vectors[rows]) @ weights.T

    def _logits(self, draw: Draw) -> torch.Tensor:
        """Scores ``(b, 1 + K)``: the positive, then own-group and global negatives.

        A negative that is a positive of its source, or the source itself, is masked.
        """
        import torch

        b, groups = len(draw.source), len(draw.own)
        source = self._project(self._u, draw.source)
        target = self._project(self._v, draw.target)
        positive = (source * target).sum(dim=1, keepdim=True)
        own = self._project(self._v, draw.own.ravel()).view(groups, -1, source.shape[1])
        near = torch.bmm(source.view(groups, b // groups, -1), own.transpose(1, 2)).view(b, -1)
        near = near + torch.from_numpy(draw.own_correction)[:, None]
        far = source @ self._project(self._v, draw.everywhere).T
        negative = torch.cat([near, far], dim=1)
        negative = negative.masked_fill(torch.from_numpy(draw.masked), -torch.inf)
        return torch.cat([positive, negative], dim=1)

    def _softmax(self, draw: Draw) -> torch.Tensor:
        return -self._logits(draw).log_softmax(dim=1)[:, 0].mean()

    def _logistic(self, pairs: tuple[NDArray[np.intp], NDArray[np.intp]]) -> torch.Tensor:
        """-log σ(s_ij - s_ji), the mean over these pairs of rows; zero where there is none."""
        import torch

        first, second = pairs
        if len(first) == 0:
            return torch.zeros(())
        forward = (self._project(self._u, first) * self._project(self._v, second)).sum(dim=1)
        backward = (self._project(self._u, second) * self._project(self._v, first)).sum(dim=1)
        return torch.nn.functional.softplus(backward - forward).mean()

    def _paper(self, draw: Draw) -> torch.Tensor:
        """Eq. 4 clamped, or unlikelihood: positives, their reversals, and sampled negatives."""
        import torch

        config = self.config
        log_p = self._logits(draw).log_softmax(dim=1)
        reversal = self._logits(draw.reversed()).log_softmax(dim=1)[:, :1]
        negative = torch.cat([reversal, log_p[:, 1:]], dim=1)
        kept = torch.isfinite(negative)
        if config.objective == "eq4":
            penalty = negative.clamp(min=LOG_P_FLOOR)
        else:
            penalty = -torch.log1p(-negative.exp().clamp(max=1.0 - 1e-6))
        return -log_p[:, 0].mean() + config.alpha * penalty[kept].mean()
