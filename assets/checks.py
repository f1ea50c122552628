"""What must hold of the tables of a run's groups: plain functions from tables to findings.

``orchestration/checks.py`` shows them in Dagster. They look at columns, never at
single rows, so that a hundred groups take well below a second.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from okh.precedence import pack_rank
from okh.vocabulary import CROSS_HORIZON, UNMAPPED
from storage.home import Home
from storage.quarantine import list_items
from storage.tables import TableStore

LEAST_GROUNDED = 0.98
"""Share of a run's facts whose evidence and mentions stand in the block, below which to look."""

GROUNDED_SAND = 0.5
"""Share below which an extractor invents, so that nothing is built upon it."""

MOST_UNMAPPED = 0.05
"""Share of edges with a relation that the vocabulary does not know."""

MOST_QUARANTINED = 0.05
"""Share of a run's blocks that could not be extracted."""

LARGEST_DRIFT = 0.3
"""Change of a group's number of edges against its last version, as a share of that."""

ANCHOR = "horizon:"
"""Beginning of the identifiers of temporal anchors."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found.

    ``stops`` tells that the next step would build on sand; ``numbers`` are shown, and
    ``examples`` are group keys or identifiers, never document text.
    """

    passed: bool
    numbers: Mapping[str, float | int] = field(default_factory=dict)
    examples: tuple[str, ...] = ()
    stops: bool = True


def _examples(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names))[:10])


# --- extractions ------------------------------------------------------------------------


def facts_in_every_group(extractions: pa.Table, groups: Sequence[str]) -> Finding:
    """A group of which nothing was read is a failure (facts about the port alone do not count)."""
    told = Counter(extractions.filter(pc.invert(extractions["static"]))["group"].to_pylist())
    empty = [group for group in groups if not told[group]]
    return Finding(not empty, {"groups without facts": len(empty)}, _examples(empty), stops=False)


def any_facts(extractions: pa.Table, groups: Sequence[str]) -> Finding:
    """If no group of a run has facts, it is the extractor that failed."""
    found = facts_in_every_group(extractions, groups)
    empty = found.numbers["groups without facts"]
    return Finding(not groups or empty < len(groups), found.numbers, found.examples)


def share_grounded(extractions: pa.Table) -> Finding:
    """Evidence and mentions of facts stand in the text; stops where most of them do not."""
    grounded = extractions["grounded"]
    share = _share(pc.sum(grounded).as_py() or 0, len(grounded), empty=1.0)
    bad = extractions.filter(pc.invert(grounded))["group"].to_pylist()
    return Finding(
        share >= LEAST_GROUNDED, {"share grounded": share, "facts": len(grounded)},
        _examples(bad), stops=share < GROUNDED_SAND,
    )


def share_quarantined(home: Home, stage: str, blocks: Mapping[str, int]) -> Finding:
    """Blocks that could not be extracted; ``blocks`` is group -> number of blocks."""
    faults = Counter(i.group for i in list_items(home) if i.stage == stage and i.group in blocks)
    share = _share(faults.total(), sum(blocks.values()))
    return Finding(
        share <= MOST_QUARANTINED, {"share": share, "blocks quarantined": faults.total()},
        _examples(faults), stops=False,
    )


# --- hypergraph -------------------------------------------------------------------------


def share_unmapped(edges: pa.Table) -> Finding:
    """Relations that neither alias nor fuzzy matching knows."""
    unmapped = edges.filter(pc.equal(edges["relation"], UNMAPPED))
    share = _share(len(unmapped), len(edges))
    return Finding(
        share <= MOST_UNMAPPED, {"share": share, "edges unmapped": len(unmapped)},
        _examples(unmapped["group"].to_pylist()), stops=False,
    )


def horizon_coverage(edges: pa.Table, blocks: pa.Table) -> Finding:
    """Every horizon of a group's blocks has edges of its own."""
    told = edges.filter(pc.invert(edges["synthetic"]))
    have, wanted = _horizons(told), _horizons(blocks)
    bare = wanted - have
    return Finding(
        not bare,
        {"horizons": len(wanted), "share covered": _share(len(wanted & have), len(wanted), 1.0)},
        _examples(f"{group} at {lead}" for group, lead in bare), stops=False,
    )


def _horizons(table: pa.Table) -> set[tuple[str, int]]:
    distinct = table.select(["group", "lead"]).group_by(["group", "lead"]).aggregate([])
    rows = zip(distinct["group"].to_pylist(), distinct["lead"].to_pylist(), strict=True)
    return {(group, lead) for group, lead in rows if lead is not None}


