"""Sample corpus: storms that never were, in the format of the real products.

Four invented storms at three real ports, each with six public advisories and six
wind speed probability tables; the port condition posts that go with them; a
scenario of a fifth storm; and a dozen questions with their answers. All of it was
written for this project.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["PORTS_CSV", "QUESTIONS", "SAMPLE_DIR", "demo_question", "documents", "questions"]

SAMPLE_DIR = Path(__file__).parent
"""Folder of the sample."""

QUESTIONS = SAMPLE_DIR / "questions.jsonl"
"""One question a line: question, type, choices, answer, unit, storm, year, port, lead, id and
what it ``tests`` (relation, attribute and scope of the facts that hold the answer)."""

PORTS_CSV = SAMPLE_DIR / "ports.csv"
"""The sample's ports: as a port table it keeps groups to these."""


def documents() -> list[Path]:
    """The sample's documents, without questions and port table, by name."""
    return sorted(
        path for path in SAMPLE_DIR.rglob("*")
        if path.suffix in (".txt", ".csv") and path != PORTS_CSV
    )


def questions() -> list[dict[str, Any]]:
    """The questions in the order of the file."""
    return [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]


def demo_question() -> dict[str, Any]:
    """The question that ``okh demo`` asks: its answer changes from horizon to horizon."""
    return next(question for question in questions() if question.get("demo"))
