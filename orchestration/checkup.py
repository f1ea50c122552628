"""What `okh doctor` looks at: the machine, the home, and the endpoint of a language model."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from okh.domain import OkhError
from okh.llm.client import Client
from okh.llm.errors import NotServed, RequestRefused
from okh.llm.settings import LlmSettings
from orchestration.services import Services
from orchestration.settings import Settings, read_settings
from storage.home import Home, atomic_write

FREE_GB = 2.0
"""Free disk below which a build of a few hundred groups may not fit."""

PACKAGES = ("dagster", "lancedb", "pyarrow", "pandas", "scikit-learn", "torch", "openai")


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: what was found, and the mend if it is not ``ok``."""

    name: str
    ok: bool
    found: str
    mend: str = ""


def check_all(path: str) -> list[Finding]:
    """All checks in the order in which they build on each other."""
    found = [_python(), *_packages(), *_home(path)]
    try:
        settings = read_settings()
    except OkhError as error:
        return [*found, Finding("settings", False, str(error), "correct the variable")]
    found.append(Finding("settings", True, repr(settings)))
    if settings.needs_key:
        found += _endpoint(settings, path)
    return found


def _python() -> Finding:
    found = sys.version.split()[0]
    return Finding("python", sys.version_info >= (3, 11), found, "use Python 3.11 or later")


def _packages() -> Iterator[Finding]:
    listed = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    yield Finding("packages", True, listed)
    now = datetime.now(UTC)
    yield Finding(
        "clock", now.year >= 2026, now.isoformat(timespec="seconds"), "set the machine's clock"
    )


def _home(path: str) -> Iterator[Finding]:
    try:
        home = Home.open(path, create=True)
        probe = home.root / ".doctor"
        atomic_write(probe, b"ok")
        probe.unlink()
    except (OSError, OkhError) as error:
        yield Finding("home", False, f"{path}: {error}", "choose a folder that you may write to")
        return
    yield Finding("home", True, f"{home.root} can be written to")
    free = shutil.disk_usage(Path(home.root)).free / 1e9
    yield Finding("disk", free >= FREE_GB, f"{free:.1f} GB free", "make room or move OKH_HOME")


def _endpoint(settings: Settings, path: str) -> Iterator[Finding]:
    """Key, address, model, structured outputs and embedding dimension.

    Tries again once, not as often as a build: somebody is waiting.
    """
    settings = replace(settings, llm={"retries": 1, **settings.llm})
    try:
        with Services(settings, Home.open(path, create=True)) as services:
            limits = services.llm_settings()
            yield Finding("endpoint", True, limits.base_url)
            yield _key(limits)
            client = services.client()
            yield _model(client)
            price = services.prices().of(limits.model)
            yield Finding(
                "price", price is not None, "known" if price else f"none for {limits.model}",
                "add the model to prices.csv in the home, or bills and budgets stay unknown",
            )
            reply = client.chat(
                [{"role": "user", "content": "Answer with the word yes."}], purpose="doctor",
                schema=_WORD, schema_name="word", max_tokens=20,
            )
            yield Finding("structured outputs", reply.level == "structured", reply.level,
                          "replies will be repaired; a model with structured outputs is safer")
            if settings.embedder == "openai":
                vectors, _ = client.embed(["probe"], purpose="doctor")
                yield Finding("embedding", True, f"{client.embedding_model}, d = {len(vectors[0])}")
    except OkhError as error:
        yield Finding("endpoint", False, str(error), "mend this and run `okh doctor` again")


def _model(client: Client) -> Finding:
    """Whether the endpoint lists the model; one that lists none is asked all the same."""
    try:
        models = client.models()
    except (NotServed, RequestRefused):
        return Finding("model", True, f"{client.model}; the endpoint lists no models")
    return Finding(
        "model", client.model in models or not models, client.model,
        f"set OKH_LLM_MODEL to one of {', '.join(models[:8])}",
    )


def _key(limits: LlmSettings) -> Finding:
    """Whether there is a key where one is needed: never the key itself."""
    if limits.api_key is not None:
        return Finding("key", True, "set")
    return Finding(
        "key", not limits.is_openai, "not set", "set OPENAI_API_KEY; servers of your own need none"
    )


_WORD = {
    "type": "object", "additionalProperties": False, "required": ["word"],
    "properties": {"word": {"type": "string"}},
}
