"""``okh forget``, ``okh maintain``, ``okh backup`` and ``okh restore``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

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


def forget(
    pattern: Annotated[
        str, typer.Argument(help="Names of documents, e.g. '*IRMA_2017_48h*'.")
    ] = "",
    document: Annotated[
        str, typer.Option("--document", help="Hash of a document, eight digits at least.")
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list the documents.")] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="Let forgotten documents in again; ingest them anew.")
    ] = False,
    refit: Annotated[
        bool, typer.Option(help="Make embedder and model again: their statistics saw the words.")
    ] = False,
    home: HomeOption = None,
    json_: JsonOption = False,
) -> None:
    """Take documents out of the home and of all that was made from them.

    Run it again after a crash; without arguments it takes up what was cut short.
    """
    from assets.deletion import matching, meant
    from orchestration.building import open_instance
    from orchestration.forgetting import forget as run
    from storage.tombstones import lift, tombstones

    opened = open_home(home)
    if undo:
        buried = [t.document for t in tombstones(opened) if t.done]
        lifted = [d for d in buried if meant(d, pattern, document)]
        lift(opened, {d.hash for d in lifted})
        _say(json_, {"lifted": [d.hash for d in lifted]}, f"{len(lifted)} tombstones are lifted.")
        return
    documents = matching(opened, pattern, document) if pattern or document else []
    if not documents and (pattern or document):
        raise UserError("no document of the home has such a name or hash")
    if dry_run:
        listed = {d.hash: list(d.names) for d in documents}
        _say(json_, {"documents": listed}, "\n".join(
            f"{h[:12]}  {', '.join(names)}" for h, names in listed.items()
        ))
        return
    with progress_bar(json_) as bar, open_instance(opened) as instance:
        bar.add_task("taking documents out", total=None)
        done = run(opened, instance, documents, refit=refit)
    if done.purged is None:
        failures = done.built.failures
        console.print("\n".join(failures), style="bold red", markup=False)
        raise typer.Exit(1)
    _say(json_, {"groups": list(done.groups), "purged": asdict(done.purged)}, (
        f"{done.purged.documents} documents taken out; {len(done.groups)} groups changed or went; "
        f"{done.purged.cached} cached blocks, {done.purged.traces} traces and "
        f"{done.purged.faults} faults removed."
    ))


def maintain(
    repair: Annotated[
        bool, typer.Option("--repair", help="Find damaged tables and vectors, and rebuild them.")
    ] = False,
    home: HomeOption = None,
    json_: JsonOption = False,
) -> None:
    """Put the home in order: leftovers swept, old versions dropped, vectors compacted."""
    from assets.repair import take_away_damaged
    from orchestration.building import build, open_instance
    from orchestration.maintenance import clean_up, compact

    opened = open_home(home)
    payload: dict[str, object] = {"swept": opened.sweep()}
    failures: list[str] = []
    with progress_bar(json_) as bar, open_instance(opened) as instance:
        bar.add_task("putting the home in order", total=None)
        if repair:
            payload["damaged"] = take_away_damaged(opened)
            failures = build(opened, instance).failures
        if not failures:
            payload |= {"purged": asdict(clean_up(opened, instance)), **compact(opened)}
    _say(json_, payload, "\n".join(f"{name}: {value}" for name, value in payload.items()))
    if failures:
        console.print("\n".join(failures), style="bold red", markup=False)
        raise typer.Exit(1)


def backup(
    target: Annotated[Path, typer.Argument(help="A file that is not there yet, e.g. home.tar.gz.")],
    home: HomeOption = None,
    json_: JsonOption = False,
) -> None:
    """Write the home, as its published snapshot has it, into one archive."""
    from storage.backup import save_backup

    size = save_backup(open_home(home), target)
    _say(json_, {"file": str(target), "bytes": size}, f"{target}: {size / 1e6:.1f} MB")


def restore(
    source: Annotated[Path, typer.Argument(help="An archive of `okh backup`.")],
    home: HomeOption = None,
    json_: JsonOption = False,
) -> None:
    """Make a home from an archive; where one lies already nothing is touched."""
    from orchestration.settings import home_path
    from storage.backup import restore_backup

    made = restore_backup(source, Path(home_path(home)))
    _say(json_, {"home": str(made.root)}, f"restored into {made.root}")


def _say(json_: bool, payload: dict[str, object], text: str) -> None:
    if json_:
        print_json({"schema": "okh.maintain/1", **payload})
    else:
        console.print(text, markup=False)
