"""Daily refresh, for those who want runs at night instead of a sensor's ticks. All off by default.

Three schedules, because a schedule has one job: groups at three, the index when they
are through, the clean-up after it. Each looks at what is there: a late or failed
step is made good the next night.
"""

import dagster as dg

from assets.folder import FolderError, refresh_folder
from assets.partitions import GROUPS
from orchestration.jobs import build_groups, build_index
from orchestration.maintenance import maintenance
from orchestration.sensors import range_requests, staleness
from orchestration.settings import documents_folder
from storage.home import Home


@dg.schedule(
    job=build_groups, cron_schedule="0 3 * * *",
    default_status=dg.DefaultScheduleStatus.STOPPED,
    description="Reads the folder OKH_DOCUMENTS, if any, and builds all stale groups.",
)
def daily_refresh(
    context: dg.ScheduleEvaluationContext, home: dg.ResourceParam[Home]
) -> list[dg.RunRequest] | dg.SkipReason:
    """Run keys hold the day, so that what failed is tried again the next one."""
    folder = documents_folder()
    if folder is not None:
        try:
            refresh_folder(home, folder)
        except FolderError as error:
            return dg.SkipReason(str(error))
    found, _ = staleness(home)
    if not found.reasons:
        return dg.SkipReason("no group is stale")
    name = str(GROUPS.name)
    known = set(context.instance.get_dynamic_partitions(name))
    new = [key for key in found.groups if key not in known]
    if new:
        context.instance.add_dynamic_partitions(name, new)
    order = context.instance.get_dynamic_partitions(name)
    return range_requests(found.reasons, order, f"{context.scheduled_execution_time:%Y-%m-%d}")


@dg.schedule(
    job=build_index, cron_schedule="30 4 * * *",
    default_status=dg.DefaultScheduleStatus.STOPPED,
    description="Vectors of what changed, and a new snapshot, after the daily refresh.",
)
def daily_index(
    context: dg.ScheduleEvaluationContext, home: dg.ResourceParam[Home]
) -> dg.RunRequest | dg.SkipReason:
    """Nothing to do where the snapshot is that of the tables."""
    if not staleness(home)[0].index:
        return dg.SkipReason("the published snapshot is that of the tables")
    return dg.RunRequest(run_key=f"index:{context.scheduled_execution_time:%Y-%m-%d}")


daily_maintenance = dg.ScheduleDefinition(
    name="daily_maintenance", job=maintenance, cron_schedule="30 5 * * *",
    default_status=dg.DefaultScheduleStatus.STOPPED,
    description="Carries deletions through, drops superseded versions, compacts the vectors.",
)

SCHEDULES = (daily_refresh, daily_index, daily_maintenance)
