"""Group tables in and out of Dagster: one Parquet file a table and group, written whole or not."""

from __future__ import annotations

import dagster as dg

from assets.group_tables import ASSET_TABLES, GroupInputs, GroupOutputs
from storage.home import Home
from storage.tables import TableStore


class GroupTablesIOManager(dg.IOManager):
    """Writes the groups that changed; gives readers that open a table when it is asked for.

    The same shape serves a run over one key and a run over many (Dagster's own
    ``UPathIOManager`` refuses the second on output).
    """

    def __init__(self, home: Home) -> None:
        self._store = TableStore(home)

    def handle_output(self, context: dg.OutputContext, obj: GroupOutputs) -> None:
        """Write each table of each group; a group that is not in ``obj`` stays as it is."""
        names = ASSET_TABLES[context.asset_key.path[-1]]
        strangers = set(obj.groups) - set(context.asset_partition_keys)
        if strangers:
            raise dg.DagsterInvariantViolationError(
                f"{context.asset_key.to_user_string()} gave tables of groups outside its run: "
                f"{sorted(strangers)[:5]}"
            )
        changed = 0
        for group, made in obj.groups.items():
            for name in names:
                written = self._store.write(
                    name, group, made.tables[name],
                    code_version=obj.code_version, input_hash=made.input_hash,
                )
                changed += written.changed
        context.add_output_metadata({"files changed": changed})

    def load_input(self, context: dg.InputContext) -> GroupInputs:
        """Readers of the upstream asset's tables."""
        return GroupInputs(self._store, context.asset_key.path[-1])
