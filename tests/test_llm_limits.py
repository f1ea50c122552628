"""Limits, prices, token counts, settings: the parts of the client that need no endpoint."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from okh.llm import wire
from okh.llm.breaker import Breaker
from okh.llm.budget import Budget
from okh.llm.errors import BudgetExceeded, CircuitOpen
from okh.llm.limiter import WINDOW_S, RateLimiter
from okh.llm.prices import PriceError, Prices
from okh.llm.settings import LlmSettings
from okh.llm.tokens import MARGIN, count_message_tokens, count_tokens


class Clock:
    """Moves when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds


# --- requests and tokens per minute -----------------------------------------------------

_STEP = st.tuples(
    st.integers(1, 120),  # tokens
    st.integers(0, 40),  # seconds until the next
    st.sampled_from([0, 0, 0, 90]),  # a pause that the endpoint asks for
)


@given(st.lists(_STEP, max_size=40), st.integers(1, 6), st.integers(50, 200))
def test_no_minute_sees_more_than_the_limits(
    steps: list[tuple[int, int, int]], requests: int, tokens: int
) -> None:
    clock = Clock()
    limiter = RateLimiter(
        requests_per_minute=requests, tokens_per_minute=tokens, clock=clock, sleep=clock.sleep
    )
    grants = []
    for asked, gap, pause in steps:
        clock.now += gap
        if pause:
            limiter.pause(pause)
            resume = clock.now + pause
        grants.append(limiter.acquire(asked))
        if pause:
            assert grants[-1].at >= resume
    for last in grants:
        window = [g for g in grants if last.at - WINDOW_S < g.at <= last.at]
        assert len(window) <= requests
        assert sum(g.tokens for g in window) <= tokens or len(window) == 1


def test_what_was_not_used_is_free_again() -> None:
    clock = Clock()
    limiter = RateLimiter(tokens_per_minute=100, clock=clock, sleep=clock.sleep)
    grant = limiter.acquire(100)
    limiter.settle(grant, 10)
    assert limiter.acquire(90).at == 0
    assert limiter.acquire(1).at == WINDOW_S


def test_without_limits_nobody_waits() -> None:
    limiter = RateLimiter(clock=Clock(), sleep=lambda s: pytest.fail("slept"))
    assert [limiter.acquire(10**6).at for _ in range(1000)] == [0] * 1000


# --- circuit breaker --------------------------------------------------------------------


def test_the_breaker_opens_rests_probes_and_closes() -> None:
    clock = Clock()
    breaker = Breaker("host", failures=3, after_s=10, rest_s=30, clock=clock)
    for _ in range(8):  # many calls that meet one short outage
        breaker.failed("status 500")
    breaker.check()
    clock.now = 10
    breaker.failed("status 500")
    with pytest.raises(CircuitOpen, match=r"host failed 9 times.*status 500"):
        breaker.check()
    clock.now = 41
    breaker.check()  # the probe
    with pytest.raises(CircuitOpen):
        breaker.check()  # others wait for its end
    breaker.failed("cut")
    with pytest.raises(CircuitOpen):
        breaker.check()
    clock.now = 80
    breaker.check()
    breaker.succeeded()
    breaker.check()
    breaker.failed("status 500")
    breaker.check()


# --- budget -----------------------------------------------------------------------------


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=30), st.floats(0, 5))
def test_spending_stays_within_the_budget(
    calls: list[tuple[float, float]], limit: float
) -> None:
    budget = Budget(limit)
    for most, share in calls:
        try:
            with budget.reserve(most) as reservation:
                reservation.settle(most * share)
        except BudgetExceeded:
            assert budget.spent + most > limit
    assert budget.spent <= limit


def test_a_call_waits_for_the_true_cost_of_those_in_flight() -> None:
    budget = Budget(1.0)
    first = budget.reserve(0.9)
    thread = threading.Thread(target=lambda: budget.reserve(0.8).settle(0.8))
    thread.start()
    first.settle(0.1)
    thread.join(5)
    assert budget.spent == pytest.approx(0.9)
    with pytest.raises(BudgetExceeded, match=r"\$0.9000 of the budget of \$1 are"):
        budget.reserve(0.2)


# --- prices -----------------------------------------------------------------------------


