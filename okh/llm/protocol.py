"""What extraction, embedding, reading and judging see of a client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from okh.llm.dialect import Level
from okh.llm.ledger import Usage


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of a chat model.

    Attributes
    ----------
    text
        What it said; empty where it refused or said nothing.
    model
        The model as the endpoint names it.
    level
        How the output was constrained: by the schema, to JSON, or not at all.
    attempt
        Which attempt brought it, from 1.
    latency_s
        Of that attempt alone.
    cost
        In US dollars; None where the model has no price.
    finish_reason
        As the endpoint says: ``length`` means cut off.
    """

    text: str
    model: str
    usage: Usage
    level: Level
    attempt: int
    latency_s: float
    cost: float | None
    refusal: str | None
    finish_reason: str


class ChatClient(Protocol):
    """A client; :class:`okh.llm.client.Client` is the one that calls an endpoint."""

    @property
    def model(self) -> str: ...

    @property
    def identity(self) -> str: ...

    @property
    def embedding_model(self) -> str: ...

    @property
    def embedding_identity(self) -> str: ...

    def chat(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        purpose: str,
        schema: Mapping[str, object] | None = None,
        schema_name: str = "",
        max_tokens: int | None = None,
        context: Mapping[str, str] | None = None,
    ) -> Reply: ...

    def embed(
        self,
        texts: Sequence[str],
        *,
        purpose: str,
        context: Mapping[str, str] | None = None,
    ) -> tuple[list[list[float]], Usage]: ...
