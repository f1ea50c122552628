"""Which choice of a multiple-choice question a statement means."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rapidfuzz import fuzz

from okh.generation.quantities import Quantity, convert, dimension, number, quantities
from okh.generation.statements import Statement, elsewhere
from okh.generation.target import Target

MIN_LIKENESS = 62.0
"""rapidfuzz token-set ratio (0–100) from which two texts may mean the same."""

_VERDICTS: dict[str, tuple[str, ...]] = {
    "yes": ("yes", "likely", "expected"), "no": ("no", "not expected", "unlikely"),
    "possible": ("possible", "maybe", "likely", "yes"), "likely": ("likely", "yes", "possible"),
    "unlikely": ("unlikely", "no"),
}
"""Assessment -> the choices that say it, the closest first."""

_NOTHING = ("none", "no", "neither", "none of the above", "not applicable", "n/a", "nothing")
_FILLER = re.compile(
    r"\b(?:the|a|an|of|start|arrival|onset|beginning|begin|begins|heavy|dangerous|in|effect|force|"
    r"condition|port)\b|[^\w\s]", re.IGNORECASE,
)


def best_choice(
    choices: Sequence[str], statement: Statement, target: Target
) -> tuple[int, float] | None:
    """Index of the choice that a statement means, with the quality of the match in (0, 1].

    By assessment (yes, possible, …), by number or range, by "none", then by
    likeness of the words; None where no choice is near.
    """
    if statement.key in ("exceeded", "within_cone"):
        return _by_verdict(choices, statement.value.casefold())
    if statement.negative:
        found = nothing(choices)
        return (found, 1.0) if found is not None else None
    if statement.key == "advisory":
        return _by_alert(choices, statement.value)
    value = statement.interval
    if value is not None:
        if target.comparison is None and (numbered := _by_number(choices, value)):
            return numbered
        if target.comparison is not None:
            return _by_bound(choices, value, target.comparison, statement)
    return _by_words(choices, statement)


_ELSEWHERE = 0.5


def _by_bound(
    choices: Sequence[str], value: Quantity, bound: Quantity, statement: Statement
) -> tuple[int, float] | None:
    """The choice for an amount put to the test.

    Possible is what less than half of the range, or an isolated maximum alone,
    fulfils; an amount listed for other places only makes it a "no", less surely.
    """
    limit = bound.to(value.unit) if dimension(bound.unit) == dimension(value.unit) else bound
    if elsewhere(statement.edge):
        found = _by_verdict(choices, "no")
        return (found[0], found[1] * _ELSEWHERE) if found else None
    isolated = number(statement.edge.attribute("isolated") or "")
    partly = [value.low, value.high, *([] if isolated is None else [isolated])]
    # "At least half" for a bound that the middle of the range just meets.
    middle = (value.low + value.high) / 2
    if limit.holds(middle) or limit.low == middle or limit.high == middle:
        return _by_verdict(choices, "yes")
    return _by_verdict(choices, "possible" if any(map(limit.holds, partly)) else "no")


def _by_alert(choices: Sequence[str], advisory: str) -> tuple[int, float] | None:
    """The choice that names the kind of a watch or warning (hurricane, tropical storm …)."""
    kind = re.sub(r"\b(?:watch|warning)\b", "", advisory.replace("-", " ").casefold()).split()
    for index, choice in enumerate(choices):
        words = choice.replace("-", " ").casefold()
        if kind and " ".join(kind) in words:
            return index, 1.0
    return None


def _by_verdict(choices: Sequence[str], verdict: str) -> tuple[int, float] | None:
    plain = [c.casefold().strip(" .") for c in choices]
    for place, word in enumerate(_VERDICTS.get(verdict, ())):
        if word in plain:
            return plain.index(word), 1.0 - 0.2 * place
    return None


def nothing(choices: Sequence[str]) -> int | None:
    """Index of the choice that says there is nothing, else of one that says zero."""
    for index, choice in enumerate(choices):
        if choice.casefold().strip(" .") in _NOTHING:
            return index
    zero = [i for i, c in enumerate(choices) if any(q.low == q.high == 0 for q in quantities(c))]
    return zero[0] if zero else None


def _by_number(choices: Sequence[str], value: Quantity) -> tuple[int, float] | None:
    """The narrowest choice that holds the value; of two that meet in it, the lower.

    A value in the gap between two ranges goes to the nearer one.
    """
    ranges: list[tuple[int, Quantity]] = []
    for index, choice in enumerate(choices):
        if (found := _range(choice, value.unit)) is not None:
            ranges.append((index, found))
    if len(ranges) < 2:
        return None
    point = value.high
    exact = [i for i, r in ranges if r.exact and r.low == point]
    if exact:
        return exact[0], 1.0
    inside = [(r.low, i) for i, r in ranges if r.holds(point)]
    if inside:
        return min(inside)[1], 1.0
    gaps = [(max(r.low - point, point - r.high, 0.0), i) for i, r in ranges]
    distance, index = min(gaps)
    return index, max(0.3, 0.8 - 0.02 * distance)


def _range(choice: str, unit: str) -> Quantity | None:
    found = list(quantities(choice))
    if not found:
        return Quantity(0, 0, unit) if choice.casefold().strip(" .") in _NOTHING else None
    first = found[0]
    if not first.unit or not unit:
        return first
    if dimension(first.unit) != dimension(unit):
        return None
    return Quantity(
        convert(first.low, first.unit, unit), convert(first.high, first.unit, unit), unit,
        first.strict,
    )


def _bare(text: str) -> str:
    return " ".join(_FILLER.sub(" ", text.replace("-", " ")).casefold().split())


def _by_words(choices: Sequence[str], statement: Statement) -> tuple[int, float] | None:
    value = statement.value.casefold().strip(" .")
    for index, choice in enumerate(choices):
        if choice.casefold().strip(" .") == value:
            return index, 1.0
    told = [_bare(statement.value)]
    if statement.key == "hazard":
        told.append(_bare(statement.edge.attribute("text") or ""))
    scores = [
        max(fuzz.token_sort_ratio(_bare(c), t) * 0.4 + fuzz.token_set_ratio(_bare(c), t) * 0.6
            for t in told if t) if _bare(c) and any(told) else 0.0
        for c in choices
    ]
    best = max(scores, default=0.0)
    if best < MIN_LIKENESS:
        return None
    second = sorted(scores)[-2] if len(scores) > 1 else 0.0
    quality = min(1.0, best / 100.0) * (1.0 if best - second > 5 else 0.7)
    return scores.index(best), quality
