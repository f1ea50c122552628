"""The ledger of calls to language models, for one home: what was asked, when, at what cost.

SQLite in WAL mode: several processes and threads may write, and an entry that was written
stays, whatever becomes of the process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, NamedTuple, Protocol

from storage.database import Database
from storage.home import Home

By = Literal["day", "asset", "group", "model", "purpose", "outcome"]


class Spend(Protocol):
    """What is written down of one attempt (``okh.llm.ledger.Entry`` has it)."""

    @property
    def at(self) -> datetime: ...
    @property
    def purpose(self) -> str: ...
    @property
    def asset(self) -> str: ...
    @property
    def group(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def tokens_in(self) -> int: ...
    @property
    def tokens_out(self) -> int: ...
    @property
    def tokens_cached(self) -> int: ...
    @property
    def cost(self) -> float | None: ...
    @property
    def latency_s(self) -> float: ...
    @property
    def attempt(self) -> int: ...
    @property
    def outcome(self) -> str: ...
    @property
    def estimated(self) -> bool: ...


class Row(NamedTuple):
    """One entry as it lies in the ledger; ``at`` is in UTC."""

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
    estimated: bool


@dataclass(frozen=True, slots=True)
class Total:
    """Sums over the entries of one key.

    ``cost`` sums what is known; ``unpriced`` counts the entries whose cost is not, and
    ``estimated`` those whose tokens the endpoint did not count itself.
    """

    key: str
    calls: int
    tokens_in: int
    tokens_out: int
    tokens_cached: int
    cost: float
    unpriced: int
    estimated: int
    latency_s: float


_KEYS: dict[str, str] = {
    "day": "substr(at, 1, 10)", "asset": "asset", "group": '"group"', "model": "model",
    "purpose": "purpose", "outcome": "outcome",
}
_COLUMNS = ", ".join(f'"{name}"' for name in Row._fields)


class CallLedger:
    """See the module. Safe under threads."""

    def __init__(self, home: Home) -> None:
        self._database = Database(
            home, "ledger",
            "create table if not exists calls (at text not null, purpose text not null, "
            'asset text not null, "group" text not null, model text not null, '
            "tokens_in integer not null, tokens_out integer not null, "
            "tokens_cached integer not null, cost real, latency_s real not null, "
            "attempt integer not null, outcome text not null, estimated integer not null)",
        )

    def append(self, entry: Spend) -> None:
        """Write one attempt down."""
        values = [getattr(entry, name) for name in Row._fields]
        values[0] = _utc(entry.at).isoformat(timespec="microseconds")
        marks = ",".join("?" * len(values))
        with self._database.open() as base:
            base.execute(f"insert into calls ({_COLUMNS}) values ({marks})", values)

    def rows(self, *, since: datetime | None = None) -> list[Row]:
        """All attempts in the order of writing, or those from a moment on."""
        where, values = _since(since)
        with self._database.open() as base:
            found = base.execute(f"select {_COLUMNS} from calls{where} order by rowid", values)
            return [
                Row._make((datetime.fromisoformat(at), *rest, bool(estimated)))
                for at, *rest, estimated in found
            ]

    def totals(self, by: By, *, since: datetime | None = None) -> list[Total]:
        """Sums by day (of UTC), asset, group, model, purpose or outcome, in the key's order.

        Raises ``ValueError`` for another key.
        """
        if by not in _KEYS:
            raise ValueError(f"no totals by {by!r}: one of {', '.join(_KEYS)}")
        where, values = _since(since)
        query = (
            f"select {_KEYS[by]}, count(*), sum(tokens_in), sum(tokens_out), sum(tokens_cached), "
            "coalesce(sum(cost), 0.0), sum(cost is null), sum(estimated), sum(latency_s) "
            f"from calls{where} group by 1 order by 1"
        )
        with self._database.open() as base:
            return [Total(*row) for row in base.execute(query, values)]


def _utc(at: datetime) -> datetime:
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def _since(since: datetime | None) -> tuple[str, Sequence[str]]:
    if since is None:
        return "", ()
    return " where at >= ?", (_utc(since).isoformat(timespec="microseconds"),)
