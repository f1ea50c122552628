"""Training and held-out measures on groups whose order was planted."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from okh.domain import Hyperedge, Span
from okh.embedding import LsaEmbedder, edge_text, embed_distinct
from okh.extraction import scenario_rules
from okh.normalization import LocatedFact, normalize
from okh.transition import (
    ModelMeta,
    TrainingConfig,
    TrainResult,
    TransitionDataset,
    TransitionError,
    TransitionModel,
    baselines,
    build_dataset,
    evaluate,
    group_signals,
    promotes,
    train,
)
from okh.transition.evaluation import measure
from okh.transition.pairs import GroupSignals
from okh.transition.sampling import Sampler
from okh.transition.training import Objective

D, TOPICS, STEPS = 24, 4, 6
FAST = TrainingConfig(max_steps=300, evaluate_every=100, batch=256, groups_per_batch=8, rank=16)


def planted(groups: int = 24, seed: int = 0) -> TransitionDataset:
    """Groups of four topics in six steps: a step follows the same topic's step before.

    All edges have one relation, so that bigram counts know nothing, and a topic's
    chain is told in the text order of one horizon, so that ≺ knows nothing either.
    """
    rng = np.random.default_rng(seed)
    topic, place = rng.normal(size=(TOPICS, D)), rng.normal(size=(STEPS, D))
    vectors, signals = [], []
    for g in range(groups):
        edges: list[Hyperedge] = []
        start = len(vectors)
        for t in rng.permutation(TOPICS).tolist():
            for s in range(STEPS):
                offset = len(edges)
                edges.append(Hyperedge(
                    id=f"{g:03d}-{offset:03d}", group=f"STORM{g}-2031|port", relation="r",
                    raw_relation="r", family=1, story=1, sub_rank=0, phase="", lead=48,
                    lead_from=None, static=False, entities=("cyclone:X", f"place:{t}"),
                    evidence="", attributes=(), confidence=1.0, grounded=True, synthetic=False,
                    observed=False, issued=None, source_kind="products", kind="advisory",
                    spans=(Span("doc", offset, offset + 1),),
                ))
                noisy = topic[t] + place[s] + 0.3 * rng.normal(size=D)
                vectors.append(noisy / np.linalg.norm(noisy))
        signals.append(group_signals(edges, np.arange(start, start + len(edges))))
    return build_dataset(np.array(vectors, dtype=np.float32), signals)


@pytest.fixture(scope="module")
def dataset() -> TransitionDataset:
    return planted()


@pytest.fixture(scope="module")
def result(dataset: TransitionDataset) -> TrainResult:
    return train(dataset, FAST, embedder="planted")


def test_a_planted_chain_is_learned_above_chance_and_bigram(
    dataset: TransitionDataset, result: TrainResult
) -> None:
    dev, known = result.metrics["dev"], baselines(dataset, "dev")
    assert dev == pytest.approx(evaluate(result.model, dataset, "dev"), nan_ok=True)
    assert known["chance"]["mrr"] == pytest.approx(known["bigram"]["mrr"], abs=1e-6)
    assert dev["mrr"] > 2 * known["bigram"]["mrr"] and dev["hits10"] > known["bigram"]["hits10"]
    assert dev["open_direction"] > 0.56 > known["rules"]["open_direction"] == 0.5
    assert np.isnan(dev["direction"]) and dev["ordered_pairs"] == 0


def test_the_result_tells_where_the_model_comes_from(
    dataset: TransitionDataset, result: TrainResult
) -> None:
    meta = result.model.meta
    assert meta.embedder == "planted" and meta.training_storms == dataset.training_storms
    assert set(meta.training_storms) == {s for s, x in dataset.splits.items() if x == "train"}
    assert [row["step"] for row in result.history][-1] <= FAST.max_steps
    assert result.counts == dataset.counts() and result.counts["adjacent"] > 0


def test_equal_data_and_seed_give_equal_weights(dataset: TransitionDataset) -> None:
    config = replace(FAST, max_steps=20, evaluate_every=20)
    one, two = (train(dataset, config, embedder="planted").model for _ in range(2))
    assert np.array_equal(one.u, two.u) and one.version == two.version
    other = train(dataset, replace(config, seed=1), embedder="planted").model
    assert other.version != one.version


@pytest.mark.parametrize("objective", ["direction", "eq4", "unlikelihood"])
def test_every_objective_stays_finite(dataset: TransitionDataset, objective: Objective) -> None:
    config = replace(FAST, objective=objective, max_steps=30, evaluate_every=10)
    trained = train(dataset, config, embedder="planted")
    assert all(np.isfinite(row["loss"]) for row in trained.history)
    assert np.isfinite(trained.model.u).all() and trained.model.meta.objective == objective


def test_few_storms_are_all_trained_on_and_measured_there() -> None:
    seen: list[tuple[int, int]] = []
    config = replace(FAST, blind_steps=40, evaluate_every=25)
    small = train(planted(2), config, embedder="e", progress=lambda *at: seen.append(at))
    assert set(small.metrics) == {"train"} and seen == [(25, 40), (40, 40)]
    assert small.model.meta.steps == 40


def test_nothing_to_learn_from_is_refused_with_a_mend() -> None:
    lonely = build_dataset(np.ones((1, 3), np.float32), [])
    with pytest.raises(TransitionError, match="Ingest documents"):
        train(lonely, FAST, embedder="e")
    with pytest.raises(TransitionError, match="at least 1"):
        TrainingConfig(rank=0)
    with pytest.raises(TransitionError, match="open_share"):
        TrainingConfig(open_share=1.5)


def test_negatives_are_never_positives_and_pairs_go_forward(dataset: TransitionDataset) -> None:
    sampler = Sampler(dataset, 64, 8, seed=3)
    following: dict[int, set[int]] = {}
    for group in dataset.of("train"):
        for a, b in group.positives.tolist():
            following.setdefault(int(group.rows[a]), set()).add(int(group.rows[b]))
    draw = sampler.listed(256)
    own = np.repeat(draw.own, len(draw.source) // len(draw.own), axis=0)
    everywhere = np.tile(draw.everywhere, (len(draw.source), 1))
    candidates = np.concatenate([own, everywhere], axis=1)
    for i, source in enumerate(draw.source.tolist()):
        assert int(draw.target[i]) in following[source]
        forbidden = following[source] | {source}
        assert set(candidates[i][~draw.masked[i]].tolist()).isdisjoint(forbidden)
        assert set(candidates[i][draw.masked[i]].tolist()) <= forbidden
    first, second = sampler.in_text(200)
    assert len(first) > 100 and (first < second).all()
    assert len(sampler.ordered(50)[0]) == 0


def test_ties_count_their_expectation() -> None:
    group = planted(4).groups[0]
    n = len(group)
    found = measure(lambda g: np.zeros((len(g), len(g))), [group])
    assert found["mrr"] == pytest.approx(np.mean(1 / np.arange(1, n)))
    assert found["hits10"] == pytest.approx(10 / (n - 1))
    assert found["open_direction"] == 0.5

    def perfect(g: GroupSignals) -> np.ndarray:
        place = np.arange(len(g))
        return -np.abs(place[None] - place[:, None] - 1.0)

    assert measure(perfect, [group])["mrr"] == 1.0
    assert measure(perfect, [])["next_pairs"] == 0


def test_promotion_asks_for_a_gain_and_no_loss() -> None:
    now = {"mrr": 0.4, "open_direction": 0.6}
    assert promotes({"mrr": 0.5, "open_direction": 0.6}, now)
    assert promotes({"mrr": 0.4, "open_direction": 0.7}, now)
    assert not promotes(now, now)
    assert not promotes({"mrr": 0.5, "open_direction": 0.5}, now)
    assert promotes({"mrr": 0.5, "open_direction": float("nan")}, now)


def test_torch_is_imported_by_training_only() -> None:
    code = "import sys, okh.transition, okh.embedding; sys.exit('torch' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run([sys.executable, "-c", code], env=environment, check=False)
    assert ended.returncode == 0


SCENARIO = """\
T-{a} hours before expected landfall:
{name} is classified as a tropical storm. The center of {name} is located at 25.{i}N, 80.1W.
Its present motion is NW, at a forward speed of 1{i} mph. Landfall is expected in {a} hours.
The port is under no watch.
T-{b} hours before expected landfall:
{name} is classified as a category 1 hurricane. The center of {name} is located at 27.{i}N, 81.1W.
Its present motion is N, at a forward speed of 1{i} mph. Landfall is expected in {b} hours.
The port is under a hurricane warning.
"""


def test_real_words_in_and_log_probabilities_out() -> None:
    from okh.corpus.scenario import parse_scenario
    from okh.domain import Group, digest

    texts: list[str] = []
    per_group = []
    for i, name in enumerate(["ODESSA", "PELLO", "QUARTZ", "RUNA", "SELMA"]):
        text = SCENARIO.format(name=name, i=i, a=48, b=24)
        document, blocks = parse_scenario(text, digest(text), f"{name}_2031_Galveston,_TX.txt")
        facts = [
            LocatedFact(f, document.hash, b.start + f.start, b.start + f.end, b.lead, None,
                        "scenario", "scenario")
            for b in blocks for f in scenario_rules.extract(b)
        ]
        graph = normalize(Group(name, 2031, "galveston-tx"), facts)
        per_group.append(graph.edges)
        texts += [edge_text(e, graph.entities) for e in graph.edges]
    vectors, index = embed_distinct(LsaEmbedder.fit(texts, dimension=16), texts)
    ends = np.cumsum([len(edges) for edges in per_group])
    signals = [
        group_signals(edges, index[end - len(edges) : end])
        for edges, end in zip(per_group, ends, strict=True)
    ]
    config = replace(FAST, max_steps=150, evaluate_every=50)
    trained = train(build_dataset(vectors, signals), config, embedder="lsa")
    assert trained.metrics["dev"]["direction"] > 0.6
    log_p = trained.model.log_probabilities(vectors[signals[0].rows])
    assert np.allclose(np.exp(log_p).sum(axis=1), 1.0)


def test_a_model_without_weights_for_it_scores_nothing(dataset: TransitionDataset) -> None:
    zero = np.zeros((2, D), np.float32)
    found = evaluate(TransitionModel(zero, zero, ModelMeta("e")), dataset, "dev")
    assert found["mrr"] == pytest.approx(baselines(dataset, "dev")["chance"]["mrr"])
