"""Sentences of running text, with exact offsets.

A scenario is written as prose, as wrapped paragraphs, as ``Label: value`` lines
or as bullets. All become spans that never overlap and keep the source's own
white space, so that a span can serve as evidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_BULLET = r"(?:[-*•·▪◦]|\d{1,2}[.)])[ \t]+"
_NEW_UNIT = re.compile(
    rf"[ \t]*(?:{_BULLET}|[#>|]|\*\*|[A-Z0-9](?:[\w '()/%&-]|\.(?!\s)){{0,48}}?[:=]\s)"
)
"""A line that begins a statement of its own whatever the line before it says."""

_DECORATION = re.compile(rf"[ \t]*(?:{_BULLET}|[#>|*]+[ \t]*)*")

_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[/–-])"
    r"(?:St|Ste|Ft|Mt|Pt|Is|No|Gov|Dr|Mr|Ms|vs|approx|ca|cf|e\.g|i\.e|etc|max|min|avg|"
    r"Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|Mon|Tues?|Wed|Thurs?|Fri|Sat|Sun|"
    r"(?:[A-Za-z]\.)*[A-Z])$"
)
"""What may stand before a full stop that ends no sentence (``St. Croix``, ``U.S. East``)."""

_OPENING = re.compile(
    r"\s+(?:The|It|Its|This|These|There|A|An|In|On|At|No|Landfall|Forecast|Relative)\s"
)
"""A word that opens a sentence even behind ``U.S.``, whose stop then ends a sentence too."""

_STOP = re.compile(r"[.!?][\"'”’)\]*]*(?=\s+[\"'“‘(\[*≈~<>≥≤]*[A-Z0-9]|\s*$)")


def _units(text: str) -> Iterator[tuple[int, int]]:
    """Runs of lines that are one paragraph, bullet or labelled line."""
    start: int | None = None
    end = 0
    position = 0
    for line in text.splitlines(keepends=True):
        body = line.strip()
        if start is not None and (not body or _NEW_UNIT.match(line)):
            yield start, end
            start = None
        if body:
            start = position if start is None else start
            end = position + len(line.rstrip())
        position += len(line)
    if start is not None:
        yield start, end


def split_sentences(text: str) -> list[tuple[int, int]]:
    """Spans of the sentences of ``text``, in order, without bullets or outer white space.

    Returns
    -------
    list of (start, end)
        ``text[start:end]`` is one sentence, its full stop included. Line breaks
        inside a wrapped sentence stay in it.
    """
    spans: list[tuple[int, int]] = []
    for unit_start, unit_end in _units(text):
        decoration = _DECORATION.match(text, unit_start, unit_end)
        start = decoration.end() if decoration else unit_start
        for stop in _STOP.finditer(text, start, unit_end):
            abbreviated = text[stop.start()] == "." and _ABBREVIATION.search(
                text, start, stop.start()
            )
            if abbreviated and not (
                "." in abbreviated[0] and _OPENING.match(text, stop.end(), unit_end)
            ):
                continue
            if text[start : stop.end()].strip():
                spans.append((start, stop.end()))
            start = stop.end()
            while start < unit_end and text[start].isspace():
                start += 1
        if start < unit_end:
            spans.append((start, unit_end))
    return spans
