"""What a client is told: endpoint, models, limits. Read from nowhere; the caller fills it in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Literal
from urllib.parse import SplitResult, urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from okh.domain import digest

OPENAI_URL = "https://api.openai.com/v1"


class LlmSettings(BaseModel):
    """Settings of one endpoint.

    An Azure deployment of the older kind takes ``query={"api-version": …}`` and
    ``key_header="api-key"``; its newer ``/openai/v1/`` address needs neither.

    Raises
    ------
    pydantic.ValidationError
        Naming the setting, never its value.
    """

    # hide_input: a mistyped setting may be a key.
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    base_url: str = OPENAI_URL
    model: str = Field(default="gpt-4o-mini", min_length=1)
    embedding_model: str = Field(default="text-embedding-3-small", min_length=1)
    api_key: SecretStr | None = None
    key_header: Literal["authorization", "api-key"] = "authorization"
    query: Mapping[str, str] = Field(default_factory=dict)

    temperature: float | None = 0.0
    seed: int | None = 7
    max_tokens: int = Field(default=4096, ge=1)
    """Longest answer where a call names no limit of its own: without one no bill has a bound."""
    extra: Mapping[str, object] = Field(default_factory=dict)
    """Further fields of a chat request, such as a local server's context length."""

    connect_timeout_s: float = Field(default=5.0, gt=0)
    timeout_s: float = Field(default=120.0, gt=0)
    """Until the answer begins, and again until it has ended, however it drips."""

    max_concurrency: int = Field(default=8, ge=1)
    requests_per_minute: int | None = Field(default=None, ge=1)
    tokens_per_minute: int | None = Field(default=None, ge=1)

    retries: int = Field(default=5, ge=0)
    backoff_s: float = Field(default=1.0, ge=0)
    backoff_max_s: float = Field(default=60.0, ge=0)
    patience_s: float = Field(default=600.0, ge=0)
    """How long one call waits in all while the endpoint says that it is too busy (429)."""
    breaker_failures: int = Field(default=5, ge=1)
    breaker_after_s: float = Field(default=10.0, ge=0)
    """The circuit opens after so many failures in a row over at least this time: eight calls
    at once that meet one short outage are no dead endpoint."""
    breaker_rest_s: float = Field(default=30.0, ge=0)

    @field_validator("base_url")
    @classmethod
    def _address(cls, url: str) -> str:
        parts = urlsplit(url.strip())
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"must be an address such as {OPENAI_URL}")
        if parts.username or parts.password or parts.query:
            raise ValueError("must hold no key, user or query: give the key as api_key")
        return url.strip().rstrip("/")

    @field_validator("api_key")
    @classmethod
    def _key(cls, key: SecretStr | None) -> SecretStr | None:
        if key is None or not (text := key.get_secret_value().strip()):
            return None
        if not (text.isascii() and text.isprintable() and " " not in text):
            raise ValueError("holds a space or a sign that no key has: copy it again")
        return SecretStr(text)

    @property
    def host(self) -> str:
        """Host and port of the endpoint."""
        parts = self._parts
        return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)

    @property
    def is_openai(self) -> bool:
        """Whether this is OpenAI's own endpoint, or Azure's of its models."""
        host = str(self._parts.hostname)
        return host.endswith(("openai.com", ".openai.azure.com"))

    @property
    def identity(self) -> str:
        """Endpoint, model and what changes its answers: part of cache keys, without secrets.

        Limits on length are left out: a reply that was whole stays valid under another one.
        """
        extra = digest(json.dumps(dict(self.extra), sort_keys=True))[:8] if self.extra else ""
        return self._identity(
            self.model, f"temperature={self.temperature}", f"seed={self.seed}", extra
        )

    @property
    def embedding_identity(self) -> str:
        """Endpoint and embedding model."""
        return self._identity(self.embedding_model)

    def _identity(self, *parts: str) -> str:
        return "|".join(part for part in (f"{self.host}{self._parts.path}", *parts) if part)

    @property
    def _parts(self) -> SplitResult:
        return urlsplit(self.base_url)
