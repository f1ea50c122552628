"""From standing statements to an answer of the question's type (§3.3): TF, MC, SA, TD."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rapidfuzz import fuzz

from okh.domain import AnswerType, Question, horizon_label
from okh.extraction.scenario_text import COMPASS
from okh.generation.choices import best_choice, nothing
from okh.generation.lexicon import CONDITIONS
from okh.generation.products import severity
from okh.generation.quantities import Quantity, convert, dimension, plain, span_text
from okh.generation.statements import Reading, Slot, Statement, worth
from okh.generation.target import Target
from okh.generation.wording import split_instruction
from okh.vocabulary import SEVERITY

_NEAR_BEST = 0.12
"""Statements this close to the best one in worth are read beside it."""

_OTHER_KIND = 0.5

_LIKELY: dict[str, tuple[bool, float]] = {
    "yes": (True, 1.0), "likely": (True, 0.85), "possible": (True, 0.55),
    "unlikely": (False, 0.85), "no": (False, 1.0),
}
"""Assessment of a threshold -> (whether it is exceeded, how surely)."""

_DIRECTION_TOLERANCE = {1: 45.0, 2: 22.5, 3: 11.25}
"""Letters of a compass point -> degrees within which a motion counts as that way."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """An answer's value with the statement that decides, and how well the two fit."""

    value: str
    quality: float
    statement: Statement
    how: str
    text: str = ""
    details: dict[str, str] = field(default_factory=dict)


def decide(
    question: Question, target: Target, kind: AnswerType, reading: Reading
) -> Verdict | None:
    """The answer that one trajectory's reading gives, or None where it states none."""
    standing = reading.standing()
    if not standing:
        return None
    rules: dict[AnswerType, Callable[[Question, Target, Reading, list[Statement]], Verdict | None]]
    rules = {
        AnswerType.TF: _true_false, AnswerType.MC: _choice,
        AnswerType.SA: _short, AnswerType.TD: _described,
    }
    return rules[kind](question, target, reading, standing)


def _beside(standing: Sequence[Statement], margin: float = _NEAR_BEST) -> list[Statement]:
    """The best statement and those told at its horizon that are nearly as good."""
    best = standing[0]
    leads = [s.edge.lead for s in standing if s.edge.lead is not None]
    newest = min(leads, default=None)
    return [
        s for s in standing
        if worth(best, newest) - worth(s, newest) <= margin and s.edge.lead == best.edge.lead
    ]


# --- yes or no ------------------------------------------------------------------------


def _true_false(
    question: Question, target: Target, reading: Reading, standing: list[Statement]
) -> Verdict | None:
    if not target.relations:
        return None
    if target.change and not target.comparison and not target.expected:
        return _changed(target, reading, standing[0])
    several = _beside(standing) if target.expected else standing[:1]
    best: tuple[bool, float, Statement, str] | None = None
    for s in several:
        found = _holds(target, s)
        if found and (best is None or (found[0] and not best[0])):
            best = (found[0], found[1], s, found[2])
    if best is None:
        return None
    holds, quality, statement, how = best
    if target.negated and not target.comparison:
        holds = not holds
    return Verdict("Yes" if holds else "No", quality, statement, how)


def _holds(target: Target, s: Statement) -> tuple[bool, float, str] | None:
    """Whether a statement fulfils what is put to the test: (holds, quality, how)."""
    if target.comparison is not None:
        return _compared(target.comparison, s)
    if s.key in ("exceeded", "within_cone"):
        known = _LIKELY.get(s.value.casefold())
        return (*known, s.value) if known else None
    if target.expected:
        return _is_state(target, s)
    if s.negative or (s.high is not None and s.high == 0):
        return False, 0.9, s.reason
    return True, 0.7, s.reason


