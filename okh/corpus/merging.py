"""One corpus out of several readings: aliases, corrections, and storms that got a name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from okh.corpus.ingestion import Note
from okh.domain import Document
from okh.vocabulary import is_number_name

__all__ = ["Merge", "merge"]


@dataclass(frozen=True, slots=True)
class Merge:
    """What a merge made.

    ``documents`` is the whole corpus after it, the other fields say what is new in
    it: ``added`` documents, ``aliased`` ones (they got another name), ``updated`` ones
    (another lead, storm, year or port), and the ``superseded`` ones that left it or
    did not come in.
    """

    documents: tuple[Document, ...]
    added: tuple[Document, ...]
    aliased: tuple[Document, ...]
    updated: tuple[Document, ...]
    superseded: tuple[Document, ...]
    warnings: tuple[Note, ...]


_RANK = {"manifest": 3, "scenario": 2, "name": 1, "landfall": 0}
"""Who is believed about a lead: the user, the text, a file name, arithmetic."""


def merge(existing: Sequence[Document], new: Iterable[Document]) -> Merge:
    """Join newly read documents to a corpus.

    - Identical content under two names is one document with an alias.
    - A corrected product supersedes the product of the same ``product_id``, whichever
      comes first; a product that its correction is known of is not added.
    - A product of a numbered system takes the name under which the corpus knows the
      same system (by its ATCF number), so that its first advisories join its group.

    Merging the same documents again changes nothing.
    """
    corpus = {document.hash: document for document in existing}
    warnings: list[Note] = []
    for document in new:
        known = corpus.get(document.hash)
        corpus[document.hash] = (
            document if known is None else _joined(known, document, warnings)
        )
    superseded = _superseded(corpus, warnings)
    for document in superseded:
        del corpus[document.hash]
    _name_systems(corpus)
    before = {document.hash: document for document in existing}
    after = tuple(corpus.values())
    changed = [(before[d.hash], d) for d in after if d.hash in before and before[d.hash] != d]
    return Merge(
        after,
        tuple(d for d in after if d.hash not in before),
        tuple(d for old, d in changed if old.names != d.names),
        tuple(d for old, d in changed if replace(old, names=d.names) != d),
        tuple(superseded),
        tuple(warnings),
    )


def _joined(known: Document, again: Document, warnings: list[Note]) -> Document:
    """One document from two readings of the same content."""
    names = tuple(dict.fromkeys((*known.names, *again.names)))
    joined = replace(known, names=names)
    ranks = _RANK.get(known.lead_source or "", -1), _RANK.get(again.lead_source or "", -1)
    if again.lead is not None and ranks[1] >= ranks[0]:
        lead = again.lead
        if ranks[1] == ranks[0] == _RANK["name"] and known.lead not in (None, again.lead):
            # Nothing of the future may reach a question asked at the farther one. (Of the
            # fifteen advisories in the shared data fourteen were issued at the nearer.)
            assert known.lead is not None
            lead = min(known.lead, again.lead)
            if names != known.names:
                warnings.append(Note(
                    "two-leads", "warning", again.names[0], "",
                    f"the same product is filed under two leads; it stands at T-{lead}, the "
                    "nearer one", "Give its lead in a manifest to choose another.", known.hash,
                ))
        joined = replace(joined, lead=lead, lead_source=again.lead_source)
    if again.lead_source == "manifest" or (known.storm and is_number_name(known.storm)):
        joined = replace(
            joined, storm=again.storm or known.storm, year=again.year or known.year,
            port=again.port or known.port,
        )
    return joined


def _superseded(corpus: dict[str, Document], warnings: list[Note]) -> list[Document]:
    """The products that a correction in the corpus replaces."""
    by_product: dict[str, list[Document]] = {}
    for document in corpus.values():
        if document.product_id is not None:
            by_product.setdefault(document.product_id, []).append(document)
    gone = []
    for versions in by_product.values():
        if len(versions) == 1 or not any(v.corrected for v in versions):
            continue
        last = max(versions, key=_version)
        for document in versions:
            if document is last:
                continue
            gone.append(document)
            warnings.append(Note(
                "superseded", "warning", document.names[0], "",
                f"a corrected version of the same product came under the name {last.names[0]}; "
                "this one is left out", "Remove the file if that is right.", document.hash,
            ))
    return gone


def _version(document: Document) -> tuple[bool, datetime, str]:
    issued = document.issued or datetime.min.replace(tzinfo=UTC)
    return document.corrected, issued, document.hash


def _name_systems(corpus: dict[str, Document]) -> None:
    """Give the products of a numbered system the name that other products give it."""
    names: dict[str, str] = {}
    for document in corpus.values():
        system = _system(document)
        if system and document.storm and not is_number_name(document.storm):
            names[system] = min(document.storm, names.get(system, document.storm))
    for key, document in corpus.items():
        name = names.get(_system(document) or "")
        if name and document.storm and is_number_name(document.storm):
            corpus[key] = replace(document, storm=name)


def _system(document: Document) -> str | None:
    """ATCF number (``AL112017``) in a product's id; None where it has none."""
    parts = (document.product_id or "").split()
    return parts[1] if len(parts) == 3 and parts[1][:2] in ("AL", "EP", "CP") else None
