"""Pictures: of any group, of bounded size, and in the metadata of a run over one group."""

from __future__ import annotations

import base64
import struct
from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.ingest import ingest_paths
from assets.pictures import column_metadata
from okh.domain import Entity, Hyperedge
from okh.plots import MOST_BYTES, hypergraph_picture, trajectory_picture
from okh.sample import PORTS_CSV, SAMPLE_DIR
from orchestration.definitions import definitions
from storage.home import Home
from tests.storage.samples import edge, edges

LARGE = [
    replace(
        edge(n), lead=120 - 12 * (n % 11), family=1 + n % 13,
        entities=tuple(f"area:{n}-{k}" for k in range(4)),
    )
    for n in range(400)
]


def size_of(png: bytes) -> tuple[int, int]:
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", png[16:24])
    return width, height


@pytest.mark.parametrize("group", [[], [edge(1)], LARGE])
def test_a_picture_of_any_group_is_small(group: list[Hyperedge]) -> None:
    names = {"area:1-1": Entity("area:1-1", "from $10 to $20 in \u202e\u05d0", "area")}
    for png in (hypergraph_picture(group, names), trajectory_picture(group)):
        assert len(png) <= MOST_BYTES
        assert min(size_of(png)) > 100


@settings(max_examples=5)
@given(st.lists(edges.map(lambda e: replace(e, issued=None)), max_size=6))
def test_no_name_and_no_number_breaks_a_picture(group: list[Hyperedge]) -> None:
    size_of(hypergraph_picture(group, {}))
    size_of(trajectory_picture(group))


def test_pictures_and_columns_in_the_metadata(tmp_path: Path) -> None:
    home = Home.open(tmp_path / "home", create=True)
    ingest_paths(home, [SAMPLE_DIR / "scenario"], ports=PORTS_CSV)
    key = home.read_table("groups")["group"][0].as_py()
    defs = definitions(str(home.root))
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("group", [key])
        for _ in range(2):  # of a group that did not change, too
            result = defs.resolve_job_def("build_groups").execute_in_process(
                instance=instance, partition_key=key
            )
            for asset, name in (("hypergraph", "picture of the hypergraph"),
                                ("canonical_trajectories", "picture of the trajectory")):
                (made,) = result.asset_materializations_for_node(asset)
                text = str(made.metadata[name].value)
                head, data = text.split("base64,")
                assert head == "![](data:image/png;"
                size_of(base64.b64decode(data.rstrip(")")))
    columns = column_metadata("hypergraph")
    named = [c.name for c in columns["dagster/column_schema"].columns]
    assert "entities" in named and "columns of entities" in columns
