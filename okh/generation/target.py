"""What a question asks about, in the words of the vocabulary.

A target names relations, the attributes that hold the answer, the scope that a
statement must not contradict (wind speed, period, hazard, vessels, …), the unit
wanted, and for a yes/no question the comparison or the state that is put to the
test. It is found by general word lists (:mod:`okh.generation.lexicon`), never by
the sentences of a benchmark.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from okh.corpus.geo import squeeze
from okh.domain import AnswerType, Hyperedge, Question, horizon_label
from okh.generation.lexicon import OVERVIEW, PORT, TOPICS, Kind, Topic
from okh.generation.products import in_force
from okh.generation.quantities import Quantity
from okh.generation.wording import (
    Change,
    asks_whether,
    change_asked,
    comparison_of,
    content_words,
    expected_state,
    has,
    hazard_named,
    hours_back,
    split_instruction,
    stem_of,
    unit_asked,
    with_choice_units,
    without_asides,
)
from okh.vocabulary import CROSS_HORIZON


@dataclass(frozen=True, slots=True)
class Target:
    """What is asked about.

    Attributes
    ----------
    topics
        Names of the topics meant, the likeliest first; empty where no word is known.
    relations
        Relation -> weight in (0, 1].
    keys
        Relation -> attributes that hold the answer, the most wanted first.
    kind
        What the answer is.
    unit
        Unit wanted; empty for the statement's own.
    scope
        Attribute -> value that a statement must not contradict.
    statistic
        ``onset`` or ``cumulative`` where the question says so.
    periods
        Several periods in hours, where the answer is one value for each.
    comparison
        Bound that a yes/no question puts to the test.
    expected
        State that a yes/no question puts to the test (``category 3``, ``ZULU`` …).
    at_least, at_most
        Whether a stronger (weaker) state than ``expected`` fulfils it too.
    negated
        Whether yes means that the state does not hold.
    change
        Direction of the change asked about, if any.
    since_h
        Hours over which the change is asked, None for all that is told.
    ahead
        Whether a present state (category, condition …) is asked for at a later time.
    alerts
        ``watch``, ``warning`` or both, where they are what is asked about.
    at_port
        Whether what is in force at the port is asked, and not what is in force anywhere.
    words
        Content words of the question, for likeness.
    """

    topics: tuple[str, ...] = ()
    relations: Mapping[str, float] = field(default_factory=dict)
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    kind: Kind = "text"
    unit: str = ""
    scope: Mapping[str, str] = field(default_factory=dict)
    statistic: str = ""
    periods: tuple[int, ...] = ()
    comparison: Quantity | None = None
    expected: str = ""
    at_least: bool = False
    at_most: bool = False
    negated: bool = False
    change: Change | None = None
    since_h: int | None = None
    ahead: bool = False
    alerts: frozenset[str] = frozenset()
    at_port: bool = False
    words: frozenset[str] = frozenset()


_HINT = 0.6
_BESIDE = 0.7
"""Topics whose strength comes this near the best one's are meant beside it."""

_SECOND_TOPIC, _SECOND_RELATION = 0.75, 0.6
_PRESENT = frozenset({
    "position", "direction", "forward speed", "intensity", "pressure", "category", "status",
    "watch", "warning", "port condition",
})
"""Topics whose statements tell of the time at which they are made."""

_LATER = (
    r"\b(?:in|next|after)[\s_]*\d+[\s_]*h(?:ours?|rs?)?\b|\btomorrow\b"
    r"|\b\d+\s*(?:hours?|h) (?:from now|later|ahead)\b"
)
_OR_MORE = r"\bor (?:higher|stronger|above|more|greater|worse)\b|\bat least\b|\bmajor\b"
_OR_LESS = r"\bor (?:lower|weaker|below|less)\b|\bat most\b|\bno more than\b"
_NEGATION = r"\b(?:outside|beyond|not|no longer|free of|without|never)\b|n't\b"


def target(question: Question) -> Target:
    """The target of a question; one without topics where no known word occurs."""
    stem = stem_of(question.text)
    asked = with_choice_units(without_asides(stem), question.choices)
    topics, words = _topics(asked), content_words(stem)
    if not topics:
        return Target(words=words, change=change_asked(stem))
    scope, statistic, periods = _scope(stem, topics)
    comparison, expected = None, ""
    if question.type is AnswerType.TF or (
        question.type not in (AnswerType.SA, AnswerType.TD) and asks_whether(question.text)
    ):
        comparison = comparison_of(stem, scope)
        expected = "" if comparison else expected_state(stem, topics[0])
    return Target(
        topics=tuple(t.name for t in topics), relations=_relations(topics), keys=_keys(topics),
        kind="record" if len(periods) > 1 else topics[0].kind, unit=unit_asked(question.text),
        scope=scope, statistic=statistic, periods=periods, comparison=comparison,
        expected=expected, at_least=has(stem, _OR_MORE), at_most=has(stem, _OR_LESS),
        negated=has(stem, _NEGATION) and not has(stem, r"\bor not\b"), change=change_asked(stem),
        since_h=hours_back(stem), ahead=topics[0].name in _PRESENT and has(stem, _LATER),
        alerts=_alerts(stem, topics[0]),
        at_port=question.port is not None and has(stem, PORT), words=words,
    )


