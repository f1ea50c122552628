"""Readers: question and trajectories in, a typed answer with its reasons out (§3.3, A.8)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, Protocol

from okh.domain import (
    NOT_STATED,
    Answer,
    AnswerType,
    Entity,
    Question,
    Trajectory,
    horizon_label,
)
from okh.generation.products import list_of
from okh.generation.quantities import number, plain
from okh.generation.statements import Reading, Statement, as_told, read, worth
from okh.generation.target import Target, target
from okh.generation.typed import Verdict, decide
from okh.generation.wording import asks_whether

Mode = Literal["joint", "vote"]


class Reader(Protocol):
    """Anything that answers a question from trajectories."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str:
        """Changes whenever the same evidence could give another answer."""
        ...

    def read(
        self, question: Question, trajectories: Sequence[Trajectory],
        entities: Mapping[str, Entity],
    ) -> Answer:
        """The answer; its value is ``not stated`` where the evidence does not state it."""
        ...


class ExtractiveReader:
    """The embedded default: deterministic, in sequence, from the attributes of the steps.

    It finds what the question asks about (:func:`okh.generation.target.target`),
    goes through the steps of each trajectory in the order given, and lets a
    later statement about the same thing replace an earlier one.

    Parameters
    ----------
    mode
        ``"joint"`` (§3.3): all trajectories together; the best statement decides
        and agreement raises confidence. ``"vote"`` (A.8): one answer for each
        trajectory, then :func:`combine`.
    """

    name = "extractive"
    version = "2"

    def __init__(self, mode: Mode = "joint") -> None:
        self._mode = mode

    def read(
        self, question: Question, trajectories: Sequence[Trajectory],
        entities: Mapping[str, Entity],
    ) -> Answer:
        """See :class:`Reader`. ``entities`` is not needed: the attributes tell all."""
        wanted = target(question)
        kind = question.type or _default_type(question)
        readings = [read(question, wanted, i, t) for i, t in enumerate(trajectories)]
        table = min((r.listings.table for r in readings if r.listings.table is not None),
                    default=None)
        verdicts = [
            (reading, verdict) for reading in readings
            if (verdict := decide(question, wanted, kind, reading)) is not None
        ]
        if not verdicts:
            return _not_stated(kind, wanted)
        answers = [_answer(question, kind, wanted, r, v, table) for r, v in verdicts]
        if self._mode == "vote":
            return combine(answers)
        return _joint(kind, len(trajectories), answers, verdicts)


def _default_type(question: Question) -> AnswerType:
    if question.choices:
        return AnswerType.MC
    return AnswerType.TF if asks_whether(question.text) else AnswerType.TD


def _not_stated(kind: AnswerType, wanted: Target) -> Answer:
    about = ", ".join(wanted.topics) or "anything that the vocabulary knows"
    return Answer(NOT_STATED, kind, 0.0, f"No step states what is asked ({about}).")


_AHEAD = 0.5
"""Sureness left when the present state is told for a later time asked about."""

_GONE = 0.5
"""Sureness left to a row of a wind table where a newer table was read without it."""

_FRESH_LOSS_PER_H = 0.15 / 12
_FRESH_FLOOR = 0.4


def _fresh(question: Question, s: Statement) -> float:
    """Sureness left to a statement that is older than the question, in (0, 1]."""
    asked = question.lead if question.as_of is None else question.as_of
    if asked is None or s.edge.lead is None:
        return 1.0
    return max(_FRESH_FLOOR, 1.0 - _FRESH_LOSS_PER_H * max(s.edge.lead - asked, 0))


def _answer(
    question: Question, kind: AnswerType, wanted: Target, reading: Reading, verdict: Verdict,
    table: int | None,
) -> Answer:
    """One trajectory's answer; confidence is fit · quality · sureness of the edge.

    ``table`` is the horizon of the newest wind table that any trajectory reads.
    """
    s = verdict.statement
    confidence = min(1.0, s.fit) * verdict.quality * s.edge.confidence * _fresh(question, s)
    if wanted.ahead:
        confidence *= _AHEAD
    gone = table is not None and s.edge.kind == "wind_table" and (s.edge.lead or table) > table
    if gone:
        confidence *= _GONE
    earlier = _superseded(reading, s)
    details = _details(question, s) | verdict.details
    details["value_text"] = verdict.text or s.shown
    rationale = f"{s.relation.replace('_', ' ')}: {as_told(s)}; {verdict.how}."
    if s.aged:
        rationale += f" Told {s.aged} hours before the question, so {s.aged} hours are counted off."
    if gone and table is not None:
        rationale += f" The wind table of {horizon_label(table)} was read without such a row."
    if wanted.ahead:
        rationale += " The state at that later time is not stated; this is the last one known."
    if earlier is not None:
        details["superseded"] = as_told(earlier)
        rationale += f" It replaces {as_told(earlier)}."
    return Answer(
        verdict.value, kind, round(confidence, 4), rationale, s.trajectory, s.step, 1.0, details
    )


def _superseded(reading: Reading, s: Statement) -> Statement | None:
    """The last earlier statement of the same thing that told another value."""
    history = reading.histories.get(s.slot, [])
    different = [h for h in history[:-1] if h.shown.casefold() != s.shown.casefold()]
    return different[-1] if different else None


