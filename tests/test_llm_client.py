"""The client against a server on loopback: faults, limits, money, secrets."""

from __future__ import annotations

import logging
import random
import socket
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from okh.llm.client import (
    AuthError,
    BudgetExceeded,
    CallFailed,
    CircuitOpen,
    Client,
    LlmError,
    NotServed,
    PriceUnknown,
    QuotaExhausted,
    Reply,
    RequestRefused,
)
from okh.llm.ledger import Entry, Outcome
from okh.llm.settings import LlmSettings
from tests.openai_server import Fault, OpenAIServer, embedding

KEY = "sk-test-0123456789abcdef"
DOCUMENT = "The swell at the sea buoy of Port Nowhere grows."
MESSAGES = [{"role": "system", "content": "Read."}, {"role": "user", "content": DOCUMENT}]
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}


class Book(list[Entry]):
    """A ledger in memory."""

    def outcomes(self) -> list[str]:
        return [entry.outcome for entry in self]


class FakeTime:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []
        self._lock = threading.Lock()

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self.now += seconds
            self.slept.append(seconds)


class Bench:
    """A server, a client and their books."""

    def __init__(self, server: OpenAIServer, budget: float | None, settings: dict) -> None:
        self.server, self.book, self.time = server, Book(), FakeTime()
        given = {"base_url": server.url, "api_key": KEY, **settings}
        self.client = Client(
            LlmSettings(**given), self.book, budget,
            clock=self.time.clock, sleep=self.time.sleep, rng=random.Random(1),
        )

    def ask(self, **options: object) -> Reply:
        return self.client.chat(MESSAGES, purpose="test", **options)  # type: ignore[arg-type]

    def check_books(self) -> None:
        """The ledger says what the server's own book says."""
        count = self.server.count
        answered = [e for e in self.book if e.outcome != Outcome.UNANSWERED]
        assert len(self.book) == count.requests
        assert len(answered) == count.answered
        assert sum(e.tokens_in for e in self.book) == count.tokens_in
        assert sum(e.tokens_out for e in self.book) == count.tokens_out
        assert sum(e.tokens_cached for e in self.book) == count.tokens_cached


@pytest.fixture
def bench() -> Iterator[Callable[..., Bench]]:
    """Makes a bench: ``bench(server={…}, budget=…, **settings)``."""
    made: list[Bench] = []

    def make(
        *, server: dict | None = None, budget: float | None = None, **settings: object
    ) -> Bench:
        host = OpenAIServer(**{"answer": lambda request: '{"a": 1}', **(server or {})})
        host.__enter__()
        made.append(Bench(host, budget, settings))
        return made[-1]

    yield make
    for each in made:
        each.client.close()
        each.server.close()


# --- a good day -------------------------------------------------------------------------


def test_a_reply_and_its_entry(bench: Callable[..., Bench]) -> None:
    b = bench(server={"cached": 0.5})
    reply = b.ask(schema=SCHEMA, context={"asset": "extractions", "group": "X-2031|port"})
    assert (reply.text, reply.level, reply.attempt) == ('{"a": 1}', "structured", 1)
    assert (reply.refusal, reply.finish_reason) == (None, "stop")
    [entry] = b.book
    assert (entry.asset, entry.group, entry.model) == ("extractions", "X-2031|port", "gpt-4o-mini")
    assert (entry.purpose, entry.outcome, entry.attempt) == ("test", "ok", 1)
    fresh = reply.usage.tokens_in - reply.usage.tokens_cached
    dollars = fresh * 0.15e-6 + reply.usage.tokens_cached * 0.075e-6
    dollars += reply.usage.tokens_out * 0.6e-6
    assert reply.usage.tokens_cached > 0
    assert reply.cost == entry.cost == pytest.approx(dollars)
    assert b.client.spent == pytest.approx(dollars)
    b.check_books()