def _compared(bound: Quantity, s: Statement) -> tuple[bool, float, str] | None:
    if s.key == "exceeded":
        return _threshold(bound, s)
    value = s.interval
    if value is None:
        return (False, 0.8, s.reason) if s.negative else None
    if bound.unit and value.unit and dimension(bound.unit) != dimension(value.unit):
        return None
    limit = bound.to(value.unit)
    how = f"{s.shown} against {_bound_text(bound)}"
    if limit.exact:
        return limit.low <= value.high and value.low <= limit.low, 0.9, how
    # The far end counts: surge of 2-4 ft exceeds 3 ft, if less surely than 4-6 ft does.
    far, near = (value.high, value.low) if limit.high == float("inf") else (value.low, value.high)
    sure = 1.0 if limit.holds(near) == limit.holds(far) else 0.6
    return limit.holds(far), sure, how


def _threshold(bound: Quantity, s: Statement) -> tuple[bool, float, str] | None:
    """An assessed threshold answers for the same one, and for those it implies."""
    known = _LIKELY.get(s.value.casefold())
    stated = re.match(r"([\d.]+)\s*(\w+)", s.edge.attribute("threshold") or "")
    if known is None or stated is None or bound.high != float("inf"):
        return None
    unit = stated[2]
    if bound.unit and dimension(bound.unit) != dimension(unit):
        return None
    asked, told = bound.to(unit).low, float(stated[1])
    exceeded, quality = known
    if asked == told or (exceeded and told > asked) or (not exceeded and told < asked):
        return exceeded, quality, f"exceeding {stated[0]} is stated as {s.value}"
    return None


def _bound_text(bound: Quantity) -> str:
    number = bound.low if abs(bound.low) != float("inf") else bound.high
    sign = "" if bound.exact else ("more than " if bound.low == number else "less than ") if (
        bound.strict) else ("at least " if bound.low == number else "at most ")
    return f"{sign}{plain(number)} {bound.unit}".strip()


def _is_state(target: Target, s: Statement) -> tuple[bool, float, str] | None:
    told, asked = s.value.casefold().strip(" ."), target.expected.casefold()
    how = s.note or f"{s.value} against {target.expected}"
    if s.key in ("category", "status"):
        return _ranked(told, asked, SEVERITY, target, how)
    if s.key == "condition":
        return _ranked(told, asked, tuple(c.casefold() for c in CONDITIONS), target, how)
    if s.key == "direction":
        if told.upper() not in COMPASS:
            return False, 0.8, how
        gap = abs(COMPASS.index(told.upper()) - COMPASS.index(target.expected)) * 22.5
        return min(gap, 360 - gap) <= _DIRECTION_TOLERANCE[len(target.expected)], 0.9, how
    if s.negative:
        return False, 0.95, how
    if s.key == "advisory":
        if "watch" not in told and "warning" not in told:
            return None
        return asked in told.replace("-", " "), 0.95, how
    likeness = fuzz.token_set_ratio(told, asked)
    if s.relation == "has_additional_hazard" and likeness < 80:
        return None
    return likeness >= 80, 0.9 if s.key == "hazard" else 0.6, how


def _ranked(
    told: str, asked: str, order: Sequence[str], target: Target, how: str
) -> tuple[bool, float, str] | None:
    if told not in order or asked not in order:
        return (told == asked, 0.5, how) if told and asked else None
    a, b = order.index(told), order.index(asked)
    if target.at_least or target.at_most:
        return (a >= b if target.at_least else a <= b), 1.0, how
    # Every category is a hurricane.
    same = a == b or (asked == "hurricane" and a > b)
    return same, 1.0, how


def _changed(target: Target, reading: Reading, best: Statement) -> Verdict | None:
    """Whether the value of the best slot went the way that is asked."""
    history = reading.histories.get(best.slot, [best])
    before, after = _ends(history, target.since_h)
    if before is None or after is None:
        return None
    moved = _direction(before, after)
    holds = moved != "same" if target.change == "any" else moved == target.change
    return Verdict("Yes" if holds else "No", 0.8, after,
                   f"from {before.shown} to {after.shown}")


