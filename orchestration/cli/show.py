"""``okh show`` and ``okh status``."""

from __future__ import annotations

from collections import Counter
from difflib import get_close_matches
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from orchestration.cli.shared import (
    HomeOption,
    JsonOption,
    UserError,
    console,
    open_home,
    print_json,
)


def show(
    group: Annotated[str, typer.Argument(help="A group key, e.g. 'IRMA-2017|portmiami-fl'.")],
    relation: Annotated[str | None, typer.Option(help="Only this relation.")] = None,
    lead: Annotated[int | None, typer.Option(help="Only this horizon.")] = None,
    home: HomeOption = None,
    json_: JsonOption = False,
) -> None:
    """The canonical trajectory of a group: its facts in the order of ≺."""
    from assets.corpus import Corpus
    from assets.payload import edge_payload, source_names
    from storage.rows import edges_from_table, entities_from_table
    from storage.tables import TableStore

    opened = open_home(home)
    store = TableStore(opened)
    known = store.current("canonical_trajectories")
    if group not in known:
        near = get_close_matches(group, known, n=3, cutoff=0.3)
        hint = f"; perhaps {', '.join(near)}" if near else "; `okh status` counts what is built"
        raise UserError(f"no built group {group!r}{hint}")
    edges = {e.id: e for e in edges_from_table(store.read("hyperedges", group))}
    entities = entities_from_table(store.read("entities", group)).get(group, {})
    names = source_names(Corpus(opened).documents)
    ordered = [edges[i] for i in store.read("canonical_trajectories", group)["edge"].to_pylist()]
    chosen = [
        edge for edge in ordered
        if relation in (None, edge.relation) and lead in (None, edge.lead)
    ]
    steps = [
        {"step": n, **edge_payload(e, entities, names)} for n, e in enumerate(chosen, start=1)
    ]
    if json_:
        print_json({"schema": "okh.trajectory/1", "group": group, "steps": steps})
        return
    from orchestration.cli.render import step_text

    console.print(Text(f"{group}: {len(steps)} hyperedges in canonical order", style="bold"))
    for step in steps:
        console.print(step_text(step), end="")


def status(home: HomeOption = None, json_: JsonOption = False) -> None:
    """What is in the home, with versions and staleness."""
    payload = status_payload(home)
    if json_:
        print_json(payload)
        return
    table = Table(title=f"home {payload['home']}", title_justify="left", show_header=False)
    for label, value in _lines(payload):
        table.add_row(label, str(value))
    console.print(table)


def status_payload(home: str | None) -> dict[str, Any]:
    """Counts, versions and staleness of a home under ``okh.status/1``."""
    from assets.corpus import Corpus
    from assets.group_tables import ASSET_TABLES
    from assets.staleness import find_stale
    from assets.versions import (
        canonical_version,
        documents_version,
        extractions_version,
        hypergraph_version,
    )
    from orchestration.services import Services
    from orchestration.settings import read_settings
    from storage.publish import snapshot
    from storage.quarantine import list_items
    from storage.tables import TableStore
    from storage.traces import count

    opened = open_home(home)
    store, published = TableStore(opened), snapshot(opened)
    with Services(read_settings(), opened) as services:
        extractor = services.extractor()
        stale = find_stale(opened, extractor, published)
    documents = Corpus(opened).documents
    tables = {
        name: {"groups": len(current), "rows": sum(f.rows for f in current.values())}
        for names in ASSET_TABLES.values()
        for name in names
        for current in (store.current(name),)
    }
    return {
        "schema": "okh.status/1",
        "home": str(opened.root),
        "documents": dict(Counter(d.kind for d in documents)),
        "groups": len(stale.groups),
        "stale": dict(Counter(stale.reasons.values())),
        "index_stale": stale.index,
        "tables": tables,
        "families": _families(store),
        "quarantined": len(list_items(opened)),
        "traces": count(opened),
        "snapshot": published.version if published else None,
        "embedder": published.embedder if published else None,
        "model": published.model if published else None,
        "versions": {
            "documents": documents_version(), "extractions": extractions_version(extractor),
            "hypergraph": hypergraph_version(), "canonical_trajectories": canonical_version(),
        },
    }


def _families(store: Any) -> dict[str, Any]:
    """Hyperedges by family, and the shares that tell of extraction's health."""
    from okh.vocabulary import UNMAPPED

    edges = store.read_many(
        "hyperedges", None, columns=["family", "relation", "grounded", "synthetic"]
    ).to_pandas()
    own = edges[~edges["synthetic"]]
    counts = edges["family"].value_counts().sort_index()
    return {
        "hyperedges": {str(family): int(number) for family, number in counts.items()},
        "grounded_share": float(own["grounded"].mean()) if len(own) else None,
        "unmapped": int((edges["relation"] == UNMAPPED).sum()),
    }


def _lines(payload: dict[str, Any]) -> list[tuple[str, object]]:
    documents = ", ".join(f"{n} {kind}" for kind, n in payload["documents"].items()) or "none"
    stale = ", ".join(f"{n} from {asset} on" for asset, n in payload["stale"].items())
    families = payload["families"]
    share = families["grounded_share"]
    behind = " (behind the tables)" if payload["index_stale"] else ""
    return [
        ("documents", documents),
        ("groups", f"{payload['groups']} ({stale or 'none stale'})"),
        *((name, f"{t['rows']} rows in {t['groups']} groups")
          for name, t in payload["tables"].items()),
        ("hyperedges by family", "  ".join(
            f"{family}: {n}" for family, n in families["hyperedges"].items()) or "none"),
        ("grounded", "" if share is None else f"{share:.2%} of those from text"),
        ("unmapped relations", families["unmapped"]),
        ("quarantined", payload["quarantined"]),
        ("traces", payload["traces"]),
        ("snapshot", f"{payload['snapshot']}{behind}"),
        ("embedder", payload["embedder"]),
        ("transition model", payload["model"]),
        *((f"version of {name}", version) for name, version in payload["versions"].items()),
    ]
