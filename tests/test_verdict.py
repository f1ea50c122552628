"""Right and wrong answers (§4)."""

from __future__ import annotations

import pytest

from okh.domain import NOT_STATED, Answer, AnswerType
from okh.evaluation.verdict import verdict


@pytest.mark.parametrize(("kind", "said", "gold", "unit", "expected"), [
    ("TF", "Yes", "yes", "", True),
    ("TF", "No", "Yes", "", False),
    ("MC", "B", "B", "", True),
    ("MC", "B", "b", "", True),
    ("SA", "85", "85.0", "mph", True),
    ("SA", "86", "85", "mph", True),
    ("SA", "87", "85", "mph", False),
    ("SA", "49", "48", "h", False),
    ("SA", "21", "20%", "%", True),
    ("SA", "22", "20%", "%", False),
    ("SA", "25.8N, 80.2W", "25.9N 80.2W", "", True),
    ("SA", "25.8N, 80.2W", "25.8N 80.2E", "", False),
    ("SA", "WNW", "wnw", "", True),
    ("SA", "2 to 4", "2 to 5", "ft", False),
    ("SA", '{"in 12h": "2%", "in 24h": "<1%"}', "{'in 24h': '0%', 'in 12h': '3%'}", "", True),
    ("SA", '{"in 12h": "2%"}', "{'in 24h': '0%', 'in 12h': '3%'}", "", False),
    ("SA", '{"in 12h": "2%", "in 24h": "9%"}', "{'in 24h': '0%', 'in 12h': '3%'}", "", False),
    ("SA", NOT_STATED, "12", "", False),
    ("SA", NOT_STATED, NOT_STATED, "", True),
    ("TD", "Winds rise.", "Winds will rise.", "", None),
])
def test_verdict(kind: str, said: str, gold: str, unit: str, expected: bool | None) -> None:
    answer = Answer(said, AnswerType(kind), 1.0, "")
    assert verdict(answer, gold, unit) is expected
