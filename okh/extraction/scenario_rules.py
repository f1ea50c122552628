"""Rules for scenario documents: statements in, facts out.

People word a scenario in many ways. Each reader looks for one thing by the
quantities, names and dates that stand near the words for it, whatever the
sentence around them. A ``Label: value`` line goes to the readers of its label
alone, for what follows the colon is free text that may mention anything; any
other statement is shown to all readers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from okh.domain import Block, Fact
from okh.extraction import scenario_hazards as hazards
from okh.extraction import scenario_port as port
from okh.extraction import scenario_state as state
from okh.extraction import scenario_track as track
from okh.extraction.scenario_text import Statement, statements

Reader = Callable[[Statement], Iterator[Fact]]

_BY_LABEL: tuple[tuple[str, tuple[Reader, ...]], ...] = (
    (r"recover|freight|observed|after-?action", (hazards.outcome,)),
    (r"\bcone\b", (track.cone,)),
    (r"\bfirst\b", (hazards.first_hazard, port.probabilities)),
    (r"\b(?:above|exceed\w*|over|more than)\s+\d", (hazards.threshold,)),
    (r"prob|chance|odds|gale|\b(?:34|50|64)[\s-]*(?:kt|knot)", (port.probabilities,)),
    (r"watch|warning", (port.alerts,)),
    (r"affected|impacted|threatened|at risk", (port.impacted_coast, hazards.outcome)),
    (r"(?:closest|nearest).*(?:wind|station|location|table)", (port.wind_location,)),
    (r"closest|leav|depart|approach", (track.dates,)),
    (r"offshore", (track.offshore,)),
    (r"strike|duration", (track.strike,)),
    (r"landfall", (track.landfall,)),
    (r"track|trajectory|path", (track.track,)),
    (r"window", (track.window,)),
    (r"guidance|vessel|facilit|operation|condition", (port.operations,)),
    (r"hazard|threat|danger", (hazards.other_hazards,)),
    (r"max|sustained|intensity|pressure", (state.intensity, state.category)),
    (r"outlook|surge|rain|\bwinds?\b", (hazards.outlook,)),
    (r"coordinate|position|cent(?:er|re)|location|motion|movement|category|status|class",
     (state.position, state.reference, state.motion, state.category)),
    (r"impact", (hazards.outcome,)),
)
"""Words of a label -> its readers; the first that matches decides."""

_ALWAYS: tuple[Reader, ...] = (
    state.position, state.reference, state.motion, state.category, state.intensity,
    track.landfall, track.offshore, track.strike, track.window, track.cone, track.dates,
    port.alerts, port.wind_location, port.probabilities, port.operations,
    hazards.first_hazard, hazards.threshold, hazards.outcome,
)
_OTHERWISE: tuple[Reader, ...] = (
    port.impacted_coast, track.track, hazards.outlook, hazards.other_hazards,
)
"""Readers of free text, asked only where no other has found a fact."""


def extract(block: Block) -> list[Fact]:
    """Facts of one scenario block, in the order of the text.

    Every fact's evidence is a span of the block; an outcome told behind landfall
    carries ``observed = true``. Where a rule guesses, its confidence says so.
    """
    found: list[Fact] = []
    for statement in statements(block):
        found += _read(statement)
    return found


def _read(statement: Statement) -> list[Fact]:
    for words, readers in _BY_LABEL if statement.label else ():
        if re.search(words, statement.label, re.IGNORECASE):
            return [fact for reader in readers for fact in reader(statement)]
    if statement.after:
        return list(hazards.outcome(statement)) or list(port.operations(statement))
    found = [fact for reader in _ALWAYS for fact in reader(statement)]
    for reader in _OTHERWISE:
        found += [] if found else reader(statement)
    return found
