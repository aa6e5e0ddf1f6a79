"""Reading of the sources whose positions the driver decides, in a live run."""

from __future__ import annotations

from typing import cast

from penstock.graph.log_source import LogSource
from penstock.graph.split_source import SplitSource
from penstock.plan.phases.task_groups import tasks_reading
from penstock.plan.physical import PhysicalPlan, RunPlan
from penstock.spark.live.epochs.log_tail import LogTail
from penstock.spark.sources.read_context import Pinned
from penstock.spark.sources.split_advance import SplitReading


def history_read(plan: PhysicalPlan, run: RunPlan) -> frozenset[tuple[int, int]]:
    """Return (source id, part) of what a run reads of backlog: all parts but the last, unless it is the only one."""
    return frozenset(
        (source, part)
        for source in plan.backlog_sources(run)
        for part in range(max(len(plan.source(source).parts) - 1, 1))
    )


def split_readings(plan: PhysicalPlan, run: RunPlan, pinned: Pinned) -> tuple[SplitReading, ...]:
    """Return the readings of all pinned splits, of each source in order of its parts."""
    ending = {reading.source for reading in run.readings if reading.ends}
    readings = []
    history = history_read(plan, run)
    for (source, part), splits in pinned.splits.items():
        described = plan.source(source).parts[part].as_split
        assert described is not None, "it has splits"
        names = pinned.names.get((source, part))
        head = tail = None
        if names is not None:
            tail = LogTail(cast("LogSource", described), splits)
        elif described.asks_driver is not None:
            head = cast("SplitSource", described).exact_head
        readings.append(
            SplitReading(
                source,
                tuple(splits),
                described.records_per_second,
                source in ending,
                tasks_reading(plan, source),
                head,
                names,
                tail,
                part,
                (source, part) in history,
                plan.source(source).origin,
            )
        )
    return tuple(readings)
