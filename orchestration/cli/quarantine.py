"""``okh quarantine``: what could not be read, and another try."""

from __future__ import annotations

import typer
from rich.table import Table

from orchestration.cli.shared import HomeOption, JsonOption, console, open_home, print_json

app = typer.Typer(no_args_is_help=True, help="What could not be read, and another try.")


@app.command("list")
def list_(home: HomeOption = None, json_: JsonOption = False) -> None:
    """Each fault with its stage, place, problem and mend."""
    from storage.quarantine import list_items

    items = list_items(open_home(home))
    if json_:
        print_json({"schema": "okh.quarantine/1", "items": [
            {
                "id": i.id, "stage": i.stage, "group": i.group, "document": i.document,
                "block": i.block, "file": i.file, "place": i.place, "problem": i.problem,
                "mend": i.mend, "at": i.at.isoformat() if i.at else None,
            }
            for i in items
        ]})
        return
    if not items:
        console.print("The quarantine is empty.")
        return
    table = Table(show_lines=True)
    for column in ("id", "stage", "where", "problem", "mend"):
        table.add_column(column)
    for item in items:
        where = " ".join(part for part in (item.file, item.group, item.place) if part)
        table.add_row(item.id[:8], item.stage, where, item.problem, item.mend)
    console.print(table)


@app.command("retry")
def retry(home: HomeOption = None, json_: JsonOption = False) -> None:
    """Read refused files again from where they lay, then build the groups with faults."""
    from assets.ingest import retry_refused
    from orchestration.building import build, open_instance
    from storage.quarantine import list_items

    opened = open_home(home)
    before = len(list_items(opened))
    retry_refused(opened)
    with open_instance(opened) as instance:
        report = build(opened, instance, retry=True)
    left = len(list_items(opened))
    if json_:
        print_json({"schema": "okh.retry/1", "before": before, "left": left})
    else:
        console.print(f"{before - left} of {before} faults are mended, {left} are left.")
    if report.failures:
        raise typer.Exit(1)
