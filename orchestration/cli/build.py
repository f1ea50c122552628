"""``okh ingest`` and ``okh build``."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from orchestration.cli.shared import (
    USER_ERROR,
    HomeOption,
    JsonOption,
    UserError,
    console,
    open_home,
    print_json,
    progress_bar,
)
from storage.home import Home


def ingest(
    paths: Annotated[list[Path], typer.Argument(help="Files and folders.")],
    manifest: Annotated[
        Path | None, typer.Option(help="CSV with file, storm, year, lead[, port, landfall].")
    ] = None,
    ports: Annotated[
        Path | None, typer.Option(help="CSV with name, lon, lat[, aliases]: groups for these.")
    ] = None,
    radius: Annotated[
        float | None, typer.Option(min=1, help="Kilometres from a port to a forecast location.")
    ] = None,
    home: HomeOption = None,
    json_: JsonOption = False,
) -> None:
    """Add documents of any kind to the home, and say what each was taken for."""
    from assets.ingest import ingest_paths

    for path in (*paths, *(p for p in (manifest, ports) if p is not None)):
        if not path.exists():
            raise UserError(f"{path} does not exist")
    opened = open_home(home, create=True)
    with progress_bar(json_) as bar:
        task = bar.add_task("reading", total=None)
        report = ingest_paths(
            opened, paths, manifest=manifest, ports=ports, radius_km=radius,
            progress=lambda name: bar.update(task, advance=1, description=f"reading {name}"),
        )
    if json_:
        print_json({"schema": "okh.ingest/1", **report.payload()})
        raise typer.Exit(USER_ERROR if report.nothing_taken else 0)
    table = Table(title="taken for", title_justify="left")
    for column in ("kind", "files", "documents", "blocks"):
        table.add_column(column, justify="left" if column == "kind" else "right")
    for kind, (files, documents, blocks) in report.by_kind().items():
        table.add_row(kind, str(files), str(documents), str(blocks))
    console.print(table)
    for file in report.files:
        if file.refused:
            console.print(f"refused: {file.refused}", style="yellow", markup=False)
        for note in file.notes:
            console.print(f"note: {note}", style="dim", markup=False)
    for warning in report.warnings:
        console.print(f"warning: {warning}", style="yellow", markup=False)
    console.print(
        f"{report.added} documents added, {report.aliased} known already, "
        f"{report.superseded} superseded; {report.groups} groups, "
        f"{len(report.changed)} of them new or changed. Next: okh build", markup=False,
    )
    if report.nothing_taken:
        raise typer.Exit(USER_ERROR)


def build(
    group: Annotated[str, typer.Option(help="Only groups like this, e.g. 'IRMA-2017|*'.")] = "*",
    retrain: Annotated[bool, typer.Option(help="Train the transition model anew.")] = False,
    refit: Annotated[bool, typer.Option(help="Fit the embedder anew; the model follows.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what is stale and what it costs at most.")
    ] = False,
    budget: Annotated[
        float | None, typer.Option(min=0, help="Dollars to spend at most; the rest stays to do.")
    ] = None,
    home: HomeOption = None,
    json_: JsonOption = False,
) -> None:
    """Materialize what is stale, through Dagster, in this process."""
    from orchestration.building import build as run
    from orchestration.building import open_instance

    opened = open_home(home)
    if dry_run:
        _dry_run(opened, group, json_)
        return
    with progress_bar(json_) as bar, open_instance(opened) as instance:
        task = bar.add_task("looking for what is stale", total=None)

        def progress(what: str, done: int, of: int) -> None:
            bar.update(task, description=f"building {what}", completed=done, total=of or None)

        report = run(
            opened, instance, pattern=group, retrain=retrain, refit=refit, budget=budget,
            progress=progress,
        )
    if json_:
        print_json({
            "schema": "okh.build/1", "groups": report.groups, "stale": dict(report.stale),
            "runs": report.runs, "seconds": round(report.seconds, 2),
            "index_built": report.index_built, "snapshot": report.snapshot,
            "failures": report.failures, "checks": report.checks,
            "stopped": report.cut_short, "left": report.left,
        })
    elif report.did_nothing:
        console.print(
            f"Nothing to do: {report.groups} groups and the index are up to date "
            f"(snapshot {report.snapshot})."
        )
    else:
        console.print(
            f"{len(report.stale) - report.left} of {report.groups} groups built in "
            f"{report.runs} runs, {report.seconds:.1f} s; snapshot {report.snapshot}."
        )
    for check in report.checks:
        console.print(f"check failed: {check}", style="yellow", markup=False)
    if report.cut_short:
        console.print(
            f"stopped: {report.cut_short}. Still to be built: {report.left} groups and the index; "
            "`okh build` goes on where this one stopped.", style="bold red", markup=False,
        )
    for failure in report.failures if not report.cut_short else ():
        console.print(f"failed: {failure}", style="bold red", markup=False)
    if report.failures:
        raise typer.Exit(1)


def _dry_run(home: Home, pattern: str, json_: bool) -> None:
    """What `okh build` would do, and what a language model would be paid for it."""
    from orchestration.building import plan

    staleness, estimate = plan(home, pattern)
    reasons = dict(Counter(staleness.reasons.values()))
    if json_:
        print_json({
            "schema": "okh.plan/1", "stale": dict(staleness.reasons), "reasons": reasons,
            "index_stale": staleness.index, **asdict(estimate),
        })
        return
    listed = ", ".join(f"{n} from {asset} on" for asset, n in reasons.items()) or "none"
    console.print(f"stale groups: {listed}", markup=False)
    for key in list(staleness.reasons)[:20]:
        console.print(f"  {key}", markup=False)
    if len(staleness.reasons) > 20:
        console.print(f"  and {len(staleness.reasons) - 20} more")
    console.print(
        f"blocks to extract: {estimate.blocks}, by calls to a model: {estimate.calls}",
        markup=False,
    )
    if estimate.tokens_in:
        most = estimate.dollars_most
        dollars = "the model has no price" if most is None else f"${most:.2f} at most"
        console.print(
            f"input tokens: about {estimate.tokens_in:,}; output tokens: at most "
            f"{estimate.tokens_out_most:,}; {dollars}", markup=False,
        )
