"""What every reader needs beside its way of reading: the type of an answer, and its provenance."""

from __future__ import annotations

from okh.domain import AnswerType, Hyperedge, Question, horizon_label
from okh.generation.wording import asks_whether


def answer_type(question: Question) -> AnswerType:
    """The type asked for; found in the question's form where the caller does not give it."""
    if question.type is not None:
        return question.type
    if question.choices:
        return AnswerType.MC
    return AnswerType.TF if asks_whether(question.text) else AnswerType.TD


def edge_details(question: Question, edge: Hyperedge) -> dict[str, str]:
    """What an answer must name of the step that decides: time, place, threshold, source."""
    told = {
        "as_of": horizon_label(question.as_of) if question.as_of is not None else "",
        "issued": edge.issued.isoformat() if edge.issued else "",
        "horizon": edge.horizon, "relation": edge.relation, "source_kind": edge.source_kind,
        "location": edge.attribute("location") or edge.attribute("area") or "",
        "distance_km": edge.attribute("distance_km") or "",
        "threshold": _with_unit(edge.attribute("threshold_kt"), "kt")
        or edge.attribute("threshold") or "",
        "period": _with_unit(edge.attribute("period_h"), "h"),
        "statistic": edge.attribute("statistic") or "",
    }
    if edge.spans:
        span = edge.spans[0]
        told |= {"document": span.document, "start": str(span.start), "end": str(span.end)}
    return {key: value for key, value in told.items() if value}


def _with_unit(value: str | None, unit: str) -> str:
    return f"{value} {unit}" if value else ""
