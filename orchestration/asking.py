"""One question from the command line: asked, traced, and returned as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from assets.corpus import Corpus
from assets.engine import Engine
from assets.payload import result_payload, source_names
from assets.traces import trace_of
from okh.domain import SOURCE_KINDS, OkhError
from orchestration.services import Services
from orchestration.settings import read_settings
from storage.home import Home
from storage.traces import save


def answer(
    home: Home, text: str, *, source: str | None = None, context: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Ask, keep the trace, and return the payload of :mod:`assets.payload`.

    ``context`` are the keyword arguments of :func:`okh.generation.question.understand`.
    Raises ``OkhError`` for a question that cannot be understood.
    """
    if source is not None and source not in SOURCE_KINDS:
        raise OkhError(f"the source is one of {', '.join(SOURCE_KINDS)}, not {source!r}")
    with Services(read_settings(), home) as services:
        engine = Engine.open(home, services.embedder_source(), services.reader())
        try:
            understood = engine.understand(text, **dict(context or {}))
        except ValueError as error:
            raise OkhError(str(error)) from error
        question = replace(understood.question, source_kind=source)  # type: ignore[arg-type]
        result = engine.ask(replace(understood, question=question))
    payload = result_payload(result, source_names(Corpus(home).documents))
    try:
        save(home, trace_of(result, payload))
    except OSError as error:
        payload["notes"].append(f"no trace was kept: {error.strerror}")
    return payload
