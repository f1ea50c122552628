"""The corpus of a home: its documents, the settings they came with, and the groups they make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache

import pyarrow as pa

from okh.corpus.groups import View, group_views, scenario_group
from okh.corpus.ingestion import blocks_of
from okh.corpus.places import PortTable, default_ports, load_ports
from okh.corpus.recognition import decode
from okh.domain import Block, Document, Group, digest
from okh.extraction.advisory_watches import segment_texts
from storage.home import Home
from storage.rows import documents_from_table, documents_to_table

DEFAULT_RADIUS_KM = 150.0
"""How near a forecast location must be to tie a port to a storm."""


class Corpus:
    """The documents of a home, read once; blocks and views are made when asked for."""

    def __init__(self, home: Home) -> None:
        self._home = home
        settings = home.settings
        self.radius_km = float(settings.get("radius_km", DEFAULT_RADIUS_KM))
        self.landfall = {
            key: datetime.fromisoformat(value)
            for key, value in settings.get("landfall", {}).items()
        }
        ports_csv = settings.get("ports_csv")
        self.ports: PortTable = load_ports(ports_csv) if ports_csv else default_ports()
        self.documents = documents_from_table(home.read_table("corpus"))
        self._blocks = lru_cache(maxsize=4096)(self._parse)
        self._storm_views = lru_cache(maxsize=8)(self._view)

    def save(self, documents: Sequence[Document]) -> None:
        """Replace the corpus by these documents (their text lies in ``raw/``)."""
        self._home.write_table("corpus", documents_to_table(documents))
        self.documents = list(documents)
        self._storm_views.cache_clear()

    def text(self, document: str) -> str:
        """Text of a document by its hash: what offsets of spans count in."""
        return decode(self._home.raw_bytes(document)) or ""

    def blocks(self, document: Document) -> list[Block]:
        """Blocks of a stored document, parsed again from its text."""
        return self._blocks(document)

    def storm_years(self, documents: Iterable[Document]) -> set[str]:
        """Storm-years that these documents tell of, e.g. ``IRMA-2017``."""
        found: set[str] = set()
        for document in documents:
            if document.storm and document.year:
                found.add(f"{document.storm}-{document.year}")
            else:
                found |= {
                    f"{b.storm}-{b.year}" for b in self.blocks(document) if b.storm and b.year
                }
        return found

    def views(self, group: Group) -> list[View]:
        """Views of one group; empty if nothing of the corpus concerns it."""
        return self._storm_views(group.storm_year).get(group, [])

    def groups(self, storm_year: str) -> Mapping[Group, list[View]]:
        """All groups of one storm-year with their views."""
        return self._storm_views(storm_year)

    def _parse(self, document: Document) -> list[Block]:
        return blocks_of(replace(document, text=self.text(document.hash)))

    def _view(self, storm_year: str) -> Mapping[Group, list[View]]:
        own = [
            document for document in self.documents
            if document.storm is None or f"{document.storm}-{document.year}" == storm_year
        ]
        blocks = [
            block for document in own for block in self.blocks(document)
            if f"{block.storm or document.storm}-{block.year or document.year}" == storm_year
        ]
        segments = {b.id: segment_texts(b) for b in blocks if b.kind == "advisory"}
        named = {scenario_group(d, self.ports) for d in own if d.kind == "scenario"}
        return group_views(
            own, blocks, ports=self.ports, landfall=self.landfall, radius_km=self.radius_km,
            explicit_groups=[group for group in named if group is not None], segments=segments,
        )


def fingerprint(views: Sequence[View]) -> str:
    """Digest of all that a group sees, in any order: equal fingerprints, equal documents."""
    return digest(*sorted(
        "|".join((
            view.block.content_key, view.block.document, str(view.block.start),
            str(view.lead), "" if view.distance_km is None else f"{view.distance_km:.3f}", view.tie,
        ))
        for view in views
    ))


def group_table(fingerprints: Mapping[str, tuple[str, int]]) -> pa.Table:
    """Group key -> (fingerprint, number of blocks) as the home's ``groups`` table."""
    keys = sorted(fingerprints)
    parsed = [Group.parse(key) for key in keys]
    return pa.table({
        "group": keys,
        "storm": [g.storm for g in parsed],
        "year": [g.year for g in parsed],
        "port": [g.port for g in parsed],
        "fingerprint": [fingerprints[key][0] for key in keys],
        "blocks": [fingerprints[key][1] for key in keys],
    })


def read_fingerprints(home: Home) -> dict[str, tuple[str, int]]:
    """Inverse of :func:`group_table`, over the home's table."""
    rows = home.read_table("groups").to_pylist()
    return {row["group"]: (row["fingerprint"], row["blocks"]) for row in rows}
