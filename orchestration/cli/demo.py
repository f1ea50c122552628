"""``okh demo``: the shipped sample, from documents to an answer."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from orchestration.cli.shared import JsonOption, console, open_home, print_json, progress_bar


def demo(
    home: Annotated[
        str | None, typer.Option("--home", help="Where to build it. Default: a temporary home.")
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Build the shipped sample, ask one question, print trajectory and answer."""
    if home:
        _demo(home, json_, keep=True)
        return
    with tempfile.TemporaryDirectory(prefix="okh-demo-") as folder:
        _demo(str(Path(folder) / "home"), json_, keep=False)


def _demo(folder: str, json_: bool, *, keep: bool) -> None:
    from assets.ingest import ingest_paths
    from okh.sample import PORTS_CSV, demo_question, documents
    from orchestration.asking import answer
    from orchestration.building import build, open_instance
    from orchestration.cli.render import print_result

    opened = open_home(folder, create=True)
    with progress_bar(json_) as bar, open_instance(opened) as instance:
        task = bar.add_task("reading the sample", total=None)
        ingested = ingest_paths(opened, documents(), ports=PORTS_CSV)
        report = build(opened, instance, progress=lambda what, done, of: bar.update(
            task, description=f"building {what}", completed=done, total=of or None
        ))
    if report.failures:
        console.print("\n".join(report.failures), style="bold red", markup=False)
        raise typer.Exit(1)
    asked = demo_question()
    payload = answer(opened, asked["question"], context={
        "type": asked["type"], "choices": tuple(asked.get("choices", ())),
        "storm": asked["storm"], "year": asked["year"], "port": asked["port"],
        "lead": asked["lead"],
    })
    if json_:
        print_json(payload)
        return
    console.print(
        f"{ingested.added} documents, {report.groups} groups, built in {report.seconds:.1f} s.",
        markup=False,
    )
    console.print(f"\nQuestion: {asked['question']}", style="bold", markup=False)
    print_result(console, payload, limit=1)
    if keep:
        console.print(f"The sample's home is {folder}: okh ask … --home {folder}", markup=False)
