"""``okh backfill``: rebuild what a change of prompt, schema, vocabulary or rules made stale."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

import typer

from orchestration.cli.shared import (
    HomeOption,
    JsonOption,
    UserError,
    console,
    open_home,
    print_json,
    progress_bar,
)


def backfill(
    stale: Annotated[
        bool, typer.Option("--stale", help="The groups that code or documents made stale.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be done.")
    ] = False,
    budget: Annotated[
        float | None, typer.Option(min=0, help="Dollars that a language model may cost.")
    ] = None,
    groups: Annotated[
        int | None, typer.Option(min=1, help="At most so many groups, the newest storms'.")
    ] = None,
    home: HomeOption = None,
    json_: JsonOption = False,
) -> None:
    """Rebuild stale groups, newest storms first, and show old facts against new ones.

    Cut short, it goes on where it was when it is run again. Questions read the former
    snapshot until the new one is complete.
    """
    if not stale:
        raise UserError("say what to rebuild: --stale")
    opened = open_home(home)
    if dry_run:
        _say_plan(opened, groups, json_)
        return
    from assets.diff import since
    from orchestration.building import build, open_instance
    from storage.publish import snapshot

    before = snapshot(opened)
    with progress_bar(json_) as bar, open_instance(opened) as instance:
        task = bar.add_task("looking for what is stale", total=None)
        report = build(
            opened, instance, budget=budget, newest=groups or 1_000_000,
            progress=lambda what, done, of: bar.update(
                task, description=f"building {what}", completed=done, total=of or None
            ),
        )
    files = before.files.get("hyperedges", {}) if before else {}
    moved = since(opened, files, list(report.stale))
    if json_:
        print_json({
            "schema": "okh.backfill/1", "groups": list(report.stale), "runs": report.runs,
            "seconds": round(report.seconds, 2), "snapshot": report.snapshot,
            "failures": report.failures, "checks": report.checks,
            "facts": {group: each.counts for group, each in moved.items()},
        })
    else:
        _say(report, moved)
    if report.failures:
        raise typer.Exit(1)


def _say(report: Any, moved: dict[str, Any]) -> None:
    console.print(f"{len(report.stale)} groups in {report.runs} runs, {report.seconds:.1f} s.")
    total: Counter[str] = Counter()
    for each in moved.values():
        total.update(each.counts)
    told = ", ".join(f"{total[name]} {name}" for name in ("gained", "lost", "changed", "kept"))
    console.print(f"facts: {told}")
    loud = sorted(moved.items(), key=lambda item: item[1].kept - sum(item[1].counts.values()))
    for group, each in loud[:20]:
        told = ", ".join(f"{n} {name}" for name, n in each.counts.items())
        console.print(f"  {group}: {told}", markup=False)
    if moved:
        console.print("`okh diff GROUP` shows the facts of one.")
    for line in (*report.checks, *report.failures):
        console.print(line, style="bold red", markup=False)


def _say_plan(home: Any, groups: int | None, json_: bool) -> None:
    from assets.staleness import newest_first
    from okh.domain import Group
    from orchestration.building import plan

    found, estimate = plan(home)
    order = newest_first(found.reasons)[:groups]
    reasons = {key: found.reasons[key] for key in order}
    if json_:
        print_json({
            "schema": "okh.backfill-plan/1", "groups": reasons, "blocks": estimate.blocks,
            "tokens_in": estimate.tokens_in, "dollars_most": estimate.dollars_most,
        })
        return
    storms = Counter(Group.parse(key).storm_year for key in order)
    for storm, number in storms.items():
        console.print(f"  {storm}: {number} groups", markup=False)
    console.print(f"{len(order)} groups, {estimate.blocks} blocks to extract", markup=False)
    if estimate.tokens_in:
        most = estimate.dollars_most
        console.print("the model has no price" if most is None else f"${most:.2f} at most")
