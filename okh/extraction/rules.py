"""The embedded extractor: deterministic rules for the language these documents are written in."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache, cached_property
from types import ModuleType

from okh.domain import Block, DocumentKind, Fact, digest
from okh.extraction import (
    advisory_rules,
    bulletin_rules,
    scenario_rules,
    wind_table_rules,
)
from okh.vocabulary import CYCLONE_PORTS, Vocabulary

_EXTRACT: dict[DocumentKind, Callable[[Block], list[Fact]]] = {
    "advisory": advisory_rules.extract,
    "wind_table": wind_table_rules.extract,
    "bulletin": bulletin_rules.extract,
    "scenario": scenario_rules.extract,
}


class RulesExtractor:
    """Dispatches a block to the rules of its kind; needs no key and no network."""

    name = "rules"
    workers = 1

    def __init__(self, vocabulary: Vocabulary = CYCLONE_PORTS) -> None:
        self._vocabulary = vocabulary

    @cached_property
    def version(self) -> str:
        """``rules-`` and twelve hex digits over the vocabulary and the rules' own source."""
        return f"rules-{digest(self._vocabulary.version, _rules_digest())[:12]}"

    def extract(self, block: Block) -> list[Fact]:
        """Facts of one block, in text order."""
        return _EXTRACT[block.kind](block)


@cache
def _rules_digest() -> str:
    """Digest of the rules as this process loaded them, once: files may change meanwhile."""
    return digest(*(inspect.getsource(module) for module in _rule_modules()))


def _rule_modules() -> list[ModuleType]:
    """The rule modules and the modules of this package that they import, by name."""
    found: dict[str, ModuleType] = {}
    queue = [advisory_rules, bulletin_rules, scenario_rules, wind_table_rules]
    while queue:
        module = queue.pop()
        if module.__name__ in found:
            continue
        found[module.__name__] = module
        for value in vars(module).values():
            home = value if isinstance(value, ModuleType) else inspect.getmodule(value)
            if home is not None and home.__name__.startswith("okh.extraction."):
                queue.append(home)
    return [found[name] for name in sorted(found)]
