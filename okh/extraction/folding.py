"""A text with white space, case and the forms of quotes and dashes folded away, and the way back.

Models copy a sentence with other line breaks, quotes or dashes than the document has.
Looked up in the folded text, it is found at its place in the original.
"""

from __future__ import annotations

import re
from bisect import bisect_right

_ALIKE = str.maketrans(
    dict.fromkeys("‘’`´", "'") | dict.fromkeys("“”", '"') | dict.fromkeys("‐‑‒–—−", "-")
)
_RUN = re.compile(r"\s\s+|[^\S ]")


def _plain(text: str) -> str:
    """Case, quotes and dashes folded, character by character: the length stays."""
    plain = text.translate(_ALIKE)
    lowered = plain.lower()
    if len(lowered) == len(plain):
        return lowered
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in plain)


class FoldedText:
    """One text, folded once, in which many pieces are looked up."""

    def __init__(self, text: str) -> None:
        plain = _plain(text)
        parts: list[str] = []
        at = removed = 0
        # From folded[cut[k]] on, removed[k] characters of the original are missing.
        self._cuts, self._original_cuts, self._removed = [0], [0], [0]
        for run in _RUN.finditer(plain):
            parts += (plain[at : run.start()], " ")
            at = run.end()
            removed += at - run.start() - 1
            self._cuts.append(at - removed)
            self._original_cuts.append(at)
            self._removed.append(removed)
        self._folded = "".join((*parts, plain[at:]))

    def find(self, words: str, start: int = 0, end: int | None = None) -> tuple[int, int] | None:
        """Offsets in the original of the first place of ``words`` inside ``[start, end)``.

        None for words that are not there, or are white space alone.
        """
        wanted = " ".join(_plain(words).split())
        if not wanted:
            return None
        stop = len(self._folded) if end is None else self._inward(end)
        found = self._folded.find(wanted, self._inward(start), stop)
        if found < 0:
            return None
        return self._outward(found), self._outward(found + len(wanted) - 1) + 1

    def _inward(self, offset: int) -> int:
        return offset - self._removed[bisect_right(self._original_cuts, offset) - 1]

    def _outward(self, offset: int) -> int:
        return offset + self._removed[bisect_right(self._cuts, offset) - 1]
