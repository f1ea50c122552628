"""A chat client without a network: scripted replies, and a record of what was asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from okh.llm.dialect import Level
from okh.llm.ledger import Usage
from okh.llm.protocol import Reply
from tests.openai_server import embedding


@dataclass(frozen=True)
class Call:
    """One chat call as the client saw it."""

    messages: tuple[Mapping[str, str], ...]
    purpose: str
    schema: Mapping[str, object] | None
    context: Mapping[str, str]

    @property
    def last(self) -> str:
        """The last message's content."""
        return self.messages[-1]["content"]

    @property
    def text(self) -> str:
        """All contents."""
        return "\n".join(message["content"] for message in self.messages)


Script = Callable[[Call], Reply | str]


def reply(
    text: str, *, finish_reason: str = "stop", refusal: str | None = None,
    level: Level = "structured", cost: float | None = 0.001,
) -> Reply:
    """A reply of ten tokens in and five out."""
    return Reply(text, "fake-1", Usage(10, 5), level, 1, 0.0, cost, refusal, finish_reason)


@dataclass
class FakeChat:
    """Satisfies ``ChatClient``. ``script`` is a function of the call, or replies in order."""

    script: Script | Sequence[Reply | str] = ()
    model: str = "fake-1"
    identity: str = "fake.test/v1|fake-1"
    embedding_model: str = "fake-embedding"
    embedding_identity: str = "fake.test/v1|fake-embedding"
    dimension: int = 8
    calls: list[Call] = field(default_factory=list)
    embedded: list[list[str]] = field(default_factory=list)

    def chat(
        self, messages: Sequence[Mapping[str, str]], *, purpose: str,
        schema: Mapping[str, object] | None = None, schema_name: str = "",
        max_tokens: int | None = None, context: Mapping[str, str] | None = None,
    ) -> Reply:
        call = Call(tuple(messages), purpose, schema, context or {})
        self.calls.append(call)
        scripted = self.script
        said = scripted(call) if callable(scripted) else scripted[len(self.calls) - 1]
        return said if isinstance(said, Reply) else reply(said)

    def embed(
        self, texts: Sequence[str], *, purpose: str, context: Mapping[str, str] | None = None
    ) -> tuple[list[list[float]], Usage]:
        self.embedded.append(list(texts))
        return [embedding(text, self.dimension) for text in texts], Usage(len(texts))
