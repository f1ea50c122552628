"""The nouns of the method: frozen, typed, each fact in one place.

Section numbers refer to the OKH-RAG paper. Everything here is plain data; no
module of the project is imported.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Literal

SourceKind = Literal["products", "bulletin", "scenario"]
SOURCE_KINDS: tuple[SourceKind, ...] = ("products", "bulletin", "scenario")

DocumentKind = Literal["advisory", "wind_table", "bulletin", "scenario"]

Origin = Literal["text", "linked", "anchor", "synthetic"]
"""Where an entity comes from: a span of the evidence, a tie made by metadata or
coordinates, a temporal anchor, or a synthetic cross-horizon edge."""

class OkhError(ValueError):
    """Something its user can mend; the message says what is wrong and how to mend it."""


OUTCOME_LEAD = -24
"""Lead time (hours) at which after-action facts stand: T+24."""


def digest(*parts: str) -> str:
    """SHA-256 of the parts, each preceded by its length so that no two lists collide."""
    sha = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8")
        sha.update(b"%d:" % len(data))
        sha.update(data)
    return sha.hexdigest()


def slug(text: str) -> str:
    """Lower-case ASCII words joined by ``-``: safe as a path, a key and a SQL literal."""
    import unicodedata

    folded = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", folded.lower()).strip("-")[:80].strip("-")


def horizon_label(lead: int) -> str:
    """``48 -> "T-48"``, ``0 -> "T-0"``, ``-24 -> "T+24"``."""
    return f"T-{lead}" if lead >= 0 else f"T+{-lead}"


class AnswerType(str, Enum):
    """The four question types of §4.1 (CyPortQA's tags NU and DE are SA and TD)."""

    TF = "TF"
    MC = "MC"
    SA = "SA"
    TD = "TD"


@dataclass(frozen=True, slots=True, order=True)
class Group:
    """One knowledge group: one storm of one year at one port."""

    storm: str
    year: int
    port: str

    def __post_init__(self) -> None:
        if self.storm != slug(self.storm).upper() or not self.storm:
            raise ValueError(f"storm {self.storm!r} is not an upper-case slug")
        if self.port != slug(self.port) or not self.port:
            raise ValueError(f"port {self.port!r} is not a slug")

    @property
    def key(self) -> str:
        """Partition key, e.g. ``IRMA-2017|portmiami-fl``."""
        return f"{self.storm}-{self.year}|{self.port}"

    @property
    def storm_year(self) -> str:
        return f"{self.storm}-{self.year}"

    @classmethod
    def parse(cls, key: str) -> Group:
        """Inverse of :attr:`key`. Raises ``ValueError`` for anything else."""
        match = re.fullmatch(r"([A-Z0-9-]+)-(\d{4})\|([a-z0-9-]+)", key)
        if match is None:
            raise ValueError(f"{key!r} is not a group key like IRMA-2017|portmiami-fl")
        return cls(match[1], int(match[2]), match[3])


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A piece of an original document: character offsets into its decoded text."""

    document: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Attribute:
    """One quantitative property of a hyperedge. Keys are those of the vocabulary."""

    key: str
    value: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """One original file (or one event of a JSONL file), by content.

    ``hash`` is the SHA-256 of the original bytes (of the rendered text for a
    scenario rendered from JSON); ``names`` lists every name it came under, the
    first being its own and the others aliases.
    """

    hash: str
    names: tuple[str, ...]
    source_kind: SourceKind
    kind: DocumentKind
    text: str
    storm: str | None = None
    year: int | None = None
    port: str | None = None
    lead: int | None = None
    lead_source: str | None = None
    issued: datetime | None = None
    product_id: str | None = None
    corrected: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """One section of one product, or one horizon block of a scenario.

    ``text == document.text[start:end]``. ``context`` is text that the section
    needs to be understood (the period header of a wind table), never evidence.
    ``location`` is the forecast location of a row group of a wind table;
    ``ports`` are port names as a bulletin prints them. ``lead`` is None in the
    preamble and where nothing dates the block.
    """

    id: str
    document: str
    source_kind: SourceKind
    kind: DocumentKind
    section: str
    seq: int
    start: int
    end: int
    text: str
    context: str = ""
    storm: str | None = None
    year: int | None = None
    port: str | None = None
    lead: int | None = None
    issued: datetime | None = None
    location: str | None = None
    ports: tuple[str, ...] = ()

    @property
    def content_key(self) -> str:
        """Key of everything that an extractor may look at: equal keys, equal facts."""
        issued = self.issued.isoformat() if self.issued else ""
        return digest(
            self.kind, self.section, self.storm or "", str(self.year or ""), issued,
            self.location or "", self.context, self.text,
        )


@dataclass(frozen=True, slots=True)
class Mention:
    """An entity as a fact names it: (n_v, τ_v, d_v, c_v) of §3.1 before canonicalization."""

    name: str
    type: str
    description: str = ""
    confidence: float = 1.0
    origin: Origin = "text"


@dataclass(frozen=True, slots=True)
class Fact:
    """What extraction yields: a hyperedge with its entity set (Eq. 8), not yet normalized.

    ``start`` and ``end`` are the evidence's offsets *within the block*.
    """

    relation: str
    evidence: str
    mentions: tuple[Mention, ...]
    attributes: tuple[Attribute, ...] = ()
    confidence: float = 1.0
    start: int = 0
    end: int = 0

    def attribute(self, key: str) -> str | None:
        """Value of the first attribute with this key, or None."""
        return next((a.value for a in self.attributes if a.key == key), None)


@dataclass(frozen=True, slots=True)
class Entity:
    """A canonical entity of one group (§3.1, A.2 step 2)."""

    id: str
    name: str
    type: str
    description: str = ""
    confidence: float = 1.0
    origin: Origin = "text"


@dataclass(frozen=True, slots=True)
class Hyperedge:
    """A canonical hyperedge e = (V_e, r_e, s_e, a_e, c_e) of one group (§3.1).

    ``lead`` is the horizon (hours before landfall); a family-13 edge goes from
    ``lead_from`` to ``lead``. ``static`` facts stand before the first horizon.
    ``story`` is the family whose change a family-13 edge tells (else ``family``).
    """

    id: str
    group: str
    relation: str
    raw_relation: str
    family: int
    story: int
    sub_rank: int
    phase: str
    lead: int | None
    lead_from: int | None
    static: bool
    entities: tuple[str, ...]
    evidence: str
    attributes: tuple[Attribute, ...]
    confidence: float
    grounded: bool
    synthetic: bool
    observed: bool
    issued: datetime | None
    source_kind: SourceKind
    kind: DocumentKind
    spans: tuple[Span, ...]

    def attribute(self, key: str) -> str | None:
        """Value of the first attribute with this key, or None."""
        return next((a.value for a in self.attributes if a.key == key), None)

    @property
    def horizon(self) -> str:
        """``T-48``, ``T-72→T-48`` for a change, ``static`` or ``undated``."""
        if self.static:
            return "static"
        if self.lead is None:
            return "undated"
        if self.lead_from is not None:
            return f"{horizon_label(self.lead_from)}→{horizon_label(self.lead)}"
        return horizon_label(self.lead)


@dataclass(frozen=True, slots=True)
class Terms:
    """The five terms of Eq. 5, unweighted, except that ``trans`` is already scaled."""

    rel: float
    trans: float
    prec: float
    ovlp: float
    cov: float


@dataclass(frozen=True, slots=True)
class Trajectory:
    """An ordered list of hyperedges with its score and the terms behind it (Eq. 5)."""

    edges: tuple[Hyperedge, ...]
    score: float
    terms: Terms
    relevance: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its context.

    ``lead`` is the horizon asked about; ``as_of`` the lead at which it is asked
    (nothing later is seen). ``None`` for ``as_of`` is hindsight.
    """

    text: str
    type: AnswerType | None = None
    choices: tuple[str, ...] = ()
    storm: str | None = None
    year: int | None = None
    port: str | None = None
    lead: int | None = None
    as_of: int | None = None
    source_kind: SourceKind | None = None
    id: str = ""

    @property
    def group(self) -> Group | None:
        if self.storm is None or self.year is None or self.port is None:
            return None
        return Group(self.storm, self.year, self.port)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a reader says (§3.3, A.8). ``value`` may be ``"not stated"``."""

    value: str
    type: AnswerType
    confidence: float
    rationale: str
    trajectory: int | None = None
    step: int | None = None
    agreement: float = 0.0
    details: dict[str, str] = field(default_factory=dict)


NOT_STATED = "not stated"
