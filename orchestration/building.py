"""Materialize what is stale, through Dagster, in this process."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.instance.ref import InstanceRef

from assets.embedding import require_kind
from assets.estimate import Estimate, estimate
from assets.group_tables import RETRY_TAG, faulty_groups
from assets.partitions import GROUPS, GROUPS_PER_RUN
from assets.staleness import (
    Staleness,
    contiguous_ranges,
    find_stale,
    newest_first,
    ranges_newest_first,
)
from okh.llm.errors import RunStopped
from orchestration.definitions import definitions
from orchestration.services import Services
from orchestration.settings import read_settings
from storage.home import Home
from storage.publish import snapshot

Progress = Callable[[str, int, int], None]
"""(what is being done, groups done, groups in all)."""

QUIET: dict[str, Any] = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
"""A failed step stands in the report; its traceback is in the run's own log."""


@dataclass(slots=True)
class BuildReport:
    """What a build did."""

    stale: Mapping[str, str]
    groups: int
    runs: int = 0
    seconds: float = 0.0
    index_built: bool = False
    snapshot: int | None = None
    failures: list[str] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)
    """Asset checks that failed, blocking or not, as ``asset: check (numbers)``."""
    cut_short: str = ""
    """Why no further call to an endpoint could succeed, where that ended the build."""
    left: int = 0
    """Groups that are still stale after a failure."""

    @property
    def on_sand(self) -> bool:
        """Whether a blocking check stopped a run: then the index would be built on sand."""
        return any(failure.startswith("check_") for failure in self.failures)

    @property
    def did_nothing(self) -> bool:
        return self.runs == 0


def open_instance(home: Home) -> dg.DagsterInstance:
    """The Dagster instance: DAGSTER_HOME where it is set, else ``dagster/`` in the home.

    `dagster dev` in the project's root reads ``dagster.yaml`` there, which points
    to the same folder of the default home.
    """
    if os.environ.get("DAGSTER_HOME"):
        return dg.DagsterInstance.get()
    folder = Path(str(home.root)) / "dagster"
    folder.mkdir(parents=True, exist_ok=True)
    ref = InstanceRef.from_dir(str(folder), overrides={"telemetry": {"enabled": False}})
    return dg.DagsterInstance.from_ref(ref)


def plan(home: Home, pattern: str = "*") -> tuple[Staleness, Estimate]:
    """What a build would do, and what it would cost."""
    with Services(read_settings(), home) as services:
        extractor = services.extractor()
        stale = find_stale(home, extractor, snapshot(home), pattern)
        if extractor.name == "rules":
            return stale, estimate(home, extractor, stale.reasons)
        settings = services.llm_settings()
        return stale, estimate(
            home, extractor, stale.reasons, model=settings.model,
            max_tokens=settings.max_tokens, prices=services.prices(),
        )


def build(
    home: Home, instance: dg.DagsterInstance, *, pattern: str = "*", retrain: bool = False,
    refit: bool = False, retry: bool = False, budget: float | None = None,
    newest: int | None = None,
    progress: Progress = lambda what, done, of: None,
) -> BuildReport:
    """Build the stale groups whose key matches ``pattern``, then the index.

    Parameters
    ----------
    retrain
        Train the transition model anew although there is one.
    refit
        Fit the embedder anew; vectors and model follow.
    newest
        Take a storm at a time, the latest year first, and this number of groups at most.
    retry
        Build the groups with faults in the quarantine again although nothing changed.
    """
    started = time.monotonic()
    home.sweep()
    published = snapshot(home)
    with Services(read_settings(), home, budget) as services:
        extractor = services.extractor()
        if published is not None and not refit:
            require_kind(published, services.embedder_source())
        stale = find_stale(home, extractor, published, pattern)
        report = _build(
            home, instance, services, stale, retrain, refit, retry, newest, progress
        )
        if report.failures:
            report.left = len(find_stale(home, extractor, snapshot(home), pattern).reasons)
    published = snapshot(home)
    report.snapshot = published.version if published else None
    report.seconds = time.monotonic() - started
    return report


