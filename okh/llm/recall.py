"""Replies kept until what they are for is done, so that a killed dialog is taken up again.

A block may need several calls: repair turns, or pieces of it. Its facts are stored
when all of them are there; what was answered before a crash must not be paid for twice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Protocol

from okh.domain import digest
from okh.llm.dialog import TURN
from okh.llm.ledger import Usage
from okh.llm.protocol import ChatClient, Reply

SCOPE = "block"
"""Key of a call's context that names what its reply is kept for; calls without it pass."""


class ReplyStore(Protocol):
    """Keeps replies by scope and request; safe under several writers."""

    def get(self, scope: str, request: str) -> str | None:
        """A reply as it was put, or None."""
        ...

    def put(self, scope: str, request: str, reply: str) -> None:
        """Keep it."""
        ...

    def drop(self, scope: str) -> None:
        """Forget all replies of a scope."""
        ...


class RecallingClient:
    """A chat client that makes no call whose reply is kept; satisfies ``ChatClient``.

    A kept reply costs nothing: its usage and its cost are zero.
    """

    def __init__(self, client: ChatClient, store: ReplyStore) -> None:
        self._client, self._store = client, store

    @property
    def model(self) -> str:
        """The chat model."""
        return self._client.model

    @property
    def identity(self) -> str:
        """That of the client."""
        return self._client.identity

    @property
    def embedding_model(self) -> str:
        """The embedding model."""
        return self._client.embedding_model

    @property
    def embedding_identity(self) -> str:
        """That of the client."""
        return self._client.embedding_identity

    def chat(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        purpose: str,
        schema: Mapping[str, object] | None = None,
        schema_name: str = "",
        max_tokens: int | None = None,
        context: Mapping[str, str] | None = None,
    ) -> Reply:
        """As :meth:`okh.llm.client.Client.chat`; its errors pass through, and are not kept."""
        scope = (context or {}).get(SCOPE, "")
        request = digest(
            self.identity, json.dumps([dict(m) for m in messages]), json.dumps(schema),
            str(max_tokens), (context or {}).get(TURN, ""),
        )
        if scope and (kept := self._store.get(scope, request)) is not None:
            return _decoded(kept)
        reply = self._client.chat(
            messages, purpose=purpose, schema=schema, schema_name=schema_name,
            max_tokens=max_tokens, context=context,
        )
        if scope:
            self._store.put(scope, request, json.dumps(asdict(reply), ensure_ascii=False))
        return reply

    def embed(
        self, texts: Sequence[str], *, purpose: str, context: Mapping[str, str] | None = None
    ) -> tuple[list[list[float]], Usage]:
        """As the client does."""
        return self._client.embed(texts, purpose=purpose, context=context)


def _decoded(kept: str) -> Reply:
    row = json.loads(kept)
    return Reply(**{**row, "usage": Usage(), "cost": 0.0})
