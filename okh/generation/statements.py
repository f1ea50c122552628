"""What a trajectory says about a target: statements in the order of its steps.

A reader in sequence keeps one standing statement for each thing told about; a
later statement about the same thing replaces it (method.md §7).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from okh.domain import Attribute, Hyperedge, Question, Trajectory, horizon_label
from okh.generation.lexicon import KEY_UNITS, RELATIVE_HOURS
from okh.generation.products import Listings, covers_port, list_of, names_place
from okh.generation.quantities import Quantity, number, plain, quantities, span_text
from okh.generation.target import Target, fit, nearness, told_relation
from okh.vocabulary import CROSS_HORIZON, CYCLONE_PORTS

MIN_FIT = 0.15
"""Below this an edge says nothing about the target."""

_OTHER_COAST = 0.6
_LEFT_OUT = 0.6
"""Fit of what follows from a list as far as it was retrieved: a segment may be missing."""

_HORIZON = 0.3
"""Fit of the hours to landfall that only a horizon gives: the products may expect another time."""

_LESS_WANTED = 0.85
_UNKNOWN_KM = 100.0
_STALE_PER_H = 0.04 / 12
"""How much a statement loses for each hour that it is older than the newest one."""

_STALE_TABLE_PER_H = 0.1 / 12
"""The same for a wind table, whose next issue tells other figures for nearly every location."""

Slot = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """One value told by one step.

    ``value`` is the attribute's text; ``low`` and ``high`` the same as numbers
    where it is one; hours that run down are counted from the question's time
    (``aged`` tells by how much they were shortened). ``note`` says how a value is
    known that the step does not state in so many words.
    """

    trajectory: int
    step: int
    edge: Hyperedge
    relation: str
    key: str
    value: str
    unit: str
    fit: float
    slot: Slot
    low: float | None = None
    high: float | None = None
    aged: int = 0
    note: str = ""

    @property
    def reason(self) -> str:
        """Why the value holds, for a rationale."""
        return self.note or f"{self.shown} is stated"

    @property
    def negative(self) -> bool:
        """Whether the value says that there is nothing."""
        words = self.value.casefold().strip(" .")
        return words in ("none", "no", "not", "nil", "n/a") or words.startswith(("none ", "no "))

    @property
    def interval(self) -> Quantity | None:
        """The value as an interval with its unit; None where it is no number."""
        if self.low is None or self.high is None:
            return None
        return Quantity(self.low, self.high, self.unit)

    @property
    def shown(self) -> str:
        """The value as a person writes it: ``2-4 ft``, ``<1 %``, ``Category 3``."""
        note = self.edge.attribute("text") or ""
        if self.unit == "%" and note.startswith(("<", "onset <")) and self.value == "0":
            return f"{note.removeprefix('onset ')} %"
        if self.low is None or self.high is None:
            return self.value
        return f"{span_text(self.low, self.high)} {self.unit}".strip()


@dataclass(frozen=True, slots=True)
class Reading:
    """What one trajectory says: histories by slot, oldest statement first.

    ``listings`` knows the newest product of each kind of list; ``inferred`` holds
    what follows from a list that leaves the port out.
    """

    trajectory: int
    histories: dict[Slot, list[Statement]] = field(default_factory=dict)
    listings: Listings = field(default_factory=Listings)
    inferred: list[Statement] = field(default_factory=list)

    def standing(self) -> list[Statement]:
        """The last statement of each slot that no newer list replaces, the best first.

        See :func:`rank`.
        """
        last = (history[-1] for history in self.histories.values())
        return rank([*(s for s in last if self.listings.holds(s.edge)), *self.inferred])


def rank(statements: Sequence[Statement]) -> list[Statement]:
    """Statements by fit less staleness, later horizons and later steps first among equals."""
    newest = min((s.edge.lead for s in statements if s.edge.lead is not None), default=None)

    def score(s: Statement) -> tuple[float, int, int]:
        return (-worth(s, newest), s.trajectory, -s.step)

    return sorted(statements, key=score)


def worth(statement: Statement, newest: int | None) -> float:
    """Fit less what the statement is older than the newest one, rounded so that ties are ties."""
    lead = statement.edge.lead
    late = 0 if lead is None or newest is None else lead - newest
    loss = _STALE_TABLE_PER_H if statement.edge.kind == "wind_table" else _STALE_PER_H
    return round(statement.fit - loss * late, 3)


def read(question: Question, target: Target, index: int, trajectory: Trajectory) -> Reading:
    """Go through the steps of a trajectory in the order given.

    Steps that the question may not see (later than ``as_of``, outcomes, another
    source kind) are passed over, as retrieval does.
    """
    reading = Reading(index)
    dated = any(e.lead is not None for e in trajectory.edges)
    distances = _distances(trajectory)
    for step, edge in enumerate(trajectory.edges):
        if not may_see(question, edge, dated):
            continue
        reading.listings.note(step, edge, beyond=_beyond(question, edge))
        for statement in _statements(question, target, index, step, edge):
            statement = _placed(statement, distances)
            history = reading.histories.setdefault(statement.slot, [])
            if history and _beyond(question, edge) and not _beyond(question, history[-1].edge):
                continue
            history.append(statement)
    if target.alerts and target.at_port:
        reading.inferred.extend(_left_out(reading))
    elif "has_hours_to_landfall" in target.relations and not reading.histories:
        reading.inferred.extend(_by_horizon(question, index, trajectory))
    return reading


def _by_horizon(question: Question, index: int, trajectory: Trajectory) -> list[Statement]:
    """Hours to landfall where no step states them: a horizon counts them by its meaning."""
    if question.as_of is None or question.as_of <= 0:
        return []
    steps = [(i, e) for i, e in enumerate(trajectory.edges) if e.lead == question.as_of]
    if not steps:
        return []
    step, edge = steps[-1]
    hours = float(question.as_of)
    return [Statement(
        index, step, edge, "has_hours_to_landfall", "hours", plain(hours), "h", _HORIZON,
        ("has_hours_to_landfall", "hours", "horizon"), hours, hours,
        note=f"{edge.horizon} itself means hours before expected landfall",
    )]


def _left_out(reading: Reading) -> list[Statement]:
    """"None", where the newest list of alerts has no segment that reaches the port."""
    listed = reading.listings.newest.get("alerts")
    if listed is None or any(covers_port(s.edge) for s in reading.standing()):
        return []
    (_, step, edge) = listed
    return [Statement(reading.trajectory, step, edge, edge.relation, "advisory", "None", "",
                      _LEFT_OUT, (edge.relation, "advisory", "left out"),
                      note="none of the segments listed reaches the port")]


def _distances(trajectory: Trajectory) -> dict[str, float]:
    """Distance (km) of each forecast location that a step of the trajectory tells."""
    return {
        place: float(km) for e in trajectory.edges
        if (place := e.attribute("location")) and (km := number(e.attribute("distance_km") or ""))
        is not None
    }


def _placed(statement: Statement, distances: Mapping[str, float]) -> Statement:
    """A change edge without a distance has that of its location, or an unknown one.

    The location of a text about one port is the port's, however far it lies.
    """
    edge = statement.edge
    place = edge.attribute("location")
    if edge.family != CROSS_HORIZON or not place or edge.attribute("distance_km"):
        return statement
    if edge.source_kind != "products" and not distances:
        return statement
    return replace(statement, fit=statement.fit * nearness(distances.get(place, _UNKNOWN_KM)))


def may_see(question: Question, edge: Hyperedge, dated: bool) -> bool:
    """The rule of §6 "as of" for one edge; ``dated`` says that its companions have leads."""
    if question.source_kind is not None and edge.source_kind != question.source_kind:
        return False
    if question.as_of is None or edge.static:
        return True
    if edge.observed:
        return False
    return edge.lead >= question.as_of if edge.lead is not None else not dated


def _beyond(question: Question, edge: Hyperedge) -> bool:
    """Whether an edge tells of a horizon later than the one asked about (hindsight only)."""
    return question.lead is not None and edge.lead is not None and edge.lead < question.lead


def _statements(
    question: Question, target: Target, index: int, step: int, edge: Hyperedge
) -> list[Statement]:
    suits = fit(target, edge)
    if suits < MIN_FIT:
        return []
    if not target.relations:
        return [Statement(index, step, edge, edge.relation, "", " ".join(edge.evidence.split()),
                          "", suits, (edge.relation, edge.id))]
    relation = told_relation(edge)
    attribute, place = _wanted(target, relation, edge)
    if target.alerts and target.at_port and not covers_port(edge):
        return []
    if target.kind != "text" and elsewhere(edge):
        suits *= _OTHER_COAST
    suits *= _LESS_WANTED ** min(place, 2)
    key = attribute.key
    aged = _aged(question, relation, key, edge)
    low, high, unit = _interval(edge, attribute, aged)
    value = plain(low) if aged and low is not None else " ".join(attribute.value.split())
    return [Statement(index, step, edge, relation, key, value, unit, suits,
                      _slot(relation, key, edge), low, high, aged)]


def _wanted(target: Target, relation: str, edge: Hyperedge) -> tuple[Attribute, int]:
    """The attribute that answers, and its place among those wanted."""
    keys = _preferred(target, relation, edge)
    if edge.family == CROSS_HORIZON:
        changed = edge.attribute("changed") or ""
        after = next(a for a in edge.attributes if a.key == "to")
        return Attribute(changed, after.value, after.unit), keys.index(changed)
    place, key = next((i, k) for i, k in enumerate(keys) if edge.attribute(k) is not None)
    if key == "segment" and (edge.attribute("advisory") or "").casefold() == "none":
        key = "advisory"
    return next(a for a in edge.attributes if a.key == key), place


def _preferred(target: Target, relation: str, edge: Hyperedge) -> tuple[str, ...]:
    keys = target.keys[relation]
    if target.alerts and target.expected:
        return ("advisory", *keys)
    if "probability" in keys and target.statistic == "onset" and edge.attribute("onset"):
        return ("onset", *keys)
    if target.unit == "kt" and edge.attribute("wind_kt") and "wind_mph" in keys:
        return ("wind_kt", *keys)
    return keys


def elsewhere(edge: Hyperedge) -> bool:
    """Whether a coast or an area is named that nothing ties to the port."""
    return names_place(edge) and edge.attribute("distance_km") is None


def _aged(question: Question, relation: str, key: str, edge: Hyperedge) -> int:
    """Hours that have passed between a statement and the time of the question."""
    if key != "hours" or relation not in RELATIVE_HOURS:
        return 0
    if question.as_of is None or edge.lead is None:
        return 0
    return max(edge.lead - question.as_of, 0)


def _interval(
    edge: Hyperedge, attribute: Attribute, aged: int
) -> tuple[float | None, float | None, str]:
    unit = attribute.unit or KEY_UNITS.get(attribute.key, "")
    first = number(attribute.value)
    if first is None:
        found = list(quantities(attribute.value)) if attribute.key == "amount" else []
        if not found:
            return None, None, unit
        return found[0].low, found[0].high, found[0].unit
    low = high = first
    other = {"high": "low", "low": "high", "hours": "high"}.get(attribute.key)
    second = number(edge.attribute(other) or "") if other and edge.family != CROSS_HORIZON else None
    if second is not None:
        low, high = min(first, second), max(first, second)
    return max(low - aged, 0.0) if aged else low, max(high - aged, 0.0) if aged else high, unit


def _slot(relation: str, key: str, edge: Hyperedge) -> Slot:
    """The thing told about: relation, attribute and scope.

    Several alerts on a product's list may stand for one segment.
    """
    scope = sorted(
        f"{a.key}={a.value.casefold()}" for a in edge.attributes
        if CYCLONE_PORTS.attributes.get(a.key) == "scope" or a.key == "purpose"
        or (a.key == "advisory" and list_of(edge))
    )
    return (relation, key, *scope)


def as_told(statement: Statement) -> str:
    """A statement with its horizon, for a rationale: ``26 % at T-48``."""
    edge = statement.edge
    when = (f"at {horizon_label(edge.lead)}" if edge.lead is not None
            else f"issued {edge.issued:%Y-%m-%dT%H:%MZ}" if edge.issued else edge.horizon)
    return f"{statement.shown} {when}"
