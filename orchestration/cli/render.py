"""Trajectories and answers as a person reads them in a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console, Group
from rich.panel import Panel
from rich.text import Text

_TERMS = {"rel": "Rel", "trans": "log P", "prec": "Prec", "ovlp": "Ovlp", "cov": "Cov"}
_DETAILS = {
    "as_of": "asked as of", "horizon": "horizon", "issued": "issued", "unit": "unit",
    "location": "forecast location", "distance_km": "distance (km)", "statistic": "statistic",
    "threshold": "threshold", "period": "period", "choice": "choice",
    "superseded": "before",
}


def print_result(console: Console, payload: Mapping[str, Any], *, limit: int | None = None) -> None:
    """The numbered trajectories, best first, then the answer."""
    for note in payload["notes"]:
        console.print(Text(f"note: {note}", style="yellow"))
    for number, trajectory in enumerate(payload["trajectories"][:limit], start=1):
        console.print(trajectory_text(number, trajectory))
    console.print(answer_panel(payload))


def trajectory_text(number: int, trajectory: Mapping[str, Any]) -> Text:
    """Steps with horizon, phase, relation, evidence and source span; the five terms above."""
    terms = "  ".join(f"{label} {trajectory['terms'][key]:.3f}" for key, label in _TERMS.items())
    text = Text()
    text.append(f"Trajectory {number}", style="bold")
    text.append(f"   score {trajectory['score']:.3f}   {terms}\n", style="dim")
    for step in trajectory["steps"]:
        text.append_text(step_text(step))
    return text


def step_text(step: Mapping[str, Any]) -> Text:
    """One step on two or three lines."""
    text = Text()
    text.append(f"{step['step']:>3}. ", style="bold cyan")
    text.append(f"{step['horizon']:<12}", style="bold")
    text.append(f"{step['phase']} · {step['relation']}", style="green")
    if step.get("tags"):
        text.append(f"  [{', '.join(step['tags'])}]", style="dim")
    text.append(f"\n     {' '.join(step['evidence'].split())}\n")
    values = ", ".join(
        f"{a['key']}={a['value']}{' ' + a['unit'] if a['unit'] else ''}"
        for a in step["attributes"] if not _repeats(a["value"], step["evidence"])
    )
    if values:
        text.append(f"     {values}\n", style="magenta")
    text.append(f"     {source_text(step)}\n", style="dim")
    return text


def _repeats(value: str, evidence: str) -> bool:
    """Whether a value is a whole sentence that stands in the evidence above it."""
    return len(value) > 40 and " ".join(value.split()) in " ".join(evidence.split())


def source_text(step: Mapping[str, Any]) -> str:
    """File and offsets of a step's evidence, or what it was made from."""
    spans = [f"{s['file']}:{s['start']}-{s['end']}" for s in step["sources"]]
    more = f" and {len(spans) - 2} more" if len(spans) > 2 else ""
    where = ", ".join(spans[:2]) + more
    if step["synthetic"]:
        return f"synthetic, from {where}" if where else "from the table of ports"
    issued = f" · issued {step['issued']}" if step["issued"] else ""
    return f"{where}{issued}"


def answer_panel(payload: Mapping[str, Any]) -> Panel:
    """The answer with its confidence, rationale and details."""
    answer = payload["answer"]
    head = Text(answer["value"], style="bold")
    if answer["details"].get("choice"):
        head.append(f"  {answer['details']['choice']}")
    elif answer["details"].get("unit"):
        head.append(f" {answer['details']['unit']}")
    lines = [head, Text(answer["rationale"])]
    details = "; ".join(
        f"{label}: {answer['details'][key]}" for key, label in _DETAILS.items()
        if answer["details"].get(key) not in (None, "")
    )
    if details:
        lines.append(Text(details, style="dim"))
    if answer["trajectory"] is not None:
        step = f", step {answer['step']}" if answer["step"] is not None else ""
        lines.append(Text(f"decided by trajectory {answer['trajectory']}{step}", style="dim"))
    title = f"Answer ({answer['type']}, confidence {answer['confidence']:.2f})"
    return Panel(Group(*lines), title=title, title_align="left")
