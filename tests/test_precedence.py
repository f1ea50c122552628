"""≺ is a strict partial order that contains rules R1 to R5 (A.3)."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from okh.domain import Hyperedge
from okh.precedence import canonical_order, precedence_keys, precedence_matrix
from okh.vocabulary import CROSS_HORIZON
from tests.strategies import hyperedges, one_group

edge_lists = st.lists(hyperedges(), min_size=1, max_size=25)


def slow_rules(a: Hyperedge, b: Hyperedge, sequence_index: bool) -> bool:
    """Whether one of the rules, read word by word, puts ``a`` before ``b``."""
    if a.group != b.group or a.static or b.static or a.lead is None or b.lead is None:
        return False
    within = CROSS_HORIZON not in (a.family, b.family)
    if within and a.lead == b.lead:
        if a.family < b.family:  # R1, which implies R3
            return True
        if a.family == b.family == 2 and a.sub_rank < b.sub_rank:  # R1, track before landfall
            return True
    if within and a.family == b.family and a.lead > b.lead:  # R2
        return True
    if b.family == CROSS_HORIZON and a.family == b.story:  # R4
        assert b.lead_from is not None
        if a.lead >= b.lead_from:
            return True
    if a.family == CROSS_HORIZON and b.family == a.story and a.lead == b.lead:  # R4
        return True
    return sequence_index and within and a.lead > b.lead  # R5, Eq. 10


@given(edge_lists, st.booleans())
def test_strict_partial_order(edges: list[Hyperedge], sequence_index: bool) -> None:
    before = precedence_matrix(precedence_keys(edges), sequence_index=sequence_index)
    assert not before.diagonal().any()
    assert not (before & before.T).any()
    reachable = (before.astype(int) @ before.astype(int)) > 0
    assert not (reachable & ~before).any(), "transitive"


@given(edge_lists, st.booleans())
def test_contains_the_rules(edges: list[Hyperedge], sequence_index: bool) -> None:
    before = precedence_matrix(precedence_keys(edges), sequence_index=sequence_index)
    for i, a in enumerate(edges):
        for j, b in enumerate(edges):
            if i != j and slow_rules(a, b, sequence_index):
                assert before[i, j], (a.horizon, a.family, b.horizon, b.family)


@given(edge_lists)
def test_undated_and_foreign_edges_are_unrelated(edges: list[Hyperedge]) -> None:
    before = precedence_matrix(precedence_keys(edges))
    for i, a in enumerate(edges):
        for j, b in enumerate(edges):
            undated = any(not e.static and e.lead is None and e.issued is None for e in (a, b))
            if undated or a.group != b.group:
                assert not before[i, j]


@given(edge_lists, st.randoms())
def test_canonical_order_is_topological_and_stable(edges: list[Hyperedge], random) -> None:
    edges = one_group(edges)
    order = canonical_order(edges)
    before = precedence_matrix(precedence_keys([edges[i] for i in order]))
    assert not np.tril(before).any(), "no later edge precedes an earlier one"
    shuffled = list(edges)
    random.shuffle(shuffled)
    assert [shuffled[i].id for i in canonical_order(shuffled)] == [edges[i].id for i in order]


@given(edge_lists)
def test_phase_first_is_topological_without_the_sequence_index(edges: list[Hyperedge]) -> None:
    edges = one_group(edges)
    order = canonical_order(edges, phase_first=True)
    keys = precedence_keys([edges[i] for i in order])
    assert not np.tril(precedence_matrix(keys, sequence_index=False)).any()
