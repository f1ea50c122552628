"""One client for every endpoint that speaks OpenAI's protocol: OpenAI, Azure, vLLM, Ollama …

Whatever goes wrong on the way is dealt with here, once, for extraction, embedding, reading
and judging: limits, retries, a dead endpoint, a budget, what an endpoint does not support,
and the book of what it cost.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, TypeVar

from okh.llm import wire
from okh.llm.booking import Booking
from okh.llm.breaker import Breaker
from okh.llm.budget import Budget
from okh.llm.dialect import Dialect, Level
from okh.llm.errors import (
    AuthError,
    BudgetExceeded,
    CallFailed,
    CircuitOpen,
    LlmError,
    NotServed,
    PriceUnknown,
    QuotaExhausted,
    RequestRefused,
    RunStopped,
)
from okh.llm.ledger import Ledger, NoLedger, Outcome, Usage
from okh.llm.limiter import RateLimiter
from okh.llm.prices import Prices
from okh.llm.protocol import ChatClient, Reply
from okh.llm.retry import Again, persist
from okh.llm.settings import LlmSettings
from okh.llm.tokens import MARGIN, count_message_tokens, count_tokens
from okh.llm.transport import Answer, NoAnswer, Transport

__all__ = [
    "AuthError", "BudgetExceeded", "CallFailed", "ChatClient", "CircuitOpen", "Client", "Level",
    "LlmError", "NotServed", "PriceUnknown", "QuotaExhausted", "Reply", "RequestRefused",
    "RunStopped", "Usage",
]

T = TypeVar("T")

logger = logging.getLogger(__name__)

_CUT_SHARE, _CUT_FROM = 0.6, 1000
"""A prompt estimated at 1,000 tokens or more of which the endpoint counts less than this share
was probably cut to its context window: local servers do so without a word."""


@dataclass(frozen=True, slots=True)
class _Call(Generic[T]):
    """A request, what it may take at most, and how to read its answer."""

    path: str
    body: Mapping[str, object]
    model: str
    purpose: str
    context: Mapping[str, str]
    tokens_in: int
    tokens_out: int
    read: Callable[[object], T]
    usage: Callable[[T], Usage]
    """Tokens of an answer, estimated: for endpoints that do not count."""


@dataclass(frozen=True, slots=True)
class _Done(Generic[T]):
    value: T
    usage: Usage
    cost: float | None
    latency_s: float
    attempt: int


class Client:
    """Calls one endpoint; safe under threads, which share its limits.

    Parameters
    ----------
    settings
        Endpoint, models and limits.
    ledger
        Takes one entry for each attempt that reached the endpoint; see
        :mod:`okh.llm.ledger`.
    budget
        Dollars that this client may spend; the call that could pass it is not made.
    prices
        Default: the packaged list.
    clock, sleep, rng
        For tests.
    """

    def __init__(
        self,
        settings: LlmSettings,
        ledger: Ledger | None = None,
        budget: float | None = None,
        *,
        prices: Prices | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        rng: random.Random | None = None,
    ) -> None:
        self.settings = settings
        self._ledger: Ledger = NoLedger() if ledger is None else ledger
        self._budget = Budget(budget)
        self._prices = prices or Prices.load()
        self._clock, self._sleep, self._rng = clock, sleep, rng or random.Random()
        self._dialect = Dialect(settings)
        self._transport = Transport(settings)
        self._slots = threading.BoundedSemaphore(settings.max_concurrency)
        self._limiter = RateLimiter(
            requests_per_minute=settings.requests_per_minute,
            tokens_per_minute=settings.tokens_per_minute,
            clock=clock, sleep=sleep,
        )
        self._breaker = Breaker(
            settings.host,
            failures=settings.breaker_failures,
            after_s=settings.breaker_after_s,
            rest_s=settings.breaker_rest_s,
            clock=clock,
        )
        self._warned_of_cut = False

    def __repr__(self) -> str:
        return f"Client({self.identity!r})"

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; a later call opens them anew."""
        self._transport.close()

    @property
    def model(self) -> str:
        """The chat model."""
        return self.settings.model

    @property
    def identity(self) -> str:
        """Endpoint, model and parameters: part of cache keys; holds no secret."""
        return self.settings.identity

    @property
    def embedding_model(self) -> str:
        """The embedding model."""
        return self.settings.embedding_model

    @property
    def embedding_identity(self) -> str:
        """Endpoint and embedding model."""
        return self.settings.embedding_identity

    @property
    def spent(self) -> float:
        """Dollars spent so far; attempts whose end is unknown count with their most."""
        return self._budget.spent

    # --- calls --------------------------------------------------------------------------

    def chat(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        purpose: str,
        schema: Mapping[str, object] | None = None,
        schema_name: str = "",
        max_tokens: int | None = None,
        context: Mapping[str, str] | None = None,
    ) -> Reply:
        """Ask the chat model.

        Parameters
        ----------
        messages
            Each with ``role`` and ``content``.
        purpose
            For the ledger: extraction, reading, judging.
        schema
            JSON Schema of the answer. Where the endpoint has no structured outputs it is
            asked for JSON and told the schema in words, and where it knows no JSON mode only
            told; ``Reply.level`` says which. The answer is not checked against it here.
        schema_name
            Letters, digits, ``_`` and ``-`` only.
        max_tokens
            Of the answer; default ``settings.max_tokens``.
        context
            For the ledger: ``asset`` and ``group``.

        Raises
        ------
        RunStopped
            No further call can succeed: ``CircuitOpen``, ``BudgetExceeded``, ``AuthError`` …
        RequestRefused, CallFailed
            This call cannot; others may.
        """
        levels = self._dialect.levels() if schema is not None else ("text",)
        first: RequestRefused | None = None
        for level in levels:
            try:
                done = self._in_dialect(
                    messages, level, schema, schema_name, max_tokens, purpose, context or {}
                )
            except RequestRefused as refused:
                if schema is None or not self._dialect.may_step_down(level, refused):
                    raise first or refused from None
                first = first or refused
                continue
            if schema is not None:
                self._dialect.works(level)
            said = done.value
            return Reply(
                text=said.text, model=said.model or self.model, usage=done.usage, level=level,
                attempt=done.attempt, latency_s=done.latency_s, cost=done.cost,
                refusal=said.refusal, finish_reason=said.finish_reason,
            )
        raise LlmError("no level of output constraint to try")  # levels are never empty

    def embed(
        self,
        texts: Sequence[str],
        *,
        purpose: str,
        context: Mapping[str, str] | None = None,
    ) -> tuple[list[list[float]], Usage]:
        """Vectors of texts, in one call.

        Returns
        -------
        vectors
            One for each text, in order, all of one length.
        usage
            Tokens.

        Raises
        ------
        RunStopped, RequestRefused, CallFailed
            As :meth:`chat`.
        """
        if not texts:
            return [], Usage()
        tokens = sum(map(count_tokens, texts))
        call = _Call(
            path="/embeddings",
            body={"model": self.embedding_model, "input": list(texts), "encoding_format": "float"},
            model=self.embedding_model,
            purpose=purpose,
            context=context or {},
            tokens_in=tokens,
            tokens_out=0,
            read=lambda payload: wire.read_embeddings(payload, len(texts)),
            usage=lambda vectors: Usage(tokens, estimated=True),
        )
        done = self._persist(call)
        return done.value, done.usage

    def models(self) -> list[str]:
        """Models that the endpoint lists, one attempt. Raises ``LlmError``."""
        answer = self._transport.get("/models")
        problem = answer.reason if isinstance(answer, NoAnswer) else ""
        if isinstance(answer, Answer):
            if answer.status != 200:
                raise wire.refusal(answer.status, answer.payload, self.settings.host, self.model)
            try:
                return wire.read_models(answer.payload)
            except wire.Malformed as malformed:
                problem = str(malformed)
        raise CallFailed(
            f"{self.settings.host}: {problem}. See that it runs, and the base URL", attempts=1
        )

    # --- how a call is made -------------------------------------------------------------

    def _in_dialect(
        self,
        messages: Sequence[Mapping[str, str]],
        level: Level,
        schema: Mapping[str, object] | None,
        schema_name: str,
        max_tokens: int | None,
        purpose: str,
        context: Mapping[str, str],
    ) -> _Done[wire.Said]:
        """Ask at one level, without the parameters that the endpoint does not like."""
        most = max_tokens or self.settings.max_tokens
        while True:
            body = self._dialect.body(
                messages, level=level, schema=schema, schema_name=schema_name, max_tokens=most
            )
            # Below that level the schema stands in the messages.
            shown = schema if level == "structured" else None
            try:
                return self._ask(body, shown, most, purpose, context)
            except RequestRefused as refused:
                if not self._dialect.learn(refused, body):
                    raise

    def _ask(
        self,
        body: Mapping[str, Any],
        shown: Mapping[str, object] | None,
        most: int,
        purpose: str,
        context: Mapping[str, str],
    ) -> _Done[wire.Said]:
        tokens = count_message_tokens(body["messages"], shown)

        def estimated(said: wire.Said) -> Usage:
            return Usage(tokens, count_tokens(said.text or said.refusal or ""), estimated=True)

        call = _Call(
            path="/chat/completions", body=body, model=self.model, purpose=purpose,
            context=context, tokens_in=tokens, tokens_out=most, read=wire.read_completion,
            usage=estimated,
        )
        done = self._persist(call)
        self._watch_for_cut(tokens, done.usage)
        return done

    def _persist(self, call: _Call[T]) -> _Done[T]:
        return persist(
            lambda number: self._attempt(call, number),
            self.settings, sleep=self._pause, rng=self._rng,
        )

    def _pause(self, seconds: float) -> None:
        """Wait before another attempt; an endpoint given up meanwhile is not waited for."""
        if self._sleep is time.sleep:
            self._breaker.wait(seconds)
        else:
            self._sleep(seconds)

    def _attempt(self, call: _Call[T], number: int) -> _Done[T]:
        """One attempt within all limits. Raises ``Again`` where another may go better."""
        with self._slots:
            self._breaker.check()
            with self._budget.reserve(self._most(call)) as reservation:
                grant = self._limiter.acquire(call.tokens_in + call.tokens_out)
                started = self._clock()
                answer = self._transport.post(call.path, call.body)
                book = Booking(
                    self._ledger, self._prices, self._limiter, reservation, grant,
                    model=call.model, purpose=call.purpose, context=call.context,
                    attempt=number, latency_s=self._clock() - started,
                )
                if isinstance(answer, Answer) and answer.status == 200:
                    return self._read(call, answer, book)
                raise self._failure(call, answer, book)

    def _read(self, call: _Call[T], answer: Answer, book: Booking) -> _Done[T]:
        counted = wire.read_usage(answer.payload)
        usage = (
            Usage(counted.prompt_tokens, counted.completion_tokens, counted.cached)
            if counted else None
        )
        try:
            value = call.read(answer.payload)
        except wire.Malformed as malformed:
            reason = f"a broken answer: {malformed}"
            self._breaker.failed(reason)
            book.enter(Outcome.MALFORMED, usage)
            raise Again(reason) from None
        self._breaker.succeeded()
        usage = usage or call.usage(value)
        declined = isinstance(value, wire.Said) and value.refusal
        cost = book.enter(Outcome.REFUSAL if declined else Outcome.OK, usage, _named(value))
        return _Done(value, usage, cost, book.latency_s, book.attempt)

    def _failure(self, call: _Call[T], answer: Answer | NoAnswer, book: Booking) -> Exception:
        """Book an attempt that brought nothing; the error it is to end in."""
        if isinstance(answer, NoAnswer):
            self._breaker.failed(answer.reason, reached=answer.sent)
            if answer.sent:
                book.enter(Outcome.UNANSWERED)
            else:
                book.cancel()
            return Again(answer.reason)
        status = answer.status
        if status == 429 and not wire.is_quota(answer.payload):
            self._breaker.succeeded()
            book.enter(Outcome.RATE_LIMITED)
            if answer.retry_after:
                self._limiter.pause(answer.retry_after)
            return Again("status 429, too busy", retry_after=answer.retry_after, busy=True)
        if status in (408, 409) or (status >= 500 and status != 501):
            self._breaker.failed(f"status {status}")
            book.enter(Outcome.SERVER_ERROR)
            return Again(f"status {status}", retry_after=answer.retry_after)
        self._breaker.succeeded()
        book.enter(Outcome.REFUSED)
        return wire.refusal(status, answer.payload, self.settings.host, call.model)

    def _most(self, call: _Call[T]) -> float:
        """The most that a call may cost, in dollars. Raises ``PriceUnknown``."""
        tokens_in = int(call.tokens_in * MARGIN) + 1
        cost = self._prices.cost(call.model, tokens_in, call.tokens_out)
        if cost is None and self._budget.limit is not None:
            raise PriceUnknown(
                f"no price is known for {call.model}, so no budget can be held: add it to your "
                "price table (zero for a model of your own), or go without a budget"
            )
        return cost or 0.0

    def _watch_for_cut(self, estimate: int, usage: Usage) -> None:
        cut = estimate >= _CUT_FROM and usage.tokens_in < _CUT_SHARE * estimate
        if cut and not usage.estimated and not self._warned_of_cut:
            self._warned_of_cut = True
            logger.warning(
                "%s counted %d tokens of a prompt of about %d: its context window has probably "
                "cut it. Give the model a longer one (Ollama: num_ctx)",
                self.settings.host, usage.tokens_in, estimate,
            )


def _named(value: object) -> str:
    """The model that an answer names, where it names one."""
    return value.model if isinstance(value, wire.Said) else ""
