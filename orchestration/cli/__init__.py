"""The command line: ``okh``.

Exit codes: 0 done or answered · 1 failure · 2 user error · 3 no evidence (the
answer is "not stated").
"""

from __future__ import annotations

import sys

import typer

from okh.domain import OkhError
from orchestration.cli.shared import errors

FAILURE, USER_ERROR, NO_EVIDENCE = 1, 2, 3

app = typer.Typer(
    name="okh", no_args_is_help=True, add_completion=False,
    pretty_exceptions_show_locals=False, rich_markup_mode="rich",
    help="Order-aware knowledge hypergraph RAG: answers from ordered trajectories of evidence.",
)


def _register() -> None:
    from orchestration.cli import ask, build, demo, export, llm, quarantine, show

    app.command("demo")(demo.demo)
    app.command("ingest")(build.ingest)
    app.command("build")(build.build)
    app.command("ask")(ask.ask)
    app.command("show")(show.show)
    app.command("status")(show.status)
    app.command("export")(export.export)
    app.command("costs")(llm.costs)
    app.command("doctor")(llm.doctor)
    app.add_typer(quarantine.app, name="quarantine")


_register()


def main() -> None:
    """Entry point: errors of the user are one line, not a traceback."""
    try:
        app()
    except OkhError as error:
        errors.print(f"[bold red]error:[/] {error}", highlight=False, markup=True)
        sys.exit(USER_ERROR)


__all__ = ["FAILURE", "NO_EVIDENCE", "USER_ERROR", "app", "main"]
