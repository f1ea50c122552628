"""List prices of models, in a table that users can put their own over."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from io import StringIO
from pathlib import Path

from okh.llm.errors import LlmError

BATCH_FACTOR = 0.5
"""What the Batch API costs, as a share of the list price."""

_SNAPSHOT = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8})$")
_COLUMNS = ("model", "input", "cached_input", "output")


class PriceError(LlmError):
    """A price table that cannot be read; names the file, the line and the mend."""


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars for a million tokens; ``as_of`` says when the list was read."""

    input: float
    cached_input: float
    output: float
    as_of: str = ""


class Prices:
    """Prices by model. A dated snapshot that has no row costs what its model costs."""

    def __init__(self, rows: Mapping[str, Price]) -> None:
        self._rows = dict(rows)

    @classmethod
    def load(cls, own: Path | None = None) -> Prices:
        """The packaged list, with the rows of a user's CSV over it.

        The file has the columns ``model,input,cached_input,output`` (dollars for a million
        tokens; an empty ``cached_input`` means the full price) and may have others.

        Raises
        ------
        PriceError
            If the user's file cannot be read.
        """
        packaged = files("okh.llm").joinpath("prices.csv").read_text(encoding="utf-8")
        rows = _read(packaged, "prices.csv")
        if own is not None:
            try:
                rows |= _read(own.read_text(encoding="utf-8-sig"), str(own))
            except (OSError, UnicodeDecodeError) as error:
                raise PriceError(f"{own}: cannot be read ({type(error).__name__})") from error
        return cls(rows)

    def of(self, model: str) -> Price | None:
        """Price of a model, or None."""
        return self._rows.get(model) or self._rows.get(_SNAPSHOT.sub("", model))

    def cost(
        self,
        model: str,
        tokens_in: int,
        tokens_out: int,
        tokens_cached: int = 0,
        *,
        batch: bool = False,
    ) -> float | None:
        """Dollars for so many tokens (the cached ones are part of those in), or None."""
        price = self.of(model)
        if price is None:
            return None
        cached = min(tokens_cached, tokens_in)
        dollars = (
            (tokens_in - cached) * price.input
            + cached * price.cached_input
            + tokens_out * price.output
        ) / 1e6
        return dollars * BATCH_FACTOR if batch else dollars


def _read(text: str, file: str) -> dict[str, Price]:
    reader = csv.DictReader(StringIO(text))
    missing = [name for name in _COLUMNS if name not in (reader.fieldnames or ())]
    if missing:
        raise PriceError(
            f"{file}: has no column {', '.join(missing)}. The first line must name "
            f"{','.join(_COLUMNS)}"
        )
    return dict(_price(row, f"{file}, line {reader.line_num}") for row in _filled(reader))


def _filled(rows: Iterable[dict[str, str | None]]) -> Iterable[dict[str, str]]:
    for row in rows:
        clean = {name: (value or "").strip() for name, value in row.items() if name in _KNOWN}
        if clean["model"]:
            yield clean


_KNOWN = frozenset((*_COLUMNS, "as_of"))


def _price(row: Mapping[str, str], place: str) -> tuple[str, Price]:
    def dollars(name: str, default: float | None = None) -> float:
        if not row[name] and default is not None:
            return default
        try:
            value = float(row[name])
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and value >= 0):
            raise PriceError(f"{place}: {name} is no price. Write dollars for a million tokens")
        return value

    full = dollars("input")
    price = Price(
        full, dollars("cached_input", full), dollars("output", 0.0), row.get("as_of", "")
    )
    return row["model"], price
