"""What happens when a run fails: a line in the home, and an alert where one is wanted.

An example to copy: the alert is a small JSON posted to OKH_ALERT_URL, which most chat
systems take or a few lines translate. It holds names and numbers, never document text.
"""

import json
import os
import urllib.error
import urllib.request
from collections.abc import Mapping
from urllib.parse import urlsplit

import dagster as dg

from okh.domain import OkhError
from storage.home import Home

TIMEOUT_S = 10.0


class AlertError(OkhError):
    """An alert that could not be sent."""


def alert_of(context: dg.RunFailureSensorContext) -> dict[str, object]:
    """Job, run, groups and failed steps of a run."""
    run = context.dagster_run
    tags = run.tags
    steps = [event.step_key for event in context.get_step_failure_events() if event.step_key]
    return {
        "text": f"okh-rag: {run.job_name} failed in {', '.join(steps) or 'its start'}",
        "job": run.job_name,
        "run": run.run_id,
        "first": tags.get("dagster/asset_partition_range_start", tags.get("dagster/partition")),
        "last": tags.get("dagster/asset_partition_range_end", tags.get("dagster/partition")),
        "steps": steps,
    }


def note(home: Home, alert: Mapping[str, object]) -> None:
    """Add a line to ``alerts.jsonl`` in the home."""
    with home.lock("alerts"), (home.root / "alerts.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(alert) + "\n")


def post(url: str, alert: Mapping[str, object]) -> None:
    """Post an alert. Raises ``AlertError`` naming the host only: a path may hold a token."""
    address = urlsplit(url)
    if address.scheme not in ("http", "https"):
        raise AlertError("OKH_ALERT_URL must begin with http:// or https://")
    request = urllib.request.Request(
        url, json.dumps(alert).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S):
            return
    except (urllib.error.URLError, TimeoutError) as error:
        raise AlertError(f"the alert could not be posted to {address.hostname}") from error


@dg.run_failure_sensor(
    default_status=dg.DefaultSensorStatus.STOPPED, minimum_interval_seconds=30,
    description=(
        "Notes each failed run in the home's alerts.jsonl, and posts it to OKH_ALERT_URL if that "
        "is set."
    ),
)
def alert_on_failure(context: dg.RunFailureSensorContext, home: dg.ResourceParam[Home]) -> None:
    """See the description. A failed post is tried again by the daemon's next tick."""
    alert = alert_of(context)
    note(home, alert)
    url = os.environ.get("OKH_ALERT_URL")
    if url:
        post(url, alert)
