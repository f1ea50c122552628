"""``okh diff``: what a new version of a group's facts gained, lost and changed."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from orchestration.cli.shared import HomeOption, JsonOption, console, open_home, print_json

if TYPE_CHECKING:
    from okh.domain import Hyperedge


def diff(
    group: Annotated[str, typer.Argument(help="A group key, e.g. 'IRMA-2017|portmiami-fl'.")],
    against: Annotated[
        int | None,
        typer.Option(help="Number of an earlier version. Default: the last with other content."),
    ] = None,
    limit: Annotated[int, typer.Option(min=0, help="Facts of each sort to show.")] = 20,
    home: HomeOption = None,
    json_: JsonOption = False,
) -> None:
    """The current facts of a group against an earlier version of them."""
    from assets.diff import difference

    found = difference(open_home(home), group, against)
    parts = found.difference
    if json_:
        print_json({
            "schema": "okh.diff/1", "group": group, "before": found.before, "after": found.after,
            **parts.counts,
            "facts": {
                "gained": [_payload(e) for e in parts.gained],
                "lost": [_payload(e) for e in parts.lost],
                "changed": [
                    {"fields": list(c.fields), "before": _payload(c.before),
                     "after": _payload(c.after)} for c in parts.changed
                ],
            },
        })
        return
    told = ", ".join(f"{n} {name}" for name, n in parts.counts.items())
    console.print(Text(f"{group}: version {found.before} -> {found.after}: {told}", style="bold"))
    for edge in parts.gained[:limit]:
        console.print(_line("+", edge, "green"))
    for edge in parts.lost[:limit]:
        console.print(_line("-", edge, "red"))
    for change in parts.changed[:limit]:
        console.print(_line("~", change.before, "yellow"))
        console.print(_line(">", change.after, "yellow", ", ".join(change.fields)))


def _line(sign: str, edge: Hyperedge, style: str, note: str = "") -> Text:
    values = ", ".join(f"{a.key}={a.value}{a.unit}" for a in edge.attributes)
    text = Text(f"{sign} {edge.horizon:<12}{edge.relation}", style=style)
    text.append(f"  {' '.join(edge.evidence.split())[:100]}", style="dim")
    text.append(f"  {values}" if values else "", style="magenta")
    text.append(f"  [{note}]" if note else "", style="bold")
    return text


def _payload(edge: Hyperedge) -> dict[str, Any]:
    return {
        "id": edge.id, "horizon": edge.horizon, "relation": edge.relation,
        "evidence": edge.evidence, "entities": list(edge.entities),
        "attributes": [asdict(a) for a in edge.attributes],
    }
