"""The one partitioning of the pipeline: the knowledge group (storm-year at port).

Here and not in ``orchestration``, because the assets themselves are defined on it.
"""

from __future__ import annotations

from dagster import AllPartitionMapping, AssetDep, BackfillPolicy, DynamicPartitionsDefinition

GROUPS = DynamicPartitionsDefinition(name="group")

GROUPS_PER_RUN = BackfillPolicy.multi_run(max_partitions_per_run=100)
"""One policy on all group assets: a mix would resolve to the smallest."""

OWNERS = ["team:okh-rag"]


def all_groups_of(asset: str) -> AssetDep:
    """Dependency of an unpartitioned asset on every group of ``asset``."""
    return AssetDep(asset, partition_mapping=AllPartitionMapping())
