"""Two hundred cells of real tables, drawn at random and read by eye, against the rules.

``tests/data/wind_cells_by_eye.csv`` was drawn with ``random.Random(20170908)``: a
row of all rows, then one of its seven periods. The figures were written down from
the printed row (``X`` as printed), before the rules were asked; one of them, a slip of the
reader's column, was read again and mended.
"""

from __future__ import annotations

import csv
from pathlib import Path

from okh.corpus.wind_table import parse_wind_table
from okh.extraction.wind_table_rules import extract

CELLS = Path(__file__).parent / "data" / "wind_cells_by_eye.csv"


def test_cells_read_by_eye(shared_data: Path) -> None:
    with CELLS.open(encoding="utf-8") as lines:
        cells = list(csv.DictReader(lines))
    assert len(cells) == 200
    tables: dict[str, dict[tuple[str, str, str], tuple[str, str]]] = {}
    wrong = []
    for cell in cells:
        name = cell["file"]
        if name not in tables:
            tables[name] = _cells(shared_data / "nhc" / "wind" / name)
        read = tables[name].get((cell["location"], cell["threshold_kt"], cell["period_h"]))
        printed = tuple(v.replace("X", "0") for v in (cell["onset"], cell["cumulative"]))
        if read != printed:
            wrong.append((cell, read))
    assert not wrong


def _cells(path: Path) -> dict[tuple[str, str, str], tuple[str, str]]:
    _, blocks = parse_wind_table(path.read_text(encoding="ascii"), "hash", path.name)
    found = {}
    for block in blocks:
        for fact in extract(block):
            if fact.relation == "has_leadtime_probability":
                value = {a.key: a.value for a in fact.attributes}
                key = (value["location"], value["threshold_kt"], value["period_h"])
                found[key] = (value["onset"], value["probability"])
    return found
