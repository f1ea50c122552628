"""``canonical_trajectories``: the hyperedges of a group in the order of ≺."""

import math
from collections.abc import Mapping

import dagster as dg
import pyarrow as pa

from assets.group_tables import GroupInputs, GroupOutputs, Tables, refresh
from assets.partitions import GROUPS, GROUPS_PER_RUN, OWNERS
from assets.pictures import column_metadata, show_group
from assets.versions import canonical_version
from okh.domain import Entity, Group, Hyperedge
from okh.precedence import canonical_order, position
from storage.home import Home
from storage.rows import edges_from_table


def group_trajectory(key: str, hyperedges: pa.Table) -> Tables:
    """The ``canonical_trajectories`` table of one group (A.3)."""
    group = Group.parse(key)
    edges = edges_from_table(hyperedges)
    ordered = [edges[i] for i in canonical_order(edges)]
    where = [position(edge) for edge in ordered]
    n = len(ordered)
    table = pa.table({
        "group": [key] * n,
        "storm": [group.storm] * n,
        "year": [group.year] * n,
        "port": [group.port] * n,
        "place": range(n),
        "edge": [e.id for e in ordered],
        "position": pa.array([None if math.isnan(p) else p for p in where], pa.float64()),
        "horizon": [e.horizon for e in ordered],
        "phase": [e.phase for e in ordered],
        "family": [e.family for e in ordered],
        "relation": [e.relation for e in ordered],
        "source_kind": [e.source_kind for e in ordered],
    })
    return {"canonical_trajectories": table}


@dg.asset(
    partitions_def=GROUPS,
    backfill_policy=GROUPS_PER_RUN,
    io_manager_key="group_tables",
    group_name="hypergraph",
    kinds={"parquet"},
    owners=OWNERS,
    metadata=column_metadata("canonical_trajectories"),
    code_version=canonical_version(),
    ins={"hypergraph": dg.AssetIn(input_manager_key="group_tables")},
)
def canonical_trajectories(
    context: dg.AssetExecutionContext, hypergraph: GroupInputs, home: dg.ResourceParam[Home]
) -> GroupOutputs:
    """Topological order of a group's hyperedges under ≺: the story as it unfolded (A.3)."""
    outputs = refresh(
        context, home, "canonical_trajectories", canonical_version(),
        input_hash=hypergraph.hash,
        compute=lambda key: group_trajectory(key, hypergraph.read("hyperedges", key)),
    )
    return show_group(context, home, outputs, "picture of the trajectory", _draw)


def _draw(edges: list[Hyperedge], entities: Mapping[str, Entity]) -> bytes:
    from okh.plots import trajectory_picture  # matplotlib takes long to import

    return trajectory_picture(edges)
