"""Replies of a language model that are not yet facts: kept for dialogs that a crash cut off.

SQLite in WAL mode, like the extraction cache. A scope (the content key of a block) is
dropped when its facts are stored; what stays are the replies of blocks in the quarantine.
"""

from __future__ import annotations

from storage.database import Database
from storage.home import Home


class Replies:
    """Replies by scope and request. Safe under threads and processes."""

    def __init__(self, home: Home) -> None:
        self._database = Database(
            home, "replies",
            "create table if not exists replies (scope text not null, request text not null, "
            "reply text not null, primary key (scope, request)) without rowid",
        )

    def get(self, scope: str, request: str) -> str | None:
        """A reply as it was put, or None."""
        with self._database.open() as base:
            row = base.execute(
                "select reply from replies where scope = ? and request = ?", (scope, request)
            ).fetchone()
        return row[0] if row else None

    def put(self, scope: str, request: str, reply: str) -> None:
        """Keep a reply."""
        with self._database.open() as base:
            base.execute("insert or replace into replies values (?, ?, ?)", (scope, request, reply))

    def drop(self, scope: str) -> None:
        """Forget the replies of a scope."""
        with self._database.open() as base:
            base.execute("delete from replies where scope = ?", (scope,))

    def scopes(self) -> dict[str, int]:
        """Scope -> number of replies kept."""
        with self._database.open() as base:
            return dict(base.execute("select scope, count(*) from replies group by scope"))
