"""``retrieval_traces``: questions asked, their trajectories, and whether they were right."""

from collections import Counter
from dataclasses import replace

import dagster as dg
from pydantic import Field

from assets.corpus import Corpus
from assets.embedding import EmbedderSource
from assets.engine import Engine, Result
from assets.partitions import OWNERS
from assets.payload import result_payload, source_names
from assets.questions import Asked, read_questions
from assets.traces import trace_of
from assets.transition import splits_of
from okh.domain import Group
from okh.evaluation.verdict import verdict
from okh.generation.question import Understanding
from okh.generation.reader import Reader
from storage.home import Home
from storage.traces import load_all, save


class TracesConfig(dg.Config):
    """What to ask."""

    questions: str = Field(
        default="",
        description="A JSONL file of questions with answers (the sample's questions.jsonl shows "
        "the fields). Empty: nothing is asked, and the traces of `okh ask` are counted.",
    )


def ask_one(engine: Engine, asked: Asked) -> tuple[Result, bool | None, str | None]:
    """Result of one question, whether it was right, and its gold edge.

    The gold edge is the deciding one, if the answer breaks when it is taken away
    (a right True/False is often luck).
    """
    result = engine.ask(Understanding(asked.question, ()))
    right = verdict(result.answer, asked.gold, asked.unit)
    answer = result.answer
    if not right or answer.trajectory is None or answer.step is None:
        return result, right, None
    gold = result.trajectories[answer.trajectory].edges[answer.step]
    without = tuple(
        replace(t, edges=tuple(e for e in t.edges if e.id != gold.id), relevance=())
        for t in result.trajectories
    )
    again = engine.reader.read(asked.question, without, result.entities)
    return result, right, None if verdict(again, asked.gold, asked.unit) else gold.id


@dg.asset(
    deps=["transition_model"],
    group_name="learning",
    kinds={"json"},
    owners=OWNERS,
    code_version="1",
)
def retrieval_traces(
    context: dg.AssetExecutionContext, config: TracesConfig, home: dg.ResourceParam[Home],
    embedder_source: dg.ResourceParam[EmbedderSource], reader: dg.ResourceParam[Reader],
) -> dg.MaterializeResult:
    """One trace a question: trajectories with the five terms, answer, verdict and gold edge.

    `okh ask` leaves its traces here, too; they have no verdict.
    """
    counts: Counter[str] = Counter()
    if config.questions:
        engine = Engine.open(home, embedder_source, reader)
        splits = splits_of(engine.published)
        names = source_names(Corpus(home).documents)
        for asked in read_questions(config.questions):
            result, right, gold = ask_one(engine, asked)
            group = asked.question.group
            split = splits.get(group.storm_year) if isinstance(group, Group) else None
            save(home, trace_of(
                result, result_payload(result, names), correct=right, gold_edge=gold, split=split
            ))
            kind = result.answer.type.value
            counts[f"asked/{kind}"] += 1
            counts[f"right/{kind}"] += right is True
            counts["asked with a gold edge"] += gold is not None
    return dg.MaterializeResult(metadata={"traces": len(load_all(home)), **counts})
