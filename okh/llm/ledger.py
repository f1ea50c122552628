"""The ledger: one entry for each attempt that reached the endpoint."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol


class Outcome(StrEnum):
    """How an attempt ended."""

    OK = "ok"
    REFUSAL = "refusal"  # the model declined; its tokens are billed
    MALFORMED = "malformed"  # status 200 and no usable body
    RATE_LIMITED = "rate_limited"
    SERVER_ERROR = "server_error"
    REFUSED = "refused"  # the endpoint would not take the request
    UNANSWERED = "unanswered"  # sent, and cut off or out of time: may have been billed


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call; ``estimated`` where the endpoint did not count them itself."""

    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """One attempt.

    ``cost`` is in US dollars: None where the model has no price or the tokens of a lost
    answer are unknown, zero where the endpoint turned the request down. ``estimated`` marks
    tokens that the endpoint did not count itself.
    """

    at: datetime
    purpose: str
    asset: str
    group: str
    model: str
    tokens_in: int
    tokens_out: int
    tokens_cached: int
    cost: float | None
    latency_s: float
    attempt: int
    outcome: str
    estimated: bool = False


class Ledger(Protocol):
    """Where entries go; called from several threads."""

    def append(self, entry: Entry) -> None: ...


class NoLedger:
    """Keeps nothing."""

    def append(self, entry: Entry) -> None:
        """Forget it."""
