"""What keeps a home in order: deletions carried through, versions pruned, tables compacted."""

from dataclasses import asdict

import dagster as dg

from assets.corpus import read_fingerprints
from assets.deletion import NotRebuilt, Purged, purge
from assets.embedding import vector_store
from assets.partitions import GROUPS
from storage.home import Home
from storage.publish import snapshot
from storage.tables import TableStore


def clean_up(home: Home, instance: dg.DagsterInstance) -> Purged:
    """Carry deletions through after a build, and remove partition keys of groups that are no more.

    Raises ``NotRebuilt`` while a current table still holds a buried document.
    """
    purged = purge(home)
    remove_partitions(home, instance)
    return purged


def remove_partitions(home: Home, instance: dg.DagsterInstance) -> list[str]:
    """Remove the partition keys of groups that the corpus does not make; returns them."""
    manifest = set(read_fingerprints(home))
    known = instance.get_dynamic_partitions(str(GROUPS.name))
    gone = [key for key in known if key not in manifest]
    for key in gone:
        instance.delete_dynamic_partition(str(GROUPS.name), key)
    return gone


def compact(home: Home) -> dict[str, int]:
    """Drop superseded files that neither the snapshot nor `okh diff` needs; join fragments."""
    published = snapshot(home)
    if published is None:
        return {"files dropped": 0}
    kept = {path for files in published.files.values() for path in files.values()}
    dropped = TableStore(home).prune(kept, before=True)
    for kind in ("hyperedges", "chunks"):
        vector_store(home, published, kind).optimize()
    return {"files dropped": dropped}


@dg.op(description="Deletions carried through, superseded versions dropped, vectors compacted.")
def put_in_order(context: dg.OpExecutionContext, home: dg.ResourceParam[Home]) -> None:
    """See the description; a deletion whose groups wait for a build is left for the next time."""
    try:
        context.log.info(f"taken out: {asdict(clean_up(home, context.instance))}")
    except NotRebuilt as error:
        context.log.warning(str(error))
    context.log.info(f"compacted: {compact(home)}")


@dg.job(description="Puts the home in order: what was deleted leaves no trace, old versions go.")
def maintenance() -> None:
    """One step."""
    put_in_order()
