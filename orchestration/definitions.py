"""The code location: what `dagster dev` and the command line load."""

from __future__ import annotations

import dagster as dg

from orchestration.jobs import ASSETS, JOBS
from orchestration.resources import (
    EmbedderResource,
    ExtractorResource,
    GroupTablesResource,
    HomeResource,
    ReaderResource,
)
from orchestration.settings import home_path


def definitions(home: str, budget: float | None = None) -> dg.Definitions:
    """The whole pipeline over one home; a run may spend ``budget`` dollars on extraction."""
    resource = HomeResource(path=home)
    return dg.Definitions(
        assets=dg.with_source_code_references(ASSETS),
        jobs=JOBS,
        resources={
            "home": resource,
            "extractor": ExtractorResource(home=resource, budget=budget),
            "embedder_source": EmbedderResource(home=resource),
            "reader": ReaderResource(home=resource),
            "group_tables": GroupTablesResource(home=resource),
        },
        executor=dg.in_process_executor,
    )


defs = definitions(home_path())
