"""Settings from the environment, read in one place and without importing Dagster."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from okh.domain import DocumentKind, OkhError
from okh.extraction.mixed import RULES_FOR

KINDS: tuple[str, ...] = get_args(DocumentKind)

DEFAULT_HOME = ".okh"

CHOICES: dict[str, tuple[str, tuple[str, ...]]] = {
    "extractor": ("OKH_EXTRACTOR", ("rules", "openai")),
    "embedder": ("OKH_EMBEDDER", ("lsa", "minilm", "openai")),
    "reader": ("OKH_READER", ("extractive", "openai")),
    "reader_mode": ("OKH_READER_MODE", ("joint", "vote")),
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
    "max_tokens": "OKH_LLM_MAX_TOKENS",
    "retries": "OKH_LLM_RETRIES",
    "backoff_s": "OKH_LLM_BACKOFF",
}
"""Field of ``LlmSettings`` -> its variable."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Which of the two settings of each step runs; ``llm`` is for ``LlmSettings``.

    ``rules_for`` are the kinds of documents that are read by rules although the extractor is
    a language model.
    """

    extractor: str = "rules"
    embedder: str = "lsa"
    reader: str = "extractive"
    reader_mode: str = "joint"
    rules_for: tuple[str, ...] = RULES_FOR
    prices: str = ""
    llm: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def needs_key(self) -> bool:
        """Whether any step asks a language model's endpoint."""
        return "openai" in (self.extractor, self.embedder, self.reader)


def read_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Settings from the variables of :data:`CHOICES`, ``OKH_RULES_FOR``, and the endpoint's own.

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
    return Settings(
        **chosen, rules_for=_rules_for(found.get("OKH_RULES_FOR")),
        prices=found.get("OKH_PRICES", ""), llm=llm,
    )


def _rules_for(listed: str | None) -> tuple[str, ...]:
    """Kinds of documents, by commas; ``none`` for no kind."""
    if not listed:
        return RULES_FOR
    kinds = tuple(kind for word in listed.split(",") if (kind := word.strip()) not in ("", "none"))
    if wrong := set(kinds) - set(KINDS):
        raise OkhError(f"OKH_RULES_FOR lists {', '.join(KINDS)}, or none; not {min(wrong)!r}")
    return kinds


def documents_folder() -> Path | None:
    """The watched folder, ``OKH_DOCUMENTS``; None: none is watched."""
    named = os.environ.get("OKH_DOCUMENTS")
    return Path(named).expanduser().absolute() if named else None


def home_path(home: str | None = None) -> str:
    """The path given, else ``OKH_HOME``, else ``.okh`` in the present folder."""
    return home or os.environ.get("OKH_HOME") or DEFAULT_HOME
