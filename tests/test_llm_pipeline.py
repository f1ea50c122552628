"""The pipeline on a language model, from door to door, against a server on a real socket."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import pytest
from typer.testing import CliRunner, Result

from assets.estimate import Estimate
from orchestration.building import BuildReport, build, open_instance, plan
from orchestration.cli import FAILURE, app
from storage.cache import ExtractionCache
from storage.home import Home
from storage.ledger import CallLedger
from storage.publish import snapshot
from storage.quarantine import list_items
from storage.replies import Replies
from tests.model_world import (
    GROUP,
    KEY,
    PLANTED,
    FairModel,
    Storm,
    blocks_of,
    content,
    corpus_files,
    environment,
    evidence_of,
    identity,
    new_home,
    schema_name,
    section,
)
from tests.openai_server import Fault, OpenAIServer, Request

LEADS = (48, 24)
KILLS = int(os.environ.get("OKH_TEST_KILLS", "4"))
WORKERS = 4

STORM_FAULTS = [
    Fault.RATE_LIMIT, Fault.ERROR, Fault.OVERLOAD, Fault.CUT, Fault.CUT_BODY, Fault.NOT_JSON,
    Fault.TRUNCATED, Fault.WRONG_SCHEMA, Fault.FENCED, Fault.THINKING, Fault.ECHOED_SCHEMA,
    Fault.REFUSAL, Fault.EMPTY, Fault.NULL, Fault.SLOW,
]

runner = CliRunner()


def okh(*args: str | Path) -> Result:
    return runner.invoke(app, [str(a) for a in args])


def set_environment(patch: pytest.MonkeyPatch, url: str, **more: str) -> None:
    for name, value in environment(url, **more).items():
        patch.setenv(name, value)


@pytest.fixture(scope="module")
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as made:
        yield made


@dataclass
class Calm:
    """A home built through a server without faults, extraction and embedding both paid for."""

    home: Home
    server: OpenAIServer
    estimate: Estimate
    report: BuildReport

    @property
    def path(self) -> str:
        return str(self.home.root)


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Calm]:
    folder = tmp_path_factory.mktemp("calm")
    home = new_home(folder, corpus_files(folder, LEADS, planted=True))
    with OpenAIServer(
        FairModel(blocks_of(home).values()), dimension=24, cached=0.25
    ) as server:
        with pytest.MonkeyPatch.context() as patch:
            set_environment(patch, server.url, OKH_EMBEDDER="openai")
            _, estimated = plan(home)
            with open_instance(home) as instance:
                report = build(home, instance)
        assert not report.failures
        yield Calm(home, server, estimated, report)


@pytest.fixture
def calm_settings(calm: Calm, monkeypatch: pytest.MonkeyPatch) -> Calm:
    set_environment(monkeypatch, calm.server.url, OKH_EMBEDDER="openai")
    return calm


def chats(server: OpenAIServer) -> list[Request]:
    return [r for r in server.requests if r.path.endswith("/chat/completions")]


def assert_ledger_is_the_servers(home: Home, server: OpenAIServer) -> None:
    rows = CallLedger(home).rows()
    count = server.count
    assert len(rows) == count.requests
    assert sum(r.tokens_in for r in rows) == count.tokens_in
    assert sum(r.tokens_out for r in rows) == count.tokens_out
    assert sum(r.tokens_cached for r in rows) == count.tokens_cached


# --- a build without faults -------------------------------------------------------------


def test_every_block_is_extracted_and_the_ledger_is_the_servers_book(
    calm_settings: Calm, instance: dg.DagsterInstance
) -> None:
    calm = calm_settings
    blocks = blocks_of(calm.home)
    by_model = {key for key, block in blocks.items() if block.kind != "wind_table"}
    stats = ExtractionCache(calm.home).stats()
    assert sum(stats.values()) == len(blocks)
    assert sum(n for version, n in stats.items() if version.startswith("openai-")) == len(by_model)
    assert not list_items(calm.home)
    extracting = [r for r in chats(calm.server) if schema_name(r) == "facts"]
    assert len(extracting) == len(by_model) == calm.estimate.calls
    assert_ledger_is_the_servers(calm.home, calm.server)
    before = calm.server.count.requests
    assert build(calm.home, instance).did_nothing
    assert calm.server.count.requests == before
    assert Replies(calm.home).scopes() == {}


def test_the_dry_run_foretells_the_ledger(calm: Calm) -> None:
    rows = [r for r in CallLedger(calm.home).rows() if r.purpose == "extraction"]
    tokens, cost = sum(r.tokens_in for r in rows), sum(r.cost or 0.0 for r in rows)
    assert calm.estimate.tokens_in == pytest.approx(tokens, rel=0.1)
    assert calm.estimate.dollars_most is not None and cost <= calm.estimate.dollars_most


def test_the_key_lies_nowhere(calm: Calm) -> None:
    files = [p for p in calm.home.root.rglob("*") if p.is_file()]
    assert any("dagster" in p.parts for p in files)
    assert not [p for p in files if KEY.encode() in p.read_bytes()]


def test_costs_and_doctor(calm_settings: Calm, monkeypatch: pytest.MonkeyPatch) -> None:
    calm = calm_settings
    said = json.loads(okh("costs", "--by", "purpose", "--json", "--home", calm.path).stdout)
    assert {row["key"] for row in said["totals"]} >= {"extraction", "embedding"}
    monkeypatch.setenv("OKH_LLM_MODEL", "test-model")
    result = okh("doctor", "--json", "--home", calm.path)
    checks = {c["check"]: c for c in json.loads(result.stdout)["checks"]}
    assert checks["key"]["ok"] and checks["model"]["ok"]
    assert checks["structured outputs"]["found"] == "structured"
    assert "d = 24" in checks["embedding"]["found"]
    assert not checks["price"]["ok"] and "prices.csv" in checks["price"]["mend"]
    assert KEY not in result.output


# --- embedding --------------------------------------------------------------------------


def test_vectors_have_a_table_of_their_own(calm_settings: Calm) -> None:
    published = snapshot(calm_settings.home)
    assert published is not None and published.embedder.startswith("openai-text-embedding-3-small")
    assert all(name.endswith("_24") for name in published.vectors)
    asked = ["ask", "What is the cumulative probability of 34-kt winds?", "--storm", "BRELLAN",
             "--year", "2031", "--port", "Savannah", "--lead", "24", "--home", calm_settings.path]
    first = okh(*asked)
    assert first.exit_code == 0, first.output
    before = calm_settings.server.count.requests
    assert okh(*asked).exit_code == 0
    assert calm_settings.server.count.requests == before  # the question's vector is kept


def test_a_home_of_another_embedder_is_refused(
    calm_settings: Calm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OKH_EMBEDDER", "lsa")
    for command in (["ask", "Is the port open?"], ["build"]):
        result = okh(*command, "--home", calm_settings.path)
        assert result.exit_code != 0
        assert "OKH_EMBEDDER" in str(result.exception) and "--refit" in str(result.exception)


# --- reading ----------------------------------------------------------------------------

GUIDANCE = ["ask", "What should vessels do?", "--storm", "BRELLAN", "--year", "2031", "--port",
            "Savannah", "--lead", "24", "--source", "bulletin", "--json"]


@pytest.mark.parametrize(("mode", "refuses"), [("joint", False), ("vote", False), ("joint", True)])
def test_one_prompt_and_the_fallback(
    calm_settings: Calm, monkeypatch: pytest.MonkeyPatch, mode: str, refuses: bool
) -> None:
    calm = calm_settings
    monkeypatch.setenv("OKH_READER", "openai")
    monkeypatch.setenv("OKH_READER_MODE", mode)
    model = calm.server.answer
    assert isinstance(model, FairModel)
    monkeypatch.setattr(model, "refused_joint", refuses)
    before = len(calm.server.requests)
    result = okh(*GUIDANCE, "--home", calm.path)
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    asked = [r for r in calm.server.requests[before:] if schema_name(r) == "answer"]
    trajectories = len(said["trajectories"])
    assert trajectories > 1
    joint = 0 if mode == "vote" else 3 if refuses else 1  # two repair turns
    assert len(asked) == joint + (trajectories if joint != 1 else 0)
    assert said["answer"]["trajectory"] is not None
    assert ("fallback" in said["answer"]["details"]) == refuses
    # What a document says stays inside the fence, and steers nothing.
    assert any(PLANTED in evidence_of(r) for r in asked), evidence_of(asked[0])
    for request in asked:
        assert PLANTED not in request.text.replace(evidence_of(request), "")
    assert "99" not in said["answer"]["value"]


# --- through a storm --------------------------------------------------------------------


def test_through_a_storm_nothing_is_lost(
    calm: Calm, instance: dg.DagsterInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = new_home(tmp_path, corpus_files(tmp_path, LEADS, planted=True))
    blocks = blocks_of(home)
    storm = Storm(STORM_FAULTS)
    with OpenAIServer(FairModel(blocks.values()), retry_after="0.02", slow_s=0.1) as server:
        server.fault_of = storm
        set_environment(monkeypatch, server.url, OKH_LLM_RETRIES="12")
        assert not build(home, instance).failures
        assert set(storm.met) == set(STORM_FAULTS)
        hopeless = {
            b.id for b in blocks.values()
            if b.kind != "wind_table" and storm.is_hopeless(b.text.strip("\n"))
        }
        items = [i for i in list_items(home) if i.stage == "extraction"]
        assert hopeless and {i.block for i in items} >= hopeless
        assert all(i.problem and i.mend for i in items)
        extracted = sum(ExtractionCache(home).stats().values())
        assert extracted + len({i.block for i in items}) == len(blocks)
        assert_ledger_is_the_servers(home, server)
        asked = server.count.requests
        assert build(home, instance).did_nothing and server.count.requests == asked

        server.fault_of = lambda request: None
        build(home, instance, retry=True)
        assert not list_items(home)
        assert_ledger_is_the_servers(home, server)
    assert content(home) == content(calm.home)


def test_a_budget_stops_before_the_call_that_would_pass_it(
    tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = new_home(tmp_path, corpus_files(tmp_path, (24,)))
    blocks = blocks_of(home)
    with OpenAIServer(FairModel(blocks.values())) as server:
        set_environment(monkeypatch, server.url, OKH_LLM_CONCURRENCY="3")
        result = okh("build", "--budget", "0.006", "--home", home.root)
        assert result.exit_code == FAILURE
        said = " ".join(result.output.split())
        assert "stopped: the next call may cost $" in said and "budget of $0.006 are spent" in said
        assert "Still to be built: 1 groups and the index" in said
        spent = sum(row.cost or 0.0 for row in CallLedger(home).rows())
        assert 0.001 < spent <= 0.006
        first = server.count.requests
        staleness, left = plan(home)
        by_model = sum(block.kind != "wind_table" for block in blocks.values())
        assert set(staleness.reasons) == {GROUP}
        assert 0 < first == by_model - left.calls
        assert not build(home, instance).failures
        assert server.count.requests == by_model
        # The home is of the embedded embedder now.
        monkeypatch.setenv("OKH_EMBEDDER", "openai")
        assert "lsa" in str(okh("ask", "Is the port open?", "--home", home.root).exception)
        assert server.count.requests == by_model


def test_a_dead_endpoint_ends_the_run_in_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = new_home(tmp_path, corpus_files(tmp_path, (24,)))
    set_environment(monkeypatch, "http://127.0.0.1:9/v1", OKH_LLM_BACKOFF="1")
    started = time.monotonic()
    result = okh("build", "--home", home.root)
    assert time.monotonic() - started < 15
    assert result.exit_code == FAILURE
    said = " ".join(result.output.split())
    assert "127.0.0.1:9 failed" in said and "could not be reached" in said
    assert "Traceback" not in result.output
    assert not list_items(home)


# --- killed -----------------------------------------------------------------------------

_ZYGOTE = """
import json, os, sys
from orchestration.building import build, open_instance
from storage.home import Home
import openai, httpx2

