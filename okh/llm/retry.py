"""When a call is made again, and after how long: tenacity, with our rules for both."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NoReturn, TypeVar

import tenacity

from okh.llm.errors import CallFailed
from okh.llm.settings import LlmSettings

T = TypeVar("T")


class Again(Exception):
    """An attempt that may go better the next time.

    Parameters
    ----------
    reason
        What happened, in words for the user.
    retry_after
        Seconds that the endpoint asked to wait, if it did.
    busy
        Whether it is only too busy (429): such attempts are bounded by time, not number.
    """

    def __init__(
        self, reason: str, *, retry_after: float | None = None, busy: bool = False
    ) -> None:
        super().__init__(reason)
        self.reason, self.retry_after, self.busy = reason, retry_after, busy


def persist(
    attempt: Callable[[int], T],
    settings: LlmSettings,
    *,
    sleep: Callable[[float], None],
    rng: random.Random,
) -> T:
    """Make an attempt until it ends otherwise than in ``Again``.

    Failures are repeated ``settings.retries`` times, after exponential waits with jitter;
    a busy endpoint is waited for up to ``settings.patience_s`` in all. A Retry-After is
    honoured in both cases, never cut short.

    Raises
    ------
    CallFailed
        When that is used up.
    """
    rules = _Rules(settings, rng)
    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(Again),
        wait=rules.wait,
        stop=rules.enough,
        sleep=sleep,
        retry_error_callback=rules.give_up,
    )
    return retrying(rules.numbered(attempt))


class _Rules:
    """The rules for one call."""

    def __init__(self, settings: LlmSettings, rng: random.Random) -> None:
        self._settings, self._rng = settings, rng
        self._attempts = self._failures = self._busy = 0

    def numbered(self, attempt: Callable[[int], T]) -> Callable[[], T]:
        def run() -> T:
            self._attempts += 1
            try:
                return attempt(self._attempts)
            except Again as again:
                self._busy += again.busy
                self._failures += not again.busy
                raise

        return run

    def wait(self, state: tenacity.RetryCallState) -> float:
        settings, again = self._settings, _again(state)
        jitter = self._rng.uniform(0.5, 1.0)
        if again.retry_after is not None:
            return again.retry_after + jitter * settings.backoff_s / 2
        so_far = self._busy if again.busy else self._failures
        backoff: float = settings.backoff_s * 2.0 ** min(so_far - 1, 30)
        return jitter * min(backoff, settings.backoff_max_s)

    def enough(self, state: tenacity.RetryCallState) -> bool:
        waited = state.idle_for + state.upcoming_sleep
        # A limit on number too, for an endpoint that says "busy" without any wait.
        most = 1_000 if _again(state).busy else self._settings.retries
        return waited > self._settings.patience_s or (
            self._busy if _again(state).busy else self._failures
        ) > most

    def give_up(self, state: tenacity.RetryCallState) -> NoReturn:
        again = _again(state)
        mend = (
            "Lower the requests or tokens per minute, or try later"
            if again.busy
            else "Try again later, or see that the endpoint is well"
        )
        times = "once" if self._attempts == 1 else f"{self._attempts} times"
        raise CallFailed(
            f"a call was made {times} without a usable answer (last: {again.reason}). {mend}",
            attempts=self._attempts,
        )


def _again(state: tenacity.RetryCallState) -> Again:
    error = state.outcome.exception() if state.outcome else None
    if not isinstance(error, Again):  # tenacity asks only after one
        raise TypeError("no failed attempt to judge")
    return error
