"""What the transition model is worth on storms it has not seen, beside what needs no learning (§5).

Next step
    Of each edge whose successor in the canonical trajectory is warranted, the rank
    of that successor among all other edges of the group. Equal scores share their
    ranks: the expectation over their orders counts.
Direction
    s_ij > s_ji over all pairs i ≺ j of a group.
Open direction
    The same over the pairs that ≺ leaves open and the text of one document orders:
    what rules cannot know.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from okh.transition.model import TransitionModel
from okh.transition.pairs import GroupSignals, TransitionDataset
from okh.transition.split import Split

Scores = NDArray[np.float64]
Scorer = Callable[[GroupSignals], Scores]

HITS = 10

GAIN = 0.002
"""Smallest gain that promotes a model; less is the luck of a seed (decision)."""


def evaluate(
    model: TransitionModel, dataset: TransitionDataset, split: Split, *,
    most_groups: int | None = None,
) -> dict[str, float]:
    """Held-out measures of a model on the groups of one split.

    ``most_groups`` takes an even sample over the groups in their order, which is
    by storm: time grows with the square of a group.

    Returns
    -------
    dict
        ``mrr``, ``hits10``, ``direction``, ``open_direction`` in [0, 1] (NaN where
        there is no pair), and ``next_pairs``, ``ordered_pairs``, ``open_pairs``.
    """
    groups = dataset.of(split)
    if most_groups is not None and len(groups) > most_groups:
        groups = [groups[i * len(groups) // most_groups] for i in range(most_groups)]
    return measure(lambda g: model.scores(dataset.vectors[g.rows]), groups)


def baselines(dataset: TransitionDataset, split: Split) -> dict[str, dict[str, float]]:
    """The measures of :func:`evaluate` for ``chance``, ``bigram`` and ``rules``.

    ``bigram`` counts which relation follows which on training storms, add-one
    smoothed. ``rules`` knows ≺ and nothing else: concurrent edges come next, then
    later ones, nearest first; on direction it is perfect by construction.
    """
    groups = dataset.of(split)
    return {
        "chance": measure(lambda g: np.zeros((len(g), len(g))), groups),
        "bigram": measure(_bigram(dataset.of("train")), groups),
        "rules": measure(_rules, groups),
    }


def promotes(candidate: Mapping[str, float], current: Mapping[str, float]) -> bool:
    """Whether a model gains in next-step MRR or open direction and loses in neither.

    Both are measures of :func:`evaluate` on dev storms; a measure that is NaN for
    either model does not count.
    """
    gains = [candidate[k] - current[k] for k in ("mrr", "open_direction")]
    gains = [g for g in gains if not np.isnan(g)]
    return bool(gains) and max(gains) > GAIN and min(gains) >= -GAIN


def measure(score: Scorer, groups: Sequence[GroupSignals]) -> dict[str, float]:
    """The measures of :func:`evaluate` for any way of scoring the pairs of a group."""
    total: defaultdict[str, float] = defaultdict(float)
    for group in groups:
        scores = score(group)
        reciprocal, hits = _next_step(scores, group.adjacent)
        total["mrr"] += reciprocal
        total["hits10"] += hits
        total["next_pairs"] += len(group.adjacent)
        forward, tied = scores > scores.T, scores == scores.T
        for name, count, pairs in (
            ("direction", "ordered_pairs", group.before()),
            ("open_direction", "open_pairs", group.text_before()),
        ):
            right = int(np.count_nonzero(forward & pairs))
            total[name] += right + int(np.count_nonzero(tied & pairs)) / 2
            total[count] += int(np.count_nonzero(pairs))
    result: dict[str, float] = {}
    for name, count in (
        ("mrr", "next_pairs"), ("hits10", "next_pairs"), ("direction", "ordered_pairs"),
        ("open_direction", "open_pairs"),
    ):
        result[name] = total[name] / total[count] if total[count] else float("nan")
        result[count] = total[count]
    return result


def _next_step(scores: Scores, pairs: NDArray[np.intp]) -> tuple[float, float]:
    """Sums of expected reciprocal rank and expected hits of these pairs' targets."""
    if len(pairs) == 0:
        return 0.0, 0.0
    rows = scores[pairs[:, 0]].astype(np.float64)
    rows[np.arange(len(pairs)), pairs[:, 0]] = -np.inf
    gold = rows[np.arange(len(pairs)), pairs[:, 1]][:, None]
    above = (rows > gold).sum(axis=1)
    tied = (rows == gold).sum(axis=1)
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, scores.shape[0] + 1))])
    reciprocal = (harmonic[above + tied] - harmonic[above]) / tied
    hits = np.clip(HITS - above, 0, tied) / tied
    return float(reciprocal.sum()), float(hits.sum())


def _rules(group: GroupSignals) -> Scores:
    _, level = np.unique(
        np.stack([np.nan_to_num(group.position, nan=np.inf), group.rank]), axis=1,
        return_inverse=True,
    )
    ahead = level[None, :] - level[:, None]
    scores: Scores = -np.abs(ahead).astype(np.float64)
    scores[ahead < 0] -= len(level)
    undated = np.isnan(group.position)
    scores[undated[:, None] | undated[None, :]] = -3.0 * len(level)
    return scores


def _bigram(training: Sequence[GroupSignals]) -> Scorer:
    codes = {r: i for i, r in enumerate(sorted({r for g in training for r in g.relations}))}
    size = len(codes) + 1
    counts = np.ones((size, size))

    def coded(group: GroupSignals) -> NDArray[np.intp]:
        return np.array([codes.get(r, size - 1) for r in group.relations], dtype=np.intp)

    for group in training:
        relation = coded(group)
        np.add.at(counts, (relation[group.adjacent[:, 0]], relation[group.adjacent[:, 1]]), 1.0)
    log_p = np.log(counts / counts.sum(axis=1, keepdims=True))

    def score(group: GroupSignals) -> Scores:
        relation = coded(group)
        result: Scores = log_p[relation[:, None], relation[None, :]]
        return result

    return score
