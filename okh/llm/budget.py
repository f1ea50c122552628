"""A budget that no call can pass: the most it may cost is set aside before it is made."""

from __future__ import annotations

import threading

from okh.llm.errors import BudgetExceeded


class Budget:
    """Dollars that may be spent through one client; None sets no limit."""

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self._spent = 0.0
        self._reserved = 0.0
        self._changed = threading.Condition()

    @property
    def spent(self) -> float:
        """Dollars spent, or counted as spent because nobody can tell."""
        with self._changed:
            return self._spent

    def reserve(self, most: float) -> Reservation:
        """Set the most that a call may cost aside.

        Where only calls in flight stand in the way it waits for their true costs.

        Raises
        ------
        BudgetExceeded
            If the call could pass the limit.
        """
        with self._changed:
            while self.limit is not None:
                if self._spent + self._reserved + most <= self.limit:
                    break
                if not self._reserved:
                    raise BudgetExceeded(
                        f"the next call may cost ${most:.4f}, and ${self._spent:.4f} of the "
                        f"budget of ${self.limit:g} are spent: raise the budget and start "
                        "again, what was answered is kept"
                    )
                self._changed.wait()
            self._reserved += most
            return Reservation(self, most)

    def _settle(self, most: float, cost: float) -> None:
        with self._changed:
            self._reserved -= most
            # What is left of sums of fractions must not count as a call in flight.
            if self._reserved < 1e-12:
                self._reserved = 0.0
            self._spent += cost
            self._changed.notify_all()


class Reservation:
    """Money set aside for one call. Left unsettled, it counts as spent in full."""

    def __init__(self, budget: Budget, most: float) -> None:
        self._budget, self._most, self._open = budget, most, True

    def settle(self, cost: float) -> None:
        """Put what the call cost in place of the most it could have."""
        if self._open:
            self._open = False
            self._budget._settle(self._most, cost)

    def __enter__(self) -> Reservation:
        return self

    def __exit__(self, *_: object) -> None:
        self.settle(self._most)
