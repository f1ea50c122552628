"""``extractions``: the facts of each block, bound to the group's port."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

import dagster as dg

from assets.corpus import Corpus
from assets.group_tables import (
    RETRY_TAG,
    GroupInputs,
    GroupOutputs,
    Tables,
    quarantined,
    refresh,
)
from assets.partitions import GROUPS, GROUPS_PER_RUN, OWNERS
from assets.pictures import column_metadata
from assets.versions import extractions_version
from okh.corpus.groups import View, nearest_location
from okh.corpus.places import PortTable
from okh.domain import Block, Fact, Group
from okh.extraction.binding import bind, group_facts
from okh.extraction.extractor import Billed, Extractor, is_grounded
from okh.extraction.mixed import part_of
from okh.extraction.rules import RulesExtractor
from okh.llm.dialog import Notes, ReplyRejected
from okh.llm.errors import RunStopped
from storage.cache import ExtractionCache
from storage.home import Home
from storage.quarantine import Quarantined, replace_stage
from storage.rows import BlockView, ExtractedFact, blocks_from_table, facts_to_table

BLOCK_STAGE = "extraction"
"""Stage under which blocks that could not be extracted lie in the quarantine."""


class BlockExtraction:
    """Facts of blocks, each extracted once however many groups and runs see it.

    Parameters
    ----------
    again
        Ask a model anew about blocks that it gave no usable reply for.
    """

    def __init__(self, home: Home, extractor: Extractor, *, again: bool = False) -> None:
        self._extractor, self._again = extractor, again
        self._cache = ExtractionCache(home)
        self._known: dict[str, list[Fact]] = {}
        self._failed: dict[str, Exception] = {}
        self._storm: str | None = None
        self.spent = Notes()
        self.levels: Counter[str] = Counter()

    def facts(
        self, group: Group, blocks: Sequence[Block]
    ) -> tuple[dict[str, list[Fact]], list[Quarantined]]:
        """Facts by ``Block.content_key``, and the blocks that failed.

        Facts are remembered for one storm at a time, and for good in the cache.
        """
        if group.storm_year != self._storm:
            self._storm, self._known, self._failed = group.storm_year, {}, {}
        wanted = {b.content_key: b for b in blocks}
        todo: dict[Extractor, dict[str, Block]] = defaultdict(dict)
        for key, block in wanted.items():
            if key not in self._known and key not in self._failed:
                todo[part_of(self._extractor, block)][key] = block
        for part, some in todo.items():
            self._known |= self._cache.get_many(part.version, list(some))
            self._extract(part, {k: b for k, b in some.items() if k not in self._known})
        faults = [
            quarantined(
                BLOCK_STAGE, group.key, self._failed[key], document=block.document,
                block=block.id, reply=getattr(self._failed[key], "reply", ""),
            )
            for key, block in wanted.items() if key in self._failed
        ]
        return {key: self._known.get(key, []) for key in wanted}, faults

    def metadata(self) -> dict[str, float | int]:
        """What a model was asked and paid, for the run's report; empty for the rules."""
        spent = self.spent
        if not spent.calls:
            return {}
        told: dict[str, float | int] = {
            "model/calls": spent.calls, "model/tokens in": spent.tokens_in,
            "model/tokens out": spent.tokens_out, "model/tokens cached": spent.tokens_cached,
        }
        if spent.cost is not None:
            told["model/dollars"] = round(spent.cost, 6)
        return told | {f"model/blocks, {what}": n for what, n in sorted(self.levels.items())}

    def _extract(self, part: Extractor, todo: Mapping[str, Block]) -> None:
        """Extract blocks, several at once where the extractor allows.

        ``RunStopped`` (no budget, no endpoint) ends the run; what is being asked at that
        moment is still waited for and kept.
        """
        if part.workers == 1:
            fresh = {}
            for key, block in todo.items():
                try:
                    fresh[key] = part.extract(block)
                except Exception as error:  # the boundary of a block: the rest goes on
                    self._failed[key] = error
            self._cache.put_many(part.version, fresh)
            self._known |= fresh
            return
        pool = ThreadPoolExecutor(part.workers)
        try:
            waiting = {pool.submit(self._one, part, b): key for key, b in todo.items()}
            for done in as_completed(waiting):
                key = waiting[done]
                try:
                    self._known[key], notes = done.result()
                except RunStopped:
                    raise
                except Exception as error:  # the boundary of a block: the rest goes on
                    self._failed[key] = error
                    notes = error.notes if isinstance(error, ReplyRejected) else Notes()
                self._note(notes)
        finally:
            pool.shutdown(cancel_futures=True)

    def _one(self, part: Extractor, block: Block) -> tuple[list[Fact], Notes]:
        """Extract one block and keep its facts at once: nothing is asked for twice."""
        if not isinstance(part, Billed):
            facts = part.extract(block)
            self._cache.put_many(part.version, {block.content_key: facts})
            return facts, Notes()
        if self._again:
            part.forget(block)
        outcome = part.extract_noted(block)
        self._cache.put_many(part.version, {block.content_key: outcome.value})
        part.forget(block)
        return outcome.value, outcome.notes

    def _note(self, notes: Notes) -> None:
        if notes.calls:
            self.spent += notes
            self.levels.update((notes.level, *notes.mended))


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
    metadata=column_metadata("extractions"),
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
    extraction = BlockExtraction(home, extractor, again=RETRY_TAG in context.run.tags)

    def compute(key: str) -> Tables:
        views = blocks_from_table(documents.read("blocks", key))
        tables, faults = group_extractions(key, views, extraction, ports)
        replace_stage(home, BLOCK_STAGE, key, faults)
        return tables

    made = refresh(
        context, home, "extractions", extractions_version(extractor),
        input_hash=documents.hash, compute=compute, measure=_measure,
    )
    context.add_output_metadata(extraction.metadata())
    return made


def _measure(tables: Tables) -> dict[str, int]:
    grounded = tables["extractions"].column("grounded").to_pylist()
    return {"facts": len(grounded), "facts grounded": sum(grounded)}