def _alerts(stem: str, topic: Topic) -> frozenset[str]:
    if not topic.name.startswith(("watch", "warning")):
        return frozenset()
    return frozenset(kind for kind in ("watch", "warning") if has(stem, rf"\b{kind}(?:es|s)?\b"))


def _topics(stem: str) -> list[Topic]:
    """The topics meant, the likeliest first; at most four."""
    found = sorted(
        ((strength, topic) for topic in TOPICS if (strength := _strength(topic, stem)) > 0),
        key=lambda pair: -pair[0],
    )
    if not found:
        return [OVERVIEW] if _strength(OVERVIEW, stem) else []
    return [topic for strength, topic in found[:4] if strength >= found[0][0] - _BESIDE]


def _strength(topic: Topic, stem: str) -> float:
    """How surely a topic is meant: 0, or its cues plus its hints, longer lists counting more."""
    if topic.never and has(stem, topic.never):
        return 0.0
    if not all(has(stem, cue) for cue in topic.cues):
        return 0.0
    return len(topic.cues) + _HINT * sum(has(stem, hint) for hint in topic.hints)


def _relations(topics: list[Topic]) -> dict[str, float]:
    weights: dict[str, float] = {}
    for order, topic in enumerate(topics):
        for place, relation in enumerate(topic.relations):
            weight = (_SECOND_TOPIC if order else 1.0) * _SECOND_RELATION ** min(place, 2)
            weights[relation] = max(weights.get(relation, 0.0), weight)
    return weights


def _keys(topics: list[Topic]) -> dict[str, tuple[str, ...]]:
    keys: dict[str, tuple[str, ...]] = {}
    for topic in topics:
        for relation in topic.relations:
            keys[relation] = tuple(dict.fromkeys((*keys.get(relation, ()), *topic.keys)))
    return keys


# --- scope ----------------------------------------------------------------------------

_KNOTS = re.compile(r"\b(34|50|64)[\s-]*(?:kts?|kn|knots?)\b", re.IGNORECASE)
_FORCE: tuple[tuple[str, str], ...] = (
    (r"\btropical[\s-]storm[\s-](?:force|strength|condition)|\bgales?\b", "34"),
    (r"\bhurricane[\s-](?:force|strength|condition)", "64"),
    (r"\bstorm[\s-]force\b", "50"),
)
_PERIOD = re.compile(
    r"((?:\d{1,3}\s*(?:h|hours?)?\s*(?:,|and|or|/|&)\s*(?:and\s+)?)*\d{1,3})"
    r"[\s-]*(?:hours?|hrs?|h)\b", re.IGNORECASE,
)
_FROM_PLACE = re.compile(r"\bfrom\s+([A-Z][\w.]+(?:\s+[A-Z][\w.]+)*)")


def _scope(stem: str, topics: list[Topic]) -> tuple[dict[str, str], str, tuple[int, ...]]:
    """Scope attributes, statistic and periods that the words give."""
    first = topics[0]
    scope = dict(first.scope)
    probable = any("probability" in relation for t in topics for relation in t.relations)
    if match := _KNOTS.search(stem):
        scope["threshold_kt"] = match[1]
    elif probable and (speed := next((kt for words, kt in _FORCE if has(stem, words)), "")):
        scope["threshold_kt"] = speed
    periods: tuple[int, ...] = ()
    asks_hours = has(stem, r"\bhow many hours\b")
    if probable and not asks_hours and (match := _PERIOD.search(stem)):
        periods = tuple(int(n) for n in re.findall(r"\d+", match[1]))
        if len(periods) == 1 and first.name == "period probability":
            scope["period_h"] = str(periods[0])
    if has(stem, r"\bocean[\s-]?going\b|\bdeep[\s-]draft\b"):
        scope["vessels"] = "ocean-going"
    hazard = "" if has(stem, r"\bexclud|\bother than") else hazard_named(stem)
    if hazard and first.name in ("additional hazards", "hazard arrival"):
        scope["hazard"] = hazard
    if first.name == "reference distance" and (match := _FROM_PLACE.search(stem)):
        scope["reference"] = match[1]
    statistic = next((s for s in ("cumulative", "onset") if has(stem, rf"\b{s}\b")), "")
    return scope, statistic, periods


# --- how well an edge states a target -------------------------------------------------

