"""Incremental refresh: a folder of documents in, runs over contiguous ranges of groups out.

The sensor looks at tables, not at events: what is stale is requested, and a run key
makes a request that was made before a no-op. So a tick may be lost or come twice.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import dagster as dg

from assets.folder import FolderError, refresh_folder
from assets.group_tables import faulty_groups
from assets.partitions import GROUPS, GROUPS_PER_RUN
from assets.staleness import Staleness, contiguous_ranges, find_stale
from assets.versions import canonical_version, documents_version, hypergraph_version
from okh.domain import digest
from orchestration.jobs import build_groups, build_index
from orchestration.maintenance import maintenance
from orchestration.services import Services
from orchestration.settings import documents_folder, read_settings
from storage.home import Home
from storage.publish import snapshot
from storage.tombstones import tombstones

FILES_PER_TICK = 200
"""Files that one tick reads: it stays well below the daemon's minute."""

GROUPS_PER_TICK = 100
"""Groups that one tick requests at most; the others wait for the next."""


@dataclass(frozen=True, slots=True)
class Requests:
    """What is to be run now, and the partition keys that must be known before."""

    new: list[str]
    runs: list[dg.RunRequest]


def staleness(home: Home) -> tuple[Staleness, str]:
    """What is stale under the present settings, and the extractor's version."""
    with Services(read_settings(), home) as services:
        extractor = services.extractor()
        return find_stale(home, extractor, snapshot(home)), extractor.version


def range_requests(
    stale: Iterable[str], order: Sequence[str], key: str, job: str | None = None,
    size: int | None = None,
) -> list[dg.RunRequest]:
    """Runs of ``build_groups`` over contiguous ranges of ``order`` that cover ``stale``.

    ``key`` names the state of the corpus: with it, a run key is the same for the same
    groups in the same state, and another when the corpus came back to a former one.
    """
    size = size or GROUPS_PER_RUN.max_partitions_per_run or len(order)
    return [
        dg.RunRequest(
            run_key=f"{key}:{digest(first, last)[:16]}", job_name=job,
            tags={
                "dagster/asset_partition_range_start": first,
                "dagster/asset_partition_range_end": last,
            },
        )
        for first, last in contiguous_ranges(stale, order, size)
    ]


def next_requests(
    home: Home, found: Staleness, known: Sequence[str], state: str, *,
    limit: int = GROUPS_PER_TICK,
) -> Requests:
    """The next runs: stale groups; when there are none the index; then what was deleted.

    Groups with a fault in the quarantine hold nothing up: they come last.
    """
    new = [key for key in found.groups if key not in set(known)]
    order = [*known, *new]
    faulty = faulty_groups(home)
    sound = [key for key in order if key in found.reasons and key not in faulty]
    if sound:
        runs = range_requests(sound[:limit], order, f"groups:{state}", build_groups.name)
        return Requests(new, runs)
    if found.index:
        published = snapshot(home)
        key = f"index:{state}:{published.version if published else 0}"
        return Requests(new, [dg.RunRequest(run_key=key, job_name=build_index.name)])
    if any(not t.done for t in tombstones(home)):
        return Requests(new, [dg.RunRequest(run_key=f"order:{state}", job_name=maintenance.name)])
    bad = [key for key in order if key in found.reasons][:limit]
    return Requests(new, range_requests(bad, order, f"faulty:{state}", build_groups.name))


def state_of(home: Home, extractor: str) -> str:
    """Digest of all that decides what is stale: code, groups with their content, deletions."""
    code = (documents_version(), extractor, hypergraph_version(), canonical_version())
    groups = home.read_table("groups")
    pairs = zip(groups["group"].to_pylist(), groups["fingerprint"].to_pylist(), strict=True)
    buried = (f"{t.document.hash} {t.at} {t.done}" for t in tombstones(home))
    return digest(*code, *(f"{g} {f}" for g, f in pairs), "", *buried)[:16]


def under_way(instance: dg.DagsterInstance) -> bool:
    """Whether a run that the sensor asked for waits or works: until it ends no other is.

    Only its own: the daemon marks those failed that died, but not those of `okh build`.
    """
    own = dg.RunsFilter(statuses=_WORKING, tags={"dagster/sensor_name": "documents_sensor"})
    return bool(instance.get_run_records(own, limit=1))


_WORKING = [
    dg.DagsterRunStatus.QUEUED, dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING,
]


@dg.sensor(
    jobs=[build_groups, build_index, maintenance],
    minimum_interval_seconds=60,
    default_status=dg.DefaultSensorStatus.STOPPED,
    description=(
        "Reads the folder named by OKH_DOCUMENTS: new and changed documents make their groups "
        "stale, deleted ones are taken out. Requests at most 100 groups a tick, as few runs as "
        "their order allows; then the index; then the clean-up."
    ),
)
def documents_sensor(
    context: dg.SensorEvaluationContext, home: dg.ResourceParam[Home]
) -> dg.SensorResult | dg.SkipReason:
    """The cursor holds the digest of the corpus and a number that grows when it changes."""
    folder = documents_folder()
    if folder is None:
        return dg.SkipReason("OKH_DOCUMENTS names no folder")
    try:
        report = refresh_folder(home, folder, limit=FILES_PER_TICK)
    except FolderError as error:
        return dg.SkipReason(str(error))
    cursor = json.loads(context.cursor or '{"state": "", "number": 0}')
    found, extractor = staleness(home)
    state = state_of(home, extractor)
    if cursor["state"] != state:
        cursor = {"state": state, "number": cursor["number"] + 1}
    known = context.instance.get_dynamic_partitions(str(GROUPS.name))
    asked = next_requests(home, found, known, f"{cursor['number']}:{state}")
    runs = [] if under_way(context.instance) else asked.runs
    if report.read or report.gone:
        context.log.info(
            f"{report.read} files read, {report.gone} documents gone, {report.left} files left"
        )
    return dg.SensorResult(
        run_requests=runs, cursor=json.dumps(cursor),
        dynamic_partitions_requests=[GROUPS.build_add_request(asked.new)] if asked.new else [],
    )


SENSORS = (documents_sensor,)
