"""Helpers of the advisory tests: facts of a real file, and their form in the list read by eye."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from okh.corpus.advisory import parse_advisory
from okh.domain import Block, Document, Fact, digest
from okh.extraction.advisory_rules import extract

LONGEST = 60
"""Values longer than this, and all free text, are kept as a digest: no prose in the list."""


@lru_cache(maxsize=512)
def read_file(path: Path) -> tuple[Document, tuple[tuple[Block, Fact], ...]]:
    """The document of a file and its facts with their blocks, in text order."""
    document, blocks = parse_advisory(path.read_text(encoding="utf-8"), "hash", path.name)
    return document, tuple((block, fact) for block in blocks for fact in extract(block))


def row_key(name: str, block: Block, fact: Fact) -> tuple[str, str, str, str]:
    """(file, relation, offsets in the file, attributes) of a fact, as the list writes it."""
    span = f"{block.start + fact.start}-{block.start + fact.end}"
    return name, fact.relation, span, attributes_text(fact)


def attributes_text(fact: Fact) -> str:
    """``key=value unit; …`` in the fact's order; long or free text as ``#`` and eight digits."""
    parts = []
    for a in fact.attributes:
        prose = a.key in ("text", "track") or len(a.value) > LONGEST
        value = f"#{digest(a.value)[:8]}" if prose else a.value
        parts.append(f"{a.key}={value} {a.unit}".rstrip())
    return "; ".join(parts)
