"""Rules for NHC public advisories: block -> facts, dispatched by section.

Header, summary and next-advisory sections are read here; the free text of the
others in ``advisory_discussion``, ``advisory_watches``, ``advisory_water`` (surge
and rain) and ``advisory_hazards`` (wind, tornadoes, surf).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta

from okh.corpus.advisory import match_title, status_of
from okh.domain import Attribute, Block, Fact
from okh.extraction.advisory_discussion import discussion
from okh.extraction.advisory_hazards import (
    coastal_flooding,
    surf,
    tornadoes,
    untagged,
    wind,
)
from okh.extraction.advisory_text import fact, local_time, piece, squeeze
from okh.extraction.advisory_watches import watch_changes, watches
from okh.extraction.advisory_water import rainfall, storm_surge

__all__ = ["extract", "saffir_simpson", "strength"]

_HEADLINE = re.compile(r"^\.{2,3}\s*\S.*?\.{3}[ \t\r]*$", re.MULTILINE | re.DOTALL)
_REFERENCE = re.compile(
    r"^[ \t]*(?P<all>about\s+(?P<mi>\d+)\s+mi\.\.\.(?P<km>\d+)\s+km\s+(?:km\s+)?"
    r"(?P<bearing>[NSEW]{1,3})\s+(?:of|from)\s+(?P<place>[^\n]*\S))[ \t\r]*$",
    re.IGNORECASE | re.MULTILINE,
)
_LOCATION = re.compile(
    r"^[ \t]*(?P<all>location\s*\.{2,4}\s*(?P<position>(?P<lat>\d+(?:\.\d+)?)\s?(?P<ns>[NS])"
    r"[\s,]+(?P<lon>\d+(?:\.\d+)?)\s?(?P<ew>[EW])))",
    re.IGNORECASE | re.MULTILINE,
)
_WINDS = re.compile(
    r"^[ \t]*(?P<all>maximum\s+sustained\s+winds?\s*\.{2,4}\s*(?P<value>(?P<mph>\d+)\s+mph)"
    r"(?:\s*\.{2,4}\s*\d+\s+km/h)?)",
    re.IGNORECASE | re.MULTILINE,
)
_MOVEMENT = re.compile(
    r"^[ \t]*(?P<all>present\s+movement\s*\.{2,4}\s*(?P<value>(?:(?P<still>stationary)"
    r"|(?P<direction>[NSEW]{1,3})\s+or\s+(?P<degrees>\d+)\s+degrees?)"
    r"(?:\s+at\s+(?P<mph>\d+)\s+mph(?:\s*\.{2,4}\s*(?P<kmh>\d+)\s+km/h)?)?))",
    re.IGNORECASE | re.MULTILINE,
)
_PRESSURE = re.compile(
    r"^[ \t]*(?P<all>minimum\s+central\s+pressure\s*\.{2,4}\s*(?P<value>(?P<mb>\d{3,4})\s+mb)"
    r"(?:\s*\.{2,4}\s*[\d.]+\s+inches)?)",
    re.IGNORECASE | re.MULTILINE,
)
_NEXT = re.compile(
    r"next\s+(?P<kind>intermediate|complete|special)?\s*advisory\s+(?:will\s+be\s+issued\s+)?at\s+"
    r"(?P<clock>\d{3,4}\s+(?P<half>AM|PM)\s+[A-Z]{3,4}|noon)",
    re.IGNORECASE,
)
_MPH_PER_KNOT = 1.150779


def saffir_simpson(mph: float) -> int:
    """Saffir-Simpson category of a one-minute sustained wind in mph; 0 below a hurricane."""
    return sum(mph >= floor for floor in (74, 96, 111, 130, 157))


def strength(mph: float) -> str:
    """The class that a wind has whatever the system is: a potential cyclone has one too."""
    return "hurricane" if mph >= 74 else "tropical storm" if mph >= 39 else "tropical depression"


def extract(block: Block) -> list[Fact]:
    """Facts of one advisory block, in text order; none for a section that no rule reads.

    Deterministic: looks at text, section, storm, context and issuance time only.
    """
    rules = _SECTIONS.get(block.section)
    if rules is None:
        return []
    return sorted(rules(block), key=lambda f: (f.start, f.end, f.relation))


def _category(status: str, mph: int) -> str:
    """Category of a state: a hurricane's by its wind, any other's is its status."""
    if status == "hurricane":
        return f"Category {max(saffir_simpson(mph), 1)}"
    return status.title()


def _header(block: Block) -> list[Fact]:
    """Status (and, below hurricane strength, category) from the title; headlines as statements."""
    facts = []
    title = match_title(block.text)
    if title is not None:
        where = piece(block.text, title.start("title"), title.end("title"))
        status, state = status_of(title), ((title["status"], "cyclone_state"),)
        facts.append(fact(block, where, "has_cyclone_state", state,
                          (Attribute("status", status),)))
        if status != "hurricane":
            facts.append(fact(block, where, "has_category_state", state,
                              (Attribute("category", _category(status, 0)),)))
    for match in _HEADLINE.finditer(block.text):
        where = piece(block.text, match.start(), match.end())
        words = where.text.strip(". ")
        facts.append(fact(block, where, "has_advisory_statement", ((words, "advisory_status"),),
                          (Attribute("text", words),)))
    return facts


def _summary(block: Block) -> list[Fact]:
    """Position, reference distances, wind, motion and pressure from the summary's lines."""
    facts = []
    readers: tuple[tuple[re.Pattern[str], Callable[[Block, re.Match[str]], list[Fact]]], ...] = (
        (_LOCATION, _position), (_REFERENCE, _reference), (_WINDS, _intensity),
        (_MOVEMENT, _motion), (_PRESSURE, _central_pressure),
    )
    for pattern, reader in readers:
        for match in pattern.finditer(block.text):
            facts += reader(block, match)
    return facts


