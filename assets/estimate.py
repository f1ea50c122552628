"""What a build would cost before it is paid for: calls, tokens and dollars at most."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from assets.corpus import Corpus
from okh.domain import Block, Group
from okh.extraction.extractor import Billed, Extractor
from okh.extraction.mixed import part_of
from okh.llm.prices import Prices
from okh.llm.tokens import MARGIN, count_message_tokens
from storage.cache import ExtractionCache
from storage.home import Home

BEFORE_EXTRACTION = frozenset({"documents", "extractions", "quarantine"})
"""Reasons of staleness behind which blocks are extracted again."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Blocks that no cache holds, how many calls a model needs for them, and what those take.

    ``calls`` are the first ones: a reply that must be repaired, or was cut off, needs more.
    ``tokens_in`` is an estimate, ``dollars_most`` a bound: input with a margin, and
    every reply as long as it may be. None where the model has no price.
    """

    groups: int
    blocks: int
    calls: int
    tokens_in: int
    tokens_out_most: int
    dollars_most: float | None


def estimate(
    home: Home, extractor: Extractor, stale: Mapping[str, str], *, model: str = "",
    max_tokens: int = 0, prices: Prices | None = None,
) -> Estimate:
    """Estimate of building these stale groups (group -> reason)."""
    groups = [group for group, reason in stale.items() if reason in BEFORE_EXTRACTION]
    blocks = uncached_blocks(home, extractor, groups)
    requests = [
        part.request(block) for block in blocks
        if isinstance(part := part_of(extractor, block), Billed)
    ]
    if not requests:
        return Estimate(len(stale), len(blocks), 0, 0, 0, 0.0)
    tokens = sum(count_message_tokens(*request) for request in requests)
    longest = len(requests) * max_tokens
    most = prices.cost(model, round(tokens * MARGIN), longest) if prices else None
    return Estimate(len(stale), len(blocks), len(requests), tokens, longest, most)


def uncached_blocks(home: Home, extractor: Extractor, groups: Iterable[str]) -> list[Block]:
    """Distinct blocks of these groups whose facts are not in the cache yet."""
    corpus, blocks = Corpus(home), dict[str, Block]()
    for group in sorted(groups):
        for view in corpus.views(Group.parse(group)):
            if view.block.text.strip():
                blocks.setdefault(view.block.content_key, view.block)
    by_version: dict[str, list[str]] = defaultdict(list)
    for key, block in blocks.items():
        by_version[part_of(extractor, block).version].append(key)
    cache = ExtractionCache(home)
    known = {k for version, keys in by_version.items() for k in cache.get_many(version, keys)}
    return [block for key, block in blocks.items() if key not in known]
