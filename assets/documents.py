"""``documents``: what a group sees of the corpus, as blocks with lead and distance."""

import dagster as dg

from assets.corpus import Corpus, fingerprint
from assets.group_tables import GroupOutputs, Tables, refresh
from assets.partitions import GROUPS, GROUPS_PER_RUN, OWNERS
from assets.pictures import column_metadata
from assets.versions import documents_version
from okh.domain import Group
from storage.home import Home
from storage.rows import BlockView, blocks_to_table, documents_to_table


def group_documents(corpus: Corpus, key: str) -> Tables:
    """The ``documents`` and ``blocks`` tables of one group.

    Raises ``ValueError`` if nothing in the corpus concerns the group.
    """
    group = Group.parse(key)
    views = corpus.views(group)
    if not views:
        raise ValueError("no document of the corpus concerns this group")
    seen = {view.block.document for view in views}
    own = [document for document in corpus.documents if document.hash in seen]
    blocks = [
        BlockView(key, view.block, view.lead, view.distance_km, view.tie) for view in views
    ]
    return {"documents": documents_to_table(own, group=key), "blocks": blocks_to_table(blocks)}


@dg.asset(
    partitions_def=GROUPS,
    backfill_policy=GROUPS_PER_RUN,
    io_manager_key="group_tables",
    group_name="corpus",
    kinds={"parquet"},
    owners=OWNERS,
    metadata=column_metadata("documents"),
    code_version=documents_version(),
)
def documents(context: dg.AssetExecutionContext, home: dg.ResourceParam[Home]) -> GroupOutputs:
    """Documents of a group, split into blocks.

    A block is one section of one product, or one horizon of a scenario, with its
    lead time, and with the distance of its forecast location from the port.
    """
    corpus = Corpus(home)
    return refresh(
        context, home, "documents", documents_version(),
        input_hash=lambda key: fingerprint(corpus.views(Group.parse(key))),
        compute=lambda key: group_documents(corpus, key),
        measure=_measure,
    )


def _measure(tables: Tables) -> dict[str, int]:
    leads = tables["blocks"].column("lead")
    return {"blocks without a lead": leads.null_count, "blocks": len(leads)}