def _line(block: Block, match: re.Match[str], relation: str, mention: tuple[str, str],
          *attributes: Attribute, confidence: float = 1.0) -> Fact:
    where = piece(block.text, match.start("all"), match.end("all"))
    return fact(block, where, relation, (mention,), attributes, confidence)


def _position(block: Block, match: re.Match[str]) -> list[Fact]:
    latitude = f"{'-' if match['ns'] in 'Ss' else ''}{match['lat']}"
    longitude = f"{'-' if match['ew'] in 'Ww' else ''}{match['lon']}"
    position = f"{match['lat']}{match['ns'].upper()}, {match['lon']}{match['ew'].upper()}"
    return [_line(
        block, match, "has_position", (match["position"], "cyclone_state"),
        Attribute("latitude", latitude, "deg"), Attribute("longitude", longitude, "deg"),
        Attribute("position", position),
    )]


def _reference(block: Block, match: re.Match[str]) -> list[Fact]:
    return [_line(
        block, match, "has_reference_distance", (match["place"], "location"),
        Attribute("reference", squeeze(match["place"])),
        Attribute("distance_mi", match["mi"], "mi"), Attribute("bearing", match["bearing"].upper()),
        Attribute("distance_km", match["km"], "km"),
    )]


def _intensity(block: Block, match: re.Match[str]) -> list[Fact]:
    """The wind; for a hurricane also its category, which the wind defines."""
    mph, mention = int(match["mph"]), (match["value"], "cyclone_state")
    facts = [_line(
        block, match, "has_intensity", mention, Attribute("wind_mph", str(mph), "mph"),
        Attribute("wind_kt", str(5 * round(mph / _MPH_PER_KNOT / 5)), "kt"),
        Attribute("text", f"{strength(mph)} strength"),
    )]
    title = match_title(block.context)
    if title is not None and status_of(title) == "hurricane":
        facts.append(_line(block, match, "has_category_state", mention,
                           Attribute("category", _category("hurricane", mph)), confidence=0.95))
    return facts


def _motion(block: Block, match: re.Match[str]) -> list[Fact]:
    attributes: tuple[Attribute, ...]
    if match["still"]:
        attributes = (Attribute("direction", "stationary"), Attribute("speed_mph", "0", "mph"),
                      Attribute("speed_kmh", "0", "km/h"))
    else:
        attributes = (
            Attribute("direction", match["direction"].upper()),
            Attribute("bearing_deg", match["degrees"], "deg"),
            Attribute("speed_mph", match["mph"] or "", "mph"),
            Attribute("speed_kmh", match["kmh"] or "", "km/h"),
        )
    return [_line(block, match, "has_motion", (match["value"], "motion_state"), *attributes)]


def _central_pressure(block: Block, match: re.Match[str]) -> list[Fact]:
    return [_line(block, match, "has_pressure", (match["value"], "cyclone_state"),
                  Attribute("pressure_mb", match["mb"], "mb"))]


def _next_advisory(block: Block) -> list[Fact]:
    """When the next product comes: clock time as printed, day and hours from issuance."""
    facts = []
    issued = local_time(block)
    for match in _NEXT.finditer(block.text):
        where = piece(block.text, match.start(), match.end())
        kind = (match["kind"] or "complete").lower()
        attributes = [Attribute("text", f"{kind} advisory at {squeeze(match['clock'])}")]
        if issued is not None:
            then = _next_clock(match, issued)
            hours = (then - issued).total_seconds() / 3600
            attributes += [Attribute("date", then.date().isoformat()),
                           Attribute("hours", f"{hours:g}", "h")]
        facts.append(fact(block, where, "has_next_advisory", ((match["clock"], "timing"),),
                          tuple(attributes)))
    return facts


def _next_clock(match: re.Match[str], issued: datetime) -> datetime:
    """The next moment after issuance at which a clock in the same zone shows that time."""
    minutes = 12 * 60
    if match["half"]:
        hour, minute = divmod(int(match["clock"].split()[0]), 100)
        minutes = (hour % 12 + (12 if match["half"].upper() == "PM" else 0)) * 60 + minute
    then = issued.replace(hour=0, minute=0) + timedelta(minutes=minutes)
    return then if then > issued else then + timedelta(days=1)


_SECTIONS: dict[str, Callable[[Block], list[Fact]]] = {
    "header": _header,
    "summary": _summary,
    "watch changes": watch_changes,
    "watches": watches,
    "discussion": discussion,
    "storm surge": storm_surge,
    "wind": wind,
    "rainfall": rainfall,
    "tornadoes": tornadoes,
    "surf": surf,
    "coastal flooding": coastal_flooding,
    "hazards": untagged,
    "next advisory": _next_advisory,
}
