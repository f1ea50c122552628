"""A product states the whole list of what is in force: what it replaces, and what it leaves out.

An advisory that lists watches, warnings, surge or rain lists all there are. Its
list therefore replaces every list of the same kind in an earlier advisory,
"None" included, and a port outside every segment of the newest list has nothing
in force. Scenario text and bulletins state one thing about one port and follow
the ordinary rule, that a later statement about the same thing replaces an
earlier one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from okh.domain import Hyperedge
from okh.generation.quantities import number

LISTS: dict[str, str] = {
    "has_watch_status": "alerts", "has_warning_status": "alerts", "has_advisory_change": "alerts",
    "forecasts_storm_surge": "surge", "forecasts_rainfall": "rain",
}
"""Relation -> the list of a product that its statements belong to."""

ENDED = ("discontinued", "cancelled", "canceled", "replaced", "downgraded")
"""Changes after which the alert that is named is no longer in effect."""

COVERED_KM = 5.0
"""A segment or an area speaks for a port up to this distance: harbours are no points."""

_SEVERITY = ("surge", "tropical", "hurricane")

Product = tuple[int | None, datetime | None]


@dataclass(slots=True)
class Listings:
    """The newest product read so far, for each kind of list, with one of its steps.

    ``table`` is the horizon of the newest wind table of which a row was read.
    """

    newest: dict[str, tuple[Product, int, Hyperedge]] = field(default_factory=dict)
    table: int | None = None

    def note(self, step: int, edge: Hyperedge, *, beyond: bool) -> None:
        """Read a step: a product other than the last one takes its place.

        ``beyond`` marks a step later than the horizon asked about, which never
        replaces one that is not.
        """
        if edge.kind == "wind_table" and edge.lead is not None and not beyond:
            self.table = edge.lead if self.table is None else min(edge.lead, self.table)
        kind = list_of(edge)
        if kind and not (beyond and kind in self.newest):
            self.newest[kind] = (product_of(edge), step, edge)

    def holds(self, edge: Hyperedge) -> bool:
        """Whether an edge still stands: it is on no list, or on the newest of its kind."""
        kind = list_of(edge)
        return not kind or kind not in self.newest or self.newest[kind][0] == product_of(edge)


def list_of(edge: Hyperedge) -> str:
    """The kind of list that an edge of a product belongs to; empty for every other edge."""
    return LISTS.get(edge.relation, "") if edge.source_kind == "products" else ""


def product_of(edge: Hyperedge) -> Product:
    """What tells one product from another: its horizon and its issuance time."""
    return (edge.lead, edge.issued)


def names_place(edge: Hyperedge) -> bool:
    """Whether an edge tells of one coast or area, and not of the storm or the port as a whole."""
    named = edge.attribute("segment") or edge.attribute("area")
    return named is not None and named != "offshore"


def covers_port(edge: Hyperedge) -> bool:
    """Whether an edge speaks for the port of its group.

    Text about one port always does, a product where its segment or area reaches
    the port, or where it says that there is nothing anywhere.
    """
    if edge.source_kind != "products" or not names_place(edge):
        return True
    distance = number(edge.attribute("distance_km") or "")
    return distance is not None and distance <= COVERED_KM


def in_force(edge: Hyperedge) -> bool:
    """Whether the alert that an edge names is in effect after it."""
    return (edge.attribute("action") or "").casefold() not in ENDED


def severity(advisory: str) -> int:
    """Rank of an alert by its kind: surge, tropical storm, hurricane; 0 for any other."""
    words = advisory.casefold()
    return max((i for i, kind in enumerate(_SEVERITY, 1) if kind in words), default=0)
