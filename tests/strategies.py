"""Hypothesis strategies for the nouns of the domain."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from okh.domain import Attribute, Fact, Group, Hyperedge, Mention, Span
from okh.normalization import LocatedFact
from okh.vocabulary import CYCLONE_PORTS

GROUP = Group("ODESSA", 2031, "port-of-savannah-ga")
START = datetime(2031, 9, 1, 9, tzinfo=UTC)
LEADS = (120, 96, 72, 48, 24, 12)

_RELATIONS = sorted(r for r, (family, _) in CYCLONE_PORTS.relations.items() if family <= 12)
_PLACES = ("SAVANNAH GA", "Tybee Island", "Hilton Head")


@st.composite
def located_facts(draw: st.DrawFn) -> LocatedFact:
    """A fact of the group ODESSA-2031 at Savannah, few distinct values, so that slots collide."""
    relation = draw(st.sampled_from([*_RELATIONS, "closes_port", "has_movment", "sings_to"]))
    lead = draw(st.sampled_from([*LEADS, None]))
    place = draw(st.sampled_from(_PLACES))
    value = str(draw(st.integers(0, 3)) * 10)
    mentions = (
        Mention(draw(st.sampled_from(["Odessa", "ODESSA", "Hurricane Odessa", "Ten"])), "cyclone"),
        Mention(place, "location", confidence=draw(st.sampled_from([0.5, 1.0]))),
        Mention(value, draw(st.sampled_from(["wind_probability", "cyclone_state"]))),
    )
    tracked = CYCLONE_PORTS.slot_values.get(relation, ("probability",))
    attributes = (Attribute("location", place), Attribute(tracked[0], value, "%"))
    offset = draw(st.integers(0, 5)) * 100
    return LocatedFact(
        Fact(relation, f"{place} reads {value}", mentions[: draw(st.integers(2, 3))], attributes,
             draw(st.sampled_from([0.6, 1.0]))),
        document=draw(st.sampled_from(["doc-a", "doc-b"])), start=offset, end=offset + 20,
        lead=lead, issued=None if lead is None else START + timedelta(hours=120 - lead),
        source_kind="products", kind="advisory", static=draw(st.sampled_from([False] * 9 + [True])),
    )


@st.composite
def hyperedges(draw: st.DrawFn) -> Hyperedge:
    """A bare hyperedge with keys drawn from small ranges, so that ties happen."""
    family = draw(st.integers(1, 13))
    story = draw(st.integers(1, 12)) if family == 13 else family
    lead = draw(st.sampled_from([*LEADS, -24, None]))
    if family == 13 and lead is None:
        lead = 24
    index = draw(st.integers(0, 10**9))
    return Hyperedge(
        id=f"{index:012d}", group=draw(st.sampled_from([GROUP.key, "OTHER-2031|galveston-tx"])),
        relation="r", raw_relation="r", family=family, story=story,
        sub_rank=draw(st.integers(0, 1)) if story == 2 else 0, phase=CYCLONE_PORTS.phase(story),
        lead=lead, lead_from=lead + 12 if family == 13 and lead is not None else None,
        static=False if family == 13 else draw(st.sampled_from([False] * 9 + [True])),
        entities=(f"e{index % 5}", f"e{5 + index % 3}"), evidence=f"evidence {index}",
        attributes=(), confidence=1.0, grounded=True, synthetic=family == 13, observed=False,
        issued=draw(st.sampled_from([None, START])), source_kind="products", kind="advisory",
        spans=(Span("doc", index % 1000, index % 1000 + 5),),
    )


def one_group(edges: list[Hyperedge]) -> list[Hyperedge]:
    """The edges as members of one group, with distinct ids."""
    return [replace(e, group=GROUP.key, id=f"{i:012d}") for i, e in enumerate(edges)]
