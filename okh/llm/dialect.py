"""What one endpoint understands, learnt from its refusals and remembered."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping, Sequence
from typing import Literal

from okh.llm.errors import RequestRefused
from okh.llm.settings import LlmSettings

Level = Literal["structured", "json", "text"]

LEVELS: tuple[Level, ...] = ("structured", "json", "text")
_LENGTHS = ("max_completion_tokens", "max_tokens")
_OPTIONAL = ("temperature", "seed")

logger = logging.getLogger(__name__)


class Dialect:
    """Level of output constraint, name of the length limit, parameters to leave out."""

    def __init__(self, settings: LlmSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._level: Level | None = None
        self._length = _LENGTHS[0] if settings.is_openai else _LENGTHS[1]
        self._swapped = False
        self._dropped: set[str] = set()

    # --- level --------------------------------------------------------------------------

    def levels(self) -> Sequence[Level]:
        """Levels to try in turn: the one known to work, or all."""
        return LEVELS if self._level is None else (self._level,)

    def may_step_down(self, level: Level, refusal: RequestRefused) -> bool:
        """Whether a refusal may be about the output constraint, so that a lower level helps.

        Servers name the reason in many ways or in none, so before a level has worked once
        any refusal counts that is not plainly about something else.
        """
        return (
            self._level is None
            and level != LEVELS[-1]
            and refusal.code != "context_length_exceeded"
            and refusal.parameter in ("", "response_format")
        )

    def works(self, level: Level) -> None:
        """Remember the level of an answer; the first one decides."""
        with self._lock:
            if self._level is not None:
                return
            self._level = level
        if level != LEVELS[0]:
            logger.warning(
                "%s has no structured outputs: replies come as %s and are checked here",
                self._settings.host, "JSON mode" if level == "json" else "plain text",
            )

    # --- request ------------------------------------------------------------------------

    def body(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        level: Level,
        schema: Mapping[str, object] | None,
        schema_name: str,
        max_tokens: int,
    ) -> dict[str, object]:
        """The body of a chat request in this dialect."""
        settings = self._settings
        body: dict[str, object] = {
            "model": settings.model,
            "messages": [dict(message) for message in messages],
            self._length: max_tokens,
            **settings.extra,
        }
        for name in _OPTIONAL:
            value = getattr(settings, name)
            if value is not None and name not in self._dropped:
                body[name] = value
        if schema is None:
            return body
        if level == "structured":
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": schema_name or "reply", "strict": True, "schema": schema},
            }
            return body
        body["messages"] = _with_schema(messages, schema)
        if level == "json":
            body["response_format"] = {"type": "json_object"}
        return body

    def learn(self, refusal: RequestRefused, sent: Mapping[str, object]) -> bool:
        """Take note of a parameter that is not liked; whether the request now differs."""
        name = refusal.parameter
        if name not in sent:
            return False
        with self._lock:
            if name in _LENGTHS:
                if self._length != name:  # another thread was quicker
                    return True
                if self._swapped:
                    return False
                self._length = _LENGTHS[1 - _LENGTHS.index(name)]
                self._swapped = True
                return True
            if name in _OPTIONAL:
                self._dropped.add(name)
                return True
        return False


def _with_schema(
    messages: Sequence[Mapping[str, str]], schema: Mapping[str, object]
) -> list[dict[str, str]]:
    """Tell the schema in words, in the one system message that every template allows."""
    told = (
        "Answer with one JSON object and nothing else. It must be an instance of this JSON "
        f"Schema:\n{json.dumps(schema, separators=(',', ':'), ensure_ascii=False)}"
    )
    first, *rest = [dict(message) for message in messages] or [{"role": "user", "content": ""}]
    if first.get("role") == "system":
        return [{**first, "content": f"{first['content']}\n\n{told}"}, *rest]
    return [{"role": "system", "content": told}, first, *rest]
