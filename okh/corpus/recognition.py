"""What a file is: decided by its content, its name being only a hint.

Three kinds of source are read (NHC products, port condition bulletins,
scenarios). Whatever else lies in a folder is refused under its own name, so
that nobody wonders where a file went.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zlib
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath
from typing import Literal

from okh.corpus.advisory import match_title
from okh.corpus.bulletin import REQUIRED_COLUMNS
from okh.corpus.errors import CorpusError
from okh.corpus.scenario import find_horizons, is_event, names_subject, subject_of_name

__all__ = ["MAX_BYTES", "Kind", "Refusal", "decode", "recognise", "unpack"]

MAX_BYTES = 20_000_000
"""Largest file that is read, after decompression; a season of advisories has 10 MB."""

Kind = Literal["advisory", "wind_table", "bulletin", "scenario", "events"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a file is when it is none of the documents: its own name, why, and the mend."""

    what: str
    problem: str
    mend: str

    def error(self, name: str) -> CorpusError:
        return CorpusError(name, "", self.problem, self.mend)


_GZIP = b"\x1f\x8b"
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"PK\x03\x04", "a zip archive or office document"),
    (b"%PDF", "a PDF"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"GIF8", "a picture"),
    (b"PAR1", "a Parquet file"),
    (b"SQLite format 3", "a database"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
)
_TOO_LARGE = Refusal(
    "oversized file", f"the file is larger than {MAX_BYTES // 1_000_000} MB when unpacked",
    "Split it: one product, one scenario or one table of posts makes a file.",
)
_HEAD_BYTES = 65_536
_TEXT_MEND = "Give documents as plain text, CSV or JSON Lines (.gz of these is read too)."


def unpack(data: bytes, name: str) -> bytes:
    """The bytes of a file, a gzip envelope taken off.

    Raises
    ------
    CorpusError
        If they are more than :data:`MAX_BYTES` (no more are held than that), if
        the first of them show that the file is refused anyway, or if the envelope
        is damaged.
    """
    if data.startswith(_GZIP) and len(data) <= MAX_BYTES:
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
                data = stream.read(MAX_BYTES + 1)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise CorpusError(
                name, "", "the gzip file is damaged or cut off", "Fetch or pack it again."
            ) from error
    return data


