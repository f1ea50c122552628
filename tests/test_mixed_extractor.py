"""Rules and a model side by side, and replies that outlive a crash."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from okh.domain import Block, DocumentKind, Fact, OkhError
from okh.extraction.extractor import Billed
from okh.extraction.mixed import MixedExtractor, part_of
from okh.extraction.openai_extractor import ExtractionRejected, OpenAIExtractor
from okh.extraction.rules import RulesExtractor
from okh.llm.breaker import FIRST_S, Breaker
from okh.llm.errors import CircuitOpen
from okh.llm.recall import RecallingClient
from orchestration.settings import read_settings
from storage.home import Home
from storage.replies import Replies
from tests.fake_chat import FakeChat

ADVISORY = Block(
    id="b1", document="d", source_kind="products", kind="advisory", section="discussion",
    seq=0, text="Marenga was moving west near 9 mph.", start=0, end=35, storm="MARENGA", year=2036,
)
TABLE = replace(ADVISORY, id="b2", kind="wind_table", section="location", text="QUAY 34 X X(X)")
NOTHING = '{"facts": []}'


class Counting:
    """An extractor that finds nothing and counts."""

    name, workers = "counting", 4

    def __init__(self, version: str) -> None:
        self.version, self.seen = version, list[str]()

    def extract(self, block: Block) -> list[Fact]:
        self.seen.append(block.id)
        return []


def test_each_kind_has_its_part() -> None:
    model, rules = Counting("m1"), Counting("r1")
    mixed = MixedExtractor(model, rules)
    mixed.extract(ADVISORY)
    mixed.extract(TABLE)
    assert model.seen == ["b1"] and rules.seen == ["b2"]
    assert part_of(mixed, TABLE) is rules and part_of(mixed, ADVISORY) is model
    assert part_of(model, TABLE) is model
    assert (mixed.name, mixed.workers) == ("counting", 4)


def test_the_version_covers_both_and_the_kinds() -> None:
    kinds: tuple[DocumentKind, ...] = ("wind_table", "bulletin")
    versions = {
        MixedExtractor(Counting("m1"), Counting("r1")).version,
        MixedExtractor(Counting("m2"), Counting("r1")).version,
        MixedExtractor(Counting("m1"), Counting("r2")).version,
        MixedExtractor(Counting("m1"), Counting("r1"), kinds).version,
    }
    assert len(versions) == 4


def test_only_a_model_is_billed() -> None:
    assert isinstance(OpenAIExtractor(FakeChat()), Billed)
    assert not isinstance(RulesExtractor(), Billed)


def test_kinds_from_the_environment() -> None:
    assert read_settings({}).rules_for == ("wind_table",)
    assert read_settings({"OKH_RULES_FOR": "none"}).rules_for == ()
    assert read_settings({"OKH_RULES_FOR": "bulletin, wind_table"}).rules_for == (
        "bulletin", "wind_table",
    )
    with pytest.raises(OkhError, match="OKH_RULES_FOR lists"):
        read_settings({"OKH_RULES_FOR": "tables"})


@pytest.fixture
def replies(tmp_path: Path) -> Replies:
    return Replies(Home.open(tmp_path, create=True))


def test_a_dialog_is_taken_up_where_it_was_cut_off(replies: Replies) -> None:
    """The process dies in the repair turn: the first reply is not paid for again."""

    class Killed(Exception):
        pass

    chat = FakeChat()

    def script(call: object) -> str:
        if len(chat.calls) == 2:
            raise Killed
        return "no JSON" if len(chat.calls) == 1 else NOTHING

    chat.script = script
    extractor = OpenAIExtractor(chat, replies=replies)
    with pytest.raises(Killed):
        extractor.extract(ADVISORY)
    assert extractor.extract(ADVISORY) == []
    assert len(chat.calls) == 3
    first, *repairs = chat.calls
    assert first.purpose == "extraction"
    assert [call.purpose for call in repairs] == ["extraction-repair"] * 2


def test_a_rejected_block_is_not_paid_for_again_until_forgotten(replies: Replies) -> None:
    chat = FakeChat(lambda call: "no JSON")
    extractor = OpenAIExtractor(chat, replies=replies)
    for _ in range(2):
        with pytest.raises(ExtractionRejected) as caught:
            extractor.extract(ADVISORY)
    assert len(chat.calls) == 3
    assert caught.value.reply == "no JSON" and caught.value.notes.cost == 0
    assert replies.scopes() == {ADVISORY.content_key: 3}
    extractor.forget(ADVISORY)
    assert replies.scopes() == {}
    with pytest.raises(ExtractionRejected):
        extractor.extract(ADVISORY)
    assert len(chat.calls) == 6


def test_calls_for_no_block_are_not_kept(replies: Replies) -> None:
    chat = FakeChat(lambda call: NOTHING)
    client = RecallingClient(chat, replies)
    for _ in range(2):
        client.chat([{"role": "user", "content": "?"}], purpose="reading")
    assert len(chat.calls) == 2 and replies.scopes() == {}
    assert client.embed(["a"], purpose="embedding")[1].tokens_in == 1


def test_an_endpoint_nobody_could_reach_is_given_up_sooner() -> None:
    now = 0.0
    breaker = Breaker("host", failures=3, after_s=10, rest_s=30, clock=lambda: now)
    for _ in range(4):
        breaker.failed("could not be reached", reached=False)
    breaker.check()
    now = FIRST_S
    breaker.failed("could not be reached", reached=False)
    with pytest.raises(CircuitOpen):
        breaker.check()
    breaker.wait(3600)  # whoever waits for another attempt is woken
