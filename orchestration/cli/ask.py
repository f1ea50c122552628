"""``okh ask``: an answer with its trajectories."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestration.cli.shared import (
    NO_EVIDENCE,
    HomeOption,
    JsonOption,
    console,
    open_home,
    print_json,
)


def ask(
    question: Annotated[str, typer.Argument(help="The question, in words.")],
    storm: Annotated[str | None, typer.Option(help="Storm name, e.g. IRMA.")] = None,
    year: Annotated[int | None, typer.Option(help="Its year.")] = None,
    port: Annotated[str | None, typer.Option(help="Port name, alias or slug.")] = None,
    lead: Annotated[
        int | None, typer.Option(help="Hours before landfall at which the question is asked.")
    ] = None,
    answer_type: Annotated[
        str | None, typer.Option("--type", help="TF, MC, SA or TD; found in the words if left out.")
    ] = None,
    choice: Annotated[
        list[str] | None, typer.Option(help="A choice of an MC question; repeat for each.")
    ] = None,
    hindsight: Annotated[
        bool, typer.Option(help="See what came after the lead, too, outcomes included.")
    ] = False,
    source: Annotated[
        str | None, typer.Option(help="Only evidence of this kind: products, bulletin, scenario.")
    ] = None,
    trajectories: Annotated[int, typer.Option(min=1, help="How many trajectories to show.")] = 3,
    home: HomeOption = None,
    json_: JsonOption = False,
) -> None:
    """Answer a question from ordered trajectories of evidence.

    Storm, port and lead are found in the words when they are not given. A question
    at a lead sees only what was known then; --hindsight lifts that.
    """
    from orchestration.asking import answer

    payload = answer(open_home(home), question, source=source, context={
        "type": answer_type, "choices": tuple(choice or ()), "storm": storm, "year": year,
        "port": port, "lead": lead, "as_of": None if hindsight else "lead",
    })
    if json_:
        print_json(payload)
    else:
        from orchestration.cli.render import print_result

        print_result(console, payload, limit=trajectories)
    if payload["answer"]["trajectory"] is None:
        raise typer.Exit(NO_EVIDENCE)
