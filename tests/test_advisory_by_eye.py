"""Two hundred facts of real advisories, drawn at random and read by eye, against the rules.

``tests/data/advisory_facts_by_eye.csv`` is ``random.Random(20170914).sample`` of
200 of all 12,374 facts of the 360 files. Each was read beside its evidence: the
relation, every attribute, dates and hours against the day of issuance. What is
judged is that nothing stated is wrong, not that nothing more could be said.

This is the eighth draw. The seven before it (seeds 1 and 20170908 to 20170913)
showed 3, 2, 6, 3, 3, 2 and 3 wrong facts of 200; each class was mended in the
rules, then 200 new facts were drawn. In the eighth, 199 were right. One was
wrong ("little additional strengthening" was taken for strengthening); its rule
was mended, and its row, marked ``mended``, holds what the eye reads.

Free text and values beyond 60 characters are kept as a digest
(:mod:`tests.advisory_labels`).
"""

from __future__ import annotations

import csv
from pathlib import Path

from tests.advisory_labels import read_file, row_key

FACTS = Path(__file__).parent / "data" / "advisory_facts_by_eye.csv"


def test_facts_read_by_eye(shared_data: Path) -> None:
    with FACTS.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == 200
    assert sum(row["verdict"] == "right" for row in rows) >= 198
    wrong = []
    for row in rows:
        name = row["file"]
        _, facts = read_file(shared_data / "nhc" / "advisory" / name)
        read = {row_key(name, block, fact) for block, fact in facts}
        if (name, row["relation"], row["offsets"], row["attributes"]) not in read:
            wrong.append(row)
    assert not wrong
