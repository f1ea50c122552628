"""Code versions of the assets: digests of the source that decides what they give.

A version that is computed cannot be forgotten. A comment changes it too; then a
few seconds of deterministic work are done again, and what they give is equal, so
that nothing behind it is stale.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import ModuleType

import okh.corpus
import okh.extraction.binding
import okh.normalization
import okh.precedence
from okh.domain import digest
from okh.extraction.extractor import Extractor
from okh.vocabulary import CYCLONE_PORTS


def source_version(*modules: ModuleType) -> str:
    """Twelve hex digits over the source of these modules; of a package, all code and tables."""
    files: set[Path] = set()
    for module in modules:
        file = Path(str(module.__file__))
        files |= set(file.parent.glob("**/*")) if file.name == "__init__.py" else {file}
    sources = sorted(f for f in files if f.suffix in (".py", ".csv"))
    return digest(*(f.read_text(encoding="utf-8") for f in sources))[:12]


@cache
def documents_version() -> str:
    """Of parsing and grouping."""
    return source_version(okh.corpus)


def extractions_version(extractor: Extractor) -> str:
    """Of an extractor and of what ties its facts to a port."""
    return f"{extractor.version}-{source_version(okh.extraction.binding)}"


@cache
def hypergraph_version() -> str:
    """Of the five normalization steps and their vocabulary."""
    return digest(source_version(okh.normalization), CYCLONE_PORTS.version)[:12]


@cache
def canonical_version() -> str:
    """Of ≺ and its canonical order."""
    return source_version(okh.precedence)