_UNSAID = 0.8
_WRONG_STATISTIC = 0.4
_OTHER_REFERENCE = 0.3
_OTHER_VESSELS = 0.6
_HALF_FAR_KM = 150.0
_STATISTIC: dict[str, str] = {
    "has_cumulative_probability": "cumulative", "has_peak_probability": "onset",
}
"""What a relation tells of by its meaning, where its edge (a change) does not say so."""

_LIKENESS = 0.5
"""Best fit of an edge to a question whose words the lexicon does not know."""


def told_relation(edge: Hyperedge) -> str:
    """The relation that an edge states; of a change edge, that of what changed."""
    changed = edge.attribute("of") if edge.family == CROSS_HORIZON else None
    return changed or edge.relation


def fit(target: Target, edge: Hyperedge) -> float:
    """How well an edge states the target, in [0, 1]; 0 where it does not.

    The relation's weight, lowered where the edge leaves a scope unsaid or tells
    another statistic, and with the distance of its forecast location. Where the
    target has no topic, the share of the question's words in the evidence.
    """
    if not target.relations:
        return _likeness(target, edge)
    relation = told_relation(edge)
    weight = target.relations.get(relation, 0.0)
    if weight == 0.0 or not any(_holds(edge, key) for key in target.keys[relation]):
        return 0.0
    for key, wanted in target.scope.items():
        weight *= _scope_factor(key, wanted, edge)
    period = edge.attribute("period_h") or ""
    if len(target.periods) > 1 and period.isdecimal():
        weight *= int(period) in target.periods
    if target.alerts and not _alerted(target, edge):
        return 0.0
    told = edge.attribute("statistic") or _STATISTIC.get(relation, "unspecified")
    if target.statistic and target.statistic not in told:
        weight *= _UNSAID if told == "unspecified" else _WRONG_STATISTIC
    distance = edge.attribute("distance_km")
    return weight * nearness(float(distance)) if distance and distance.isdecimal() else weight


def _alerted(target: Target, edge: Hyperedge) -> bool:
    """Whether an edge tells of an alert of the kind asked about, or of none."""
    told = (edge.attribute("advisory") or edge.attribute("to") or "").casefold()
    kinds = [kind for kind in ("watch", "warning") if kind in told]
    return in_force(edge) and (not kinds or any(kind in target.alerts for kind in kinds))


def nearness(distance_km: float) -> float:
    """Factor in (0, 1] by which a forecast location speaks for a port this far away."""
    return 1.0 / (1.0 + distance_km / _HALF_FAR_KM)


def _holds(edge: Hyperedge, key: str) -> bool:
    if edge.family == CROSS_HORIZON:
        return edge.attribute("changed") == key
    return edge.attribute(key) is not None


def _scope_factor(key: str, wanted: str, edge: Hyperedge) -> float:
    told = edge.attribute(key)
    if told is None:
        return 0.0 if key == "purpose" else _UNSAID
    if key == "reference":
        return 1.0 if squeeze(wanted) in squeeze(told) else _OTHER_REFERENCE
    if key == "vessels":
        return 1.0 if told == wanted else _OTHER_VESSELS
    if key == "hazard" and told == "none":
        return 1.0
    return float(squeeze(told) == squeeze(wanted))


def _likeness(target: Target, edge: Hyperedge) -> float:
    words = {w for w in target.words if not w.isdecimal()}
    if not words:
        return 0.0
    told = content_words(f"{edge.relation.replace('_', ' ')} {edge.evidence}")
    return _LIKENESS * len(words & told) / len(words)


# --- the text to embed ----------------------------------------------------------------


_WINDOW = re.compile(
    r"\b(?:(?:with)?in|over|during|for)\s+(?:the\s+)?(?:next|coming|following)\s+[\w-]+"
    r"(?:\s+(?:hours?|days?))?", re.IGNORECASE,
)


def query_text(question: Question, target_: Target | None = None) -> str:
    """The text that stands for a question in retrieval, worded as an edge's text is.

    The relation that states the answer most directly, the question's content
    words (without "within the next five days", which calls for other edges), the
    attributes wanted, the scope and the horizon; the question as it stands where
    the lexicon knows no topic. On train storms, products only, that lifts the
    share of questions whose newest evidence is found from .62 to .67 against
    the whole sentence with every relation (position: .52 to 1.0).
    """
    wanted = target(question) if target_ is None else target_
    if not wanted.relations:
        return " ".join(split_instruction(question.text)[0].split())
    best = max(wanted.relations, key=lambda r: wanted.relations[r])
    relation, keys = (w.replace("_", " ") for w in (best, ", ".join(wanted.keys[best])))
    words = " ".join(sorted(content_words(_WINDOW.sub(" ", stem_of(question.text))) - {"port"}))
    scope = "; ".join(f"{k.replace('_', ' ')} {v}" for k, v in sorted(wanted.scope.items()))
    horizon = "" if question.lead is None else horizon_label(question.lead)
    return " | ".join(part for part in (relation, words, keys, scope, horizon) if part)
