"""The code location: what `dagster dev` and the command line load."""

from __future__ import annotations

import dagster as dg

from orchestration.checks import CHECKS
from orchestration.hooks import alert_on_failure
from orchestration.jobs import ASSETS, JOBS
from orchestration.maintenance import maintenance
from orchestration.resources import (
    EmbedderResource,
    ExtractorResource,
    GroupTablesResource,
    HomeResource,
    ReaderResource,
)
from orchestration.schedules import SCHEDULES
from orchestration.sensors import SENSORS
from orchestration.services import Services
from orchestration.settings import home_path


def definitions(home: str, services: Services | None = None) -> dg.Definitions:
    """The whole pipeline over one home.

    With ``services`` all runs share their client: one budget, one limit on requests, one
    view of whether the endpoint is alive. Without, each run makes its own.
    """
    resource = HomeResource(path=home)
    return dg.Definitions(
        assets=dg.with_source_code_references(ASSETS),
        asset_checks=CHECKS,
        jobs=[*JOBS, maintenance],
        sensors=[*SENSORS, alert_on_failure],
        schedules=SCHEDULES,
        resources={
            "home": resource,
            "group_tables": GroupTablesResource(home=resource),
            **(_own(resource) if services is None else _shared(services)),
        },
        executor=dg.in_process_executor,
    )


def _own(home: HomeResource) -> dict[str, object]:
    return {
        "extractor": ExtractorResource(home=home),
        "embedder_source": EmbedderResource(home=home),
        "reader": ReaderResource(home=home),
    }


def _shared(services: Services) -> dict[str, object]:
    made = {
        "extractor": services.extractor(), "embedder_source": services.embedder_source(),
        "reader": services.reader(),
    }
    return {
        name: dg.ResourceDefinition.hardcoded_resource(value) for name, value in made.items()
    }


defs = definitions(home_path())
