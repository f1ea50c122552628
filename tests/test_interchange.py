"""The hypergraph in other tools' formats."""

from __future__ import annotations

import json

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from okh.domain import Entity
from okh.interchange import incidence_graph, to_hif
from tests.strategies import hyperedges


@given(st.lists(hyperedges(), max_size=8, unique_by=lambda e: e.id))
def test_every_incidence_is_kept(edges: list) -> None:  # type: ignore[type-arg]
    entities = {v: Entity(v, v, "port") for e in edges for v in e.entities}
    hif = json.loads(json.dumps(to_hif(entities, edges)))
    pairs = {(e.id, v) for e in edges for v in e.entities}
    assert {(i["edge"], i["node"]) for i in hif["incidences"]} == pairs
    assert [e["edge"] for e in hif["edges"]] == [e.id for e in edges]
    graph = incidence_graph(entities, edges)
    assert {frozenset(pair) for pair in graph.edges} == {frozenset(pair) for pair in pairs}
    nx.write_graphml(graph, "/dev/null")