for line in sys.stdin:
    child = os.fork()
    if child == 0:
        path, environment = json.loads(line)
        os.environ.update(environment)
        home = Home.open(path)
        with open_instance(home) as instance:
            report = build(home, instance)
        os._exit(len(report.failures))
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Imports once and forks a process for each build: a build of its own takes ten seconds to
start, of which nothing is to be learnt."""


class Zygote:
    """Builds in processes of their own."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", _ZYGOTE], text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )

    def start(self, home: Home, **environment: str) -> int:
        """A new build; its process."""
        assert self._process.stdin is not None
        order = json.dumps([str(home.root), environment])
        print(order, file=self._process.stdin, flush=True)
        return int(self._line())

    def ended(self) -> int:
        """Exit code of the build, once it has ended."""
        return int(self._line())

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=10)

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@pytest.fixture(scope="module", autouse=True)
def zygote() -> Iterator[Zygote]:
    """Begins to import while the other tests run."""
    made = Zygote()
    yield made
    made.close()


def test_killed_at_random_moments_it_goes_on(
    calm: Calm, zygote: Zygote, tmp_path: Path, instance: dg.DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Half of the kills come after a number of requests, half after a time."""
    home = new_home(tmp_path, corpus_files(tmp_path, LEADS, planted=True))
    blocks = blocks_of(home)
    needed = sum(block.kind != "wind_table" for block in blocks.values())
    rng = random.Random(20310917)
    server = OpenAIServer(FairModel(blocks.values()), delay_s=0.05)
    with server:
        server.fault_of = _first_reply_unusable
        settings = environment(server.url, OKH_LLM_CONCURRENCY=str(WORKERS))
        in_flight, killed = set[str](), 0
        while killed < KILLS:
            child = zygote.start(home, **settings)
            started, before = time.monotonic(), server.count.requests
            after_s = rng.uniform(0.2, 5.0) if killed % 2 else 60.0
            calls = 10**6 if killed % 2 else rng.randint(1, max(2, 2 * needed // KILLS))
            while time.monotonic() - started < after_s and _alive(child):
                if server.count.requests - before >= calls:
                    break
                time.sleep(0.002)
            if _alive(child):
                os.kill(child, 9)
            killed += 1
            at = time.monotonic()
            zygote.ended()
            # Unanswered at the kill, or answered so shortly before that it was not yet stored.
            in_flight |= {identity(r) for r in server.requests if r.at > at - 0.05 - 0.1}
        set_environment(monkeypatch, server.url)
        assert not build(home, instance).failures
        seen = Counter(identity(r) for r in chats(server))
        again = {key for key, times in seen.items() if times > 1}
        assert again <= in_flight
        assert sum(seen.values()) - len(seen) <= WORKERS * killed
    assert not list_items(home)
    assert content(home) == content(calm.home)
    assert Replies(home).scopes() == {}


def _first_reply_unusable(request: Request) -> Fault | None:
    """Every third section needs a repair turn, so that kills fall between turns, too."""
    first = request.messages[-1]["content"].startswith("About the section")
    return Fault.WRONG_SCHEMA if first and len(section(request)) % 3 == 0 else None


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