def test_the_request_is_what_was_asked(bench: Callable[..., Bench]) -> None:
    b = bench(temperature=0.2, seed=None, extra={"num_ctx": 8192})
    b.ask(schema=SCHEMA, schema_name="facts", max_tokens=77)
    body = b.server.requests[0].body
    assert body["messages"] == MESSAGES
    assert (body["max_tokens"], body["temperature"], body["num_ctx"]) == (77, 0.2, 8192)
    assert "seed" not in body
    form = body["response_format"]["json_schema"]
    assert form == {"name": "facts", "strict": True, "schema": SCHEMA}
    b.ask()
    assert "response_format" not in b.server.requests[1].body


def test_embeddings_come_in_the_order_of_the_texts(bench: Callable[..., Bench]) -> None:
    b = bench(server={"dimension": 5})
    texts = ["one", "two words", "three words here"]
    vectors, usage = b.client.embed(texts, purpose="embedding")
    assert vectors == [pytest.approx(embedding(text, 5)) for text in texts]
    assert usage.tokens_in == b.server.count.tokens_in > 0
    assert b.client.embed([], purpose="embedding") == ([], type(usage)())
    assert len(b.book) == 1
    b.check_books()


def test_models_are_listed(bench: Callable[..., Bench]) -> None:
    assert bench().client.models() == ["test-model"]


# --- faults -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        (Fault.RATE_LIMIT, Outcome.RATE_LIMITED),
        (Fault.ERROR, Outcome.SERVER_ERROR),
        (Fault.OVERLOAD, Outcome.SERVER_ERROR),
        (Fault.CUT, Outcome.UNANSWERED),
        (Fault.CUT_BODY, Outcome.UNANSWERED),
        (Fault.NOT_JSON, Outcome.MALFORMED),
    ],
)
def test_a_passing_fault_costs_an_attempt(
    bench: Callable[..., Bench], fault: Fault, outcome: Outcome
) -> None:
    b = bench()
    b.server.inject(fault, fault)
    assert b.ask().attempt == 3
    assert b.book.outcomes() == [outcome, outcome, Outcome.OK]
    assert [entry.attempt for entry in b.book] == [1, 2, 3]
    assert len(b.time.slept) >= 2
    b.check_books()


def test_an_answer_in_drops_is_not_waited_for(bench: Callable[..., Bench]) -> None:
    b = bench(server={"slow_s": 3.0}, timeout_s=0.2)
    b.server.inject(Fault.SLOW)
    assert b.ask().attempt == 2
    assert b.book.outcomes() == [Outcome.UNANSWERED, Outcome.OK]
    assert b.book[0].cost is None


def test_waits_grow_with_jitter(bench: Callable[..., Bench]) -> None:
    b = bench(retries=4, backoff_s=1.0, backoff_max_s=3.0, breaker_failures=99)
    b.server.inject(*[Fault.ERROR] * 4)
    b.ask()
    bounds = [(0.5, 1), (1, 2), (1.5, 3), (1.5, 3)]
    assert all(low <= s <= high for s, (low, high) in zip(b.time.slept, bounds, strict=True))
    assert len(set(b.time.slept)) == 4


