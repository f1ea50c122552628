"""Rules for the kinds of documents that they read exactly, a language model for the rest.

A table of wind speed probabilities has one meaning, which the rules take from it whole;
a model would write thousands of tokens for each location, and pay for every one.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

from okh.domain import Block, DocumentKind, Fact, digest
from okh.extraction.extractor import Extractor

RULES_FOR: tuple[DocumentKind, ...] = ("wind_table",)
"""Kinds that are left to the rules unless something else is said (decision)."""


class MixedExtractor:
    """One of two extractors, by the kind of the block.

    Parameters
    ----------
    model
        Reads all other kinds; it gives name and workers.
    rules
        Reads blocks of ``kinds``.
    """

    def __init__(
        self, model: Extractor, rules: Extractor, kinds: Collection[DocumentKind] = RULES_FOR
    ) -> None:
        self.name, self.workers = model.name, model.workers
        self._model, self._rules, self._kinds = model, rules, frozenset(kinds)

    @cached_property
    def version(self) -> str:
        """``mixed-`` and twelve hex digits over both versions and the kinds.

        Facts are kept under the version of their :meth:`part`: a change of the rules makes
        no block of the model be paid for again.
        """
        return "mixed-" + digest(
            self._model.version, self._rules.version, *sorted(self._kinds)
        )[:12]

    def part(self, block: Block) -> Extractor:
        """The one that reads this block."""
        return self._rules if block.kind in self._kinds else self._model

    def extract(self, block: Block) -> list[Fact]:
        """Facts of one block, as its part finds them."""
        return self.part(block).extract(block)


def part_of(extractor: Extractor, block: Block) -> Extractor:
    """The extractor that reads a block: a mixed one's part, else the extractor itself."""
    return extractor.part(block) if isinstance(extractor, MixedExtractor) else extractor
