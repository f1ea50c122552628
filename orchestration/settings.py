"""Settings from the environment, read in one place and without importing Dagster."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from okh.domain import OkhError

DEFAULT_HOME = ".okh"

CHOICES: dict[str, tuple[str, tuple[str, ...]]] = {
    "extractor": ("OKH_EXTRACTOR", ("rules", "openai")),
    "embedder": ("OKH_EMBEDDER", ("lsa", "minilm", "openai")),
    "reader": ("OKH_READER", ("extractive", "openai")),
}
"""Setting -> its variable and what it may be; the first is the default, which needs no key."""

_LLM: dict[str, str] = {
    "api_key": "OPENAI_API_KEY",
    "base_url": "OPENAI_BASE_URL",
    "model": "OKH_LLM_MODEL",
    "embedding_model": "OKH_EMBEDDING_MODEL",
    "max_concurrency": "OKH_LLM_CONCURRENCY",
    "requests_per_minute": "OKH_LLM_REQUESTS_PER_MINUTE",
    "tokens_per_minute": "OKH_LLM_TOKENS_PER_MINUTE",
    "timeout_s": "OKH_LLM_TIMEOUT",
}
"""Field of ``LlmSettings`` -> its variable."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Which of the two settings of each step runs; ``llm`` is for ``LlmSettings``."""

    extractor: str = "rules"
    embedder: str = "lsa"
    reader: str = "extractive"
    prices: str = ""
    llm: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def needs_key(self) -> bool:
        """Whether any step asks a language model's endpoint."""
        return "openai" in (self.extractor, self.embedder, self.reader)


def read_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Settings from ``OKH_EXTRACTOR``, ``OKH_EMBEDDER``, ``OKH_READER`` and the endpoint's own.

    Raises ``OkhError`` for a value that is none of the choices.
    """
    found = os.environ if environment is None else environment
    chosen = {}
    for name, (variable, choices) in CHOICES.items():
        chosen[name] = found.get(variable) or choices[0]
        if chosen[name] not in choices:
            raise OkhError(f"{variable} is one of {', '.join(choices)}, not {chosen[name]!r}")
    llm = {
        name: found[variable] for name, variable in _LLM.items() if found.get(variable)
    }
    return Settings(**chosen, prices=found.get("OKH_PRICES", ""), llm=llm)


def home_path(home: str | None = None) -> str:
    """The path given, else ``OKH_HOME``, else ``.okh`` in the present folder."""
    return home or os.environ.get("OKH_HOME") or DEFAULT_HOME
