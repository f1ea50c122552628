"""The command line: ``okh``.

Exit codes: 0 done or answered · 1 failure · 2 user error · 3 no evidence (the
answer is "not stated").
"""

from __future__ import annotations

import sys

import typer
from rich.markup import escape

from okh.domain import OkhError
from orchestration.cli.shared import FAILURE, NO_EVIDENCE, USER_ERROR, errors

app = typer.Typer(
    name="okh", no_args_is_help=True, add_completion=False,
    pretty_exceptions_show_locals=False, rich_markup_mode="rich",
    help="Order-aware knowledge hypergraph RAG: answers from ordered trajectories of evidence.",
)


def _register() -> None:
    from orchestration.cli import (
        ask,
        backfill,
        build,
        demo,
        diff,
        export,
        llm,
        maintain,
        quarantine,
        show,
    )

    app.command("demo")(demo.demo)
    app.command("ingest")(build.ingest)
    app.command("build")(build.build)
    app.command("ask")(ask.ask)
    app.command("show")(show.show)
    app.command("status")(show.status)
    app.command("export")(export.export)
    app.command("costs")(llm.costs)
    app.command("backfill")(backfill.backfill)
    app.command("diff")(diff.diff)
    app.command("forget")(maintain.forget)
    app.command("maintain")(maintain.maintain)
    app.command("backup")(maintain.backup)
    app.command("restore")(maintain.restore)
    app.command("doctor")(llm.doctor)
    app.add_typer(quarantine.app, name="quarantine")


_register()


def main() -> None:
    """Entry point: errors of the user are one line, not a traceback."""
    try:
        app()
    except OkhError as error:
        errors.print(f"[bold red]error:[/] {escape(str(error))}", highlight=False)
        sys.exit(USER_ERROR)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        errors.print(f"[bold red]error:[/] {escape(f'{error.strerror or error}{where}')}")
        sys.exit(FAILURE)


__all__ = ["FAILURE", "NO_EVIDENCE", "USER_ERROR", "app", "main"]
