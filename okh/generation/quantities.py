"""Numbers with units: reading them from words, comparing them, converting them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from okh.extraction.scenario_text import COUNT_WORDS, KM_PER_MILE, MPH_PER_KNOT

_FOOT = 0.3048

UNITS: dict[str, tuple[str, float]] = {
    "mph": ("speed", 1.0), "kt": ("speed", MPH_PER_KNOT), "km/h": ("speed", 1 / KM_PER_MILE),
    "m/s": ("speed", 3.6 / KM_PER_MILE),
    "m": ("length", 1.0), "ft": ("length", _FOOT), "in": ("length", _FOOT / 12),
    "cm": ("length", 0.01), "mm": ("length", 0.001), "km": ("length", 1000.0),
    "mi": ("length", KM_PER_MILE * 1000), "nmi": ("length", 1852.0),
    "mb": ("pressure", 1.0), "inHg": ("pressure", 33.8639),
    "h": ("time", 1.0), "d": ("time", 24.0), "min": ("time", 1 / 60),
    "%": ("share", 1.0), "deg": ("angle", 1.0),
}
"""Canonical unit -> (dimension, factor to the dimension's base)."""

_SPELLED: tuple[tuple[str, str], ...] = (
    (r"mph|mi/h|miles?\s+(?:per|an)\s+hour", "mph"),
    (r"kts?|kn|knots?", "kt"),
    (r"km/h|kph|kmh|kilomet(?:er|re)s?\s+(?:per|an)\s+hour", "km/h"),
    (r"m/s|met(?:er|re)s?\s+per\s+second", "m/s"),
    (r"nautical\s+miles?|nmi?", "nmi"),
    (r"miles?|mi", "mi"),
    (r"kilomet(?:er|re)s?|km", "km"),
    (r"feet|foot|ft|['’′]", "ft"),
    (r"inches\s+of\s+mercury|inHg", "inHg"),
    (r"inch(?:es)?|in(?=[.,;?)]|\s*$|\s+of\b)|[\"”″]", "in"),
    (r"millimet(?:er|re)s?|mm", "mm"),
    (r"centimet(?:er|re)s?|cm", "cm"),
    (r"met(?:er|re)s?|m", "m"),
    (r"mb|hpa|millibars?|hectopascals?", "mb"),
    (r"hours?|hrs?|h", "h"),
    (r"days?|d", "d"),
    (r"minutes?|min", "min"),
    (r"%|percent(?:age)?(?:\s+points?)?|per\s+cent|pct", "%"),
    (r"degrees?|deg|°", "deg"),
)
_UNIT = "|".join(
    rf"(?P<u{i}>{words})(?![A-Za-z/])" for i, (words, _) in enumerate(_SPELLED)
)
_WORD_UNIT = tuple((re.compile(rf"\b(?:{words})(?![A-Za-z/])" if words[0].isalpha() else words,
                               re.IGNORECASE), unit) for words, unit in _SPELLED)
_NUMBER = (
    r"(?<![\w.])[-−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?!\d)"
    rf"|\b(?:{'|'.join(COUNT_WORDS)}|zero)\b"
)
_QUANTITY = re.compile(
    r"(?:(?P<between>between)\s+|(?P<lower>(?:more|greater|higher|longer|larger|stronger)\s+than|over|above|exceed(?:s|ed|ing)?"
    r"|beyond|past|>)\s*|(?P<least>(?:reach|meet|equal)\w*\s+or\s+exceed\w*|at\s+least|no\s+less\s+than|not\s+less\s+than|from|≥|>=|minimum\s+of)\s*"
    r"|(?P<upper>(?:less|fewer|lower|smaller|weaker|shorter)\s+than|under|below|<)\s*"
    r"|(?P<most>at\s+most|up\s+to|no\s+more\s+than|not\s+more\s+than|within|≤|<=|maximum\s+of)\s*)?"
    rf"(?:the\s+)?(?P<low>{_NUMBER})(?:\s*(?(between)(?:and|to|-|–)|(?:-|–|—|to|through))\s*(?P<high>{_NUMBER}))?"
    rf"(?P<plus>\s?\+)?(?:[\s-]*(?:{_UNIT}))?"
    r"(?:\s*(?:or|and)\s+(?:(?P<more>more|above|greater|over|higher|longer|later|stronger|beyond)"
    r"|(?P<less>less|below|fewer|under|lower|shorter|earlier|weaker)))?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number or an interval with its unit (empty where none is written).

    ``low`` and ``high`` are equal for a bare number and infinite on an open side;
    ``strict`` says that the bound itself is outside ("more than 3").
    """

    low: float
    high: float
    unit: str = ""
    strict: bool = False
    start: int = 0
    end: int = 0

    @property
    def exact(self) -> bool:
        return self.low == self.high

    def to(self, unit: str) -> Quantity:
        """The same quantity in another unit; unchanged where either unit is empty."""
        if not unit or not self.unit or unit == self.unit:
            return self
        return Quantity(
            convert(self.low, self.unit, unit), convert(self.high, self.unit, unit), unit,
            self.strict, self.start, self.end,
        )

    def holds(self, value: float) -> bool:
        """Whether a value in the same unit lies inside."""
        if self.strict:
            return (self.low < value if math.isfinite(self.low) else True) and (
                value < self.high if math.isfinite(self.high) else True
            )
        return self.low <= value <= self.high


def dimension(unit: str) -> str:
    """``speed``, ``length``, ``pressure``, ``time``, ``share``, ``angle`` or empty."""
    return UNITS[unit][0] if unit in UNITS else ""


def convert(value: float, unit: str, wanted: str) -> float:
    """A value in another unit of its dimension.

    Raises
    ------
    ValueError
        One of the units is unknown, or they measure different things.
    """
    if unit == wanted:
        return value
    if not dimension(unit) or dimension(unit) != dimension(wanted):
        raise ValueError(f"cannot express {unit or 'a bare number'} in {wanted or 'no unit'}")
    return value * UNITS[unit][1] / UNITS[wanted][1]


def unit_of(text: str) -> str:
    """The canonical unit that a word means; empty for none."""
    word = text.strip()
    for pattern, unit in _WORD_UNIT:
        if pattern.fullmatch(word):
            return unit
    return ""


def units_named(text: str) -> list[str]:
    """Units whose names stand in a text as words of their own, in the order of the table."""
    return [unit for pattern, unit in _WORD_UNIT
            if len(unit) > 1 and pattern.search(text)]


def number(text: str) -> float | None:
    """A plain number or a number word up to ten as a float, else None."""
    word = text.strip().lower().replace("−", "-").replace(",", "")
    word = {"zero": "0", **COUNT_WORDS}.get(word, word)
    if not re.fullmatch(r"-?\d+(?:\.\d+)?", word):
        return None
    return float(word)


def quantities(text: str) -> Iterator[Quantity]:
    """Every number or interval in a text, from left to right."""
    for match in _QUANTITY.finditer(text):
        low = number(match["low"])
        high = number(match["high"]) if match["high"] else None
        if low is None:
            continue
        unit = next((u for i, (_, u) in enumerate(_SPELLED) if match[f"u{i}"]), "")
        yield _bounded(match, low, high, unit)


def _bounded(match: re.Match[str], low: float, high: float | None, unit: str) -> Quantity:
    where = (match.start(), match.end())
    if high is not None:
        return Quantity(min(low, high), max(low, high), unit, False, *where)
    if match["lower"]:
        return Quantity(low, math.inf, unit, not match["more"], *where)
    if match["upper"]:
        return Quantity(-math.inf, low, unit, True, *where)
    if match["least"] or match["more"] or match["plus"]:
        return Quantity(low, math.inf, unit, False, *where)
    if match["most"] or match["less"]:
        return Quantity(-math.inf, low, unit, False, *where)
    return Quantity(low, low, unit, False, *where)


def span_text(low: float, high: float) -> str:
    """``3`` for one number, ``2-4`` for two."""
    return plain(high) if low == high else f"{plain(low)}-{plain(high)}"


def plain(value: float) -> str:
    """A float with at most two digits behind the point and no trailing zeros."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text
