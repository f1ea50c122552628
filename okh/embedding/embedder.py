"""What the method asks of an embedder, whichever it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from okh.domain import OkhError

FloatArray = NDArray[np.float32]


class EmbeddingError(OkhError):
    """An embedder that cannot be made or restored; the message names the mend."""


class Embedder(Protocol):
    """Texts -> vectors. Equal ``version`` and text give equal vectors."""

    @property
    def version(self) -> str:
        """Changes whenever the same text could get another vector."""
        ...

    @property
    def dimension(self) -> int:
        """d, the number of columns of what :meth:`embed` returns."""
        ...

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Vectors of shape ``(n, d)``; each row has length one, or is zero."""
        ...


def embed_distinct(
    embedder: Embedder, texts: Sequence[str]
) -> tuple[FloatArray, NDArray[np.intp]]:
    """Each distinct text embedded once.

    Returns
    -------
    matrix
        float32 of shape ``(m, d)``, one row per distinct text, in order of first appearance.
    index
        Shape ``(n,)``: ``matrix[index[i]]`` is the vector of ``texts[i]``.
    """
    rows: dict[str, int] = {}
    index = np.array([rows.setdefault(text, len(rows)) for text in texts], dtype=np.intp)
    return embedder.embed(list(rows)), index


def unit_rows(matrix: FloatArray) -> FloatArray:
    """Rows scaled to length one in place; a row too short to have a direction becomes zero."""
    length = np.linalg.norm(matrix, axis=1, keepdims=True)
    tiny = length < _NO_DIRECTION
    matrix /= np.where(tiny, 1.0, length)
    matrix[tiny[:, 0]] = 0.0
    return matrix


_NO_DIRECTION = 1e-6
"""Length below which float32 rounding alone could have made the row."""
