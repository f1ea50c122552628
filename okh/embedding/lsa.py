"""The embedded embedder: TF-IDF over words, then a truncated SVD.

Fitted once on a corpus, then frozen: :meth:`LsaEmbedder.embed` only transforms.
Word pairs and character n-grams were tried beside the words and do not pay (MRR of
questions on dev storms .55 with pairs, .54 with pairs and characters, .56 with
words alone, at 0.07, 0.33 and 0.04 ms a text).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import randomized_svd

from okh.embedding.embedder import EmbeddingError, FloatArray, unit_rows

FORMAT = 1
"""Raise when the same state would give other vectors."""

MAX_TERMS = 30_000
MAX_TEXTS = 100_000
"""Texts looked at in a fit; of more, an even sample over their sorted order."""

_RARE_FROM = 1_000
"""Texts from which a term must occur in two of them to count."""

_TOKEN = r"(?u)\bt[-+]\d+|[^\W\d_]+|\d+(?:\.\d+)?"
"""A horizon (``t-48``), a word, a number; the parts of ``snake_case`` are words."""

_POWER_ITERATIONS = 4
_BATCH = 4_096


class LsaEmbedder:
    """Latent semantic analysis; make one with :meth:`fit` or :meth:`from_state`.

    Rows depend on their own text only. A text without any known term gets zeros.
    """

    def __init__(
        self, terms: Sequence[str], idf: FloatArray, components: FloatArray,
        meta: Mapping[str, object],
    ) -> None:
        self._terms, self._idf, self._components = tuple(terms), idf, components
        self._meta = dict(meta)
        self._counter = _vectorizer({term: i for i, term in enumerate(self._terms)})
        self.version = f"lsa-{_state_digest(self._terms, idf, components)}"

    @property
    def dimension(self) -> int:
        """d, as asked for in the fit."""
        return int(self._components.shape[1])

    @classmethod
    def fit(cls, texts: Iterable[str], *, dimension: int = 256, seed: int = 0) -> LsaEmbedder:
        """An embedder of ``dimension`` columns from the distinct texts, in whatever order.

        Columns beyond the rank of the corpus stay zero; an empty corpus gives an
        embedder that knows no term. Raises ``ValueError`` for a dimension below one.
        """
        if dimension < 1:
            raise ValueError(f"an embedding of {dimension} columns cannot be made")
        corpus = sorted(set(texts))
        if len(corpus) > MAX_TEXTS:
            corpus = [corpus[i * len(corpus) // MAX_TEXTS] for i in range(MAX_TEXTS)]
        terms, held = _frequent_terms(corpus)
        idf = (np.log((1 + len(corpus)) / (1 + held)) + 1.0).astype(np.float32)
        components = np.zeros((len(terms), dimension), dtype=np.float32)
        if terms:
            counter = _vectorizer({term: i for i, term in enumerate(terms)})
            weighted = _weighted(counter, idf, corpus)
            rank = min(dimension, *weighted.shape)
            _, strength, axes = randomized_svd(
                weighted, rank, n_iter=_POWER_ITERATIONS, random_state=seed
            )
            # Directions that the corpus does not span are arbitrary, and noise to a query.
            axes[strength <= 1e-5 * strength[0]] = 0.0
            components[:, :rank] = axes.T
        meta = {"kind": "lsa", "format": FORMAT, "seed": seed, "texts": len(corpus)}
        return cls(terms, idf, components, meta)

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Vectors of shape ``(n, d)``, each of length one or zero."""
        result = np.zeros((len(texts), self.dimension), dtype=np.float32)
        if not self._terms:
            return result
        for start in range(0, len(texts), _BATCH):
            part = texts[start : start + _BATCH]
            weighted = _weighted(self._counter, self._idf, part)
            result[start : start + len(part)] = weighted @ self._components
        return unit_rows(result)

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, object]]:
        """All that :meth:`from_state` needs: arrays, and what JSON can hold."""
        tensors: dict[str, NDArray[Any]] = {
            "terms": np.frombuffer("\n".join(self._terms).encode(), dtype=np.uint8).copy(),
            "idf": self._idf,
            "components": self._components,
        }
        return tensors, {**self._meta, "version": self.version, "dimension": self.dimension}

    @classmethod
    def from_state(
        cls, tensors: Mapping[str, NDArray[Any]], meta: Mapping[str, object]
    ) -> LsaEmbedder:
        """The embedder that gave this state. Raises ``EmbeddingError`` for any other."""
        if meta.get("kind") != "lsa" or meta.get("format") != FORMAT:
            raise EmbeddingError(
                "the stored embedder is of another kind or format. Refit it: build with --refit."
            )
        missing = {"terms", "idf", "components"} - set(tensors)
        if missing:
            raise EmbeddingError(f"the stored embedder lacks {', '.join(sorted(missing))}. Refit.")
        text = tensors["terms"].tobytes().decode()
        made = {k: meta[k] for k in ("kind", "format", "seed", "texts") if k in meta}
        restored = cls(
            text.split("\n") if text else (),
            np.ascontiguousarray(tensors["idf"], dtype=np.float32),
            np.ascontiguousarray(tensors["components"], dtype=np.float32), made,
        )
        if restored.version != meta.get("version"):
            raise EmbeddingError(
                f"the stored embedder is {restored.version}, but its record says "
                f"{meta.get('version')}: a file was changed or cut. Restore or refit it."
            )
        return restored


def _vectorizer(vocabulary: Mapping[str, int] | None = None) -> Any:
    return CountVectorizer(token_pattern=_TOKEN, vocabulary=vocabulary, dtype=np.float32)


def _frequent_terms(corpus: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    """The terms that most texts hold, sorted, and how many texts hold each."""
    analyze = _vectorizer().build_analyzer()
    held: Counter[str] = Counter()
    for text in corpus:
        held.update(set(analyze(text)))
    least = 2 if len(corpus) >= _RARE_FROM else 1
    kept = sorted((-n, term) for term, n in held.items() if n >= least)[:MAX_TERMS]
    terms = sorted(term for _, term in kept)
    return terms, np.array([held[term] for term in terms], dtype=np.int64)


def _weighted(counter: Any, idf: FloatArray, texts: Sequence[str]) -> Any:
    """TF-IDF rows of length one, with 1 + ln tf for tf; sparse, float32."""
    counts = counter.transform(texts)
    counts.data = (1.0 + np.log(counts.data)) * idf[counts.indices]
    return normalize(counts, copy=False)


def _state_digest(terms: Sequence[str], idf: FloatArray, components: FloatArray) -> str:
    sha = hashlib.sha256(f"{FORMAT}:{len(terms)}:{components.shape}".encode())
    for data in ("\n".join(terms).encode(), idf.tobytes(), components.tobytes()):
        sha.update(data)
    return sha.hexdigest()[:12]
