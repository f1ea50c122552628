"""``extractions``: the facts of each block, bound to the group's port."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

import dagster as dg

from assets.corpus import Corpus
from assets.group_tables import GroupInputs, GroupOutputs, Tables, quarantined, refresh
from assets.partitions import GROUPS, GROUPS_PER_RUN, OWNERS
from assets.versions import extractions_version
from okh.corpus.groups import View, nearest_location
from okh.corpus.places import PortTable
from okh.domain import Block, Fact, Group
from okh.extraction.binding import bind, group_facts
from okh.extraction.extractor import Extractor, is_grounded
from okh.extraction.rules import RulesExtractor
from okh.llm.errors import RunStopped
from storage.cache import ExtractionCache
from storage.home import Home
from storage.quarantine import Quarantined, replace_stage
from storage.rows import BlockView, ExtractedFact, blocks_from_table, facts_to_table

BLOCK_STAGE = "extraction"
"""Stage under which blocks that could not be extracted lie in the quarantine."""


class BlockExtraction:
    """Facts of blocks, each extracted once however many groups and runs see it."""

    def __init__(self, home: Home, extractor: Extractor) -> None:
        self._extractor = extractor
        self._cache = ExtractionCache(home)
        self._known: dict[str, list[Fact]] = {}
        self._storm: str | None = None

    def facts(
        self, group: Group, blocks: Sequence[Block]
    ) -> tuple[dict[str, list[Fact]], list[Quarantined]]:
        """Facts by ``Block.content_key``, and the blocks that failed.

        Facts are remembered for one storm at a time, and for good in the cache.
        """
        if group.storm_year != self._storm:
            self._storm, self._known = group.storm_year, {}
        wanted = {b.content_key: b for b in blocks}
        missing = [key for key in wanted if key not in self._known]
        self._known |= self._cache.get_many(self._extractor.version, missing)
        todo = {key: wanted[key] for key in missing if key not in self._known}
        faults = [
            quarantined(
                BLOCK_STAGE, group.key, error, document=todo[key].document, block=todo[key].id,
                reply=getattr(error, "reply", ""),
            )
            for key, error in self._extract(todo)
        ]
        return {key: self._known.get(key, []) for key in wanted}, faults

    def _extract(self, todo: Mapping[str, Block]) -> Iterator[tuple[str, Exception]]:
        """Extract blocks, several at once where the extractor allows; yields what failed.

        Each is kept as soon as it is there, so that whatever ends the run, nothing is
        asked for twice. ``RunStopped`` (no budget, no endpoint) ends the run.
        """
        if self._extractor.workers == 1:
            fresh = {}
            for key, block in todo.items():
                try:
                    fresh[key] = self._extractor.extract(block)
                except Exception as error:  # the boundary of a block: the rest goes on
                    yield key, error
            self._keep(fresh)
            return
        with ThreadPoolExecutor(self._extractor.workers) as pool:
            waiting = {pool.submit(self._extractor.extract, b): key for key, b in todo.items()}
            for done in as_completed(waiting):
                key = waiting[done]
                try:
                    self._keep({key: done.result()})
                except RunStopped:
                    pool.shutdown(wait=False, cancel_futures=True)
                    raise
                except Exception as error:  # the boundary of a block: the rest goes on
                    yield key, error

    def _keep(self, fresh: Mapping[str, list[Fact]]) -> None:
        self._cache.put_many(self._extractor.version, fresh)
        self._known |= fresh


def group_extractions(
    key: str, views: Sequence[BlockView], extraction: BlockExtraction, ports: PortTable
) -> tuple[Tables, list[Quarantined]]:
    """The ``extractions`` table of one group, and its blocks that failed."""
    group = Group.parse(key)
    port = ports.get(group.port)
    by_block, faults = extraction.facts(group, [view.block for view in views])
    rows: list[ExtractedFact] = []
    seen = [View(group, v.block, v.lead, v.distance_km, v.tie) for v in views]
    for view in seen:
        facts = by_block[view.block.content_key]
        bound = bind(facts, view, port) if port else facts
        rows += [_located(fact, view) for fact in bound]
    if port:
        rows += [_static(fact, key) for fact in group_facts(group, port, nearest_location(seen))]
    return {"extractions": facts_to_table(rows)}, faults


def _located(fact: Fact, view: View) -> ExtractedFact:
    block = view.block
    return ExtractedFact(
        group=view.group.key, block=block.id, document=block.document, fact=fact,
        start=block.start + fact.start, end=block.start + fact.end, lead=view.lead,
        issued=block.issued, source_kind=block.source_kind, kind=block.kind,
        grounded=is_grounded(fact, block.text), static=False,
    )


def _static(fact: Fact, key: str) -> ExtractedFact:
    return ExtractedFact(
        group=key, block="", document="", fact=fact, start=0, end=0, lead=None, issued=None,
        source_kind="products", kind="wind_table", grounded=True, static=True,
    )


@dg.asset(
    partitions_def=GROUPS,
    backfill_policy=GROUPS_PER_RUN,
    io_manager_key="group_tables",
    group_name="hypergraph",
    kinds={"parquet"},
    owners=OWNERS,
    code_version=extractions_version(RulesExtractor()),
    ins={"documents": dg.AssetIn(input_manager_key="group_tables")},
)
def extractions(
    context: dg.AssetExecutionContext,
    documents: GroupInputs,
    home: dg.ResourceParam[Home],
    extractor: dg.ResourceParam[Extractor],
) -> GroupOutputs:
    """Facts of a group: relation, evidence sentence, entities and quantities (§3.1, Eq. 8).

    Each distinct block is extracted once; a block that fails is quarantined and
    the rest of its group goes on.
    """
    ports = Corpus(home).ports
    extraction = BlockExtraction(home, extractor)

    def compute(key: str) -> Tables:
        views = blocks_from_table(documents.read("blocks", key))
        tables, faults = group_extractions(key, views, extraction, ports)
        replace_stage(home, BLOCK_STAGE, key, faults)
        return tables

    return refresh(
        context, home, "extractions", extractions_version(extractor),
        input_hash=documents.hash, compute=compute, measure=_measure,
    )


def _measure(tables: Tables) -> dict[str, int]:
    grounded = tables["extractions"].column("grounded").to_pylist()
    return {"facts": len(grounded), "facts grounded": sum(grounded)}
