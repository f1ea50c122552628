"""A reply that was cut off loses no fact: it is divided between sentences, or asked for again."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from okh.extraction.openai_extractor import ExtractionRejected, OpenAIExtractor
from tests.benchmarks.llm_overhead import section_of
from tests.fake_chat import Call, FakeChat, reply
from tests.test_mixed_extractor import ADVISORY

FIRST = "Marenga was moving west near 9 mph over the open water, and a turn is not in sight\nyet."
SECOND = "The minimum central pressure is 971 mb, as a plane of the reserve found out\nat noon."


def fact(sentence: str) -> dict[str, object]:
    return {"evidence": sentence, "relation": "has_motion", "entities": [], "attributes": [],
            "confidence": 1}


def whole(*sentences: str) -> str:
    return json.dumps({"facts": [fact(s) for s in sentences]})



def test_one_sentence_is_asked_for_again() -> None:
    cut = reply(whole(FIRST, FIRST)[:-60], finish_reason="length")
    chat = FakeChat([cut, whole(FIRST)])
    facts = OpenAIExtractor(chat).extract(replace(ADVISORY, text=FIRST, end=len(FIRST)))
    assert [f.evidence for f in facts] == [FIRST]
    assert "cut off" in chat.calls[1].last


def test_one_sentence_that_is_always_cut_off_is_rejected() -> None:
    chat = FakeChat(lambda call: reply(whole(FIRST)[:-60], finish_reason="length"))
    with pytest.raises(ExtractionRejected, match="cut off"):
        OpenAIExtractor(chat).extract(replace(ADVISORY, text=FIRST, end=len(FIRST)))
    assert len(chat.calls) == 3


def test_pieces_end_where_sentences_do() -> None:
    text = f"{FIRST} {SECOND}"

    def script(call: Call) -> object:
        section = section_of(call.last)
        told = whole(*(s for s in (FIRST, SECOND) if s in section))
        return reply(told[:-60], finish_reason="length") if section == text else told

    chat = FakeChat(script)  # type: ignore[arg-type]
    facts = OpenAIExtractor(chat).extract(replace(ADVISORY, text=text, end=len(text)))
    assert [f.evidence for f in facts] == [FIRST, SECOND]
