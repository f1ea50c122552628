"""Texts -> unit vectors: one :class:`Embedder` interface, the embedded default, and a MiniLM.

What an edge says to an embedder is :func:`edge_text` (§3.1, A.4).
"""

from okh.embedding.embedder import Embedder, EmbeddingError, FloatArray, embed_distinct
from okh.embedding.lsa import LsaEmbedder
from okh.embedding.minilm import MiniLmEmbedder
from okh.embedding.text import edge_text

__all__ = [
    "Embedder", "EmbeddingError", "FloatArray", "LsaEmbedder", "MiniLmEmbedder", "edge_text",
    "embed_distinct",
]
