"""The bilinear transition model P(e_j | e_i) = softmax_j(h_i^T W h_j), W = U^T V (Eq. 3, A.4)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from okh.domain import OkhError

FORMAT = 1
"""Raise when the same state would give other probabilities."""


class TransitionError(OkhError):
    """A model that cannot be trained or restored; the message names the mend."""


@dataclass(frozen=True, slots=True)
class ModelMeta:
    """Where a model comes from: its embedder, its training storms, and how it was trained."""

    embedder: str
    training_storms: tuple[str, ...] = ()
    objective: str = ""
    steps: int = 0
    seed: int = 0


@dataclass(frozen=True)
class TransitionModel:
    """U and V, float32 of shape ``(r, d)``. Inference is numpy alone."""

    u: NDArray[np.float32]
    v: NDArray[np.float32]
    meta: ModelMeta

    def __post_init__(self) -> None:
        if self.u.ndim != 2 or self.u.shape != self.v.shape:
            raise TransitionError(f"U {self.u.shape} and V {self.v.shape} are no pair of r × d")

    @cached_property
    def version(self) -> str:
        """``bilinear-`` and twelve hex digits over weights, format and embedder."""
        sha = hashlib.sha256(f"{FORMAT}:{self.u.shape}:{self.meta.embedder}".encode())
        for weights in (self.u, self.v):
            sha.update(np.ascontiguousarray(weights).tobytes())
        return f"bilinear-{sha.hexdigest()[:12]}"

    @property
    def dimension(self) -> int:
        """d of the embedder that the model reads."""
        return int(self.u.shape[1])

    def scores(self, vectors: NDArray[np.float32]) -> NDArray[np.float64]:
        """s(i, j) = (U h_i)·(V h_j) of shape ``(n, n)`` for vectors ``(n, d)``.

        Raises ``TransitionError`` for vectors of another dimension.
        """
        if vectors.ndim != 2 or vectors.shape[1] != self.dimension:
            raise TransitionError(
                f"the vectors have shape {vectors.shape}, the model was trained with "
                f"d = {self.dimension} ({self.meta.embedder}). Retrain it for this embedder."
            )
        source, target = vectors @ self.u.T, vectors @ self.v.T
        result: NDArray[np.float64] = source.astype(np.float64) @ target.T.astype(np.float64)
        return result

    def log_probabilities(self, vectors: NDArray[np.float32]) -> NDArray[np.float64]:
        """log P(e_j | e_i) of shape ``(n, n)``, normalised over the ``n`` rows but i itself.

        The diagonal is ``-inf``: no edge follows itself.
        """
        score = self.scores(vectors)
        if len(score) == 0:
            return score
        np.fill_diagonal(score, -np.inf)
        if len(score) == 1:
            return score
        score -= score.max(axis=1, keepdims=True)
        score -= np.log(np.exp(score).sum(axis=1, keepdims=True))
        return score

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, object]]:
        """All that :meth:`from_state` needs: arrays, and what JSON can hold."""
        meta: dict[str, object] = {
            "kind": "bilinear", "format": FORMAT, "version": self.version,
            "embedder": self.meta.embedder, "training_storms": list(self.meta.training_storms),
            "objective": self.meta.objective, "steps": self.meta.steps, "seed": self.meta.seed,
        }
        return {"u": self.u, "v": self.v}, meta

    @classmethod
    def from_state(
        cls, tensors: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]
    ) -> TransitionModel:
        """The model that gave this state. Raises ``TransitionError`` for any other."""
        if meta.get("kind") != "bilinear" or meta.get("format") != FORMAT:
            raise TransitionError("the stored model is of another kind or format. Retrain it.")
        if not {"u", "v"} <= set(tensors):
            raise TransitionError("the stored model lacks U or V. Restore or retrain it.")
        model = cls(
            np.ascontiguousarray(tensors["u"], dtype=np.float32),
            np.ascontiguousarray(tensors["v"], dtype=np.float32),
            ModelMeta(
                str(meta["embedder"]), tuple(meta["training_storms"]), str(meta["objective"]),
                int(meta["steps"]), int(meta["seed"]),
            ),
        )
        if model.version != meta.get("version"):
            raise TransitionError(
                f"the stored model is {model.version}, but its record says "
                f"{meta.get('version')}: a file was changed or cut. Restore or retrain it."
            )
        return model
