"""Which storms teach, which tune and which measure: split by storm-year, never by row (§5).

Rows of one storm are far from independent, so a storm is in one split with all
its ports. The split of a storm follows from a hash of its name and year, and so
does not change when others arrive.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, TypeVar

from okh.domain import digest

Split = Literal["train", "dev", "test"]
SPLITS: tuple[Split, ...] = ("train", "dev", "test")

FEWEST = 4
"""Storms below which none is held out: one storm measures nothing, and training needs all."""

_SHARES: tuple[tuple[float, Split], ...] = ((0.6, "train"), (0.8, "dev"), (1.0, "test"))

T = TypeVar("T")


def split_storms(storm_years: Iterable[str]) -> dict[str, Split]:
    """Split of each distinct storm-year (``IRMA-2017``), sorted by name.

    A hash of name and year sends 60 % to train, 20 % to dev and 20 % to test
    (decision: the model is small and the corpus long, while a handful of dev
    storms would measure luck). With fewer than four storms all are training
    storms, and what is measured is measured on them and says so. From four on,
    train and dev are never empty: the storm whose hash lies nearest the empty
    one's share moves there. The test split may be empty.
    """
    place = {storm: int(digest(storm)[:12], 16) / 16**12 for storm in sorted(set(storm_years))}
    if len(place) < FEWEST:
        return dict.fromkeys(place, "train")
    result: dict[str, Split] = {
        storm: next(split for limit, split in _SHARES if x < limit) for storm, x in place.items()
    }
    by_place = sorted(place, key=lambda storm: (place[storm], storm))
    if "train" not in result.values():
        result[by_place[0]] = "train"
    if "dev" not in result.values():
        last_train = max(i for i, storm in enumerate(by_place) if result[storm] == "train")
        moved = last_train if last_train > 0 else 1
        result[by_place[moved]] = "dev"
    return result


def training_only(
    items: Iterable[tuple[str, T]], splits: Mapping[str, Split]
) -> Iterator[T]:
    """What belongs to training storms, from pairs (storm-year, item).

    Embedder fit and bigram counts see nothing else. A storm that ``splits`` does
    not know raises ``KeyError``: it must not slip into either side.
    """
    return (item for storm, item in items if splits[storm] == "train")
