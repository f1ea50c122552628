"""Reading what an endpoint answered: completions, embeddings, errors, Retry-After.

Replies are read leniently (servers differ in what they leave out) but never guessed at.
What the server says in words is looked through for names of parameters and then dropped:
it may quote the document, or the key.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import mktime_tz, parsedate_tz

from pydantic import BaseModel, Field, ValidationError

from okh.llm.errors import AuthError, LlmError, NotServed, QuotaExhausted, RequestRefused

_CODE = re.compile(r"[A-Za-z0-9_.-]{1,60}")
_FORMAT_WORDS = ("response_format", "json_schema", "json_object", "structured output", "guided_")
_PARAMETERS = ("max_completion_tokens", "max_tokens", "temperature", "seed")
_QUOTED = re.compile(
    rf"['\"`]({'|'.join(_PARAMETERS)})['\"`]|(?:argument|parameter)[^.]{{0,20}}?[: ]"
    rf"({'|'.join(_PARAMETERS)})\b"
)


class Malformed(ValueError):
    """Status 200, but not the object that the protocol promises."""


# --- good answers -----------------------------------------------------------------------


class _Details(BaseModel):
    cached_tokens: int | None = None


class Counted(BaseModel):
    """Token counts as the endpoint states them."""

    prompt_tokens: int = Field(ge=0)
    completion_tokens: int = Field(default=0, ge=0)
    prompt_tokens_details: _Details | None = None

    @property
    def cached(self) -> int:
        """Input tokens that were read from the endpoint's own cache."""
        return (self.prompt_tokens_details or _Details()).cached_tokens or 0


class _Part(BaseModel):
    text: str = ""


class _Message(BaseModel):
    content: str | list[_Part] | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Completion(BaseModel):
    model: str | None = None
    choices: list[_Choice] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Said:
    """What a chat model said."""

    text: str
    refusal: str | None
    finish_reason: str
    model: str


def read_completion(payload: object) -> Said:
    """The first choice of a chat completion. Raises ``Malformed``."""
    try:
        found = _Completion.model_validate(payload)
    except ValidationError:
        raise Malformed("no chat completion") from None
    choice = found.choices[0]
    content = choice.message.content
    if isinstance(content, list):
        content = "".join(part.text for part in content)
    return Said(
        text=content or "",
        refusal=choice.message.refusal or None,
        finish_reason=choice.finish_reason or "",
        model=found.model or "",
    )


class _Vector(BaseModel):
    index: int
    embedding: list[float] = Field(min_length=1)


class _Vectors(BaseModel):
    data: list[_Vector]


def read_embeddings(payload: object, expected: int) -> list[list[float]]:
    """Vectors in the order of the texts, all of one length. Raises ``Malformed``."""
    try:
        found = _Vectors.model_validate(payload)
    except ValidationError:
        raise Malformed("no list of embeddings") from None
    vectors = {row.index: row.embedding for row in found.data}
    if sorted(vectors) != list(range(expected)):
        raise Malformed("not one embedding for each text")
    if len({len(vector) for vector in vectors.values()}) > 1:
        raise Malformed("embeddings of several lengths")
    return [vectors[index] for index in range(expected)]


class _Model(BaseModel):
    id: str


class _Models(BaseModel):
    data: list[_Model]


def read_models(payload: object) -> list[str]:
    """Names of the models that an endpoint lists. Raises ``Malformed``."""
    try:
        return [model.id for model in _Models.model_validate(payload).data]
    except ValidationError:
        raise Malformed("no list of models") from None


def read_usage(payload: object) -> Counted | None:
    """Token counts of an answer, or None where it has none."""
    if not isinstance(payload, Mapping):
        return None
    try:
        return Counted.model_validate(payload.get("usage"))
    except ValidationError:
        return None


# --- bad answers ------------------------------------------------------------------------


def refusal(status: int, payload: object, host: str, model: str) -> LlmError:
    """The error for a status that no retry mends."""
    code, parameter = _code(payload), _parameter(payload)
    said = f"{host} answered {status}" + (f" ({code})" if code else "")
    if status == 401:
        return AuthError(f"{said}: the key is missing or wrong. Set OPENAI_API_KEY to a valid one")
    if status == 403:
        return AuthError(f"{said}: the key may not use {model} here. Ask for access, or change it")
    if status == 404:
        return NotServed(
            f"{said}: it knows no such address or no model {model}. See the model's name, and "
            "that the base URL ends where it should (often in /v1)"
        )
    if status == 429:
        return QuotaExhausted(f"{said}: the account has no credit left. Add some and start again")
    about = f" because of {parameter}" if parameter else ""
    mend = (
        "Use a model with a longer context, or cut the text shorter"
        if code == "context_length_exceeded"
        else "See what this endpoint supports"
    )
    return RequestRefused(
        f"{said}: it will not take the request{about}. {mend}",
        status=status, code=code, parameter=parameter,
    )


def is_quota(payload: object) -> bool:
    """Whether a 429 says that the account is empty, and not that it is in a hurry."""
    return _code(payload) == "insufficient_quota"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the endpoint asks to wait, from ``retry-after-ms`` or ``retry-after``."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        return seconds if 0 <= seconds < float("inf") else None
    date = parsedate_tz(headers.get("retry-after", ""))
    return max(0.0, mktime_tz(date) - time.time()) if date else None


def _error(payload: object) -> Mapping[str, object]:
    """The error object, wherever a server puts it."""
    if not isinstance(payload, Mapping):
        return {}
    inner = payload.get("error", payload)
    return inner if isinstance(inner, Mapping) else {"message": inner}


def _code(payload: object) -> str:
    code = str(_error(payload).get("code") or "")
    return code if _CODE.fullmatch(code) else ""


def _parameter(payload: object) -> str:
    """The request parameter an error is about, if it is one that can be done without."""
    error = _error(payload)
    parameter = str(error.get("param") or "")
    if parameter in _PARAMETERS:
        return parameter
    message = str(error.get("message") or error.get("detail") or "")
    if parameter.startswith("response_format") or any(w in message for w in _FORMAT_WORDS):
        return "response_format"
    named = _QUOTED.search(message)
    return (named[1] or named[2]) if named else ""
