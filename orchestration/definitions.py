"""The code location: what `dagster dev` and the command line load."""

from __future__ import annotations

import dagster as dg

from orchestration.jobs import ASSETS, JOBS
from orchestration.resources import (
    EmbedderResource,
    ExtractorResource,
    GroupTablesResource,
    HomeResource,
)
from orchestration.settings import embedder_kind, home_path


def definitions(home: str) -> dg.Definitions:
    """The whole pipeline over one home."""
    resource = HomeResource(path=home)
    return dg.Definitions(
        assets=dg.with_source_code_references(ASSETS),
        jobs=JOBS,
        resources={
            "home": resource,
            "extractor": ExtractorResource(),
            "embedder_kind": EmbedderResource(name=embedder_kind()),
            "group_tables": GroupTablesResource(home=resource),
        },
        executor=dg.in_process_executor,
    )


defs = definitions(home_path())
