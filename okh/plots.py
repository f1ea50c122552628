"""Pictures of one group: its hypergraph (the paper's Figure 3) and its trajectory by horizon.

Drawn without a display, as PNG of bounded size. They show names of entities and
relations, never evidence.
"""

from __future__ import annotations

import io
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from okh.domain import Entity, Hyperedge, horizon_label
from okh.precedence import canonical_order
from okh.vocabulary import FAMILIES

__all__ = ["hypergraph_picture", "trajectory_picture"]

MOST_BYTES = 150_000
"""Size of a picture, so that an event log can carry it."""

_DPI = (110, 90, 70, 50, 30)
_PHASES = {phase: number for number, (_, phase) in FAMILIES.items()}
_TYPES = colormaps["tab20"]


def hypergraph_picture(
    edges: Sequence[Hyperedge], entities: Mapping[str, Entity], *, most: int = 16
) -> bytes:
    """Typed entities on an outer circle, hyperedges in their order on an inner one, as PNG.

    Parameters
    ----------
    edges
        The hyperedges of one group, in any order.
    entities
        Entities by identifier; one that is not there is shown by its identifier.
    most
        Hyperedges to draw: of a larger group, those that stand evenly along its
        canonical order.
    """
    chosen = _along(edges, most)
    members = {key for edge in chosen for key in edge.entities}
    names = sorted(members, key=lambda key: (_type(key, entities), key))
    types = sorted({_type(key, entities) for key in names})
    figure = Figure(figsize=(11, 8))
    axes = figure.add_axes((0.0, 0.03, 0.72, 0.93))
    axes.set(xlim=(-1.75, 1.75), ylim=(-1.75, 1.75), aspect="equal")
    axes.axis("off")
    outer = {key: _on_circle(i, len(names), 1.05) for i, key in enumerate(names)}
    inner = [_on_circle(i, len(chosen), 0.5) for i in range(len(chosen))]
    colours = {kind: _TYPES(i % 20) for i, kind in enumerate(types)}
    for edge, (x, y) in zip(chosen, inner, strict=True):
        for key in edge.entities:
            u, v = outer[key]
            axes.plot([x, u], [y, v], color=colours[_type(key, entities)], lw=0.6, alpha=0.5)
    if len(inner) > 1:
        axes.plot(*zip(*inner, strict=True), color="0.3", lw=1.0, ls="--", zorder=2)
    for number, (edge, (x, y)) in enumerate(zip(chosen, inner, strict=True), start=1):
        axes.scatter([x], [y], s=170, color="white", edgecolors="0.2", zorder=3)
        _text(axes, x, y, str(number), 8)
        line = f"{number}. {edge.horizon}  {edge.relation}"
        figure.text(0.70, 0.9 - 0.045 * number, line, fontsize=8, parse_math=False)
    for key, (x, y) in outer.items():
        axes.scatter([x], [y], s=40, color=[colours[_type(key, entities)]], zorder=3)
        known = entities.get(key)
        _text(axes, 1.05 * x, 1.05 * y, known.name if known else key, 7, spin=(x, y))
    handles = [axes.scatter([], [], s=30, color=[colours[kind]], label=kind) for kind in types]
    if handles:
        axes.legend(handles=handles, fontsize=7, ncol=6, loc="lower center", frameon=False)
    _title(figure, edges, f"{len(chosen)} of {len(edges)} hyperedges in canonical order")
    return _png(figure)


def trajectory_picture(edges: Sequence[Hyperedge]) -> bytes:
    """Hyperedges of a group by horizon and phase: where the story has evidence, as PNG.

    Time runs to the right; the size and the number of a dot are the hyperedges of one
    phase at one horizon. The line goes through the phases of each horizon in the order of ≺.
    """
    dated = [e for e in edges if e.lead is not None and not e.static]
    counts = Counter((e.lead, _PHASES.get(e.phase, e.family)) for e in dated)
    leads = sorted({lead for lead, _ in counts if lead is not None}, reverse=True)
    place = {lead: i for i, lead in enumerate(leads)}
    figure = Figure(figsize=(max(6.0, 1.5 + 0.8 * len(leads)), 5.5))
    axes = figure.add_subplot()
    dots = sorted(((place[lead], phase, n) for (lead, phase), n in counts.items() if lead in place))
    if dots:
        x, y, n = (np.array(column) for column in zip(*dots, strict=True))
        axes.plot(x, y, color="0.8", lw=1, zorder=1)
        axes.scatter(x, y, s=40 + 260 * np.sqrt(n / n.max()), c=y, cmap="viridis", zorder=2,
                     alpha=0.85)
        for a, b, number in dots:
            _text(axes, a, b, str(number), 7)
    axes.set_xticks(range(len(leads)), [horizon_label(lead) for lead in leads], fontsize=8)
    axes.set_yticks(list(_PHASES.values()), list(_PHASES), fontsize=8)
    axes.set(xlim=(-0.6, len(leads) - 0.4), ylim=(13.6, 0.4), xlabel="horizon")
    axes.grid(alpha=0.2)
    rest = len(edges) - len(dated)
    _title(figure, edges, f"{len(dated)} hyperedges by horizon and phase, {rest} static or undated")
    figure.tight_layout(rect=(0, 0, 1, 0.95))
    return _png(figure)


def _along(edges: Sequence[Hyperedge], most: int) -> list[Hyperedge]:
    """At most so many edges, evenly along the canonical order."""
    order = canonical_order(edges)
    count = min(most, len(order))
    places = np.linspace(0, max(len(order) - 1, 0), count).round().astype(int)
    return [edges[order[i]] for i in places.tolist()]


def _type(key: str, entities: Mapping[str, Entity]) -> str:
    return entities[key].type if key in entities else "unknown"


def _on_circle(place: int, of: int, radius: float) -> tuple[float, float]:
    """Clockwise from the top."""
    angle = np.pi / 2 - 2 * np.pi * place / max(of, 1)
    return float(radius * np.cos(angle)), float(radius * np.sin(angle))


def _text(
    axes: object, x: float, y: float, text: str, size: float, *,
    spin: tuple[float, float] | None = None,
) -> None:
    """A label, cut short; ``spin`` turns it along the ray through a point, readable from below."""
    shown = text if len(text) <= 24 else text[:23] + "…"
    angle, side = 0.0, "center"
    if spin is not None:
        angle = float(np.degrees(np.arctan2(spin[1], spin[0])))
        flipped = abs(angle) > 90
        side = "right" if flipped else "left"
        angle = angle - 180 if flipped else angle
    # Names come from documents: a dollar sign in one is no formula.
    axes.text(  # type: ignore[attr-defined]
        x, y, shown, fontsize=size, ha=side, va="center", rotation=angle,
        rotation_mode="anchor", parse_math=False, zorder=4,
    )


def _title(figure: Figure, edges: Sequence[Hyperedge], text: str) -> None:
    group = edges[0].group if edges else "no hyperedges"
    figure.suptitle(f"{group}: {text}", fontsize=9, parse_math=False)


def _png(figure: Figure) -> bytes:
    """The picture at the highest resolution at which it is not too large."""
    canvas, data = FigureCanvasAgg(figure), b""
    for dpi in _DPI:
        figure.set_dpi(dpi)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a letter that the font does not have
            canvas.draw()
        pixels = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
        stream = io.BytesIO()
        # Lines of few colours on white: a palette takes a third of the bytes.
        pixels.quantize(48).save(stream, format="png", optimize=True)
        data = stream.getvalue()
        if len(data) <= MOST_BYTES:
            break
    return data