def test_retry_after_is_honoured_by_all_threads(bench: Callable[..., Bench]) -> None:
    b = bench(server={"retry_after": "7"})
    b.server.inject(Fault.RATE_LIMIT)
    b.ask()
    assert 7 <= b.time.slept[0] <= 7.5
    b.server.inject(Fault.RATE_LIMIT)
    now = b.time.now
    threads = [threading.Thread(target=b.ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    b.ask()
    assert b.time.now - now >= 7
    b.check_books()


def test_a_busy_endpoint_is_waited_for_beyond_the_number_of_retries(
    bench: Callable[..., Bench],
) -> None:
    b = bench(server={"retry_after": "10"}, retries=2, patience_s=300)
    b.server.inject(*[Fault.RATE_LIMIT] * 20)
    assert b.ask().attempt == 21
    b.server.fault_of = lambda request: Fault.RATE_LIMIT
    with pytest.raises(CallFailed, match=r"429.*Lower the requests"):
        b.ask()
    b.server.retry_after = "3600"
    before = len(b.time.slept)
    with pytest.raises(CallFailed, match="once"):
        b.ask()
    assert len(b.time.slept) == before + 1  # the pause of the one before, and no hour of waiting


def test_retries_end(bench: Callable[..., Bench]) -> None:
    b = bench(retries=2, breaker_failures=99)
    b.server.fault_of = lambda request: Fault.ERROR
    with pytest.raises(CallFailed, match=r"3 times .*status 500") as caught:
        b.ask()
    assert caught.value.attempts == 3 == b.server.count.requests


@pytest.mark.parametrize(
    ("fault", "error"), [(Fault.AUTH, AuthError), (Fault.QUOTA, QuotaExhausted)]
)
def test_what_no_retry_mends_is_not_repeated(
    bench: Callable[..., Bench], fault: Fault, error: type[LlmError]
) -> None:
    b = bench()
    b.server.inject(fault)
    with pytest.raises(error):
        b.ask(schema=SCHEMA)
    assert b.server.count.requests == 1 == len(b.book)
    assert b.book[0].cost == 0


def test_a_wrong_address_says_so(bench: Callable[..., Bench]) -> None:
    b = bench()
    lost = Client(LlmSettings(base_url=b.server.url + "/nowhere"))
    with pytest.raises(NotServed, match="/v1"):
        lost.chat(MESSAGES, purpose="test")


def test_a_storm_loses_nothing_and_the_books_agree(bench: Callable[..., Bench]) -> None:
    b = bench(retries=50, breaker_failures=1000, max_concurrency=4)
    dice = random.Random(3)
    faults = [Fault.RATE_LIMIT, Fault.ERROR, Fault.CUT, Fault.CUT_BODY, Fault.NOT_JSON,
              Fault.REFUSAL, Fault.EMPTY, Fault.NULL, Fault.TRUNCATED]
    b.server.fault_of = lambda request: dice.choice(faults) if dice.random() < 0.5 else None
    b.server.answer = lambda request: request.messages[-1]["content"].upper()

    def ask(number: int) -> tuple[int, Reply]:
        text = f"block {number}"
        return number, b.client.chat([{"role": "user", "content": text}], purpose="test")

    with ThreadPoolExecutor(8) as pool:
        replies = dict(pool.map(ask, range(80)))
    assert len(replies) == 80
    whole = [n for n, r in replies.items() if r.finish_reason == "stop" and r.text]
    assert whole
    assert all(replies[n].text == f"BLOCK {n}" for n in whole)
    assert sum(e.outcome in (Outcome.OK, Outcome.REFUSAL) for e in b.book) == 80
    assert b.server.count.most_at_once <= 4
    b.check_books()


def test_no_more_at_once_than_allowed(bench: Callable[..., Bench]) -> None:
    b = bench(server={"delay_s": 0.01}, max_concurrency=3)
    with ThreadPoolExecutor(12) as pool:
        list(pool.map(lambda _: b.ask(), range(24)))
    assert b.server.count.most_at_once == 3


@contextmanager
def _deaf_port() -> Iterator[int]:
    """A port that nothing listens at."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def test_a_dead_endpoint_ends_a_run_in_seconds() -> None:
    with _deaf_port() as port:
        book, time = Book(), FakeTime()
        settings = LlmSettings(base_url=f"http://127.0.0.1:{port}/v1")
        client = Client(settings, book, clock=time.clock, sleep=time.sleep)
        with pytest.raises(CircuitOpen, match=r"could not be reached.*base URL"):
            client.chat(MESSAGES, purpose="test")
        assert 10 <= time.now < 30
        assert not book  # nothing reached anybody
        assert client.spent == 0
        before = time.now
        with pytest.raises(CircuitOpen):
            client.chat(MESSAGES, purpose="test")
        assert time.now == before


def test_the_circuit_closes_when_the_endpoint_is_back(bench: Callable[..., Bench]) -> None:
    b = bench(breaker_failures=3, breaker_after_s=0, breaker_rest_s=30)
    b.server.inject(*[Fault.ERROR] * 3)
    with pytest.raises(CircuitOpen):
        b.ask()
    b.time.now += 31
    assert b.ask().text
    assert b.ask().text


# --- what an endpoint does not know -----------------------------------------------------


@pytest.mark.parametrize(
    ("levels", "expected", "refused"),
    [(("json", "text"), "json", 1), (("text",), "text", 2)],
)
def test_the_level_steps_down_once_and_is_remembered(
    bench: Callable[..., Bench], levels: tuple[str, ...], expected: str, refused: int
) -> None:
    b = bench(server={"levels": levels})
    assert [b.ask(schema=SCHEMA).level for _ in range(3)] == [expected] * 3
    assert b.server.count.statuses == {400: refused, 200: 3}
    told = b.server.requests[-1].messages
    assert len(told) == 2 and '"properties"' in told[0]["content"]
    assert told[1] == MESSAGES[1]
    b.check_books()


def test_parameters_that_are_not_liked_are_left_out_once(bench: Callable[..., Bench]) -> None:
    b = bench(server={"unknown_parameters": ("max_tokens", "temperature", "seed")})
    for _ in range(3):
        assert b.ask(schema=SCHEMA).level == "structured"
    assert b.server.count.statuses == {400: 3, 200: 3}
    body = b.server.requests[-1].body
    assert "max_completion_tokens" in body
    assert not {"max_tokens", "temperature", "seed"} & body.keys()


def test_a_refused_document_does_not_cost_the_level(bench: Callable[..., Bench]) -> None:
    b = bench()
    b.ask(schema=SCHEMA)
    b.server.inject(Fault.REFUSE, Fault.TOO_LONG)
    with pytest.raises(RequestRefused):
        b.ask(schema=SCHEMA)
    with pytest.raises(RequestRefused, match="longer context") as caught:
        b.ask(schema=SCHEMA)
    assert caught.value.code == "context_length_exceeded"
    assert b.ask(schema=SCHEMA).level == "structured"
    assert b.server.count.requests == 4


def test_a_first_document_that_is_refused_at_every_level(bench: Callable[..., Bench]) -> None:
    b = bench()
    b.server.inject(*[Fault.REFUSE] * 3)
    with pytest.raises(RequestRefused):
        b.ask(schema=SCHEMA)
    assert b.ask(schema=SCHEMA).level == "structured"


def test_an_endpoint_that_does_not_count(bench: Callable[..., Bench]) -> None:
    b = bench()
    b.server.inject(Fault.NO_USAGE)
    reply = b.ask()
    assert reply.usage.estimated and b.book[0].estimated
    assert reply.usage.tokens_in == pytest.approx(b.server.count.tokens_in, rel=0.2)
    assert reply.cost


def test_refusals_and_nothing_are_told_apart(bench: Callable[..., Bench]) -> None:
    b = bench()
    b.server.inject(Fault.REFUSAL, Fault.EMPTY, Fault.NULL, Fault.TRUNCATED)
    replies = [b.ask() for _ in range(4)]
    assert [bool(r.refusal) for r in replies] == [True, False, False, False]
    assert [r.text for r in replies] == ["", "", "", '{"a"']
    assert replies[3].finish_reason == "length"
    assert b.book.outcomes() == ["refusal", "ok", "ok", "ok"]


def test_a_prompt_cut_by_the_endpoint_is_noticed(
    bench: Callable[..., Bench], caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    b = bench()
    monkeypatch.setattr("tests.openai_server.prompt_tokens", lambda request: 512)
    long = [{"role": "user", "content": "The harbour is quiet tonight. " * 400}]
    for _ in range(2):
        b.client.chat(long, purpose="test")
    warnings = [r for r in caplog.records if "context window" in r.getMessage()]
    assert len(warnings) == 1


# --- money ------------------------------------------------------------------------------


def test_the_budget_is_never_passed(bench: Callable[..., Bench]) -> None:
    b = bench(budget=0.001, max_tokens=300, max_concurrency=4)

    def ask(_: int) -> str:
        try:
            return b.ask().text
        except BudgetExceeded as error:
            return str(error)

    with ThreadPoolExecutor(6) as pool:
        ends = Counter(pool.map(ask, range(200)))
    done = ends.pop('{"a": 1}')
    assert done == b.server.count.completed > 10
    assert all("raise the budget" in end for end in ends)
    paid = sum(entry.cost or 0 for entry in b.book)
    assert paid <= 0.001
    most = 300 * 0.6e-6 + 40 * 0.15e-6
    assert paid > 0.001 - 2 * most  # stopped at the last call that fitted, not long before
    assert b.client.spent == pytest.approx(paid)


def test_an_answer_that_was_lost_counts_with_its_most(bench: Callable[..., Bench]) -> None:
    b = bench(budget=1.0, max_tokens=1000, retries=0)
    b.server.inject(Fault.CUT_BODY)
    with pytest.raises(CallFailed):
        b.ask()
    assert b.client.spent > 1000 * 0.6e-6
    b.server.inject(Fault.ERROR)
    spent = b.client.spent
    with pytest.raises(CallFailed):
        b.ask()
    assert b.client.spent == spent


def test_without_a_price_there_is_no_budget(bench: Callable[..., Bench]) -> None:
    b = bench(model="own-model", budget=5.0)
    with pytest.raises(PriceUnknown, match="own-model"):
        b.ask()
    assert b.server.count.requests == 0
    free = bench(model="own-model")
    assert free.ask().cost is None
    assert free.book[0].cost is None


# --- secrets ----------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [*Fault])
def test_no_key_and_no_document_in_errors_logs_or_books(
    bench: Callable[..., Bench], fault: Fault, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    b = bench(retries=0, server={"slow_s": 0.05})
    b.server.inject(*[fault] * 3)
    seen = [repr(b.client), repr(b.client.settings), b.client.identity]
    try:
        b.ask(schema=SCHEMA)
    except LlmError as error:
        seen += [str(error), repr(error), *traceback.format_exception(error)]
        assert error.__context__ is None or KEY not in repr(error.__context__)
    seen += [caplog.text, repr(b.book)]
    # The source lines that a traceback shows name no secret, only its variable.
    assert KEY not in "\n".join(seen)
    assert DOCUMENT not in "\n".join(seen)


def test_a_key_goes_to_its_own_endpoint_only(
    bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    b = bench(api_key=None)
    b.ask()
    assert KEY not in repr(b.server.requests[0].headers)


def test_openai_without_a_key_is_not_called() -> None:
    with pytest.raises(AuthError, match="OPENAI_API_KEY"):
        Client(LlmSettings()).chat(MESSAGES, purpose="test")


def test_the_older_azure_header(bench: Callable[..., Bench]) -> None:
    b = bench(key_header="api-key", query={"api-version": "2024-10-21"})
    with pytest.raises(NotServed):  # this server takes no query, which shows that it was sent
        b.ask()
    headers = {k.lower(): v for k, v in b.server.requests[0].headers.items()}
    assert headers["api-key"] == KEY
    assert "authorization" not in headers
    assert b.server.requests[0].path.endswith("?api-version=2024-10-21")


def test_identities_change_with_what_changes_answers() -> None:
    base = LlmSettings(base_url="https://models.example.org:8443/v1", api_key=KEY)
    others = [
        base.model_copy(update=change)
        for change in (
            {"base_url": "https://other.example.org/v1"}, {"model": "m"}, {"temperature": 1.0},
            {"seed": 8}, {"extra": {"top_p": 0.5}},
        )
    ]
    identities = {settings.identity for settings in (base, *others)}
    assert len(identities) == 6
    assert base.model_copy(update={"max_tokens": 9, "retries": 1}).identity == base.identity
    assert base.embedding_identity.startswith("models.example.org:8443/v1|")
    assert KEY not in "".join(identities)
