"""Answers on the dev storms of CyPortQA through the whole pipeline, by search method.

    OKH_HOME=… python -m tests.benchmarks.answers [--sample 1500] [--source products]

The home must hold the built shared corpus. Rows without an answer (None, N/A, empty),
outcomes (Q34 to Q40) and free text are left out and counted. Only storms of the split
``dev`` are asked; labels are the data set's own, which were made by a model.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from assets.engine import Engine
from assets.transition import splits_of
from okh.corpus.places import default_ports
from okh.domain import NOT_STATED, AnswerType, Question, SourceKind
from okh.evaluation.verdict import verdict
from okh.generation.question import Understanding
from okh.retrieval.scoring import Weights
from orchestration.settings import home_path
from storage.home import Home

SHARED = Path(__file__).parents[3] / "shared" / "data" / "cyportqa"
EMPTY = {"", "none", "n/a", "na", "null", "[]", "{}"}
OUTCOMES = range(34, 41)


def question_of(row: dict[str, Any]) -> Question | None:
    """A benchmark row as a question of its group at its lead; None for free text."""
    kinds = {"TF": AnswerType.TF, "MC": AnswerType.MC, "NU": AnswerType.SA}
    kind = next((kinds[tag] for tag in row["tags"] if tag in kinds), None)
    storm, year, port = row["event_id"].split("_", 2)
    found = default_ports().resolve(port.replace("_", " "))
    if kind is None or found is None:
        return None
    return Question(
        text=row["question"], type=kind, choices=tuple(row.get("choices", ())), storm=storm,
        year=int(year), port=found.slug, lead=row["lead_h"], as_of=row["lead_h"],
        id=f"{row['event_id']}/{row['lead_h']}/{row['q']}",
    )


def dev_rows(engine: Engine, sample: int, seed: int) -> list[tuple[Question, dict[str, Any]]]:
    """A random sample of the answerable rows of dev storms, in the order of groups."""
    splits, left_out = splits_of(engine.published), Counter[str]()
    known = {g.key for g in engine.groups}
    rows = []
    with gzip.open(SHARED / "questions.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            question = question_of(row)
            if question is None or question.group is None:
                left_out["free text"] += 1
            elif row["q"] in OUTCOMES:
                left_out["outcome"] += 1
            elif str(row["answer"]).strip().lower() in EMPTY:
                left_out["no answer"] += 1
            elif (
                question.group.key in known
                and splits.get(question.group.storm_year) == "dev"
            ):
                rows.append((question, row))
    print(f"{len(rows)} rows on dev storms; left out over all storms: {dict(left_out)}")
    chosen = random.Random(seed).sample(rows, min(sample, len(rows)))
    return sorted(chosen, key=lambda pair: (pair[0].group, pair[0].id))


def run(
    engine: Engine, rows: list[tuple[Question, dict[str, Any]]], source: SourceKind | None
) -> tuple[dict[str, str], float]:
    """Accuracy by type, with the share of "not stated", and seconds a question."""
    right, asked, unstated = Counter[str](), Counter[str](), Counter[str]()
    started = time.perf_counter()
    for question, row in rows:
        result = engine.ask(Understanding(replace(question, source_kind=source), ()))
        gold = str(row["answer"]).rstrip(".")
        kind = result.answer.type.value
        for key in (kind, "all"):
            asked[key] += 1
            right[key] += verdict(result.answer, gold) is True
            unstated[key] += result.answer.value == NOT_STATED
    seconds = (time.perf_counter() - started) / max(len(rows), 1)
    return {
        key: f"{right[key] / asked[key]:.3f} ({unstated[key] / asked[key]:.2f} not stated, "
        f"n={asked[key]})"
        for key in sorted(asked)
    }, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--source", choices=["products", "bulletin", "scenario"])
    args = parser.parse_args()
    engine = Engine.open(Home.open(home_path()))
    rows = dev_rows(engine, args.sample, args.seed)
    plain = Weights(lam=0, mu=0, nu=0, rho=0, delta=0)
    for name, method, weights in (
        ("forward", "forward", Weights()), ("beam", "beam", Weights()),
        ("top-k by cosine", "beam", plain),
    ):
        engine.method, engine.weights = method, weights
        figures, seconds = run(engine, rows, args.source)
        print(f"{name:16} {1000 * seconds:6.1f} ms  " + "  ".join(
            f"{key} {value}" for key, value in figures.items()
        ))


if __name__ == "__main__":
    main()