def decode(data: bytes) -> str | None:
    """The text of a document, or None if the bytes are no text.

    UTF-8 (a byte order mark is dropped), UTF-16 with its mark, else Windows-1252,
    in which old products were saved. Line ends become ``\\n``, as when Python
    reads a text file: all offsets of the project count these characters.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encodings = ["utf-16"]
    elif b"\0" in data:
        return None
    else:
        encodings = ["utf-8-sig", "cp1252"]
    for encoding in encodings:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        # NHC products may bear the start and end marks of their wire format.
        controls = sum(text.count(chr(c)) for c in range(32) if c not in (1, 3, 9, 10, 12, 13))
        if controls * 200 > len(text):
            return None
        return text.replace("\r\n", "\n").replace("\r", "\n")
    return None


_SIDE_FILES = re.compile(
    r"(?:(?P<licence>licen[cs]e|copying|notice)|(?P<readme>read-?me|changelog|contributing))"
    r"(?:[._-].*)?",
    re.IGNORECASE,
)
_WIND_TITLE = re.compile(
    r"^[^\n]*\bWIND\s+SPEED\s+PROBABILITIES\s+NUMBER\b", re.IGNORECASE | re.MULTILINE
)
_OTHER_PRODUCT = re.compile(
    r"^[^\n]{0,80}?(?:(?P<tcm>forecast/advisory\s+number)|(?P<tcd>discussion\s+number)"
    r"|(?P<two>tropical\s+weather\s+(?:outlook|discussion)))\b",
    re.IGNORECASE | re.MULTILINE,
)
_OTHER_NAMES = {
    "tcm": "a forecast/advisory (TCM)", "tcd": "a forecast discussion (TCD)",
    "two": "a tropical weather outlook or discussion",
}
_HTML = re.compile(r"\s*<(?:!doctype\s+html|html|head|\?xml)\b", re.IGNORECASE)
_SNIFF_ROWS = 20


def recognise(data: bytes, name: str, *, subject_known: bool = False) -> Kind | Refusal:
    """What a file is.

    Parameters
    ----------
    data
        The unpacked bytes.
    name
        Name it came under.
    subject_known
        Whether a manifest says whom it is about: then any running text is a scenario.
    """
    for magic, what in _MAGIC:
        if data.startswith(magic):
            return Refusal("binary file", f"the file is {what}, no text", _TEXT_MEND)
    if len(data) > MAX_BYTES:
        # A large file of another kind is refused as what it is.
        head = data[:_HEAD_BYTES].rpartition(b"\n")[0]
        kind = recognise(head, name) if head.strip() else _TOO_LARGE
        return kind if kind in (_QUESTIONS, _TEMPLATE) else _TOO_LARGE
    text = decode(data)
    if text is None:
        return Refusal("binary file", "the bytes are no text", _TEXT_MEND)
    if not text.strip():
        return Refusal("empty file", "the file is empty", "Fetch it again, or leave it out.")
    return recognise_text(text, name, subject_known=subject_known)


def recognise_text(text: str, name: str, *, subject_known: bool = False) -> Kind | Refusal:
    """:func:`recognise` for a text that is decoded already."""
    if _HTML.match(text):
        return Refusal(
            "web page", "the file is a web page", "Save the text of the product, without its page."
        )
    found = _product(text) or _side_file(name) or _json_kind(text) or _table_kind(text, name)
    if found is not None:
        return found
    if find_horizons(text) or subject_known or _says_whom(text, name):
        return "scenario"
    return Refusal(
        "unknown text",
        "the text is no product, no table of posts, and has no horizon header",
        "Put a header such as 'T-48 hours before expected landfall:' above each horizon, or name "
        "the file STORM_YEAR_Port.txt, or list it in a manifest.",
    )


def _says_whom(text: str, name: str) -> bool:
    subject = subject_of_name(name)
    return (subject.storm is not None and subject.port is not None) or names_subject(text)


def _product(text: str) -> Kind | Refusal | None:
    if _WIND_TITLE.search(text):
        return "wind_table"
    if match_title(text) is not None:
        return "advisory"
    other = _OTHER_PRODUCT.search(text[:2000])
    if other is not None and other.lastgroup is not None:
        return Refusal(
            "other NHC product", f"the file is {_OTHER_NAMES[other.lastgroup]}, which is not read",
            "Give the public advisory (TCP) and the wind speed probabilities (PWS) of that time.",
        )
    return None


def _side_file(name: str) -> Refusal | None:
    base = PurePosixPath(name.rpartition("#")[2].replace("\\", "/")).name
    match = _SIDE_FILES.fullmatch(base)
    if match is None:
        return None
    what = "license" if match["licence"] else "readme"
    return Refusal(
        what, f"by its name the file is a {what}, no document", "Rename it if it is a document."
    )


# --- JSON -----------------------------------------------------------------------------

_QUESTIONS = Refusal(
    "questions", "the file holds questions with answers, no documents",
    "Questions are for the benchmark; answers must never become evidence.",
)
_TEMPLATE = Refusal(
    "question template", "the file holds templates of questions, no documents",
    "Leave it out; it has nothing to extract.",
)
_OTHER_JSON = Refusal(
    "other JSON", "the JSON holds no events (rows with a `senario`)",
    "Give scenario events as JSON Lines, or documents as text.",
)


def _json_kind(text: str) -> Kind | Refusal | None:
    """Kind of a JSON or JSON Lines text, by the majority of its first rows; None for other text."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    rows = list(_json_rows(text))
    if not rows:
        # A scenario may open with a bracket, as in "[T-48]".
        return None if find_horizons(text[:2000]) else _OTHER_JSON
    kinds = Counter(map(_row_kind, rows))
    found = kinds.most_common(1)[0][0]
    if found == "events":
        return "events"
    return {"questions": _QUESTIONS, "template": _TEMPLATE}.get(found, _OTHER_JSON)


def _json_rows(text: str) -> list[object]:
    rows: list[object] = []
    for line in islice((x for x in text.split("\n") if x.strip()), _SNIFF_ROWS):
        try:
            rows.append(json.loads(line))
        except (json.JSONDecodeError, RecursionError):
            continue
    if any(isinstance(row, dict) for row in rows):
        return [row for row in rows if isinstance(row, dict)]
    return whole_json(text)


def whole_json(text: str) -> list[object]:
    """The rows of a text that is one JSON value (a list of rows, or one row), else none."""
    try:
        whole = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        return []
    return list(whole) if isinstance(whole, list) else [whole]


def _row_kind(row: object) -> str:
    if not isinstance(row, dict):
        return "other"
    if is_event(row):
        return "events"
    if "question" not in row:
        return "other"
    return "template" if {"prompt", "question_type"} & row.keys() else "questions"


# --- tables ---------------------------------------------------------------------------


def _table_kind(text: str, name: str) -> Kind | Refusal | None:
    """Kind of a CSV by the columns of its first line; None for other text."""
    first, _, rest = text.lstrip().partition("\n")
    if "," not in first or len(first) > 4000 or first.rstrip().endswith((".", ":")):
        return None
    columns = {c.strip() for c in next(csv.reader([first]), [])}
    lower = {c.casefold() for c in columns}
    if len(columns & set(REQUIRED_COLUMNS)) >= 4:
        return "bulletin"
    if {"question", "answer"} <= lower:
        return _QUESTIONS
    if {"file", "storm", "year"} <= lower or {"storm", "year", "landfall"} <= lower:
        return Refusal(
            "manifest", "the file is a manifest, no document", "Give it with --manifest."
        )
    if "name" in lower and ({"lat", "lon"} <= lower or {"latitude", "longitude"} <= lower):
        return Refusal(
            "ports table", "the file is a table of ports, no document", "Give it with --ports."
        )
    named = name.lower().endswith((".csv", ".csv.gz"))
    if named or (len(columns) > 2 and rest.partition("\n")[0].count(",") == first.count(",")):
        return Refusal(
            "other table", "the table is of no known kind",
            f"A table of port condition posts has the columns {', '.join(REQUIRED_COLUMNS)}.",
        )
    return None
