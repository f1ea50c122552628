"""Our own CPU time for a block when the endpoint answers at once.

Run ``python -m tests.benchmarks.llm_overhead``. The server is a process of its own, on
loopback, and answers each block of the sample with what the rules find in it, so replies
are as long as real ones. The bound of issue 3 is 10 ms a block.
"""

from __future__ import annotations

import json
import multiprocessing
import statistics
import time
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing.connection import Connection
from tempfile import TemporaryDirectory

from pydantic import SecretStr

from okh.corpus.advisory import parse_advisory
from okh.corpus.bulletin import parse_bulletins
from okh.corpus.scenario import parse_scenario
from okh.corpus.wind_table import parse_wind_table
from okh.domain import Block, Fact
from okh.extraction.extractor import is_grounded
from okh.extraction.openai_extractor import OpenAIExtractor
from okh.extraction.rules import RulesExtractor
from okh.llm.client import Client
from okh.llm.settings import LlmSettings
from okh.sample import SAMPLE_DIR, documents
from storage.home import Home
from storage.replies import Replies
from tests.fake_chat import FakeChat
from tests.openai_server import OpenAIServer

BLOCKS = 200
BOUND_MS = 10.0

_PARSERS = {
    "advisory": parse_advisory, "wind": parse_wind_table, "scenario": parse_scenario,
    "sample": parse_bulletins,
}


@lru_cache(maxsize=1)
def sample_blocks() -> tuple[Block, ...]:
    """An even choice of the sample's blocks, :data:`BLOCKS` of them."""
    found: list[Block] = []
    for path in documents():
        name = path.relative_to(SAMPLE_DIR).as_posix()
        text = path.read_text(encoding="ascii")
        found += _PARSERS[path.parent.name](text, name, name)[1]
    return tuple(found[i * len(found) // BLOCKS] for i in range(BLOCKS))


def as_reply(facts: list[Fact]) -> str:
    """Facts as a model would write them."""
    return json.dumps({"facts": [
        {
            "evidence": fact.evidence, "relation": fact.relation, "confidence": fact.confidence,
            "entities": [
                {"name": m.name, "type": m.type, "description": "", "confidence": m.confidence}
                for m in fact.mentions if m.origin == "text"
            ],
            "attributes": [
                {"key": a.key, "value": a.value, "unit": a.unit} for a in fact.attributes
            ],
        }
        for fact in facts
    ]})


def section_of(message: str) -> str:
    """The text between the marks of an extraction prompt."""
    return message.split(" =====\n", 1)[1].rsplit("\n===== END ", 1)[0]


def replies() -> dict[str, str]:
    """Section -> reply."""
    rules = RulesExtractor()
    return {b.text.strip("\n"): as_reply(rules.extract(b)) for b in sample_blocks()}


def _serve(pipe: Connection) -> None:
    known = replies()
    with OpenAIServer(lambda request: known[section_of(request.messages[-1]["content"])]) as server:
        pipe.send(server.url)
        pipe.recv()
        pipe.send(server.count.requests)


@dataclass(frozen=True)
class Overhead:
    """Milliseconds of CPU a block (mean), of wall clock (median), and what came out."""

    cpu_ms: float
    wall_ms: float
    facts: int
    grounded: int
    calls: int


def measure(extractor: OpenAIExtractor) -> Overhead:
    """Extract all blocks one after another, after one that warms up."""
    blocks = sample_blocks()
    extractor.extract(blocks[0])
    extractor.forget(blocks[0])
    walls: list[float] = []
    facts: list[tuple[Fact, Block]] = []
    before = time.process_time()
    for block in blocks:
        start = time.perf_counter()
        facts += [(fact, block) for fact in extractor.extract(block)]
        extractor.forget(block)
        walls.append(time.perf_counter() - start)
    cpu = time.process_time() - before
    return Overhead(
        1000 * cpu / len(blocks), 1000 * statistics.median(walls), len(facts),
        sum(is_grounded(fact, block.text) for fact, block in facts), len(blocks) + 1,
    )


def with_client() -> Overhead:
    """Over a real socket, with the replies kept until a block is done."""
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs,))
    server.start()
    try:
        settings = LlmSettings(base_url=ours.recv(), api_key=SecretStr("sk-benchmark"))
        with TemporaryDirectory() as folder, Client(settings) as client:
            home = Home.open(folder, create=True)
            found = measure(OpenAIExtractor(client, replies=Replies(home)))
        ours.send("stop")
        assert ours.recv() == found.calls
    finally:
        server.join(timeout=10)
        if server.is_alive():
            server.terminate()
    return found


def without_client() -> Overhead:
    """Prompt, validation and grounding alone."""
    known = replies()
    return measure(OpenAIExtractor(FakeChat(lambda call: known[section_of(call.last)])))


def main() -> None:
    """Print both."""
    print(f"{BLOCKS} blocks of the sample; bound {BOUND_MS:.0f} ms of CPU a block")
    for name, found in (("extractor alone", without_client()), ("with client", with_client())):
        print(
            f"{name:16} {found.cpu_ms:6.2f} ms CPU a block (mean), {found.wall_ms:6.2f} ms wall "
            f"(median), {found.facts} facts, {found.grounded} grounded"
        )


if __name__ == "__main__":
    main()