def test_every_packaged_price_is_dated_and_plausible() -> None:
    prices = Prices.load()
    for model in ("gpt-4o", "gpt-4o-mini", "gpt-4.1", "text-embedding-3-small"):
        price = prices.of(model)
        assert price is not None and price.as_of
        assert 0 < price.cached_input <= price.input
    assert prices.cost("gpt-4o", 1_000_000, 100_000) == pytest.approx(3.5)
    assert prices.cost("gpt-4o", 1_000_000, 0, 400_000) == pytest.approx(2.0)
    assert prices.cost("gpt-4o", 1_000_000, 0, batch=True) == pytest.approx(1.25)


def test_a_snapshot_costs_what_its_model_costs_and_others_nothing_known() -> None:
    prices = Prices.load()
    assert prices.of("gpt-4o-2024-08-06") == prices.of("gpt-4o")
    assert prices.of("gpt-4o-2024-05-13") != prices.of("gpt-4o")
    assert prices.cost("gpt-4o-audio-preview", 1, 1) is None
    assert prices.cost("llama3.3:70b", 1, 1) is None


def test_a_users_table_goes_over_the_list(tmp_path: Path) -> None:
    own = tmp_path / "prices.csv"
    own.write_text("﻿model,input,cached_input,output,note\nllama,0,,0,ours\ngpt-4o,2,,9,\n\n")
    prices = Prices.load(own)
    assert prices.cost("llama", 10**6, 10**6) == 0
    assert prices.cost("gpt-4o", 10**6, 10**6, 10**6) == pytest.approx(11)
    assert prices.of("gpt-4o-mini") == Prices.load().of("gpt-4o-mini")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model,input\nx,1\n", "has no column cached_input, output"),
        ("model,input,cached_input,output\nx,1,,2\ny,cheap,,2\n", "line 3: input"),
        ("model,input,cached_input,output\nx,-1,,2\n", "line 2: input"),
        ("model,input,cached_input,output\nx,1,nan,2\n", "line 2: cached_input"),
        ("", "has no column"),
    ],
)
def test_a_wrong_table_names_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    own = tmp_path / "mine.csv"
    own.write_text(text)
    with pytest.raises(PriceError, match=rf"mine\.csv.*{message}"):
        Prices.load(own)
    with pytest.raises(PriceError, match="cannot be read"):
        Prices.load(tmp_path / "none.csv")


# --- tokens -----------------------------------------------------------------------------

# Our own texts, and what o200k_base makes of them (counted with bpe-openai 0.1.4).
COUNTED = [
    (
        "At 400 PM CDT (2100 UTC), the center of Hurricane Maribel was located near latitude\n"
        "27.4 North, longitude 93.8 West. Maribel is moving toward the north-northwest near\n"
        "12 mph (19 km/h), and a turn toward the north is expected on Friday. Maximum\n"
        "sustained winds are near 105 mph (165 km/h) with higher gusts. A Hurricane Warning\n"
        "is in effect from Sabine Pass to Port Fourchon Louisiana.\n",
        101,
    ),
    (
        "BULLETIN\nHURRICANE MARIBEL ADVISORY NUMBER  14\n"
        "NATIONAL HURRICANE CENTER MIAMI FL\n"
        "SUMMARY OF WATCHES AND WARNINGS IN EFFECT...\n"
        "A STORM SURGE WARNING IS IN EFFECT FOR CALCASIEU LAKE...VERMILION BAY.\n",
        63,
    ),
    (
        "LOCATION       KT\n"
        "LAKE CHARLES   34  2   5( 7)  21(28)  30(58)   6(64)   1(65)   X(65)\n"
        "LAKE CHARLES   50  X   1( 1)   8( 9)  19(28)   4(32)   X(32)   X(32)\n"
        "PORT ARTHUR    64  X   X( X)   2( 2)   7( 9)   2(11)   X(11)   X(11)\n",
        139,
    ),
    (
        "The captain of the port decides how early the terminals close, since ships need most "
        "of a day to leave the channel. Pilots stop boarding when the swell at the sea buoy "
        "grows beyond what their launches can safely meet.\n",
        44,
    ),
    (
        '{"type":"object","properties":{"facts":{"type":"array","items":{"type":"object",'
        '"properties":{"relation":{"type":"string","enum":["has_motion","forecasts_landfall"]},'
        '"confidence":{"type":"number"}},"required":["relation","confidence"],'
        '"additionalProperties":false}}}}',
        58,
    ),
]


