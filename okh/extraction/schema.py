"""What a model's extraction reply must look like: the strict schema, and its reading.

In the strict mode of structured outputs every object is closed and every key
required, so attributes are a list of {key, value, unit}. Endpoints without it are
held to the same form, except for what can be mended without guessing: numbers where
texts are wanted, attributes as a mapping, a missing confidence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from okh.domain import Attribute
from okh.extraction.repair import UNSAID_CONFIDENCE, read_scalar, read_share
from okh.generation.lexicon import KEY_UNITS
from okh.generation.quantities import convert, dimension, number, plain, unit_of
from okh.normalization import map_relation
from okh.vocabulary import CROSS_HORIZON, UNMAPPED, Vocabulary

VERSION = "1"
"""Raise when the same reply would be read as other facts."""

ENVELOPE = "facts"

_ABOUT_CHANGES = frozenset({"changed", "of", "to", "delta"})
"""Attributes that only edges between two horizons have."""

_UNITS = {**KEY_UNITS, "threshold_kt": "kt", "period_h": "h", "distance_km": "km"}
_MAX_PROBLEMS = 6
_LEAST = 0.01


@dataclass(frozen=True, slots=True)
class Named:
    """An entity as a model names it."""

    name: str
    type: str
    description: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Draft:
    """A fact as a model writes it, before its evidence is looked up in the block."""

    evidence: str
    relation: str
    entities: tuple[Named, ...]
    attributes: tuple[Attribute, ...]
    confidence: float


class SchemaProblem(ValueError):
    """A reply of the wrong form; the message lists what is wrong and where."""


def entity_types(vocabulary: Vocabulary) -> list[str]:
    """The types that a model may give: all but the temporal anchor, which is put in later."""
    return [t for t, category in vocabulary.entity_types.items() if category != "anchor"]


def attribute_keys(vocabulary: Vocabulary) -> list[str]:
    """The attribute keys that a model may give."""
    return [key for key in vocabulary.attributes if key not in _ABOUT_CHANGES]


def relation_list(vocabulary: Vocabulary) -> str:
    """One line for each family but the last: its relations with the attributes of their value."""
    lines = []
    for family, (name, _) in vocabulary.families.items():
        members = [r for r, (f, _) in vocabulary.relations.items() if f == family]
        if family == CROSS_HORIZON or not members:
            continue
        told = (
            f"{r} [{', '.join(vocabulary.slot_values[r])}]" if r in vocabulary.slot_values else r
            for r in members
        )
        lines.append(f"- {name}: {', '.join(told)}")
    return "\n".join(lines)


def _closed(**properties: Mapping[str, object]) -> dict[str, object]:
    return {
        "type": "object", "properties": properties, "required": list(properties),
        "additionalProperties": False,
    }


def _list_of(items: Mapping[str, object]) -> dict[str, object]:
    return {"type": "array", "items": items}


def facts_schema(vocabulary: Vocabulary) -> dict[str, object]:
    """The strict JSON schema of an extraction reply.

    Entity types and attribute keys are enumerated; the relation is free text, since a
    label that the vocabulary lacks is kept as unmapped and counted (method.md §3).
    """
    text, share = {"type": "string"}, {"type": "number"}
    entity = _closed(
        name=text, type={"type": "string", "enum": entity_types(vocabulary)},
        description=text, confidence=share,
    )
    attribute = _closed(
        key={"type": "string", "enum": attribute_keys(vocabulary)}, value=text, unit=text
    )
    fact = _closed(
        evidence=text, relation=text, entities=_list_of(entity), attributes=_list_of(attribute),
        confidence=share,
    )
    return _closed(**{ENVELOPE: _list_of(fact)})


def is_envelope(value: object) -> bool:
    """Whether a JSON value has the outer form of a reply: ``{"facts": […]}`` or its bare list."""
    if isinstance(value, dict):
        return isinstance(value.get(ENVELOPE), list)
    return isinstance(value, list) and bool(value) and all(
        isinstance(item, dict) and "evidence" in item for item in value
    )


def read_drafts(value: object, vocabulary: Vocabulary) -> list[Draft]:
    """The facts of a reply for which :func:`is_envelope` holds.

    Raises
    ------
    SchemaProblem
        A fact does not have the form wanted.
    """
    items = value[ENVELOPE] if isinstance(value, dict) else value
    if not isinstance(items, list):
        raise SchemaProblem(f"{ENVELOPE}: a list is wanted")
    reading = _Reading(vocabulary)
    drafts = [reading.fact(item, f"{ENVELOPE}[{i}]") for i, item in enumerate(items)]
    if reading.problems:
        more = len(reading.problems) - _MAX_PROBLEMS
        shown = [f"- {p}" for p in reading.problems[:_MAX_PROBLEMS]]
        raise SchemaProblem("\n".join([*shown, *([f"- and {more} more"] if more > 0 else [])]))
    return [draft for draft in drafts if draft is not None]


def leading_drafts(items: list[object], vocabulary: Vocabulary) -> list[Draft]:
    """The facts of a reply that was cut off, up to the first that has not the form wanted."""
    drafts: list[Draft] = []
    for item in items:
        reading = _Reading(vocabulary)
        draft = reading.fact(item, "")
        if draft is None or reading.problems:
            break
        drafts.append(draft)
    return drafts


@dataclass
class _Reading:
    """Reads facts and gathers what is wrong with them."""

    vocabulary: Vocabulary
    problems: list[str] = field(default_factory=list)

    def fact(self, item: object, at: str) -> Draft | None:
        if not isinstance(item, dict):
            self.problems.append(f"{at}: an object is wanted")
            return None
        evidence = self._text(item, "evidence", at)
        relation = self._text(item, "relation", at)
        entities = [
            self._entity(member, f"{at}.entities[{i}]")
            for i, member in enumerate(self._list(item, "entities", at))
        ]
        attributes = self._attributes(item.get("attributes"), f"{at}.attributes")
        confidence = self._confidence(item, at)
        return Draft(
            evidence, _own_family(relation, self.vocabulary),
            tuple(e for e in entities if e is not None), tuple(attributes), confidence,
        )

    def _entity(self, item: object, at: str) -> Named | None:
        if not isinstance(item, dict):
            self.problems.append(f"{at}: an object with name and type is wanted")
            return None
        name = self._text(item, "name", at)
        kind = _snake(self._text(item, "type", at))
        if self.vocabulary.entity_types.get(kind) == "anchor":
            return None
        if kind and kind not in self.vocabulary.entity_types:
            known = ", ".join(entity_types(self.vocabulary))
            self.problems.append(f"{at}.type: {json.dumps(kind)} is none of {known}")
        told = item.get("description")
        description = " ".join(told.split()) if isinstance(told, str) else ""
        return Named(name, kind, description, self._confidence(item, at))

    def _attributes(self, given: object, at: str) -> list[Attribute]:
        if given is None:
            return []
        if isinstance(given, dict):
            given = [{"key": key, "value": value} for key, value in given.items()]
        if not isinstance(given, list):
            self.problems.append(f"{at}: a list is wanted")
            return []
        found = []
        for i, item in enumerate(given):
            if not isinstance(item, dict):
                self.problems.append(f"{at}[{i}]: an object with key, value and unit is wanted")
                continue
            key = _snake(self._text(item, "key", f"{at}[{i}]"))
            value, unit = read_scalar(item.get("value")), read_scalar(item.get("unit")) or ""
            if value is None:
                self.problems.append(f"{at}[{i}].value: a text is wanted")
            elif value and key:
                found.append(tidy_attribute(key, value, unit, self.vocabulary))
        return found

    def _text(self, item: Mapping[str, object], key: str, at: str) -> str:
        value = item.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip()
        self.problems.append(f"{at}.{key}: a text is wanted")
        return ""

    def _list(self, item: Mapping[str, object], key: str, at: str) -> list[object]:
        value = item.get(key)
        if isinstance(value, list):
            return value
        self.problems.append(f"{at}.{key}: a list is wanted")
        return []

    def _confidence(self, item: Mapping[str, object], at: str) -> float:
        value = read_share(item.get("confidence"))
        if value is None:
            self.problems.append(f"{at}.confidence: a number above 0 and up to 1 is wanted")
            return UNSAID_CONFIDENCE
        return max(value, _LEAST)


def _snake(label: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", label.casefold()).strip("_")


_WITH_UNIT = re.compile(r"([-−+]?\d[\d,]*(?:\.\d+)?)\s*([^\d\s].*)")


def tidy_attribute(key: str, value: str, unit: str, vocabulary: Vocabulary) -> Attribute:
    """An attribute in the vocabulary's units.

    A unit written behind the number moves to its place; a key that names its unit
    (``wind_mph``) has that unit, and a value in another of the same kind is converted.
    A scope without a unit of its own keeps it in its value: a threshold is ``3 ft``.
    """
    if vocabulary.attributes.get(key) == "scope" and key not in _UNITS:
        return Attribute(key, f"{value} {unit}".strip())
    split = _WITH_UNIT.fullmatch(value)
    if split and unit_of(split[2]):
        value, unit = split[1], unit or split[2]
    amount = number(value.removeprefix("+"))
    if amount is None:
        return Attribute(key, value, unit_of(unit) or unit)
    value = re.sub(r"[,+]", "", value).replace("−", "-")
    own, told = _UNITS.get(key, ""), unit_of(unit) or unit
    if not own or not told or own == told:
        return Attribute(key, value, own or told)
    if dimension(own) and dimension(own) == dimension(told):
        return Attribute(key, plain(convert(amount, told, own)), own)
    return Attribute(key, value, told)


def _own_family(relation: str, vocabulary: Vocabulary) -> str:
    """A label, marked as unmapped where it would join two horizons.

    Such edges are worked out from the states (A.2 step 4): normalization would put its
    own in the place of the model's, and the fact would be lost.
    """
    mapped = map_relation(relation, vocabulary) if relation else ""
    if vocabulary.relations.get(mapped, (0, 0))[0] == CROSS_HORIZON:
        return f"{UNMAPPED}_{_snake(relation)}"
    return relation
