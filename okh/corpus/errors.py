"""What bad input gets: an error that names the file, the place and the mend."""

from __future__ import annotations

from okh.domain import OkhError


class CorpusError(OkhError):
    """A document, or a part of one, that could not be read.

    Parameters
    ----------
    file
        Name the document came under.
    place
        Where in it: a line, a section, a row; empty for the whole file.
    problem
        What is wrong, without quoting the document's text.
    mend
        What the user can do about it.
    """

    def __init__(self, file: str, place: str, problem: str, mend: str) -> None:
        self.file, self.place, self.problem, self.mend = file, place, problem, mend
        where = f"{file} ({place})" if place else file
        super().__init__(f"{where}: {problem}. {mend}")
