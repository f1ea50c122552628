"""Documents out of a home, with a build in between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import dagster as dg

from assets.deletion import Purged, bury, settle
from okh.domain import Document
from orchestration.building import BuildReport, build
from orchestration.maintenance import clean_up
from storage.home import Home
from storage.tombstones import Reason


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What a deletion did; ``purged`` is None if the build of the groups failed."""

    groups: tuple[str, ...]
    built: BuildReport
    purged: Purged | None


def forget(
    home: Home, instance: dg.DagsterInstance, documents: Sequence[Document], *,
    reason: Reason = "forgotten", refit: bool = False,
) -> Forgotten:
    """Take documents out of a home and out of all that was made from them.

    Repeatable: whatever ended a former call, this one takes it up, also without documents.
    ``refit`` makes embedder and model again, whose word statistics saw the documents.
    """
    touched = bury(home, documents, reason) if documents else settle(home)
    built = build(home, instance, refit=refit)
    if built.failures:
        return Forgotten(tuple(touched), built, None)
    return Forgotten(tuple(touched), built, clean_up(home, instance))
