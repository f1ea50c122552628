"""The precedence relation ≺ and the canonical trajectory (§3.1, A.3).

≺ is a function of three keys of an edge, never of which other edges exist:

position
    Minus the lead time, so that time runs forward. A change edge ``a → b``
    stands half an hour before ``b``; a static fact at minus infinity; a fact
    dated only by its issuance time at its hours since 1970; an undated fact
    nowhere (NaN), unrelated to all.
family
    The family number 1–12; a family-13 edge takes the family of its story.
sub-rank
    Order inside a family (track before landfall).

With the sequence index (rule R5, Eq. 10) ≺ is the lexicographic order of the
keys. Without it an edge precedes another that is later and of no lower family,
or of the same position and higher in (family, sub-rank); the sub-rank does not
count across positions, for else rule R2 would not hold inside family 2. Both are
strict partial orders inside one group; edges of two groups are unrelated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from okh.domain import Hyperedge

VERSION = "1"
"""Raise when the meaning of a key or of the order changes."""

BoolArray = NDArray[np.bool_]

_RANK_STRIDE = 64
"""Sub-ranks stay below this, so that (family, sub-rank) is one integer."""


@dataclass(frozen=True, slots=True)
class PrecedenceKeys:
    """Keys of ``n`` edges as arrays of shape ``(n,)``.

    ``position`` is float64 with NaN for undated; ``rank`` is
    ``family · 64 + sub-rank`` as int32; ``group`` is any integer code.
    """

    position: NDArray[np.float64]
    rank: NDArray[np.int32]
    group: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.position)

    def take(self, indices: NDArray[np.intp]) -> PrecedenceKeys:
        """The keys of a subset, in the order of ``indices``."""
        return PrecedenceKeys(self.position[indices], self.rank[indices], self.group[indices])


def position(edge: Hyperedge) -> float:
    """Position of one edge on the forward time axis, in hours (NaN where nothing dates it)."""
    if edge.static:
        return -np.inf
    if edge.lead is not None:
        return -float(edge.lead) - (0.5 if edge.lead_from is not None else 0.0)
    if edge.issued is not None:
        return edge.issued.timestamp() / 3600.0
    return np.nan


def pack_rank(
    story: NDArray[np.int32], sub_rank: NDArray[np.int32]
) -> NDArray[np.int32]:
    """(family of the story, sub-rank) as one integer, elementwise."""
    return (story * _RANK_STRIDE + sub_rank).astype(np.int32)


def precedence_keys(edges: Sequence[Hyperedge]) -> PrecedenceKeys:
    """Keys of the edges, in the order given."""
    codes: dict[str, int] = {}
    return PrecedenceKeys(
        position=np.array([position(e) for e in edges], dtype=np.float64),
        rank=pack_rank(
            np.array([e.story for e in edges], dtype=np.int32),
            np.array([e.sub_rank for e in edges], dtype=np.int32),
        ),
        group=np.array([codes.setdefault(e.group, len(codes)) for e in edges], dtype=np.int32),
    )


def precedes(
    position_a: NDArray[np.float64], rank_a: NDArray[np.int32],
    position_b: NDArray[np.float64], rank_b: NDArray[np.int32], *, sequence_index: bool = True,
) -> BoolArray:
    """``a ≺ b`` by the keys of edges of one group, element by element with broadcasting.

    With ``sequence_index`` (rule R5, Eq. 10) an earlier position precedes a later one
    whatever the family; without it the later one must be of no lower family.
    """
    earlier, same = position_a < position_b, position_a == position_b
    if not sequence_index:
        earlier = earlier & (rank_a // _RANK_STRIDE <= rank_b // _RANK_STRIDE)
    result: BoolArray = earlier | (same & (rank_a < rank_b))
    return result


def precedence_matrix(keys: PrecedenceKeys, *, sequence_index: bool = True) -> BoolArray:
    """≺ as a boolean matrix of shape ``(n, n)``: ``out[i, j]`` is ``e_i ≺ e_j``.

    Parameters
    ----------
    keys
        Keys of the ``n`` edges.
    sequence_index
        Rule R5, see :func:`precedes`.
    """
    where, rank = keys.position, keys.rank
    before = precedes(
        where[:, None], rank[:, None], where[None, :], rank[None, :],
        sequence_index=sequence_index,
    )
    result: BoolArray = before & (keys.group[:, None] == keys.group[None, :])
    return result


_EPOCH = datetime.min.replace(tzinfo=UTC)


def canonical_order(edges: Sequence[Hyperedge], *, phase_first: bool = False) -> list[int]:
    """Indices of the edges of one group in canonical order (A.3).

    Sorted by (position, family, sub-rank, issuance time, document, offset, edge
    id): a topological order of ≺ that does not depend on the input's order.
    Undated edges come last. ``phase_first`` is the paper's own tie-break
    (phase, family, lead, text position), kept as a variant; it is a topological
    order of ≺ without the sequence index only.
    """

    def key(index: int) -> tuple[object, ...]:
        edge = edges[index]
        where = position(edge)
        undated = bool(np.isnan(where))
        time = 0.0 if undated else where
        by_time = (time, edge.story, edge.sub_rank)
        by_phase = (edge.story, time, edge.sub_rank)
        order = by_phase if phase_first else by_time
        span = edge.spans[0] if edge.spans else None
        return (
            undated, *order, edge.issued or _EPOCH,
            span.document if span else "", span.start if span else 0, edge.id,
        )

    return sorted(range(len(edges)), key=key)
