"""Judges of free-text answers (§4.1): a language model, or a pinned embedder offline.

A score means nothing without its judge, so each carries the judge's label and the
version of its rubric.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from okh.domain import NOT_STATED, Question
from okh.embedding.embedder import Embedder
from okh.extraction.extractor import fold
from okh.extraction.repair import NoJson, find_json, read_scalar, read_share
from okh.llm.dialog import Ask, ReplyRejected, Unusable, converse
from okh.llm.prompts import Prompt, load_prompt, mark
from okh.llm.protocol import ChatClient, Reply

COSINE_RUBRIC = "cosine-1"
"""Rubric version of :class:`CosineJudge`: cosine of unit vectors, nothing below zero."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A graded answer.

    Attributes
    ----------
    score
        In [0, 1].
    judge
        Which judge with which model or embedder: shown with every figure made of it.
    rubric
        Version of what it grades by.
    floor
        Score of an answer known to be wrong (another storm's), where one was given:
        what a score has to be read against.
    reason
        The judge's own words, if any.
    """

    score: float
    judge: str
    rubric: str
    floor: float | None = None
    reason: str = ""


class Judge(Protocol):
    """Anything that grades a free-text answer against its reference."""

    @property
    def label(self) -> str: ...

    @property
    def rubric(self) -> str: ...

    def judge(
        self, question: Question, gold: str, answer: str, *, wrong: str | None = None
    ) -> Judgement:
        """The score of ``answer``; with ``wrong`` also that of an answer known to be wrong."""
        ...


class JudgementRejected(ReplyRejected):
    """An answer that could not be graded: no reply of the judge was usable."""


def _plainly(gold: str, answer: str) -> tuple[float, str] | None:
    """The score where no judge is needed: equal texts, and what only one of them leaves unsaid."""
    said, wanted = fold(answer).strip(" ."), fold(gold).strip(" .")
    if said == wanted:
        return 1.0, "says the same"
    if not said or NOT_STATED in (said, wanted):
        return 0.0, "only one of the two states something"
    return None


class OpenAIJudge:
    """A model behind a :class:`okh.llm.protocol.ChatClient`, by a versioned rubric.

    Answers equal to the reference, and those that state nothing, cost no call.
    """

    def __init__(self, client: ChatClient, *, prompt: Prompt | None = None) -> None:
        self._client = client
        self._prompt = prompt or load_prompt("okh.evaluation", "judge_v1")

    @property
    def label(self) -> str:
        """``openai:`` and the client's identity."""
        return f"openai:{self._client.identity}"

    @property
    def rubric(self) -> str:
        """Name and version of the rubric's prompt."""
        return f"{self._prompt.name}-{self._prompt.version}"

    def judge(
        self, question: Question, gold: str, answer: str, *, wrong: str | None = None
    ) -> Judgement:
        """See :class:`Judge`.

        Raises
        ------
        JudgementRejected
            No reply was usable, two repair turns included.
        okh.llm.errors.LlmError
            The client's errors.
        """
        score, reason = self._grade(question, gold, answer)
        floor = None if wrong is None else self._grade(question, gold, wrong)[0]
        return Judgement(score, self.label, self.rubric, floor, reason)

    def _grade(self, question: Question, gold: str, answer: str) -> tuple[float, str]:
        plain = _plainly(gold, answer)
        if plain is not None:
            return plain
        texts = {"question": question.text, "gold": gold, "answer": answer}
        opening = self._prompt.messages(**texts, mark=mark("\0".join(texts.values())))
        ask = Ask("judging", GRADE_SCHEMA, "grade", context={"asset": "evaluation"})
        try:
            return converse(self._client, self._prompt, opening, ask, _read, "judging").value
        except ReplyRejected as rejected:
            raise JudgementRejected(
                "judging", rejected.reply, rejected.problem, rejected.notes
            ) from rejected


GRADE_SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "score": {"type": "number"}},
    "required": ["reason", "score"],
    "additionalProperties": False,
}
"""Strict schema of a grade; the reason comes first, so that it leads to the score."""


def _read(reply: Reply) -> tuple[tuple[float, str], tuple[str, ...]]:
    try:
        found = find_json(reply.text, lambda v: isinstance(v, dict) and "score" in v)
    except NoJson as problem:
        raise Unusable(str(problem)) from problem
    assert isinstance(found.value, dict)
    given = found.value["score"]
    score = None if given is None else read_share(given)
    if score is None:
        raise Unusable("score: a number from 0 to 1 is wanted")
    return (score, read_scalar(found.value.get("reason")) or ""), found.mended


class CosineJudge:
    """Offline: the cosine between the embedded answer and the embedded reference.

    It sees likeness of words, not truth; without a floor its score says little.

    Parameters
    ----------
    embedder
        A pinned one.
    retrieval
        Version of the embedder that retrieved the evidence.

    Raises
    ------
    ValueError
        The two are the same: an answer would be graded by what chose its evidence.
    """

    rubric = COSINE_RUBRIC

    def __init__(self, embedder: Embedder, *, retrieval: str = "") -> None:
        if retrieval and embedder.version == retrieval:
            raise ValueError(
                f"the judge's embedder {embedder.version} is the one that retrieves: "
                "pin another one for judging"
            )
        self._embedder = embedder

    @property
    def label(self) -> str:
        """``cosine:`` and the embedder's version."""
        return f"cosine:{self._embedder.version}"

    def judge(
        self, question: Question, gold: str, answer: str, *, wrong: str | None = None
    ) -> Judgement:
        """See :class:`Judge`. The question itself is not looked at."""
        score, reason = self._grade(gold, answer)
        floor = None if wrong is None else self._grade(gold, wrong)[0]
        return Judgement(score, self.label, self.rubric, floor, reason)

    def _grade(self, gold: str, answer: str) -> tuple[float, str]:
        plain = _plainly(gold, answer)
        if plain is not None:
            return plain
        wanted, said = self._embedder.embed([gold, answer])
        return min(1.0, max(0.0, float(wanted @ said))), "cosine"
