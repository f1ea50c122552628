"""A circuit breaker: an endpoint that fails again and again is left alone for a while."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from okh.llm.errors import CircuitOpen

FIRST_S = 3.0
"""Seconds after which an endpoint is given up that nobody could reach yet."""


class Breaker:
    """Closed, open, or half open, for one endpoint and all threads.

    Parameters
    ----------
    failures, after_s
        It opens at so many failures in a row, if the first lies this long back. An endpoint
        that could never be reached gets :data:`FIRST_S` at most: it is no outage, but down.
    rest_s
        Then every call is refused for this long; after that one is let through, and its
        end decides.
    """

    def __init__(
        self,
        host: str,
        *,
        failures: int,
        after_s: float,
        rest_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._host, self._limit, self._after, self._rest = host, failures, after_s, rest_s
        self._clock = clock
        self._lock = threading.Lock()
        self._opened = threading.Event()
        self._in_a_row = 0
        self._first = 0.0
        self._ever_reached = False
        self._open_until: float | None = None
        self._last = ""

    def check(self) -> None:
        """Let a call pass, or raise ``CircuitOpen``."""
        with self._lock:
            if self._open_until is None:
                return
            if self._clock() < self._open_until:
                raise CircuitOpen(
                    f"{self._host} failed {self._in_a_row} times in a row (last: {self._last}). "
                    "See that it runs, and that the base URL is right; what was answered is kept"
                )
            self._open_until = self._clock() + self._rest  # this call is the probe

    def succeeded(self) -> None:
        """The endpoint answered sensibly, be it with a refusal."""
        with self._lock:
            self._in_a_row, self._open_until = 0, None
            self._ever_reached = True
            self._opened.clear()

    def failed(self, reason: str, *, reached: bool = True) -> None:
        """It did not answer, or answered that it is broken."""
        with self._lock:
            self._ever_reached |= reached
            now = self._clock()
            if not self._in_a_row:
                self._first = now
            self._in_a_row += 1
            self._last = reason
            after = self._after if self._ever_reached else min(self._after, FIRST_S)
            if self._in_a_row >= self._limit and now - self._first >= after:
                self._open_until = now + self._rest
                self._opened.set()

    def wait(self, seconds: float) -> None:
        """Sleep, but no longer than until it opens."""
        self._opened.wait(seconds)
