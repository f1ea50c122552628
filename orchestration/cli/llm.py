"""``okh costs`` and ``okh doctor``: the language model's side."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from orchestration.cli.shared import HomeOption, JsonOption, console, open_home, print_json


class By(str, Enum):
    """What costs are summed by."""

    day = "day"
    asset = "asset"
    group = "group"
    model = "model"
    purpose = "purpose"
    outcome = "outcome"


def costs(
    by: Annotated[By, typer.Option(help="What to sum by.")] = By.day,
    home: HomeOption = None,
    json_: JsonOption = False,
) -> None:
    """What the language model was asked and paid, from the home's ledger."""
    from dataclasses import asdict

    from storage.ledger import CallLedger

    totals = CallLedger(open_home(home)).totals(by.value)
    if json_:
        print_json({"schema": "okh.costs/1", "by": by.value, "totals": [asdict(t) for t in totals]})
        return
    if not totals:
        console.print("No call was made from this home.")
        return
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for name in asdict(totals[0]):
        header = by.value if name == "key" else _HEADERS.get(name, name)
        table.add_column(header, justify="left" if name == "key" else "right")
    for total in totals:
        table.add_row(*(_cell(value) for value in asdict(total).values()))
    console.print(table)


_HEADERS = {
    "tokens_in": "in", "tokens_out": "out", "tokens_cached": "cached", "cost": "dollars",
    "latency_s": "seconds", "estimated": "guessed",
}
"""Names of columns that are short enough for eighty characters."""


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.4f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def doctor(home: HomeOption = None, json_: JsonOption = False) -> None:
    """Check the home and the endpoint: one line each, with the mend."""
    from orchestration.checkup import check_all
    from orchestration.settings import home_path

    findings = check_all(home_path(home))
    if json_:
        print_json({"schema": "okh.doctor/1", "checks": [
            {"check": f.name, "ok": f.ok, "found": f.found, "mend": f.mend} for f in findings
        ]})
    else:
        for finding in findings:
            mark = "[green]ok  [/]" if finding.ok else "[bold red]bad [/]"
            console.print(mark, end="")
            mend = f" -> {finding.mend}" if not finding.ok else ""
            console.print(f"{finding.name}: {finding.found}{mend}", markup=False)
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)
