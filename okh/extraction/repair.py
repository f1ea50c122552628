"""JSON out of what models write around it: thinking, fences, prose, an echoed schema.

Structured outputs need none of this. It serves endpoints without them, and replies
that were cut off.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Fits = Callable[[object], bool]

MAX_CHARS = 2_000_000
"""Longer replies are refused unread."""

UNSAID_CONFIDENCE = 0.5
"""Confidence where a reply gives none."""

_MAX_STARTS = 400
"""Places at which a JSON value is looked for."""

_THINKING = re.compile(
    r"<(think|thinking|thought|reasoning|reflection)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE
)
_THOUGHT = re.compile(r"\A.*</(?:think|thinking|thought|reasoning|reflection)>",
                      re.DOTALL | re.IGNORECASE)
_STRING_OR_COMMA = re.compile(r'"(?:[^"\\]|\\.)*"|,(?=\s*[\]}])', re.DOTALL)


class NoJson(ValueError):
    """A reply that holds no JSON value of the form wanted; the message says what is wrong."""


@dataclass(frozen=True, slots=True)
class Found:
    """A JSON value, and what had to be mended to get at it (empty for a clean reply)."""

    value: object
    mended: tuple[str, ...] = ()


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON value")


_DECODER = json.JSONDecoder(strict=False, parse_constant=_no_constant)


def find_json(text: str, fits: Fits) -> Found:
    """The JSON value that a reply means.

    Parameters
    ----------
    text
        The reply.
    fits
        Whether a value has the outer form wanted; of several that do, the last counts,
        since a model that corrects itself does so later.

    Raises
    ------
    NoJson
        None fits.
    """
    if len(text) > MAX_CHARS:
        raise NoJson(f"the reply is longer than {MAX_CHARS} characters")
    stripped = text.strip()
    if not stripped:
        raise NoJson("the reply is empty")
    whole = _decoded(stripped)
    if whole is not None and fits(whole):
        return Found(whole)
    mended: list[str] = []
    said = _without_thinking(stripped)
    if said != stripped:
        mended.append("thinking")
    if "```" in said:
        mended.append("fence")
    found = _best(said, fits)
    if found is None:
        without = _STRING_OR_COMMA.sub(lambda m: m[0] if m[0] != "," else "", said)
        found = _best(without, fits) if without != said else None
        mended += ["trailing comma"] if found else []
    if found is None:
        raise NoJson(_problem(said, whole))
    value, how, rest = found
    mended += how
    if rest and "fence" not in mended:
        mended.append("text around")
    return Found(value, tuple(mended))


def _decoded(text: str) -> object | None:
    try:
        value: object = _DECODER.decode(text)
        return value
    except (ValueError, RecursionError):
        return None


def _without_thinking(text: str) -> str:
    text = _THINKING.sub("", text)
    return _THOUGHT.sub("", text).strip()


def _best(text: str, fits: Fits) -> tuple[object, list[str], bool] | None:
    """The last value that fits, how it was got out, and whether text stands around it."""
    best: tuple[object, list[str], bool] | None = None
    for value, start, end in _values(text):
        for inner, how in _inside(value):
            if fits(inner):
                best = inner, how, bool(text[:start].strip() or text[end:].strip())
                break
    return best


def _values(text: str) -> Iterator[tuple[object, int, int]]:
    """Every outermost JSON object or list in a text, with its place."""
    at = 0
    for _ in range(_MAX_STARTS):
        start = min((i for i in (text.find("{", at), text.find("[", at)) if i >= 0), default=-1)
        if start < 0:
            return
        try:
            value, at = _DECODER.raw_decode(text, start)
        except RecursionError:
            return
        except ValueError:
            at = start + 1
            continue
        yield value, start, at


def _inside(value: object) -> Iterator[tuple[object, list[str]]]:
    """A value, and what models wrap around it: their own schema, or a key of one's own."""
    yield value, []
    if not isinstance(value, dict):
        return
    if isinstance(properties := value.get("properties"), dict):
        yield properties, ["echoed schema"]
    if len(value) == 1:
        yield next(iter(value.values())), ["wrapper"]


def is_schema(value: object) -> bool:
    """Whether a value is a JSON schema and not an instance of one."""
    return isinstance(value, dict) and isinstance(value.get("properties"), dict) and (
        value.get("type") == "object"
    )


def _problem(text: str, whole: object | None) -> str:
    values = [whole] if whole is not None else [value for value, _, _ in _values(text)]
    if any(is_schema(value) for value in values):
        return "the reply repeats the schema; values that fill it are wanted"
    if not text:
        return "the reply holds thoughts and no answer"
    if not values:
        return "the reply holds no complete JSON value"
    return "the reply is JSON of another form than the one wanted"


def salvage_items(text: str, key: str) -> list[object]:
    """The complete items of the list under ``key`` in JSON that was cut off.

    An item that the cut goes through is left out. Empty where the list is not found.
    """
    said = _without_thinking(text)
    opening = re.search(rf'"{re.escape(key)}"\s*:\s*\[', said) or re.search(r"\[", said)
    if opening is None or len(said) > MAX_CHARS:
        return []
    items: list[object] = []
    at = opening.end()
    while True:
        at = _skip(said, at)
        try:
            item, end = _DECODER.raw_decode(said, at)
        except (ValueError, RecursionError):
            return items
        following = _skip(said, end)
        if following >= len(said) and not isinstance(item, dict | list | str):
            return items  # a number at the very end may lack its last digits
        items.append(item)
        if said[following : following + 1] != ",":
            return items
        at = following + 1


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


# --- values as models write them ---------------------------------------------------------


def read_share(value: object) -> float | None:
    """A share in [0, 1] as models write it: a number, a percentage, a text of either.

    :data:`UNSAID_CONFIDENCE` for null; None for what is no share.
    """
    if value is None:
        return UNSAID_CONFIDENCE
    percent = isinstance(value, str) and value.strip().endswith("%")
    if isinstance(value, str):
        value = _number(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    share = value / 100 if percent or 1 < value <= 100 else float(value)
    return share if 0 <= share <= 1 else None


def read_scalar(value: object) -> str | None:
    """Text of a JSON scalar (empty for null); None for a list or an object."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return str(value) if isinstance(value, int) else f"{value:.10g}"
    return " ".join(value.split()) if isinstance(value, str) else None


def _number(text: str) -> float | None:
    try:
        return float(text.strip().removesuffix("%"))
    except ValueError:
        return None