def _build(
    home: Home, instance: dg.DagsterInstance, services: Services, stale: Staleness,
    retrain: bool, refit: bool, retry: bool, newest: int | None, progress: Progress,
) -> BuildReport:
    """The runs of a build; once no call can succeed any more, no further run."""
    defs = definitions(str(home.root), services)
    reasons = dict(stale.reasons)
    if retry:
        faulty = faulty_groups(home) & set(stale.groups)
        reasons = dict.fromkeys(sorted(faulty), "quarantine") | reasons
    if newest is not None:
        reasons = {key: reasons[key] for key in newest_first(reasons)[:newest]}
    report = BuildReport(reasons, len(stale.groups))
    _register(instance, stale)
    order = instance.get_dynamic_partitions(str(GROUPS.name))
    size = GROUPS_PER_RUN.max_partitions_per_run or len(order)
    done = 0
    ranges = contiguous_ranges if newest is None else ranges_newest_first
    for first, last in ranges(reasons, order, size):
        progress("groups", done, len(reasons))
        _run(defs, instance, report, "build_groups", tags={
            **({RETRY_TAG: "true"} if retry else {}),
            "dagster/asset_partition_range_start": first,
            "dagster/asset_partition_range_end": last,
        })
        done += sum(1 for key in order[order.index(first) : order.index(last) + 1]
                    if key in reasons)
        if report.cut_short:
            return report
    progress("groups", done, len(reasons))
    if not report.on_sand and (reasons or stale.index or retrain or refit):
        progress("vectors and transition model", done, len(reasons))
        ops = {
            "hyperedge_vectors": {"config": {"refit": refit}},
            "transition_model": {"config": {"retrain": retrain or refit}},
        }
        _run(defs, instance, report, "build_index", ops=ops)
        report.index_built = not report.failures
    return report


def _register(instance: dg.DagsterInstance, stale: Staleness) -> None:
    known = set(instance.get_dynamic_partitions(str(GROUPS.name)))
    new = [key for key in stale.groups if key not in known]
    if new:
        instance.add_dynamic_partitions(str(GROUPS.name), new)


def _run(
    defs: dg.Definitions, instance: dg.DagsterInstance, report: BuildReport, job: str, *,
    tags: Mapping[str, str] | None = None, ops: Mapping[str, Any] | None = None,
) -> None:
    report.runs += 1
    config = {**QUIET, **({"ops": dict(ops)} if ops else {})}
    result = defs.resolve_job_def(job).execute_in_process(
        instance=instance, run_config=config, tags=dict(tags or {}), raise_on_error=False
    )
    report.checks += [_failed(e) for e in result.get_asset_check_evaluations() if not e.passed]
    interrupted = False
    if not result.success:
        for event in result.all_events:
            if event.is_step_failure and event.step_key:
                kind, why = _cause(event.step_failure_data.error)
                interrupted = interrupted or "Interrupt" in kind + why
                report.failures.append(f"{event.step_key}: {why} (run {result.run_id})")
                if kind in _STOPPING:
                    report.cut_short = why.removeprefix(f"okh.llm.errors.{kind}: ")
    if interrupted:
        raise KeyboardInterrupt


def _failed(check: dg.AssetCheckEvaluation) -> str:
    told = ", ".join(f"{name} {value.value}" for name, value in check.metadata.items())
    grade = check.severity.value.lower()
    return f"{grade}: {check.asset_key.to_user_string()}: {check.check_name} ({told})"


_STOPPING = frozenset(kind.__name__ for kind in RunStopped.__subclasses__())


def _cause(error: Any) -> tuple[str, str]:
    """Class and first line of the innermost error of a failed step."""
    while error is not None and error.cause is not None:
        error = error.cause
    if error is None:
        return "", "unknown error"
    return str(error.cls_name), error.message.strip().split("\n")[0]