@pytest.mark.parametrize(("text", "tokens"), COUNTED)
def test_the_estimate_is_near_the_tokenizer(text: str, tokens: int) -> None:
    assert count_tokens(text) == pytest.approx(tokens, rel=0.13)
    assert count_tokens(text) * MARGIN >= tokens


def test_the_estimate_over_all_of_them_is_nearer() -> None:
    assert sum(count_tokens(t) for t, _ in COUNTED) == pytest.approx(
        sum(n for _, n in COUNTED), rel=0.03
    )


@given(st.text(max_size=60), st.text(max_size=60))
def test_counts_are_monotone_enough(left: str, right: str) -> None:
    assert count_tokens(left) >= bool(left) * 0.5
    # A cut through a piece may cost: no more than a few tokens.
    assert count_tokens(left + right) <= count_tokens(left) + count_tokens(right) + 4


def test_messages_have_frames_and_schemas() -> None:
    message = {"role": "user", "content": "Hello there."}
    one = count_message_tokens([message])
    assert one == count_tokens("Hello there.") + 7
    assert count_message_tokens([message, message]) == 2 * one - 3
    assert count_message_tokens([message], {"type": "object"}) > one


# --- settings and headers ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("base_url", "localhost:11434/v1"),
        ("base_url", "https://me:hunter22@example.org/v1"),
        ("base_url", "https://example.org/v1?key=hunter22"),
        ("api_key", "hunter22 hunter22"),
        ("api_key", "hunter22\nx"),
        ("max_concurrency", 0),
        ("requests_per_minute", 0),
        ("hunter22", 1),
    ],
)
def test_wrong_settings_are_named_and_not_shown(name: str, value: object) -> None:
    with pytest.raises(ValidationError) as caught:
        LlmSettings(**{name: value})  # type: ignore[arg-type]
    assert name in str(caught.value)
    assert name == "hunter22" or "hunter22" not in str(caught.value)


def test_a_key_is_cleaned_and_hidden() -> None:
    settings = LlmSettings(api_key="  sk-abc\n", base_url="https://example.org/v1/ ")  # type: ignore[arg-type]
    assert settings.api_key is not None
    assert settings.api_key.get_secret_value() == "sk-abc"
    assert "sk-abc" not in repr(settings) + settings.model_dump_json() + settings.identity
    assert settings.base_url == "https://example.org/v1"
    assert LlmSettings(api_key=" ").api_key is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-4"}, None),
        ({"retry-after": "inf"}, None),
        ({}, None),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert wire.retry_after(headers) == seconds


def test_retry_after_as_a_date() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=50), usegmt=True)
    assert wire.retry_after({"retry-after": date}) == pytest.approx(50, abs=5)


@pytest.mark.parametrize(
    ("error", "parameter"),
    [
        ({"message": "Unsupported parameter: 'max_tokens' is … Use 'max_completion_tokens'"},
         "max_tokens"),
        ({"param": "temperature", "message": "no"}, "temperature"),
        ({"message": "Unrecognized request argument supplied: seed"}, "seed"),
        ({"message": "response_format json_schema is not available"}, "response_format"),
        ({"message": "the sea temperature at the buoy"}, ""),
        ({"param": "messages[1].content"}, ""),
        ("plain words", ""),
    ],
)
def test_what_a_refusal_is_about(error: object, parameter: str) -> None:
    found = wire.refusal(400, {"error": error}, "host", "m")
    assert getattr(found, "parameter", None) == parameter
    assert "sea" not in str(found)


@pytest.mark.parametrize(
    "payload", [None, [], {}, {"choices": []}, {"choices": [{"message": 3}]}, {"error": "x"}]
)
def test_a_broken_completion_is_told(payload: object) -> None:
    with pytest.raises(wire.Malformed):
        wire.read_completion(payload)


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [{"index": 0, "embedding": [1.0]}],
        [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}],
        [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 2.0]}],
        [{"index": 0, "embedding": []}, {"index": 1, "embedding": []}],
    ],
)
def test_broken_embeddings_are_told(rows: list[dict]) -> None:
    with pytest.raises(wire.Malformed):
        wire.read_embeddings({"data": rows}, 2)


def test_content_in_parts_is_joined() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    said = wire.read_completion({"choices": [{"message": {"content": parts}}]})
    assert (said.text, said.finish_reason) == ("ab", "")
