"""Splits, signals and the model of transitions: laws, not figures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from okh.domain import Hyperedge, Span
from okh.precedence import canonical_order
from okh.transition import (
    FEWEST,
    ModelMeta,
    TransitionError,
    TransitionModel,
    build_dataset,
    group_signals,
    split_storms,
    training_only,
)
from tests.strategies import GROUP, hyperedges, one_group

storms = st.sets(st.integers(0, 400).map(lambda i: f"STORM-{i}-{2000 + i % 20}"), max_size=30)


@given(storms, st.randoms(use_true_random=False))
def test_a_storm_is_in_one_split_whatever_the_order(names: set[str], random) -> None:  # type: ignore[no-untyped-def]
    shuffled = [*names, *list(names)[:3]]
    random.shuffle(shuffled)
    splits = split_storms(sorted(names))
    assert splits == split_storms(shuffled) and set(splits) == names
    kinds = set(splits.values())
    if len(names) < FEWEST:
        assert kinds <= {"train"}
    else:
        assert {"train", "dev"} <= kinds <= {"train", "dev", "test"}


def test_a_storm_keeps_its_split_when_others_arrive() -> None:
    many = [f"STORM-{i}-2020" for i in range(300)]
    before, after = split_storms(many[:150]), split_storms(many)
    assert all(after[storm] == split for storm, split in before.items())
    shares = [sum(s == kind for s in after.values()) / 300 for kind in ("train", "dev", "test")]
    assert shares == pytest.approx([0.6, 0.2, 0.2], abs=0.08)


def test_only_training_storms_pass() -> None:
    splits = split_storms(f"STORM-{i}-2020" for i in range(20))
    passed = list(training_only(((storm, storm) for storm in splits), splits))
    assert passed == [storm for storm, split in splits.items() if split == "train"]
    with pytest.raises(KeyError):
        list(training_only([("UNKNOWN-1999", 1)], splits))


@given(st.lists(hyperedges(), min_size=1, max_size=16), st.booleans(), st.data())
@settings(deadline=None, max_examples=50)
def test_signals_never_contradict_precedence_nor_depend_on_order(
    drawn: list[Hyperedge], sequence_index: bool, data: st.DataObject
) -> None:
    edges = one_group(drawn)
    order = data.draw(st.permutations(range(len(edges))))
    signals = group_signals(edges, np.arange(len(edges)), sequence_index=sequence_index)
    again = group_signals(
        [edges[i] for i in order], np.array(order), sequence_index=sequence_index
    )
    assert np.array_equal(signals.rows, again.rows) and signals.counts == again.counts
    assert np.array_equal(signals.positives, again.positives)
    assert signals.rows.tolist() == canonical_order(edges)
    before, text = signals.before(), signals.text_before()
    pairs = signals.positives
    assert not before[pairs[:, 1], pairs[:, 0]].any()
    assert not text[pairs[:, 1], pairs[:, 0]].any()
    assert not (text & (before | before.T)).any()
    assert len({tuple(p) for p in pairs.tolist()}) == len(pairs)
    assert (signals.adjacent[:, 1] == signals.adjacent[:, 0] + 1).all()
    ordered = [edges[i] for i in signals.rows]
    for a, b in zip(*np.nonzero(text), strict=True):
        assert ordered[a].spans[0].document == ordered[b].spans[0].document
        assert ordered[a].spans[0].start < ordered[b].spans[0].start


def _edge(name: str, lead: int, family: int, start: int, *entities: str) -> Hyperedge:
    return Hyperedge(
        id=name, group=GROUP.key, relation=f"r{family}", raw_relation="", family=family,
        story=family, sub_rank=0, phase="", lead=lead, lead_from=None, static=False,
        entities=entities, evidence=name, attributes=(), confidence=1.0, grounded=True,
        synthetic=False, observed=False, issued=None, source_kind="products", kind="advisory",
        spans=(Span("doc", start, start + 1),),
    )


def test_a_document_printed_backwards_is_dropped_and_counted() -> None:
    edges = [_edge(str(lead), lead, 1, 1000 - lead, "x", "y") for lead in (12, 24, 48)]
    printed = [replace(e, spans=(Span("doc", e.lead or 0, 999),)) for e in edges]
    forward = group_signals(edges, np.arange(3)).counts
    backward = group_signals(printed, np.arange(3)).counts
    assert (forward["text_agrees"], forward["text_contradicts"]) == (2, 0)
    assert (backward["text_agrees"], backward["text_contradicts"]) == (0, 2)
    assert backward["adjacent"] == 2


def test_hubs_and_anchors_tie_nothing() -> None:
    edges = [
        _edge(f"{i:02d}", 120 - i, 1, i, "cyclone:A", "horizon:T-48" if i in (0, 5) else "z",
              "place:P" if i in (2, 9) else "z")
        for i in range(12)
    ]
    signals = group_signals(edges, np.arange(12))
    assert signals.overlap.tolist() == [[2, 9]]


def test_induced_pairs_are_taken_unless_foreign_or_backward() -> None:
    edges = [_edge(f"{i}", 48 - 12 * i, 1, i, "x") for i in range(4)]
    signals = group_signals(
        edges, np.arange(4), induced=[("0", "2"), ("3", "0"), ("0", "other"), ("0", "1")]
    )
    assert signals.induced.tolist() == [[0, 2]]
    assert signals.counts["induced_dropped"] == 2


def test_bad_groups_are_refused() -> None:
    edges = [_edge("a", 48, 1, 0, "x"), replace(_edge("b", 24, 1, 1, "x"), group="B-2031|p")]
    with pytest.raises(ValueError, match="2 groups"):
        group_signals(edges, np.arange(2))
    with pytest.raises(ValueError, match="1 rows"):
        group_signals(edges[:1] * 2, np.arange(1))
    signals = group_signals(edges[:1], np.array([7]))
    with pytest.raises(ValueError, match="beyond the 3 vectors"):
        build_dataset(np.zeros((3, 2), np.float32), [signals])
    with pytest.raises(ValueError, match="in no split"):
        build_dataset(np.zeros((9, 2), np.float32), [signals], {})


def _model(d: int = 6, r: int = 3, seed: int = 0) -> TransitionModel:
    rng = np.random.default_rng(seed)
    u, v = rng.normal(size=(2, r, d)).astype(np.float32) * 5
    return TransitionModel(u, v, ModelMeta("lsa-test", ("A-2020", "B-2021"), "direction", 7, 1))


@given(st.integers(0, 12), st.integers(0, 99))
def test_log_probabilities_are_normalised_over_the_others(n: int, seed: int) -> None:
    vectors = np.random.default_rng(seed).normal(size=(n, 6)).astype(np.float32)
    log_p = _model().log_probabilities(vectors)
    assert log_p.shape == (n, n)
    assert np.all(np.diag(log_p) == -np.inf)
    if n > 1:
        assert np.allclose(np.exp(log_p).sum(axis=1), 1.0)
        assert np.isfinite(log_p[~np.eye(n, dtype=bool)]).all()


def test_model_state_gives_the_same_model_back() -> None:
    model = _model()
    restored = TransitionModel.from_state(*model.state())
    vectors = np.eye(6, dtype=np.float32)
    assert restored.meta == model.meta and restored.version == model.version
    assert np.array_equal(
        restored.log_probabilities(vectors), model.log_probabilities(vectors)
    )


def test_a_foreign_model_or_embedder_is_refused() -> None:
    tensors, meta = _model().state()
    with pytest.raises(TransitionError, match="changed or cut"):
        TransitionModel.from_state({**tensors, "u": tensors["u"] + 1}, meta)
    with pytest.raises(TransitionError, match="lacks U or V"):
        TransitionModel.from_state({"u": tensors["u"]}, meta)
    with pytest.raises(TransitionError, match="another kind"):
        TransitionModel.from_state(tensors, {**meta, "format": 0})
    with pytest.raises(TransitionError, match="d = 6"):
        _model().scores(np.zeros((2, 5), np.float32))
    with pytest.raises(TransitionError, match="no pair"):
        TransitionModel(np.zeros((2, 3), np.float32), np.zeros((3, 3), np.float32), ModelMeta("e"))
