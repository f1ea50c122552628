"""Vectors from an endpoint that speaks OpenAI's protocol (A.4: text-embedding-3-small)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np

from okh.domain import digest
from okh.embedding.embedder import EmbeddingError, FloatArray, unit_rows
from okh.llm.protocol import ChatClient
from okh.llm.tokens import MARGIN, count_tokens

MAX_TEXT_TOKENS = 8_191
"""Longest input of OpenAI's embedding models; longer texts are cut."""

BATCH_TOKENS = 100_000
"""Estimated tokens of one call; the endpoint takes 300,000."""

BATCH_TEXTS = 1_024
"""Texts of one call; the endpoint takes 2,048."""


class VectorCache(Protocol):
    """Keeps vectors by embedder version and text hash; safe under several writers."""

    def get_many(self, version: str, keys: Sequence[str]) -> Mapping[str, FloatArray]:
        """Vectors of those keys that are known, each of shape ``(d,)``."""
        ...

    def put_many(self, version: str, vectors: Mapping[str, FloatArray]) -> None:
        """Keep these."""
        ...


class OpenAIEmbedder:
    """Satisfies :class:`okh.embedding.embedder.Embedder`.

    Parameters
    ----------
    client
        Makes the calls; its errors pass through.
    dimension
        d as known from before (a table's manifest). Without it the first reply tells;
        asking for it before then embeds one word.
    cache
        Asked before each call and given each batch as it comes, so that nothing is paid
        for twice, whatever crashes in between.
    batch_tokens, batch_texts
        Limits of one call.
    """

    def __init__(
        self, client: ChatClient, *, dimension: int | None = None,
        cache: VectorCache | None = None, batch_tokens: int = BATCH_TOKENS,
        batch_texts: int = BATCH_TEXTS,
    ) -> None:
        self._client, self._dimension, self._cache = client, dimension, cache
        self._batch_tokens, self._batch_texts = batch_tokens, batch_texts

    @cached_property
    def version(self) -> str:
        """``openai-``, the model, and eight hex digits over endpoint and model."""
        return f"openai-{self._client.embedding_model}-" + digest(
            self._client.embedding_identity
        )[:8]

    @property
    def dimension(self) -> int:
        """d, from the reply."""
        if self._dimension is None:
            self.embed(["storm"])
        assert self._dimension is not None
        return self._dimension

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Unit vectors of shape ``(n, d)``; a blank text gets zeros and costs nothing.

        Equal texts are embedded once.

        Raises
        ------
        EmbeddingError
            The endpoint gave vectors of another number or length, or no numbers.
        okh.llm.errors.LlmError
            The client's errors.
        """
        if not texts:
            return np.zeros((0, self._dimension or 0), dtype=np.float32)
        keys = [digest(text) if text.strip() else "" for text in texts]
        wanted = {key: text for key, text in zip(keys, texts, strict=True) if key}
        known: dict[str, FloatArray] = {}
        if self._cache is not None and wanted:
            known |= self._cache.get_many(self.version, list(wanted))
            for vector in known.values():
                self._settle(len(vector))
        missing = [key for key in wanted if key not in known]
        for batch in self._batches([(key, _cut(wanted[key])) for key in missing]):
            rows = self._call([text for _, text in batch])
            fresh = {key: row for (key, _), row in zip(batch, rows, strict=True)}
            if self._cache is not None:
                self._cache.put_many(self.version, fresh)
            known |= fresh
        blank = np.zeros(self.dimension, dtype=np.float32)
        return np.stack([known.get(key, blank) for key in keys])

    def _batches(self, texts: Sequence[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
        """Texts in calls of at most so many tokens and texts; a longer one goes alone."""
        batch: list[tuple[str, str]] = []
        tokens = 0
        for key, text in texts:
            cost = count_tokens(text)
            full = len(batch) >= self._batch_texts or tokens + cost > self._batch_tokens
            if batch and full:
                yield batch
                batch, tokens = [], 0
            batch.append((key, text))
            tokens += cost
        if batch:
            yield batch

    def _call(self, texts: list[str]) -> FloatArray:
        """Unit vectors of one call's texts."""
        vectors, _ = self._client.embed(texts, purpose="embedding", context={"asset": "embedding"})
        lengths = {len(vector) for vector in vectors}
        if len(vectors) != len(texts) or len(lengths) != 1 or lengths == {0}:
            raise EmbeddingError(
                f"{len(texts)} texts got {len(vectors)} vectors of lengths "
                f"{sorted(lengths)[:5]}: see that the endpoint's embedding model is one"
            )
        self._settle(lengths.pop())
        matrix = np.asarray(vectors, dtype=np.float32)
        if not np.isfinite(matrix).all():
            raise EmbeddingError(
                "the endpoint gave vectors that are no numbers: try another embedding model"
            )
        return unit_rows(matrix)

    def _settle(self, dimension: int) -> None:
        if self._dimension is None:
            self._dimension = dimension
        elif dimension != self._dimension:
            raise EmbeddingError(
                f"vectors of dimension {dimension} came where {self._dimension} was known: the "
                "endpoint serves another model under the same name; build the vectors again"
            )


def _cut(text: str) -> str:
    """A text that the model takes whole: its beginning, where it is too long."""
    most = int(MAX_TEXT_TOKENS / MARGIN)
    while len(text) > most and (tokens := count_tokens(text)) > most:
        text = text[: len(text) * most // tokens]
    return text
