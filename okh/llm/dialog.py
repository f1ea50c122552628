"""One question to a model until its reply can be used: an answer, or up to two repair turns.

Every caller (extraction, reading, judging) has the same needs: a reply that does not
validate is shown its own fault and asked again, twice; what is never usable is handed
back with the reply, so that nothing paid for is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from okh.llm.dialect import Level
from okh.llm.errors import LlmError
from okh.llm.prompts import Message, Prompt
from okh.llm.protocol import ChatClient, Reply

T = TypeVar("T")

REPAIR_TURNS = 2
"""Turns after the first in which a reply may be mended (method.md §3)."""

TURN = "turn"
"""Key of a call's context that counts the turns of its dialog: two may ask the same."""

_SHOWN_REPLY = 12_000
"""Characters of an unusable reply that its own repair turn shows."""


class Unusable(ValueError):
    """A reply that does not validate; the message is meant for the model's eyes.

    ``note`` names the prompt's note that the next turn says.
    """

    def __init__(self, problem: str, note: str = "repair") -> None:
        super().__init__(problem)
        self.note = note


class ReplyRejected(LlmError):
    """No reply could be used, repair turns included.

    The message holds neither document nor reply; ``reply`` is the last reply as it came,
    ``problem`` what was wrong with it, ``notes`` what the calls cost.
    """

    def __init__(self, what: str, reply: str, problem: str, notes: Notes) -> None:
        self.reply, self.problem, self.notes = reply, problem, notes
        super().__init__(
            f"{what}: no usable reply in {notes.calls} calls ({_public(problem)}). "
            "Look at the kept reply; a model with structured outputs, or a larger one, helps."
        )


def _public(problem: str) -> str:
    """What a log may show of a problem: its first line up to any quotation."""
    line = problem.removeprefix("- ").partition("\n")[0]
    return line.partition('"')[0].rstrip(" :(")


@dataclass(frozen=True, slots=True)
class Notes:
    """What it took to get an answer, over all calls of one dialog."""

    level: Level = "structured"
    calls: int = 0
    mended: tuple[str, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    cost: float | None = 0.0
    model: str = ""

    def with_reply(self, reply: Reply) -> Notes:
        """The notes with one more call; the cost is None once one is unknown."""
        cost = None if self.cost is None or reply.cost is None else self.cost + reply.cost
        return Notes(
            reply.level, self.calls + 1, self.mended,
            self.tokens_in + reply.usage.tokens_in, self.tokens_out + reply.usage.tokens_out,
            self.tokens_cached + reply.usage.tokens_cached, cost, reply.model,
        )

    def with_mended(self, *what: str) -> Notes:
        """The notes with what had to be mended, each kind once."""
        return replace(self, mended=tuple(dict.fromkeys((*self.mended, *what))))

    def __add__(self, other: Notes) -> Notes:
        """Both dialogs together; level and model are those of the later one with calls."""
        last = other if other.calls else self
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Notes(
            last.level, self.calls + other.calls,
            tuple(dict.fromkeys((*self.mended, *other.mended))),
            self.tokens_in + other.tokens_in, self.tokens_out + other.tokens_out,
            self.tokens_cached + other.tokens_cached, cost, last.model,
        )


@dataclass(frozen=True, slots=True)
class Ask:
    """How a dialog calls the client."""

    purpose: str
    schema: Mapping[str, object]
    schema_name: str
    max_tokens: int | None = None
    context: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """A usable reply as a value, with its notes."""

    value: T
    notes: Notes


def converse(
    client: ChatClient, prompt: Prompt, opening: list[Message], ask: Ask,
    read: Callable[[Reply], tuple[T, tuple[str, ...]]], what: str,
) -> Outcome[T]:
    """Ask, and have the reply repaired up to :data:`REPAIR_TURNS` times.

    Parameters
    ----------
    client
        Any chat client; its errors pass through.
    prompt
        Where the notes of the repair turns come from.
    opening
        The first messages.
    ask
        Purpose, schema and limits of the calls.
    read
        Reply -> (value, what was mended); raises :class:`Unusable`.
    what
        What is being done, for the error ("extraction of block …").

    Raises
    ------
    ReplyRejected
        No reply was usable.
    """
    messages = list(opening)
    notes = Notes()
    for turn in range(REPAIR_TURNS + 1):
        reply = client.chat(
            messages, purpose=ask.purpose if turn == 0 else f"{ask.purpose}-repair",
            schema=ask.schema, schema_name=ask.schema_name, max_tokens=ask.max_tokens,
            context={**ask.context, TURN: str(turn)},
        )
        notes = notes.with_reply(reply)
        try:
            if reply.refusal or reply.finish_reason == "content_filter":
                raise Unusable("the request was refused")
            value, mended = read(reply)
        except Unusable as fault:
            problem = fault
        else:
            repaired = ("repair turn",) if turn else ()
            return Outcome(value, notes.with_mended(*mended, *repaired))
        said = reply.text[:_SHOWN_REPLY]
        messages = [
            *opening,
            *([{"role": "assistant", "content": said}] if said.strip() else []),
            {"role": "user", "content": prompt.note(problem.note, problem=str(problem))},
        ]
    raise ReplyRejected(what, reply.refusal or reply.text, str(problem), notes)
