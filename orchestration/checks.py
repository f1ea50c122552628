"""Asset checks: the findings of :mod:`assets.checks` as Dagster shows them.

One step for each asset, over the groups of its run, so that a range of a hundred
groups costs a few events and no read of a table twice. A blocking check stops the
run where the next step would build on sand; what is merely odd is a warning.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import dagster as dg

from assets import checks
from assets.embedding import vector_store
from assets.extractions import BLOCK_STAGE
from assets.partitions import GROUPS
from storage.home import Home
from storage.publish import read_snapshot, snapshot
from storage.tables import TableStore

Check = Callable[[], checks.Finding]


def _specs(
    asset: str, blocking: Mapping[str, str], others: Mapping[str, str]
) -> list[dg.AssetCheckSpec]:
    return [
        dg.AssetCheckSpec(name, asset=asset, description=text, blocking=stops)
        for stops, named in ((True, blocking), (False, others))
        for name, text in named.items()
    ]


def _results(asset: str, found: Mapping[str, Check]) -> Iterator[dg.AssetCheckResult]:
    for name, check in found.items():
        finding = check()
        metadata: dict[str, Any] = dict(finding.numbers)
        if finding.examples:
            metadata["examples"] = list(finding.examples)
        yield dg.AssetCheckResult(
            asset_key=asset, check_name=name, passed=finding.passed, metadata=metadata,
            severity=dg.AssetCheckSeverity.ERROR if finding.stops or name in _FAILURES
            else dg.AssetCheckSeverity.WARN,
        )


_FAILURES = frozenset({"facts_in_every_group"})
"""Checks whose failure is an error although the other groups of the run go on."""


def groups_of_run(context: dg.AssetCheckExecutionContext, home: Home) -> list[str]:
    """Groups of a run over one key or a range; all built ones of a run over no partition."""
    tags = context.run.tags
    one = tags.get("dagster/partition")
    if one:
        return [one]
    first = tags.get("dagster/asset_partition_range_start")
    last = tags.get("dagster/asset_partition_range_end")
    if first is None or last is None:
        return sorted(TableStore(home).current("blocks"))
    order = list(context.instance.get_dynamic_partitions(str(GROUPS.name)))
    return order[order.index(first) : order.index(last) + 1]


@dg.multi_asset_check(name="check_extractions", specs=_specs(
    "extractions",
    {
        "any_facts": "Facts were found in at least one group of the run.",
        "share_grounded": "Evidence and mentions stand in the text. Stops the run where most of "
                          "them do not: then the extractor invents.",
    },
    {
        "facts_in_every_group": "Facts were found in every group; none is a failure of that "
                                "group, and the others go on.",
        "share_quarantined": "Few blocks could not be extracted.",
    },
))
def check_extractions(
    context: dg.AssetCheckExecutionContext, home: dg.ResourceParam[Home]
) -> Iterator[dg.AssetCheckResult]:
    """What must hold of the facts of a run's groups."""
    store, groups = TableStore(home), groups_of_run(context, home)
    blocks = {group: file.rows for group, file in store.current("blocks", groups).items()}
    facts = store.read_many("extractions", groups, columns=["group", "grounded", "static"])
    known = list(store.current("extractions", groups))
    yield from _results("extractions", {
        "any_facts": partial(checks.any_facts, facts, known),
        "share_grounded": partial(checks.share_grounded, facts),
        "facts_in_every_group": partial(checks.facts_in_every_group, facts, known),
        "share_quarantined": partial(checks.share_quarantined, home, BLOCK_STAGE, blocks),
    })


_EDGE_COLUMNS = ("group", "id", "relation", "family", "lead", "synthetic", "entities")