def temporal_anchors(edges: pa.Table) -> Finding:
    """One anchor on each edge at a horizon, two on a change, none elsewhere (A.2, step 3)."""
    members = edges["entities"].combine_chunks()
    of_edge = pc.list_parent_indices(members).to_numpy()
    is_anchor = pc.starts_with(members.flatten(), pattern=ANCHOR).to_numpy(zero_copy_only=False)
    found = np.bincount(of_edge[is_anchor], minlength=len(edges))
    dated = pc.is_valid(edges["lead"]).to_numpy(zero_copy_only=False)
    change = edges["family"].to_numpy() == CROSS_HORIZON
    wrong = found != np.where(dated, np.where(change, 2, 1), 0)
    ids = edges["id"].filter(pa.array(wrong)).to_pylist()
    return Finding(not ids, {"edges with a wrong number of anchors": len(ids)}, _examples(ids))


def unique_ids(edges: pa.Table) -> Finding:
    """No identifier twice: vectors and trajectories are keyed by it."""
    repeated = pd.Series(edges["id"].to_pandas())
    twice = repeated[repeated.duplicated()].tolist()
    return Finding(not twice, {"repeated ids": len(twice)}, _examples(twice))


def entities_known(edges: pa.Table, entities: pa.Table) -> Finding:
    """Every entity of an edge is in the table of its group, and none is without an edge."""
    flat = edges["entities"].combine_chunks()
    owner = edges["group"].combine_chunks().take(pc.list_parent_indices(flat))
    used = pd.MultiIndex.from_arrays([owner.to_pandas(), flat.flatten().to_pandas()])
    known = pd.MultiIndex.from_arrays([entities["group"].to_pandas(), entities["id"].to_pandas()])
    missing, orphans = used.unique().difference(known), known.difference(used)
    return Finding(
        not len(missing) and not len(orphans),
        {"entities missing": len(missing), "entities of no edge": len(orphans)},
        _examples(f"{g}: {e}" for g, e in [*missing[:10], *orphans[:10]]),
        stops=bool(len(missing)),
    )


def drift(store: TableStore, groups: Sequence[str]) -> Finding:
    """Numbers of edges against the last version of each group that is still there."""
    moved, compared = [], 0
    for group in groups:
        paths = store.versions("hyperedges", group)
        if len(paths) > 1:
            before, now = (store.rows(path) for path in paths[-2:])
            compared += 1
            if abs(now - before) > LARGEST_DRIFT * max(before, 1):
                moved.append(f"{group}: {before} -> {now}")
    return Finding(
        not moved, {"groups compared": compared, "groups that drifted": len(moved)},
        _examples(moved), stops=False,
    )


# --- canonical trajectories -------------------------------------------------------------


def topological(edges: pa.Table, trajectories: pa.Table) -> Finding:
    """The canonical order holds each edge of its group once and never goes against ≺.

    Places follow (position, family, sub-rank) with undated edges last, so that ≺,
    a function of these keys, has no cycle.
    """
    places = trajectories.to_pandas()[["group", "edge", "place", "position"]]
    ranks = pd.DataFrame({
        "edge": edges["id"].to_pandas(),
        "rank": pack_rank(edges["story"].to_numpy(), edges["sub_rank"].to_numpy()),
    })
    both = places.merge(ranks, on="edge", how="outer", indicator=True)
    torn = both[both["_merge"] != "both"]
    both = both.sort_values(["group", "place"], kind="stable")
    same = (both["group"] == both["group"].shift()).to_numpy()
    where = both["position"].to_numpy()
    # Infinite differences of two static facts are no number: compare, do not subtract.
    earlier = np.r_[np.nan, where[:-1]]
    rank, before = both["rank"].to_numpy(), np.r_[np.nan, both["rank"].to_numpy()[:-1]]
    back = (where < earlier) | ((where == earlier) & (rank < before))
    back |= np.isnan(earlier) & ~np.isnan(where)
    step = both["place"].to_numpy() - np.r_[np.nan, both["place"].to_numpy()[:-1]]
    gap = np.where(same, step != 1, both["place"].to_numpy() != 0)
    wrong = both[(same & back) | gap]
    return Finding(
        torn.empty and wrong.empty,
        {"edges without a place or places without an edge": len(torn),
         "steps against the order": len(wrong)},
        _examples([*torn["edge"].head(10), *wrong["edge"].head(10)]),
    )


# --- vectors and model ------------------------------------------------------------------


def vectors_are_edges(ids: Sequence[str], edges: Sequence[str]) -> Finding:
    """Vectors and hyperedges have the same identifiers, each once."""
    stored, wanted = pd.Index(list(ids)), pd.Index(list(edges))
    twice = int(stored.duplicated().sum())
    stored_once = stored.unique()
    missing, orphans = wanted.difference(stored_once), stored_once.difference(wanted)
    return Finding(
        not twice and not len(missing) and not len(orphans),
        {"vectors": len(stored), "edges without a vector": len(missing),
         "vectors without an edge": len(orphans), "vectors twice": twice},
        _examples([*missing[:5], *orphans[:5]]),
    )


def _share(part: int, whole: int, empty: float = 0.0) -> float:
    return part / whole if whole else empty
