"""How a question is worded: its form, its bound, the state it puts to the test."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Literal

from okh.extraction.scenario_text import COMPASS, DIRECTION, compass
from okh.generation.lexicon import CHANCE, CONDITIONS, HAZARDS, WIND, Topic
from okh.generation.quantities import Quantity, number, quantities, unit_of
from okh.vocabulary import SEVERITY

Change = Literal["up", "down", "any"]


def has(text: str, pattern: str) -> bool:
    """Whether a text has these words, in any case."""
    return re.search(pattern, text, re.IGNORECASE) is not None


# --- the parts of a question ----------------------------------------------------------

_INSTRUCTION = re.compile(
    r"(?:^|(?<=[.?!;)])\s+|\n)\(?(?:please\s+)?(?:answer|respond|reply|give|return|output|choose"
    r"|select|write|provide|state)\b[^?]*$", re.IGNORECASE,
)
_ASKING = r"(?:Is|Are|Was|Were|Will|Would|Does|Do|Did|Has|Have|Can|Could|Should|May|Might)"
_NAME_WORD = r"[A-Z][\w.'’&/-]*"
_PORT_NAME = re.compile(
    rf"\b(?:the\s+)?(?:(?:Sea)?[Pp]ort\s+(?:of\s+)?)?(?!{_ASKING}\b)"
    rf"(?:{_NAME_WORD}[\s-]+){{0,6}}{_NAME_WORD},\s*[A-Z]{{2}}\b"
    r"(?:\s*&\s*[A-Z]{2}\b)?(?:,?\s+Port\s+of)?"
    rf"|\b(?:Sea)?[Pp]ort\s+of\s+(?:{_NAME_WORD}\s*)+"
)
_ASIDE = re.compile(
    r"(?:,\s*|\s+)(?:if|where|assuming|provided|supposing|excluding)\b"
    r"(?!\s+(?:is|are|will|does)\b)[^?.]*", re.IGNORECASE,
)
_STOP = re.compile(
    r"a|an|and|are|as|at|be|been|by|can|could|did|do|does|for|from|had|has|have|how|if|in"
    r"|is|it|its|many|may|might|much|of|on|only|or|shall|should|that|the|then|there|this"
    r"|to|was|were|what|when|where|which|who|why|will|with|would|answer|current|currently"
    r"|expected|forecast|give|please|stated|time|total|given|context|based"
)
_AUXILIARY = (
    r"^\W*(?:[^,?]{1,120},\s*)?(?:is|are|was|were|will|would|does|do|did|has|have|had|can|could"
    r"|should|shall|may|might)(?:n't)?\b"
)


def split_instruction(text: str) -> tuple[str, str]:
    """The question itself, and what it says about the form of the answer."""
    match = _INSTRUCTION.search(text)
    if match is None or not text[: match.start()].strip():
        return text, ""
    return text[: match.start()], text[match.start() :]


def stem_of(text: str) -> str:
    """The question without its form and without port names, which look like topic words."""
    stem, _ = split_instruction(text)
    return " ".join(_PORT_NAME.sub(" the port ", stem).split())


def without_asides(stem: str) -> str:
    """The stem without clauses that limit the question, unless nothing else is there."""
    short = _ASIDE.sub("", stem)
    return short if len(content_words(short)) > 1 else stem


def with_choice_units(stem: str, choices: Sequence[str]) -> str:
    """The stem with the unit of time that all its choices share: what is asked is a time."""
    units = {next((q.unit for q in quantities(c)), "") for c in choices} - {""}
    word = {"h": "hours", "d": "days"}.get(next(iter(units), ""), "") if len(units) == 1 else ""
    return f"{stem} ({word})" if word and not has(stem, rf"\b{word}\b") else stem


def content_words(text: str) -> frozenset[str]:
    """Lower-case words that carry meaning, crudely stemmed."""
    words = re.findall(r"[a-z][a-z-]+|\d+", text.lower())
    return frozenset(re.sub(r"(?:ing|ed|es|s)$", "", w) for w in words if not _STOP.fullmatch(w))


def asks_whether(text: str) -> bool:
    """Whether a text is a yes/no question by its first words, or a statement to judge."""
    return has(text, _AUXILIARY) or has(text, r"\btrue or false\b|\byes or no\b|\bwhether\b")


# --- unit, change ---------------------------------------------------------------------

_UNIT_ASKED = re.compile(
    r"\b(?:in|how many|number of|as)\s+(?:an?\s+)?(?:integer\s+|whole\s+)?"
    r"(?:number\s+(?:in|of)\s+)?(?P<unit>mph|knots?|kts?|km/h|kph|m/s|miles per hour|miles?|mi"
    r"|kilomet(?:er|re)s?|km|nautical miles|feet|foot|ft|inches|met(?:er|re)s?"
    r"|centimet(?:er|re)s?|cm|millimet(?:er|re)s?|mm|mb|hPa|millibars?|hours?|days?|minutes?"
    r"|%|percent|per cent)(?![\w/])", re.IGNORECASE,
)
_UP = r"\b(?:increas|ris(?:e|en|ing)|grow|strengthen|intensif|upgrad|worsen|gone up)\w*"
_DOWN = (
    r"\b(?:decreas|fall(?:en|ing)?\b|drop|weaken|downgrad|declin|lower(?:ed|ing)|gone down)\w*"
)


def unit_asked(text: str) -> str:
    """The unit that a question wants its answer in; empty where it names none."""
    match = _UNIT_ASKED.search(text)
    return unit_of(match["unit"]) if match else ""


def change_asked(stem: str) -> Change | None:
    """The direction of the change asked about."""
    if has(stem, _UP):
        return "up"
    if has(stem, _DOWN):
        return "down"
    return "any" if has(stem, r"\b(?:chang|updat|evolv|shift|differ)\w*") else None


_BACK = re.compile(
    r"\b(?:last|past|previous|preceding)\s+(?P<n>\w+)[\s-]*(?P<unit>hours?|h|days?|d)\b"
    r"|\b(?:last|past|previous|preceding)\s+(?P<one>hour|day)\b|\bsince\s+(?P<eve>yesterday)\b",
    re.IGNORECASE,
)


def hours_back(stem: str) -> int | None:
    """Hours between the time compared with and now ("in the last 12 hours"); None if unsaid."""
    match = _BACK.search(stem)
    if match is None:
        return None
    count = number(match["n"]) if match["n"] else 1.0
    unit = (match["unit"] or match["one"] or "day").lower()
    return None if count is None else round(count * (24 if unit.startswith("d") else 1))


# --- what a yes/no question puts to the test ------------------------------------------

_WHOLE_PERIOD = r"\b(?:next|in|over|within|coming|before|after)\b"


def comparison_of(stem: str, scope: Mapping[str, str]) -> Quantity | None:
    """The bound in a yes/no question, else its only bare quantity with a unit.

    Categories, horizons, years, the wind speed of a probability and the period
    it is told for are no bounds.
    """
    bare: list[Quantity] = []
    stem = _BACK.sub(" ", stem)
    for q in quantities(stem):
        around = stem[max(0, q.start - 12) : q.end].lower()
        figure = q.low if math.isfinite(q.low) else q.high
        if has(around, r"\bcat|\bt\s*[-–+]\s*\d+$") or has(around, r"(?<!\d)(?:19|20)\d\d$"):
            continue
        if q.unit == "kt" and f"{figure:g}" == scope.get("threshold_kt"):
            continue
        probable = has(stem, CHANCE) or (has(stem, WIND) and "threshold_kt" in scope)
        if q.unit in ("h", "d") and probable and has(around, _WHOLE_PERIOD):
            continue
        if not q.exact:
            return q
        bare.append(q)
    with_unit = [q for q in bare if q.unit]
    return with_unit[0] if len(with_unit) == 1 else None


_ALERT = re.compile(
    r"\b(?P<what>hurricane|tropical[\s-]+storm|storm[\s-]+surge)\s+(?P<kind>watch|warning)",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"\b(?:in|near|at|along|on|between)\s+((?:the\s+)?[A-Z].*?)"
    r"(?=[?,.]|\s+(?:on|by|in|before)\s|$)"
)


def expected_state(stem: str, topic: Topic) -> str:
    """The state that a yes/no question names, in the spelling of its attribute."""
    if topic.name.startswith(("watch", "warning")):
        match = _ALERT.search(stem)
        return _spelled(f"{match['what']} {match['kind']}").title() if match else ""
    if "condition" in topic.keys:
        return _condition(stem)
    if "category" in topic.keys:
        return _category(stem)
    if "direction" in topic.keys:
        found = [compass(m[0]) for m in re.finditer(DIRECTION, stem)]
        return next((point for point in found if point in COMPASS), "")
    if "hazard" in topic.keys:
        winds = "tropical-storm-force winds" if has(stem, WIND) else ""
        return hazard_named(stem) or winds
    if "landfall_location" in topic.keys or "coast" in topic.keys:
        place = _PLACE.search(stem)
        return place[1] if place else ""
    return ""


def _spelled(words: str) -> str:
    return re.sub(r"[\s-]+", " ", words)


def _condition(stem: str) -> str:
    upper = re.sub(r"X\s?RAY", "X-RAY", stem.upper())
    for condition in CONDITIONS[1:]:
        if condition in upper:
            return condition
    if has(stem, r"\bclosed\b"):
        return CONDITIONS[-1]
    return CONDITIONS[0] if has(stem, r"\bopen\b|\bnormal\b") else ""


def _category(stem: str) -> str:
    if match := re.search(r"\bcat(?:egory|\.)?\s*([1-5])\b", stem, re.IGNORECASE):
        return f"category {match[1]}"
    if has(stem, r"\bmajor hurricane\b"):
        return "category 3"
    plain = stem.lower().replace("post tropical", "post-tropical")
    return max((s for s in SEVERITY if s in plain), key=len, default="")


def hazard_named(stem: str) -> str:
    """The one hazard that a question names; empty for none or several."""
    named = [name for name, words in HAZARDS if has(stem, words)]
    return named[0] if len(named) == 1 else ""
