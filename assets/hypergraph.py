"""``hypergraph``: entities and hyperedges of a group after the five normalization steps."""

from collections import Counter
from collections.abc import Mapping

import dagster as dg
import pyarrow as pa

from assets.group_tables import GroupInputs, GroupOutputs, Tables, refresh
from assets.partitions import GROUPS, GROUPS_PER_RUN, OWNERS
from assets.pictures import column_metadata, show_group
from assets.versions import hypergraph_version
from okh.domain import Entity, Group, Hyperedge
from okh.normalization import LocatedFact, normalize
from okh.vocabulary import UNMAPPED
from storage.home import Home
from storage.rows import edges_to_table, entities_to_table, facts_from_table


def group_hypergraph(key: str, extractions: pa.Table) -> Tables:
    """The ``hyperedges`` and ``entities`` tables of one group (A.2)."""
    facts = [
        LocatedFact(
            f.fact, f.document, f.start, f.end, f.lead, f.issued, f.source_kind, f.kind,
            f.grounded, f.static,
        )
        for f in facts_from_table(extractions)
    ]
    graph = normalize(Group.parse(key), facts)
    return {
        "hyperedges": edges_to_table(graph.edges),
        "entities": entities_to_table(key, list(graph.entities.values())),
    }


@dg.asset(
    partitions_def=GROUPS,
    backfill_policy=GROUPS_PER_RUN,
    io_manager_key="group_tables",
    group_name="hypergraph",
    kinds={"parquet"},
    owners=OWNERS,
    metadata=column_metadata("hypergraph"),
    code_version=hypergraph_version(),
    ins={"extractions": dg.AssetIn(input_manager_key="group_tables")},
)
def hypergraph(
    context: dg.AssetExecutionContext, extractions: GroupInputs, home: dg.ResourceParam[Home]
) -> GroupOutputs:
    """Canonical entities and hyperedges of a group (Eq. 1, A.2).

    Relations are mapped to the vocabulary, entities to identifiers; each horizon
    has one anchor; successive horizons are joined by change edges; duplicates
    collapse and keep all their source spans.
    """
    outputs = refresh(
        context, home, "hypergraph", hypergraph_version(), input_hash=extractions.hash,
        compute=lambda key: group_hypergraph(key, extractions.read("extractions", key)),
        measure=_measure,
    )
    return show_group(context, home, outputs, "picture of the hypergraph", _draw)


def _draw(edges: list[Hyperedge], entities: Mapping[str, Entity]) -> bytes:
    from okh.plots import hypergraph_picture  # matplotlib takes long to import

    return hypergraph_picture(edges, entities)


def _measure(tables: Tables) -> dict[str, int]:
    edges = tables["hyperedges"]
    relations = Counter(edges.column("relation").to_pylist())
    families = Counter(edges.column("family").to_pylist())
    return {
        **{f"family {family}": number for family, number in sorted(families.items())},
        "edges synthetic": sum(edges.column("synthetic").to_pylist()),
        "edges grounded": sum(edges.column("grounded").to_pylist()),
        "edges unmapped": relations[UNMAPPED],
    }