def _details(question: Question, s: Statement) -> dict[str, str]:
    """What an answer must name: time, place, statistic, threshold, source (issue 2)."""
    edge = s.edge
    told = {
        "as_of": horizon_label(question.as_of) if question.as_of is not None else "",
        "issued": edge.issued.isoformat() if edge.issued else "",
        "horizon": edge.horizon, "unit": s.unit, "relation": s.relation,
        "source_kind": edge.source_kind,
        "location": edge.attribute("location") or edge.attribute("area") or "",
        "distance_km": edge.attribute("distance_km") or "",
        "threshold": _with_unit(edge.attribute("threshold_kt"), "kt")
        or edge.attribute("threshold") or "",
        "period": _with_unit(edge.attribute("period_h"), "h"),
        "statistic": _statistic(s),
    }
    if edge.spans:
        span = edge.spans[0]
        told |= {"document": span.document, "start": str(span.start), "end": str(span.end)}
    return {key: value for key, value in told.items() if value}


def _with_unit(value: str | None, unit: str) -> str:
    return f"{value} {unit}" if value else ""


def _statistic(s: Statement) -> str:
    """``onset`` or ``cumulative``; a table's period row tells both, and the key decides."""
    told = s.edge.attribute("statistic") or ""
    if told != "onset and cumulative":
        return told
    return "onset" if s.key == "onset" else "cumulative"


# --- several trajectories -------------------------------------------------------------


def _joint(
    kind: AnswerType, count: int, answers: Sequence[Answer],
    verdicts: Sequence[tuple[Reading, Verdict]],
) -> Answer:
    """The answer of the trajectory with the best statement; agreement raises confidence.

    A statement is worth its fit less its age against the newest among the
    deciding ones, so that a trajectory that ends early does not outvote one that
    reads on. What the list of a newer product replaces in one trajectory does not
    stand in another.
    """
    kept = _unreplaced(verdicts)
    answers = [answers[i] for i in kept]
    statements = [verdicts[i][1].statement for i in kept]
    qualities = [verdicts[i][1].quality for i in kept]
    newest = min((s.edge.lead for s in statements if s.edge.lead is not None), default=None)
    best = max(
        range(len(answers)),
        key=lambda i: (round(worth(statements[i], newest) * qualities[i], 3), -i),
    )
    chosen = answers[best]
    agreeing = [a for a in answers if a.value.casefold() == chosen.value.casefold()]
    share = len(agreeing) / len(answers)
    confidence = chosen.confidence * (0.6 + 0.4 * share)
    note = "" if count < 2 else (
        f" {len(agreeing)} of {len(answers)} trajectories that state it agree."
    )
    return replace(
        chosen, confidence=round(confidence, 4), agreement=round(share, 4),
        rationale=chosen.rationale + note,
    )


def _unreplaced(verdicts: Sequence[tuple[Reading, Verdict]]) -> list[int]:
    """Places of the verdicts that rest on no list older than the newest one read; else all."""
    newest: dict[str, int] = {}
    for reading, _ in verdicts:
        for kind, ((lead, _issued), _step, _edge) in reading.listings.newest.items():
            if lead is not None:
                newest[kind] = min(lead, newest.get(kind, lead))

    def stands(verdict: Verdict) -> bool:
        edge = verdict.statement.edge
        return edge.lead is None or edge.lead <= newest.get(list_of(edge), edge.lead)

    kept = [i for i, (_, verdict) in enumerate(verdicts) if stands(verdict)]
    return kept or list(range(len(verdicts)))


def combine(answers: Sequence[Answer]) -> Answer:
    """One answer from one for each trajectory (A.8, fallback mode).

    Numbers of one unit: their mean weighted by confidence. Everything else: the
    value with the largest sum of confidences, the first among equals. Answers
    that state nothing have no vote unless all are such.

    Raises ``ValueError`` for no answers or answers of several types.
    """
    if not answers:
        raise ValueError("nothing to combine: give one answer or more")
    if len({a.type for a in answers}) > 1:
        raise ValueError("answers of several types cannot be combined")
    stated = [a for a in answers if a.value != NOT_STATED]
    if not stated:
        return answers[0]
    numbers = [number(a.value) for a in stated]
    units = {a.details.get("unit", "") for a in stated}
    if stated[0].type is AnswerType.SA and len(units) == 1 and None not in numbers:
        return _mean(stated, [n for n in numbers if n is not None])
    votes: dict[str, float] = defaultdict(float)
    for answer in stated:
        votes[answer.value.casefold()] += answer.confidence
    total = sum(votes.values())
    winner = max(votes, key=lambda value: votes[value])
    voters = [a for a in stated if a.value.casefold() == winner]
    chosen = max(voters, key=lambda a: a.confidence)
    share = votes[winner] / total if total else len(voters) / len(stated)
    return replace(
        chosen, confidence=round(chosen.confidence * (0.6 + 0.4 * share), 4),
        agreement=round(len(voters) / len(stated), 4),
        rationale=f"{chosen.rationale} Vote: {len(voters)} of {len(stated)}.",
    )


def _mean(answers: Sequence[Answer], numbers: Sequence[float]) -> Answer:
    weights = [a.confidence for a in answers]
    total = sum(weights)
    if total <= 0:
        weights, total = [1.0] * len(answers), float(len(answers))
    mean = sum(w * n for w, n in zip(weights, numbers, strict=True)) / total
    nearest = min(range(len(numbers)), key=lambda i: (abs(numbers[i] - mean), -weights[i], i))
    agreeing = sum(n == numbers[nearest] for n in numbers) / len(numbers)
    chosen = answers[nearest]
    confidence = total / len(answers) * (0.6 + 0.4 * agreeing)
    unit = chosen.details.get("unit", "")
    return replace(
        chosen, value=plain(mean), confidence=round(min(1.0, confidence), 4),
        agreement=round(agreeing, 4),
        details=chosen.details | {"value_text": f"{plain(mean)} {unit}".strip()},
        rationale=f"{chosen.rationale} Weighted mean of {len(answers)} answers.",
    )
