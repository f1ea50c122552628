"""Questions with answers, from a JSONL file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from okh.corpus.errors import CorpusError
from okh.domain import AnswerType, Question, slug


class Row(BaseModel):
    """One line of a questions file; fields it does not name are left alone."""

    model_config = ConfigDict(extra="ignore")

    question: str
    type: AnswerType
    answer: str
    storm: str | None = None
    year: int | None = None
    port: str | None = None
    lead: int | None = None
    choices: tuple[str, ...] = ()
    unit: str = ""
    id: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and the answer it should get."""

    question: Question
    gold: str
    unit: str = ""


def read_questions(path: str | Path) -> Iterator[Asked]:
    """Questions of a file, asked as of their lead.

    Raises ``CorpusError`` for the first line that is not a question.
    """
    file = Path(path)
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = Row.model_validate(json.loads(line))
            except (ValidationError, json.JSONDecodeError) as error:
                fields = ", ".join(Row.model_fields)
                raise CorpusError(
                    file.name, f"line {number}", "not a question with an answer",
                    f"Each line is a JSON object with {fields}.",
                ) from error
            yield _asked(row)


def _asked(row: Row) -> Asked:
    storm = slug(row.storm).upper() if row.storm else None
    port = slug(row.port) if row.port else None
    question = Question(
        text=row.question, type=row.type, choices=row.choices, storm=storm, year=row.year,
        port=port, lead=row.lead, as_of=row.lead, id=row.id,
    )
    return Asked(question, row.answer, row.unit)
