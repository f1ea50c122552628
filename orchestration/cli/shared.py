"""What the commands share: options, consoles, and the JSON they print."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.progress import TimeElapsedColumn as Elapsed

from okh.domain import OkhError
from orchestration.settings import home_path
from storage.home import Home

console = Console(highlight=False, soft_wrap=False)
errors = Console(stderr=True, highlight=False)

FAILURE, USER_ERROR, NO_EVIDENCE = 1, 2, 3
"""Exit codes beside 0."""

HomeOption = Annotated[
    str | None,
    typer.Option("--home", help="The home. Default: OKH_HOME, else .okh", show_default=False),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]


class UserError(OkhError):
    """A command that cannot be run as it was given."""


def open_home(home: str | None, *, create: bool = False) -> Home:
    """The home of this command."""
    return Home.open(home_path(home), create=create)


def print_json(payload: Mapping[str, Any]) -> None:
    """One JSON object on standard output, whatever the terminal's width."""
    sys.stdout.write(json.dumps(payload, ensure_ascii=False, indent=2) + "\n")


@contextmanager
def progress_bar(quiet: bool = False) -> Iterator[Progress]:
    """A progress bar on standard error, gone when done."""
    columns = (
        SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
        Elapsed(),
    )
    with Progress(*columns, console=errors, transient=True, disable=quiet) as bar:
        yield bar
