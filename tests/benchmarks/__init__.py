"""What is timed and measured on real data; each module prints a table when it is run.

``python -m tests.benchmarks.embedders`` and so on, from the root of the checkout.
"""

from __future__ import annotations

from collections.abc import Iterator

from okh.corpus.groups import scenario_group
from okh.corpus.places import default_ports
from okh.corpus.scenario import read_events
from okh.extraction import scenario_rules
from okh.extraction.extractor import is_grounded
from okh.normalization import Hypergraph, LocatedFact, normalize
from tests.conftest import SHARED_DATA


def scenario_graphs(every: int = 1) -> Iterator[tuple[str, Hypergraph]]:
    """(event id, hypergraph) of every n-th event of ``events.jsonl``, rendered and extracted."""
    ports = default_ports()
    lines = (SHARED_DATA / "cyportqa" / "events.jsonl").read_text("utf-8").splitlines()
    for document, blocks in read_events("\n".join(lines[::every])):
        group = scenario_group(document, ports)
        if group is None:
            continue
        facts = [
            LocatedFact(
                fact, document.hash, block.start + fact.start, block.start + fact.end, block.lead,
                block.issued, "scenario", "scenario", is_grounded(fact, block.text),
            )
            for block in blocks
            for fact in scenario_rules.extract(block)
        ]
        yield document.names[0].split("#")[1], normalize(group, facts)
