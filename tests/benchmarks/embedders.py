"""Which embedder is the default: evidence recall on the dev storms' questions, and CPU time.

A question is asked at its own lead, and the edges of its group are ranked by
cosine: those of that lead and earlier, no outcomes. The gold edges are those of
the asked lead whose relation (and hazard or wind speed, where a relation serves
several) is the scenario field that the question was made from; a question without
such an edge, or whose answer is empty, is left out. Each embedder sees each
question as it stands, and with its lead in front (``T-48: …``).

Run: ``python -m tests.benchmarks.embedders [--minilm-tokenizer FILE]`` (MiniLM is
measured when it is installed).
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from okh.embedding import Embedder, EmbeddingError, LsaEmbedder, MiniLmEmbedder, edge_text
from okh.normalization import Hypergraph
from okh.transition import split_storms, training_only
from tests.benchmarks import scenario_graphs
from tests.conftest import SHARED_DATA

GOLD: Mapping[int, tuple[str, str]] = {
    1: ("within_forecast_cone", ""), 2: ("has_watch_status", ""), 3: ("has_warning_status", ""),
    6: ("has_position", ""), 7: ("has_motion", ""), 8: ("has_motion", ""),
    9: ("has_impacted_coast", ""), 10: ("has_forecast_location", ""),
    11: ("has_cumulative_probability", "34"), 12: ("has_cumulative_probability", "50"),
    13: ("has_peak_probability", "34"), 14: ("has_peak_probability", "50"),
    15: ("has_peak_probability", "34"), 18: ("has_category_state", ""),
    21: ("has_hours_to_landfall", ""), 22: ("has_departure_time", ""),
    23: ("has_forecast_window", ""), 24: ("has_strike_duration", ""),
    25: ("has_peak_probability", "34"), 26: ("has_peak_probability", "34"),
    27: ("has_first_nonzero_probability", "34"), 29: ("has_hazard_arrival", ""),
    30: ("has_threshold_status", "storm surge"), 31: ("has_threshold_status", "rainfall"),
    32: ("has_additional_hazard", ""), 33: ("has_leadtime_probability", "34"),
}
"""Template number -> relation, and the hazard or wind speed (kt) it asks about.

Left out: templates whose label copies another field, outcomes, and operations
(too few). This map is the benchmark's; the library knows no template.
"""

EMPTY = {"", "none", "n/a", "nan", "null"}
CUTS = (10, 40)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with the rows of its group that it may see, and those that answer it."""

    event: str
    text: str
    lead: int
    seen: NDArray[np.bool_]
    gold: NDArray[np.bool_]


def questions(graphs: Mapping[str, Hypergraph]) -> Iterator[Asked]:
    """The questions about these events that have gold edges."""
    path = SHARED_DATA / "cyportqa" / "questions.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            graph = graphs.get(row["event_id"])
            if graph is None or row["q"] not in GOLD:
                continue
            if str(row["answer"]).strip().casefold() in EMPTY:
                continue
            relation, scope = GOLD[row["q"]]
            lead = int(row["lead_h"])
            seen = [e.static or (e.lead is not None and e.lead >= lead and not e.observed)
                    for e in graph.edges]
            gold = [
                e.relation == relation and e.lead == lead
                and scope in ("", e.attribute("threshold_kt"), e.attribute("hazard"))
                for e in graph.edges
            ]
            if any(gold):
                yield Asked(
                    row["event_id"], row["question"], lead, np.array(seen), np.array(gold)
                )


def measure(
    embedder: Embedder, graphs: Mapping[str, Hypergraph], asked: Sequence[Asked], with_lead: bool
) -> tuple[dict[str, float], float]:
    """MRR of the first gold edge and recall at the cuts; CPU ms for each edge text."""
    started = time.process_time()
    texts = {k: [edge_text(e, g.entities) for e in g.edges] for k, g in graphs.items()}
    distinct = list({t: None for each in texts.values() for t in each})
    started = time.process_time()
    vectors = dict(zip(distinct, embedder.embed(distinct), strict=True))
    per_text = 1000 * (time.process_time() - started) / len(distinct)
    matrices = {k: np.stack([vectors[t] for t in each]) for k, each in texts.items()}
    worded = [f"T-{a.lead}: {a.text}" if with_lead else a.text for a in asked]
    unique = list(dict.fromkeys(worded))
    rows = dict(zip(unique, embedder.embed(unique), strict=True))
    found: dict[str, list[float]] = {"MRR": [], **{f"R@{k}": [] for k in CUTS}}
    for one, text in zip(asked, worded, strict=True):
        scores = np.where(one.seen, matrices[one.event] @ rows[text], -np.inf)
        order = np.argsort(-scores, kind="stable")
        ranks = np.flatnonzero(one.gold[order]) + 1
        found["MRR"].append(1.0 / ranks[0])
        for k in CUTS:
            found[f"R@{k}"].append(float((ranks <= k).mean()))
    return {name: float(np.mean(values)) for name, values in found.items()}, per_text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=8, help="dev events asked about")
    parser.add_argument("--questions", type=int, default=1500)
    parser.add_argument("--minilm-tokenizer", type=Path, default=None)
    parser.add_argument("--no-minilm", action="store_true")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    graphs = dict(scenario_graphs())
    splits = split_storms(g.group.storm_year for g in graphs.values())
    dev = sorted(k for k, g in graphs.items() if splits[g.group.storm_year] == "dev")
    picked = {dev[i]: graphs[dev[i]] for i in rng.permutation(len(dev))[: options.events]}
    asked = list(questions(picked))
    asked = [asked[i] for i in rng.permutation(len(asked))[: options.questions]]
    train = list(training_only(
        ((g.group.storm_year, edge_text(e, g.entities)) for g in graphs.values() for e in g.edges),
        splits,
    ))
    print(f"{len(asked)} questions on {len(picked)} dev events; {len(set(train))} training texts")
    print(f"{'embedder':<16}{'query':<10}{'MRR':>7}" + "".join(f"{f'R@{k}':>8}" for k in CUTS)
          + f"{'ms/text':>10}{'fit s':>8}")
    for dimension in (128, 256, 384):
        started = time.process_time()
        lsa = LsaEmbedder.fit(train, dimension=dimension)
        _print(f"LSA d={dimension}", lsa, picked, asked, time.process_time() - started)
    if options.no_minilm:
        return
    try:
        _print("MiniLM int8", MiniLmEmbedder(options.minilm_tokenizer), picked, asked, 0.0)
    except EmbeddingError as error:
        print(f"MiniLM is left out: {error}")


def _print(
    name: str, embedder: Embedder, graphs: Mapping[str, Hypergraph], asked: Sequence[Asked],
    fitted: float,
) -> None:
    for with_lead in (False, True):
        result, per_text = measure(embedder, graphs, asked, with_lead)
        print(f"{name:<16}{'lead' if with_lead else 'plain':<10}"
              + "".join(f"{value:>8.3f}" for value in result.values())
              + f"{per_text:>10.3f}{fitted:>8.1f}", flush=True)


if __name__ == "__main__":
    main()
