"""The interface of extraction, and the grounding check that every extractor honours (§3.1, A.2)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from okh.domain import Block, Fact

if TYPE_CHECKING:
    from okh.llm.dialog import Outcome


class Extractor(Protocol):
    """Block -> facts. Equal ``Block.content_key`` and ``version`` give equal facts."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str:
        """Changes whenever the same block could yield other facts."""
        ...

    @property
    def workers(self) -> int:
        """How many blocks may be extracted at once."""
        ...

    def extract(self, block: Block) -> list[Fact]: ...


@runtime_checkable
class Billed(Protocol):
    """An extractor that asks an endpoint about each block, beside being an ``Extractor``."""

    def request(
        self, block: Block
    ) -> tuple[list[dict[str, str]], Mapping[str, object]]:
        """Messages and schema of a block's first call."""
        ...

    def extract_noted(self, block: Block) -> Outcome[list[Fact]]:
        """Facts, with what it took to get them."""
        ...

    def forget(self, block: Block) -> None:
        """Drop the replies kept for a block: its facts are stored, or it is to be asked anew."""
        ...


_SPACE = re.compile(r"\s+")


def fold(text: str) -> str:
    """Case and white space folded away: the form in which spans are compared."""
    return _SPACE.sub(" ", text).strip().casefold()


def is_grounded(fact: Fact, block_text: str) -> bool:
    """Whether the evidence is a span of the block and each named entity a span of the evidence.

    Entities that come from elsewhere (``linked``, ``anchor``, ``synthetic``)
    say so in their origin and are not looked for.
    """
    evidence = fact.evidence
    if block_text[fact.start : fact.end] != evidence and fold(evidence) not in fold(block_text):
        return False
    folded = fold(evidence)
    return bool(folded) and all(
        fold(m.name) in folded for m in fact.mentions if m.origin == "text"
    )
