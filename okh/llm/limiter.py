"""Requests and tokens per minute, as a sliding window over all threads of a process."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

WINDOW_S = 60.0


@dataclass(slots=True)
class Grant:
    """Leave to send one request, given at a time for a number of tokens."""

    at: float
    tokens: int


class RateLimiter:
    """Holds requests back so that no window of a minute sees more than the limits.

    A request that alone has more tokens than the limit passes when the window is empty.
    Grants are given at the time of sending, never ahead, so that a pause cannot bunch them.
    """

    def __init__(
        self,
        *,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._requests, self._tokens = requests_per_minute, tokens_per_minute
        self._clock, self._sleep = clock, sleep
        self._lock = threading.Lock()
        self._grants: deque[Grant] = deque()
        self._paused_until = float("-inf")

    def acquire(self, tokens: int) -> Grant:
        """Wait until a request of so many tokens may be sent."""
        while True:
            with self._lock:
                now = self._clock()
                wait = self._open_at(now, tokens) - now
                if wait <= 0:
                    grant = Grant(now, tokens)
                    self._grants.append(grant)
                    return grant
            self._sleep(wait)

    def settle(self, grant: Grant, tokens: int) -> None:
        """Put what a request really took in place of what was asked for."""
        with self._lock:
            grant.tokens = tokens

    def pause(self, seconds: float) -> None:
        """Let nothing pass for so long: the endpoint asked for it."""
        with self._lock:
            self._paused_until = max(self._paused_until, self._clock() + seconds)

    def _open_at(self, now: float, tokens: int) -> float:
        """First moment, from now on, at which the limits and the pause allow the request."""
        while self._grants and self._grants[0].at + WINDOW_S <= now:
            self._grants.popleft()
        at = max(now, self._paused_until)
        if self._requests is not None and len(self._grants) >= self._requests:
            at = max(at, self._grants[-self._requests].at + WINDOW_S)
        if self._tokens is not None:
            room = self._tokens - tokens
            for grant in reversed(self._grants):
                room -= grant.tokens
                if room < 0:
                    return max(at, grant.at + WINDOW_S)
        return at
