"""The hypergraph in formats that other tools read.

HIF is the Hypergraph Interchange Format of xgi, HyperNetX and others (JSON);
GraphML holds the incidence graph, which is bipartite: entities and hyperedges.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import networkx as nx

from okh.domain import Entity, Hyperedge


def to_hif(entities: Mapping[str, Entity], edges: Iterable[Hyperedge]) -> dict[str, Any]:
    """The hypergraph as a HIF object, ready for :func:`json.dump`.

    Every entity is a node, every hyperedge an edge; the order of edges is kept.
    """
    listed = list(edges)
    return {
        "network-type": "undirected",
        "metadata": {"name": "okh-rag", "entities": len(entities), "hyperedges": len(listed)},
        "nodes": [{"node": key, "attrs": _entity(entity)} for key, entity in entities.items()],
        "edges": [{"edge": edge.id, "attrs": _edge(edge)} for edge in listed],
        "incidences": [
            {"edge": edge.id, "node": node} for edge in listed for node in edge.entities
        ],
    }


def incidence_graph(
    entities: Mapping[str, Entity], edges: Iterable[Hyperedge]
) -> nx.Graph:
    """The bipartite incidence graph; ``bipartite`` is 0 for entities and 1 for hyperedges.

    Attributes are scalars, as GraphML wants them.
    """
    graph = nx.Graph()
    for key, entity in entities.items():
        graph.add_node(key, bipartite=0, **_entity(entity))
    for edge in edges:
        scalars = _edge(edge)
        told = scalars.pop("attributes")
        scalars["attributes"] = "; ".join(f"{a['key']}={a['value']}{a['unit']}" for a in told)
        known = {key: value for key, value in scalars.items() if value is not None}
        graph.add_node(edge.id, bipartite=1, **known)
        graph.add_edges_from((edge.id, node) for node in edge.entities)
    return graph


def _entity(entity: Entity) -> dict[str, Any]:
    fields = asdict(entity)
    fields.pop("id")
    return fields


def _edge(edge: Hyperedge) -> dict[str, Any]:
    return {
        "group": edge.group, "relation": edge.relation, "family": edge.family,
        "phase": edge.phase, "horizon": edge.horizon, "lead": edge.lead,
        "lead_from": edge.lead_from, "evidence": edge.evidence,
        "attributes": [asdict(attribute) for attribute in edge.attributes],
        "confidence": edge.confidence, "grounded": edge.grounded, "synthetic": edge.synthetic,
        "observed": edge.observed, "source_kind": edge.source_kind,
        "issued": edge.issued.isoformat() if edge.issued else None,
    }
