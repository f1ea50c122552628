"""Facts of a port condition bulletin: the condition, and the guidance to vessels and facilities.

A post's time (``time_utc``) is UTC; the time since which a condition holds comes
without a zone and is read as UTC too. Where it lies more than an hour from the
post, it may be a local or a twelve-hour clock: the fact's confidence says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from okh.corpus.bulletin import ROW, Cell, columns, read_time
from okh.domain import Attribute, Block, Fact, Mention, Origin, slug

CONDITIONS = {
    "normal": "NORMAL", "whiskey": "WHISKEY", "whisky": "WHISKEY", "xray": "X-RAY",
    "yankee": "YANKEE", "zulu": "ZULU",
}
"""Spelling without case and punctuation -> port condition."""

RESOLVED_STORM = 0.8
"""Confidence of a fact whose storm name was misspelt and matched to another."""

UNSURE_CLOCK = 0.7
"""Confidence of a condition whose effective time is far from the time of posting."""

_NO_GUIDANCE = re.compile(
    r"\s*(?:(?:not (?:specified|stated|given|available|mentioned)|no specific|no guidance)\b"
    r"|(?:(?:unspecified|unknown|none|n/?a|nan|-+)[\s.]*)?$)",
    re.IGNORECASE,
)
_HOUR = 3600.0


def extract(block: Block) -> list[Fact]:
    """Facts of one row, in the order condition, vessels, ocean-going vessels, facilities."""
    if block.section != ROW:
        return []
    cells = columns(block.context, block.text)
    if cells is None:
        return []
    facts = [
        _condition(block, cells),
        _guidance(block, cells, "VesselOps", "affects_vessel_handling", "all"),
        _guidance(block, cells, "OceanVesselOps", "affects_vessel_handling", "ocean-going"),
        _guidance(block, cells, "FacilityOps", "affects_facility_operation", None),
    ]
    return [fact for fact in facts if fact is not None]


def read_condition(printed: str) -> str | None:
    """NORMAL, WHISKEY, X-RAY, YANKEE or ZULU however it is spelled; None for anything else."""
    return CONDITIONS.get(re.sub(r"[^a-z]", "", printed.casefold()))


def _condition(block: Block, cells: Mapping[str, Cell]) -> Fact | None:
    printed = cells["Condition"]
    condition = read_condition(printed.value)
    if condition is None:
        return None
    used = [cells[name] for name in ("CycloneName", "PortList", "Condition")]
    effective, confidence = read_time(cells["ConditionEffectiveTime"].value), 1.0
    attributes = [Attribute("condition", condition)]
    if effective is not None:
        used.append(cells["ConditionEffectiveTime"])
        attributes.append(Attribute("effective", f"{effective:%Y-%m-%dT%H:%MZ}"))
        if block.issued and abs((effective - block.issued).total_seconds()) > _HOUR:
            confidence = UNSURE_CLOCK
    start, end = min(c.start for c in used), max(c.end for c in used)
    evidence = block.text[start:end]
    value = Mention(printed.value.strip(), "operation_status")
    return Fact(
        "has_operation_status", evidence, (*_subjects(block, cells, evidence), value),
        tuple(attributes), confidence=confidence * _storm_confidence(block, cells),
        start=start, end=end,
    )


def _guidance(
    block: Block, cells: Mapping[str, Cell], column: str, relation: str, vessels: str | None
) -> Fact | None:
    cell = cells[column]
    if _NO_GUIDANCE.match(cell.value):
        return None
    start, end = cell.start, cell.end
    evidence = block.text[start:end]
    if vessels is None:
        affected = Mention("port facilities", "facility", origin="linked")
    else:
        affected = Mention(f"{vessels} vessels", "vessel_class", origin="linked")
    condition = read_condition(cells["Condition"].value)
    members = [*_subjects(block, cells, evidence), affected]
    if condition is not None:
        members.append(Mention(condition, "operation_status", origin="linked"))
    attributes = [Attribute("guidance", " ".join(cell.value.split()))]
    if vessels is not None:
        attributes.insert(0, Attribute("vessels", vessels))
    return Fact(
        relation, evidence, tuple(members), tuple(attributes),
        confidence=_storm_confidence(block, cells), start=start, end=end,
    )


def _subjects(block: Block, cells: Mapping[str, Cell], evidence: str) -> tuple[Mention, ...]:
    """The cyclone and the ports: spans of the evidence where it prints them so, else linked."""
    storm, confidence = block.storm or "cyclone", _storm_confidence(block, cells)
    cyclone = Mention(storm, "cyclone", "", confidence, _origin(storm, evidence))
    ports = (Mention(port, "port", "", 1.0, _origin(port, evidence)) for port in block.ports)
    return (cyclone, *ports)


def _origin(name: str, evidence: str) -> Origin:
    inside = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", evidence, re.IGNORECASE)
    return "text" if inside else "linked"


def _storm_confidence(block: Block, cells: Mapping[str, Cell]) -> float:
    printed = slug(cells["CycloneName"].value).upper()
    return 1.0 if printed == block.storm else RESOLVED_STORM
