"""Reading by a language model: all trajectories in one prompt, or a vote among them (§3.3, A.8)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from okh.domain import (
    NOT_STATED,
    Answer,
    AnswerType,
    Entity,
    Hyperedge,
    Question,
    Trajectory,
    digest,
    horizon_label,
)
from okh.extraction.repair import NoJson, find_json, read_scalar, read_share
from okh.generation.answering import answer_type, edge_details
from okh.generation.quantities import convert, dimension, plain, quantities, span_text, unit_of
from okh.generation.reader import Mode, combine
from okh.generation.shown import Shown, show
from okh.generation.target import target
from okh.llm.dialog import Ask, Notes, ReplyRejected, Unusable, converse
from okh.llm.prompts import Prompt, load_prompt, mark
from okh.llm.protocol import ChatClient, Reply

VERSION = "1"
"""Raise when the same reply would be read as another answer."""

TOKEN_BUDGET = 6_000
"""Tokens of evidence in one prompt."""

_MAX_ANSWER = 4_000
_NOT_STATED = frozenset({
    NOT_STATED, "not given", "not specified", "not mentioned", "not available", "unknown", "n/a",
    "none stated", "cannot be determined", "insufficient evidence",
})
_YES_NO = {"yes": "Yes", "true": "Yes", "no": "No", "false": "No"}


class ReadingRejected(ReplyRejected):
    """A question whose replies were never usable, with the last one in ``reply``."""


@dataclass(frozen=True, slots=True)
class _Said:
    """A reply that passed the checks of its type; trajectory and step count from 1, 0 is none."""

    value: str
    unit: str
    text: str
    confidence: float
    rationale: str
    trajectory: int
    step: int
    agreeing: frozenset[int]


class OpenAIReader:
    """Any model behind a :class:`okh.llm.protocol.ChatClient`; satisfies ``Reader``.

    Parameters
    ----------
    client
        Makes the calls; its errors pass through.
    token_budget
        Estimated tokens of evidence in one prompt. What does not fit is dropped in whole
        steps from the weakest trajectory first; the prompt and the answer's details say so.
    mode
        ``"joint"``: all trajectories in one prompt; if no reply to it is usable, the vote.
        ``"vote"``: one prompt and answer for each trajectory, then
        :func:`okh.generation.reader.combine`.
    labels, summary
        Whether horizons and quality summaries are shown (Table 2).
    observe
        Called with each question and what its calls took. May be called from several threads.
    """

    name = "openai"

    def __init__(
        self, client: ChatClient, token_budget: int = TOKEN_BUDGET, mode: Mode = "joint", *,
        labels: bool = True, summary: bool = True, prompt: Prompt | None = None,
        observe: Callable[[Question, Notes], None] | None = None,
    ) -> None:
        if token_budget < 1:
            raise ValueError("the token budget must be positive: give 1,000 or more")
        self._client, self._budget, self._mode = client, token_budget, mode
        self._labels, self._summary, self._observe = labels, summary, observe
        self._prompt = prompt or load_prompt("okh.generation", "read_v1")

    @cached_property
    def version(self) -> str:
        """``openai-`` and twelve hex digits over client, prompt, budget, mode and rules."""
        return "openai-" + digest(
            self._client.identity, self._prompt.version, VERSION, str(self._budget), self._mode,
            str(self._labels), str(self._summary),
        )[:12]

    def read(
        self, question: Question, trajectories: Sequence[Trajectory],
        entities: Mapping[str, Entity],
    ) -> Answer:
        """See :class:`okh.generation.reader.Reader`. Without any step no call is made.

        Raises
        ------
        ReadingRejected
            No reply was usable, neither to the joint prompt nor for any one trajectory.
        okh.llm.errors.LlmError
            The client's errors.
        """
        full = [i for i, t in enumerate(trajectories) if t.edges]
        if not full:
            kind = answer_type(question)
            return Answer(NOT_STATED, kind, 0.0, "No evidence was retrieved.")
        if self._mode == "vote":
            return self._vote(question, trajectories, entities, full)
        try:
            return self._ask(question, trajectories, entities, full)
        except ReadingRejected:
            if len(full) < 2:
                raise
            answer = self._vote(question, trajectories, entities, full)
            return replace(answer, details=answer.details | {"fallback": "vote"})

    def _vote(
        self, question: Question, trajectories: Sequence[Trajectory],
        entities: Mapping[str, Entity], full: Sequence[int],
    ) -> Answer:
        """One answer for each trajectory, combined; a trajectory without a usable reply is out."""
        answers: list[Answer] = []
        failed: ReadingRejected | None = None
        for index in full:
            try:
                answers.append(self._ask(question, trajectories, entities, [index]))
            except ReadingRejected as rejected:
                failed = rejected
        if failed is not None and not answers:
            raise failed
        answer = combine(answers)
        counted = {"answers": f"{len(answers)} of {len(full)}"}
        return replace(answer, details=answer.details | counted)

    def _ask(
        self, question: Question, trajectories: Sequence[Trajectory],
        entities: Mapping[str, Entity], indices: Sequence[int],
    ) -> Answer:
        """The answer to one prompt with these trajectories."""
        kind = answer_type(question)
        wanted = target(question).unit
        shown = show(
            [trajectories[i] for i in indices], entities, self._budget,
            labels=self._labels, summary=self._summary,
        )
        left_out = f"Left out for length: {shown.left_out}." if shown.left_out else ""
        opening = self._prompt.messages(
            question=_question_text(question, kind, wanted), evidence=shown.text,
            form=self._prompt.note(f"form_{kind.value.lower()}"), left_out=left_out,
            mark=mark(shown.text),
        )
        context = {"asset": "reading"} | (
            {"group": question.group.key} if question.group is not None else {}
        )
        ask = Ask("reading", reply_schema(kind, question.choices), "answer", context=context)
        notes = Notes()
        try:
            outcome = converse(
                self._client, self._prompt, opening, ask,
                lambda reply: _read(reply, question, kind, wanted, shown), "reading",
            )
            notes = outcome.notes
        except ReplyRejected as rejected:
            notes = rejected.notes
            raise ReadingRejected(
                "reading", rejected.reply, rejected.problem, rejected.notes
            ) from rejected
        finally:
            if self._observe is not None:
                self._observe(question, notes)
        return _answer(question, kind, trajectories, indices, shown, outcome.value, notes)


def reply_schema(kind: AnswerType, choices: Sequence[str]) -> dict[str, object]:
    """The strict JSON schema of a reply. The rationale comes first: reasons before the answer."""
    allowed = {
        AnswerType.TF: ["Yes", "No", NOT_STATED],
        AnswerType.MC: [*_letters(choices), NOT_STATED] if choices else [],
    }.get(kind, [])
    text: dict[str, object] = {"type": "string"}
    properties: dict[str, object] = {
        "rationale": text, "answer": {**text, "enum": allowed} if allowed else text, "unit": text,
        "confidence": {"type": "number"}, "trajectory": {"type": "integer"},
        "step": {"type": "integer"}, "agreeing": {"type": "array", "items": {"type": "integer"}},
    }
    return {
        "type": "object", "properties": properties, "required": list(properties),
        "additionalProperties": False,
    }


def _letters(choices: Sequence[str]) -> list[str]:
    return [chr(ord("A") + i) for i in range(len(choices))]


def _question_text(question: Question, kind: AnswerType, unit: str) -> str:
    """The question with its context, one line each."""
    lines = [f"Question: {' '.join(question.text.split())}"]
    lines += [f"{letter}) {' '.join(choice.split())}" for letter, choice in
              zip(_letters(question.choices), question.choices, strict=True)]
    told = {
        "Storm": f"{question.storm or ''} {question.year or ''}".strip(),
        "Port": question.port or "",
        "Asked about": horizon_label(question.lead) if question.lead is not None else "",
        "Asked at": horizon_label(question.as_of) if question.as_of is not None else "",
        "Unit asked for": unit if kind is AnswerType.SA else "",
    }
    return "\n".join([*lines, *(f"{name}: {value}" for name, value in told.items() if value)])


# --- from a reply to an answer ----------------------------------------------------------


def _read(
    reply: Reply, question: Question, kind: AnswerType, wanted: str, shown: Shown
) -> tuple[_Said, tuple[str, ...]]:
    """The checked reply. Raises :class:`Unusable` for what the type does not allow."""
    try:
        found = find_json(reply.text, lambda v: isinstance(v, dict) and "answer" in v)
    except NoJson as problem:
        short = " It was cut off: keep the rationale short." if (
            reply.finish_reason == "length") else ""
        raise Unusable(f"{problem}.{short}") from problem
    assert isinstance(found.value, dict)
    said = found.value
    answer = said.get("answer")
    told = json.dumps(answer) if isinstance(answer, dict) and answer else read_scalar(answer)
    confidence = read_share(said.get("confidence"))
    if not told or len(told) > _MAX_ANSWER:
        raise Unusable("answer: a text is wanted")
    if confidence is None:
        raise Unusable("confidence: a number from 0 to 1 is wanted")
    rationale = (read_scalar(said.get("rationale")) or "")[:_MAX_ANSWER]
    if told.casefold().strip(" .\"'") in _NOT_STATED:
        nothing = _Said(NOT_STATED, "", NOT_STATED, confidence, rationale, 0, 0, frozenset())
        return nothing, found.mended
    trajectory, step = _place(said, shown)
    value, unit, text = _typed(kind, told, read_scalar(said.get("unit")) or "", question, wanted)
    agreeing = _agreeing(said.get("agreeing"), len(shown.sources))
    return _Said(value, unit, text, confidence, rationale, trajectory, step, agreeing), found.mended


def _place(said: Mapping[str, object], shown: Shown) -> tuple[int, int]:
    """Deciding trajectory and step; a lone trajectory need not be named."""
    count = len(shown.sources)
    trajectory = _index(said.get("trajectory"), count, "trajectory")
    trajectory = 1 if trajectory == 0 and count == 1 else trajectory
    if trajectory == 0:
        raise Unusable(f"trajectory: the deciding one is wanted, 1 to {count}")
    return trajectory, _index(said.get("step"), len(shown.sources[trajectory - 1][1]), "step")


def _index(value: object, most: int, name: str) -> int:
    """A number from 0 to ``most``; null, and a text of a number, are understood."""
    if value is None:
        return 0
    if isinstance(value, str) and (digits := re.search(r"\d+", value)):
        value = int(digits[0])
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most:
        return value
    raise Unusable(f"{name}: a whole number up to {most} is wanted")


def _agreeing(value: object, count: int) -> frozenset[int]:
    items = value if isinstance(value, list) else []
    return frozenset(i for i in items if type(i) is int and 1 <= i <= count)


def _typed(
    kind: AnswerType, told: str, unit: str, question: Question, wanted: str
) -> tuple[str, str, str]:
    """(value, unit, value in words) of an answer of this type."""
    if kind is AnswerType.TF:
        word = re.match(r"\W*(yes|no|true|false)\b", told, re.IGNORECASE)
        if word is None:
            raise Unusable('answer: "Yes", "No" or "not stated" is wanted')
        return _YES_NO[word[1].lower()], "", told
    if kind is AnswerType.MC and question.choices:
        letter = _choice(told, question.choices)
        return letter, "", question.choices[ord(letter) - ord("A")]
    return _short(told, unit, wanted) if kind is AnswerType.SA else (told, "", told)


def _choice(told: str, choices: Sequence[str]) -> str:
    """The letter of a choice, given as letter, as letter and words, or as words."""
    words = [" ".join(c.split()).casefold().strip(" .") for c in choices]
    if told.casefold().strip(" .") in words:
        return _letters(choices)[words.index(told.casefold().strip(" ."))]
    letter = re.match(r"\W*([A-Z])(?:\W*$|[).:]|\s+-\s)", told, re.IGNORECASE)
    if letter and letter[1].upper() in _letters(choices):
        return letter[1].upper()
    raise Unusable(f"answer: one letter from A to {_letters(choices)[-1]} is wanted")


def _short(told: str, unit: str, wanted: str) -> tuple[str, str, str]:
    """A lone number or range in the unit wanted, its upper end as the value; else as told."""
    found = list(quantities(told))
    whole = len(found) == 1 and (found[0].start, found[0].end) == (0, len(told))
    if not whole or abs(found[0].low) == float("inf") or abs(found[0].high) == float("inf"):
        return told, unit_of(unit) or unit, told
    low, high, own = found[0].low, found[0].high, found[0].unit or unit_of(unit) or unit
    if wanted and own != wanted and dimension(own) and dimension(own) == dimension(wanted):
        digits = 0 if dimension(wanted) in ("speed", "pressure") else 1
        low, high = (round(convert(end, own, wanted), digits) for end in (low, high))
        own = wanted
    return plain(high), own, f"{span_text(low, high)} {own}".strip()


def _answer(
    question: Question, kind: AnswerType, trajectories: Sequence[Trajectory],
    indices: Sequence[int], shown: Shown, said: _Said, notes: Notes,
) -> Answer:
    """The answer, with trajectory and step as the caller numbers them."""
    trajectory = step = None
    edge: Hyperedge | None = None
    if said.trajectory:
        among, steps = shown.sources[said.trajectory - 1]
        trajectory = indices[among]
        if said.step:
            step = steps[said.step - 1]
            edge = trajectories[trajectory].edges[step]
    details = edge_details(question, edge) if edge is not None else {}
    details |= _told(kind, said, shown, notes)
    stating = said.agreeing | {said.trajectory} - {0}
    agreement = len(stating) / len(shown.sources)
    return Answer(
        said.value, kind, said.confidence, said.rationale, trajectory, step,
        round(agreement, 4), details,
    )


def _told(kind: AnswerType, said: _Said, shown: Shown, notes: Notes) -> dict[str, str]:
    told = {
        "unit": said.unit, "value_text": said.text,
        "choice": said.text if kind is AnswerType.MC and said.value != NOT_STATED else "",
        "evidence_tokens": str(shown.tokens), "left_out": shown.left_out,
        "level": notes.level, "model": notes.model, "mended": json.dumps(notes.mended)
        if notes.mended else "",
    }
    return {key: value for key, value in told.items() if value}