def _ends(
    history: Sequence[Statement], since_h: int | None = None
) -> tuple[Statement | None, Statement | None]:
    """First and last value of a history, the first being at most ``since_h`` hours the older.

    Where the horizons stand further apart, the one before the last is compared with.
    """
    if len(history) < 2:
        return None, None
    after = history[-1]
    if since_h is None or after.edge.lead is None:
        return history[0], after
    limit = after.edge.lead + since_h
    earlier = [s for s in history if s.edge.lead is not None and s.edge.lead > after.edge.lead]
    inside = [s for s in earlier if s.edge.lead is not None and s.edge.lead <= limit]
    before = inside[0] if inside else earlier[-1] if earlier else None
    return before, after


def _direction(before: Statement, after: Statement) -> str:
    if before.low is not None and after.low is not None:
        a, b = before.high or before.low, after.high or after.low
        if before.key == "pressure_mb":
            a, b = b, a
        return "up" if b > a else "down" if b < a else "same"
    a_text, b_text = before.value.casefold(), after.value.casefold()
    for order in (SEVERITY, tuple(c.casefold() for c in CONDITIONS)):
        if a_text in order and b_text in order:
            x, y = order.index(a_text), order.index(b_text)
            return "up" if y > x else "down" if y < x else "same"
    return "same" if a_text == b_text else "other"


# --- choices --------------------------------------------------------------------------


def _choice(
    question: Question, target: Target, reading: Reading, standing: list[Statement]
) -> Verdict | None:
    options = question.choices
    if not options:
        return None
    if {o.strip(" .").casefold() for o in options} == {"yes", "no"}:
        verdict = _true_false(question, target, reading, standing)
        if verdict is None:
            return None
        index = [o.strip(" .").casefold() for o in options].index(verdict.value.casefold())
        return _lettered(verdict.statement, index, options, verdict.quality, verdict.how)
    best: tuple[float, int, Statement] | None = None
    beside = _beside(standing) if target.relations else standing[:1]
    if target.alerts:
        beside.sort(key=lambda s: -severity(s.value))
    for s in beside:
        found = best_choice(options, s, target)
        if found and (best is None or found[1] > best[0]):
            best = (found[1], found[0], s)
    for s in standing[1:] if best is None else ():
        if found := best_choice(options, s, target):
            best = (0.8 * found[1], found[0], s)
            break
    if best is None and target.alerts and (none := nothing(options)) is not None:
        # An alert stands that is none of the kinds offered.
        best = (_OTHER_KIND, none, standing[0])
    if best is None:
        return None
    quality, index, statement = best
    how = statement.note or f"{statement.shown} is nearest to {options[index]}"
    return _lettered(statement, index, options, quality, how)


def _lettered(
    statement: Statement, index: int, options: Sequence[str], quality: float, how: str
) -> Verdict:
    return Verdict(chr(ord("A") + index), quality, statement, how, options[index],
                   {"choice": options[index]})


# --- short answers --------------------------------------------------------------------


def _short(
    question: Question, target: Target, reading: Reading, standing: list[Statement]
) -> Verdict | None:
    if target.kind == "record":
        return _record(target, standing)
    if not target.relations:
        return None
    best = standing[0]
    value, unit, text = _expressed(best, target.unit)
    details = {"unit": unit} if unit else {}
    return Verdict(value, 1.0, best, best.reason, text, details)


def _expressed(s: Statement, wanted: str) -> tuple[str, str, str]:
    """(value, unit, text) of a statement in the unit wanted, else in its own.

    An interval gives its upper end as the value and both ends in the text.
    """
    if s.key in ("latitude", "longitude", "position"):
        place = s.edge.attribute("position") or s.value
        return place, "", place
    if s.low is None or s.high is None:
        return s.value, "", s.value
    low, high, unit = s.low, s.high, s.unit
    if wanted and wanted != unit and dimension(wanted) == dimension(unit) != "":
        low, high, unit = convert(low, unit, wanted), convert(high, unit, wanted), wanted
        rounded = 0 if dimension(unit) in ("speed", "pressure") else 1
        low, high = round(low, rounded), round(high, rounded)
        return plain(high), unit, f"{span_text(low, high)} {unit}"
    return plain(high), unit, s.shown


