"""Booking one attempt: in the ledger, against the budget, against the tokens per minute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from okh.llm.budget import Reservation
from okh.llm.ledger import Entry, Ledger, Outcome, Usage
from okh.llm.limiter import Grant, RateLimiter
from okh.llm.prices import Prices

_FREE = frozenset({Outcome.RATE_LIMITED, Outcome.SERVER_ERROR, Outcome.REFUSED})


@dataclass(frozen=True, slots=True)
class Booking:
    """An attempt that has ended and is to be booked once."""

    ledger: Ledger
    prices: Prices
    limiter: RateLimiter
    reservation: Reservation
    grant: Grant
    model: str
    purpose: str
    context: Mapping[str, str]
    attempt: int
    latency_s: float

    def enter(self, outcome: Outcome, usage: Usage | None = None, named: str = "") -> float | None:
        """Book the attempt.

        Parameters
        ----------
        usage
            None where nobody knows: the answer was lost, or turned down for free.
        named
            The model as the answer names it: it may have a price where a deployment's name
            has none.

        Returns
        -------
        cost
            Dollars; None if unknown. The budget then counts the most that it can have been.
        """
        tokens = usage or Usage()
        cost: float | None = 0.0 if outcome in _FREE else None
        if usage is not None:
            counts = (usage.tokens_in, usage.tokens_out, usage.tokens_cached)
            cost = self.prices.cost(self.model, *counts)
            if cost is None and named:
                cost = self.prices.cost(named, *counts)
        if cost is not None:
            self.reservation.settle(cost)
        if usage is not None or outcome in _FREE:
            self.limiter.settle(self.grant, tokens.tokens_in + tokens.tokens_out)
        self.ledger.append(
            Entry(
                at=datetime.now(UTC), purpose=self.purpose,
                asset=self.context.get("asset", ""), group=self.context.get("group", ""),
                model=self.model, tokens_in=tokens.tokens_in, tokens_out=tokens.tokens_out,
                tokens_cached=tokens.tokens_cached, cost=cost, latency_s=self.latency_s,
                attempt=self.attempt, outcome=outcome.value, estimated=tokens.estimated,
            )
        )
        return cost

    def cancel(self) -> None:
        """The request never left: it cost nothing."""
        self.reservation.settle(0.0)
        self.limiter.settle(self.grant, 0)
