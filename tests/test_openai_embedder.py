"""Embedding over an endpoint: batches, dimension, cache, unit rows, what is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from okh.embedding.embedder import Embedder, EmbeddingError, FloatArray
from okh.embedding.openai import MAX_TEXT_TOKENS, OpenAIEmbedder
from okh.llm.client import Client
from okh.llm.ledger import Usage
from okh.llm.settings import LlmSettings
from okh.llm.tokens import MARGIN, count_tokens
from tests.fake_chat import FakeChat
from tests.openai_server import Fault, OpenAIServer, embedding


@dataclass
class Shelf:
    """A cache in memory that counts its writes."""

    known: dict[tuple[str, str], FloatArray] = field(default_factory=dict)
    writes: int = 0

    def get_many(self, version: str, keys: Sequence[str]) -> Mapping[str, FloatArray]:
        return {k: self.known[version, k] for k in keys if (version, k) in self.known}

    def put_many(self, version: str, vectors: Mapping[str, FloatArray]) -> None:
        self.writes += 1
        self.known |= {(version, key): vector for key, vector in vectors.items()}


class Odd(FakeChat):
    """A client whose vectors are what the test says."""

    vectors: list[list[float]]

    def embed(
        self, texts: Sequence[str], *, purpose: str, context: Mapping[str, str] | None = None
    ) -> tuple[list[list[float]], Usage]:
        return self.vectors, Usage()


def test_rows_are_unit_vectors_in_the_order_of_the_texts() -> None:
    embedder: Embedder = OpenAIEmbedder(FakeChat())
    texts = ["wind at the port", "surge", "wind at the port", " "]
    rows = embedder.embed(texts)
    assert rows.shape == (4, 8) and rows.dtype == np.float32 and embedder.dimension == 8
    np.testing.assert_allclose(rows[1], embedding("surge", 8), rtol=1e-6)
    np.testing.assert_array_equal(rows[0], rows[2])
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), [1, 1, 1, 0], rtol=1e-6)


def test_equal_and_blank_texts_cost_nothing() -> None:
    chat = FakeChat()
    embedder = OpenAIEmbedder(chat, dimension=8)
    assert embedder.embed([]).shape == (0, 8)
    assert not embedder.embed(["", "\n"]).any()
    embedder.embed(["a", "b", "a"])
    assert chat.embedded == [["a", "b"]]


def test_the_dimension_is_that_of_the_reply() -> None:
    chat = FakeChat(dimension=5)
    assert OpenAIEmbedder(chat).dimension == 5 and len(chat.embedded) == 1
    with pytest.raises(EmbeddingError, match="5 came where 8"):
        OpenAIEmbedder(FakeChat(dimension=5), dimension=8).embed(["a"])


@given(
    st.lists(st.text("ab c", min_size=1, max_size=40).filter(str.strip), min_size=1, max_size=30,
             unique=True),
    st.integers(1, 40), st.integers(1, 5),
)
def test_batches_keep_their_limits_and_lose_nothing(
    texts: list[str], tokens: int, most: int
) -> None:
    chat = FakeChat()
    rows = OpenAIEmbedder(chat, batch_tokens=tokens, batch_texts=most).embed(texts)
    assert [text for batch in chat.embedded for text in batch] == texts
    for batch in chat.embedded:
        assert len(batch) <= most
        assert len(batch) == 1 or sum(map(count_tokens, batch)) <= tokens
    np.testing.assert_allclose(rows, [embedding(t, 8) for t in texts], rtol=1e-5, atol=1e-6)


def test_a_text_that_is_too_long_is_cut_to_its_beginning() -> None:
    chat = FakeChat()
    long = "storm surge " * 20_000
    OpenAIEmbedder(chat).embed([long])
    ((sent,),) = chat.embedded
    assert long.startswith(sent)
    assert 0.9 * MAX_TEXT_TOKENS < count_tokens(sent) * MARGIN <= MAX_TEXT_TOKENS


def test_what_was_paid_for_is_kept_batch_by_batch() -> None:
    shelf = Shelf()
    texts = [f"text {n}" for n in range(6)]

    class Dying(FakeChat):
        def embed(
            self, texts: Sequence[str], *, purpose: str, context: Mapping[str, str] | None = None
        ) -> tuple[list[list[float]], Usage]:
            if len(self.embedded) == 2:
                raise KeyboardInterrupt
            return super().embed(texts, purpose=purpose)

    with pytest.raises(KeyboardInterrupt):
        OpenAIEmbedder(Dying(), cache=shelf, batch_texts=2).embed(texts)
    again = FakeChat()
    rows = OpenAIEmbedder(again, cache=shelf, batch_texts=2).embed(texts)
    assert again.embedded == [texts[4:]]
    np.testing.assert_array_equal(rows, OpenAIEmbedder(FakeChat()).embed(texts))
    third = FakeChat()
    cached = OpenAIEmbedder(third, cache=shelf)
    np.testing.assert_array_equal(cached.embed(texts), rows)
    assert cached.dimension == 8 and not third.embedded and shelf.writes == 3


@pytest.mark.parametrize(
    "vectors", [[], [[1.0]], [[1.0], [1.0, 2.0]], [[], []], [[float("nan")], [1.0]]]
)
def test_vectors_that_cannot_be_are_refused(vectors: list[list[float]]) -> None:
    chat = Odd()
    chat.vectors = vectors
    with pytest.raises(EmbeddingError):
        OpenAIEmbedder(chat).embed(["a", "b"])


def test_the_version_changes_with_endpoint_and_model() -> None:
    versions = {
        OpenAIEmbedder(FakeChat(embedding_model=m, embedding_identity=i)).version
        for m, i in (("m", "a|m"), ("m", "b|m"), ("n", "a|n"))
    }
    assert len(versions) == 3
    assert all(v.startswith("openai-") for v in versions)


@pytest.mark.parametrize("fault", [None, Fault.RATE_LIMIT, Fault.CUT, Fault.ERROR])
def test_over_a_real_socket(fault: Fault | None) -> None:
    texts = [f"wind {n} at the port" for n in range(7)]
    with OpenAIServer(dimension=16, retry_after="0") as server:
        limits = LlmSettings(base_url=server.url, api_key="sk-test", backoff_s=0.0, retries=2)
        with Client(limits) as client:
            server.inject(fault)
            embedder = OpenAIEmbedder(client, batch_texts=3)
            rows = embedder.embed(texts)
    assert embedder.dimension == 16 and server.count.completed == 3
    np.testing.assert_allclose(rows, [embedding(t, 16) for t in texts], rtol=1e-5, atol=1e-6)
