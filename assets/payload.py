"""A result as plain data with a versioned schema: what `okh ask --json` prints and traces keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from assets.engine import Result
from okh.domain import Document, Entity, Hyperedge, Trajectory
from okh.generation.evidence import reasoning_tags

SCHEMA = "okh.answer/1"


def source_names(documents: list[Document]) -> dict[str, str]:
    """Document hash -> the first name it came under."""
    return {document.hash: document.names[0] for document in documents if document.names}


def result_payload(result: Result, names: Mapping[str, str]) -> dict[str, Any]:
    """The result under :data:`SCHEMA`.

    Steps are numbered from 1; ``answer.trajectory`` and ``answer.step`` count so
    too. ``sources`` give the original file, its hash, and character offsets.
    """
    question, answer = result.question, result.answer
    return {
        "schema": SCHEMA,
        "question": {
            "text": question.text,
            "type": question.type.value if question.type else None,
            "choices": list(question.choices),
            "storm": question.storm, "year": question.year, "port": question.port,
            "lead": question.lead, "as_of": question.as_of,
            "source_kind": question.source_kind,
        },
        "notes": list(result.notes),
        "answer": {
            "value": answer.value,
            "type": answer.type.value,
            "confidence": round(answer.confidence, 4),
            "agreement": round(answer.agreement, 4),
            "rationale": answer.rationale,
            "trajectory": None if answer.trajectory is None else answer.trajectory + 1,
            "step": None if answer.step is None else answer.step + 1,
            "details": dict(answer.details),
        },
        "trajectories": [
            trajectory_payload(t, result.entities, names) for t in result.trajectories
        ],
        "snapshot": result.snapshot,
        "asked_at": result.asked_at.isoformat(timespec="seconds"),
    }


def trajectory_payload(
    trajectory: Trajectory, entities: Mapping[str, Entity], names: Mapping[str, str]
) -> dict[str, Any]:
    """One trajectory: its score, the five terms of Eq. 5, and its steps."""
    previous: Hyperedge | None = None
    steps = []
    for number, edge in enumerate(trajectory.edges, start=1):
        step = edge_payload(edge, entities, names)
        rel = trajectory.relevance[number - 1] if trajectory.relevance else None
        steps.append({
            "step": number, "relevance": rel, "tags": list(reasoning_tags(previous, edge)), **step,
        })
        previous = edge
    return {"score": trajectory.score, "terms": asdict(trajectory.terms), "steps": steps}


def edge_payload(
    edge: Hyperedge, entities: Mapping[str, Entity], names: Mapping[str, str]
) -> dict[str, Any]:
    """One hyperedge with its named entities and source spans."""
    return {
        "id": edge.id, "group": edge.group, "horizon": edge.horizon, "lead": edge.lead,
        "phase": edge.phase, "family": edge.family, "relation": edge.relation,
        "evidence": edge.evidence,
        "attributes": [asdict(attribute) for attribute in edge.attributes],
        "entities": [
            {"id": key, "name": entities[key].name, "type": entities[key].type}
            if key in entities else {"id": key, "name": key, "type": ""}
            for key in edge.entities
        ],
        "confidence": edge.confidence, "grounded": edge.grounded, "synthetic": edge.synthetic,
        "observed": edge.observed, "source_kind": edge.source_kind,
        "issued": edge.issued.isoformat() if edge.issued else None,
        "sources": [
            {"file": names.get(span.document, span.document), "document": span.document,
             "start": span.start, "end": span.end}
            for span in edge.spans
        ],
    }