def _record(target: Target, standing: list[Statement]) -> Verdict | None:
    """One value for each period asked about, as a JSON object."""
    found: dict[int, Statement] = {}
    for s in standing:
        period = int(s.edge.attribute("period_h") or 0)
        if period in target.periods:
            found.setdefault(period, s)
    if not found:
        return None
    record = {
        f"{p}h": f"{found[p].value}{found[p].unit}" if p in found else "not stated"
        for p in target.periods
    }
    latest = found[max(found)]
    return Verdict(
        json.dumps(record), len(found) / len(target.periods), latest,
        f"{len(found)} of {len(target.periods)} periods are stated", json.dumps(record),
        {"unit": latest.unit, "period": ",".join(str(p) for p in sorted(found))},
    )


# --- descriptions ---------------------------------------------------------------------

_SUBJECT: dict[str, str] = {
    "within_forecast_cone": "port within the forecast cone",
    "has_first_nonzero_probability": "first probability above zero",
}
_MOST_PARTS = 5


def _described(
    question: Question, target: Target, reading: Reading, standing: list[Statement]
) -> Verdict | None:
    """The standing statements as one sentence; the bare value where only that is wanted."""
    best = standing[0]
    form = split_instruction(question.text)[1]
    if not target.relations:
        return Verdict(_sentence(best.value), best.fit, best, "likest evidence", best.value)
    beside = [s for s in _beside(standing) if s.relation == best.relation and s.key == best.key]
    if re.search(r"\bonly\b|\bjust\b|\bnothing but\b", form, re.I):
        text = "; ".join(dict.fromkeys(_valued(s) for s in beside))
        return Verdict(text, 1.0, best, "as stated", text)
    told: dict[Slot, Statement] = {s.slot: s for s in (*beside, *standing)}
    parts = dict.fromkeys(
        _part(s, reading.histories.get(s.slot, [s])) for s in list(told.values())[:_MOST_PARTS]
    )
    text = "; ".join(parts)
    return Verdict(_sentence(text), 1.0, best, f"{len(parts)} standing statements", text)


def _valued(s: Statement) -> str:
    """A value in words; a coast segment with the alert that stands there."""
    value = _expressed(s, "")[2]
    alert = s.edge.attribute("advisory")
    return f"{value} ({alert})" if s.key == "segment" and alert and alert not in value else value


def _part(s: Statement, history: Sequence[Statement]) -> str:
    bare = re.sub(r"^(?:has|forecasts|observes|affects)_", "", s.relation)
    words = _SUBJECT.get(s.relation, bare)
    where = s.edge.attribute("location") or s.edge.attribute("area") or ""
    threshold = s.edge.attribute("threshold_kt")
    period = s.edge.attribute("period_h")
    scope = [f"{threshold} kt"] if threshold else []
    scope += [f"{period} h"] if period else []
    if limit := s.edge.attribute("threshold"):
        scope.append(f"{s.edge.attribute('hazard') or ''} above {limit}".strip())
    scope += [where] if where and where != s.value else []
    subject = words.replace("_", " ") + (f" ({', '.join(scope)})" if scope else "")
    when = f" (as of {horizon_label(s.edge.lead)})" if s.edge.lead is not None else ""
    before, after = _ends(history)
    if before and after and before.shown.casefold() != after.shown.casefold():
        earlier = f" at {horizon_label(before.edge.lead)}" if before.edge.lead is not None else ""
        return f"{subject}: {_valued(after)}{when}, before that {before.shown}{earlier}"
    return f"{subject}: {_valued(s)}{when}"


def _sentence(text: str) -> str:
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")