@dg.multi_asset_check(name="check_hypergraph", specs=_specs(
    "hypergraph",
    {
        "unique_ids": "No identifier stands twice: vectors and trajectories are keyed by it.",
        "temporal_anchors": "One anchor on each edge at a horizon, two on a change, else none.",
        "entities_known": "Every entity of an edge is known, and none is without an edge.",
    },
    {
        "share_unmapped": "Few relations are unknown to the vocabulary.",
        "horizon_coverage": "Every horizon of a group's blocks has facts of its own.",
        "drift": "No group's number of edges moved much against its last version.",
    },
))
def check_hypergraph(
    context: dg.AssetCheckExecutionContext, home: dg.ResourceParam[Home]
) -> Iterator[dg.AssetCheckResult]:
    """What must hold of the entities and hyperedges of a run's groups."""
    store, groups = TableStore(home), groups_of_run(context, home)
    edges = store.read_many("hyperedges", groups, columns=_EDGE_COLUMNS)
    entities = store.read_many("entities", groups, columns=["group", "id"])
    blocks = store.read_many("blocks", groups, columns=["group", "lead"])
    yield from _results("hypergraph", {
        "unique_ids": partial(checks.unique_ids, edges),
        "temporal_anchors": partial(checks.temporal_anchors, edges),
        "entities_known": partial(checks.entities_known, edges, entities),
        "share_unmapped": partial(checks.share_unmapped, edges),
        "horizon_coverage": partial(checks.horizon_coverage, edges, blocks),
        "drift": partial(checks.drift, store, groups),
    })


@dg.multi_asset_check(name="check_canonical_trajectories", specs=_specs(
    "canonical_trajectories",
    {"topological": "The canonical order holds every edge once and never goes against ≺."}, {},
))
def check_trajectories(
    context: dg.AssetCheckExecutionContext, home: dg.ResourceParam[Home]
) -> Iterator[dg.AssetCheckResult]:
    """What must hold of the canonical order of a run's groups."""
    store, groups = TableStore(home), groups_of_run(context, home)
    edges = store.read_many("hyperedges", groups, columns=["id", "story", "sub_rank"])
    places = store.read_many(
        "canonical_trajectories", groups, columns=["group", "edge", "place", "position"]
    )
    yield from _results("canonical_trajectories", {
        "topological": partial(checks.topological, edges, places),
    })


@dg.multi_asset_check(name="check_hyperedge_vectors", specs=_specs(
    "hyperedge_vectors",
    {"vectors_are_edges": "Each hyperedge of the snapshot has one vector, and no other has any."},
    {},
))
def check_vectors(home: dg.ResourceParam[Home]) -> Iterator[dg.AssetCheckResult]:
    """Whether the published vectors are those of the published hyperedges."""
    published = snapshot(home)
    ids: Sequence[str] = []
    edges: Sequence[str] = []
    if published is not None:
        store = vector_store(home, published, "hyperedges")
        ids = store.ids(published.vectors[store.name])
        edges = read_snapshot(home, published, "hyperedges", columns=["id"])["id"].to_pylist()
    yield from _results("hyperedge_vectors", {
        "vectors_are_edges": partial(checks.vectors_are_edges, ids, edges),
    })


@dg.multi_asset_check(name="check_self_trained_transition_model", specs=_specs(
    "self_trained_transition_model", {},
    {"promotion_gate": "Questions use the self-trained model only if it gained on dev storms."},
))
def check_promotion(
    context: dg.AssetCheckExecutionContext, home: dg.ResourceParam[Home]
) -> Iterator[dg.AssetCheckResult]:
    """Whether the published model is the one that the gate let through."""
    event = context.instance.get_latest_materialization_event(
        dg.AssetKey("self_trained_transition_model")
    )
    made = event.asset_materialization if event else None
    told = {key: value.value for key, value in made.metadata.items()} if made else {}
    published = snapshot(home)
    used = bool(published and published.model and published.model == told.get("model"))
    yield from _results("self_trained_transition_model", {
        "promotion_gate": lambda: checks.Finding(
            used == bool(told.get("promoted")) or not told.get("trained"),
            {"trained": bool(told.get("trained")), "promoted": bool(told.get("promoted"))},
            stops=False,
        ),
    })


CHECKS = (check_extractions, check_hypergraph, check_trajectories, check_vectors, check_promotion)
