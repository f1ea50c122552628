"""The transition model on held-out storms, beside chance, bigram counts and the rules.

Scenario groups of ``events.jsonl``; the embedder is fitted on training storms. Each
objective is trained with the words of horizon and relation in the embedded text and
without them.

Run: ``python -m tests.benchmarks.transition [--every N] [--split dev|test]``
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Mapping

import numpy as np

from okh.embedding import LsaEmbedder, edge_text, embed_distinct
from okh.normalization import Hypergraph
from okh.transition import (
    Split,
    TrainingConfig,
    TransitionDataset,
    baselines,
    build_dataset,
    evaluate,
    group_signals,
    split_storms,
    train,
    training_only,
)
from okh.transition.training import Objective
from tests.benchmarks import scenario_graphs

MEASURES = ("mrr", "hits10", "direction", "open_direction")
OBJECTIVES: tuple[Objective, ...] = ("direction", "eq4", "unlikelihood")


def dataset_of(
    graphs: Mapping[str, Hypergraph], *, order_words: bool, dimension: int = 256
) -> tuple[TransitionDataset, str]:
    """Vectors and signals of these groups, and the embedder's version."""
    splits = split_storms(g.group.storm_year for g in graphs.values())
    texts = [
        (g.group.storm_year, edge_text(e, g.entities, order_words=order_words))
        for g in graphs.values() for e in g.edges
    ]
    embedder = LsaEmbedder.fit(training_only(texts, splits), dimension=dimension)
    vectors, index = embed_distinct(embedder, [text for _, text in texts])
    ends = np.cumsum([len(g.edges) for g in graphs.values()])
    signals = [
        group_signals(g.edges, index[end - len(g.edges) : end])
        for g, end in zip(graphs.values(), ends, strict=True)
    ]
    return build_dataset(vectors, signals, splits), embedder.version


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="every n-th event")
    parser.add_argument("--split", choices=("dev", "test"), default="dev")
    parser.add_argument("--objectives", nargs="*", choices=OBJECTIVES, default=list(OBJECTIVES))
    options = parser.parse_args()
    split: Split = options.split
    graphs = dict(scenario_graphs(options.every))
    print(f"{'':<30}" + "".join(f"{m:>16}" for m in MEASURES))
    for order_words in (True, False):
        dataset, version = dataset_of(graphs, order_words=order_words)
        if order_words:
            print(dataset.counts())
            for name, result in baselines(dataset, split).items():
                _print(name, result)
        for objective in options.objectives:
            started = time.process_time()
            result = train(dataset, TrainingConfig(objective=objective), embedder=version)
            name = f"{objective}{'' if order_words else ', no order words'}"
            _print(name, evaluate(result.model, dataset, split),
                   f"{result.model.meta.steps} steps kept, {result.history[-1]['step']:.0f} run, "
                   f"{time.process_time() - started:.0f} s CPU")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def _print(name: str, result: Mapping[str, float], note: str = "") -> None:
    values = "".join(f"{result[m]:>16.3f}" for m in MEASURES)
    print(f"{name:<30}{values}  {note}", flush=True)


if __name__ == "__main__":
    main()
