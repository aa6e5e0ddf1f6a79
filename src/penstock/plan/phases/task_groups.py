"""The tasks that read sources: their number, and the sources that share tasks.

A function that is chained to a source is opened in every task that reads the source. So if the program
sets the number of subtasks, no more tasks read a source. A function with several sources is chained to
them only if they share tasks; otherwise it runs after an exchange (`plan.phases.levels`). If the program
does not set the number, Spark decides.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from penstock.plan.physical import PhysicalPlan, RunPlan
from penstock.program.run_settings import RunKind


@dataclass(frozen=True, slots=True)
class TaskGroup:
    """Parts of sources that the same tasks of a run read.

    Attributes:
        parts: (source id, part index), in order of reading.
        tasks: Greatest number of tasks; None lets the amount of input decide.
    """

    parts: tuple[tuple[int, int], ...]
    tasks: int | None


def tasks_reading(plan: PhysicalPlan, source: int, run: RunPlan | None = None) -> int | None:
    """Return the greatest number of tasks that may read a source in a run, None if the program sets none."""
    options = plan.options
    parallelism = options.default_parallelism if options.parallelism_is_set else None
    own = None if run is None else plan.history_tasks(run)
    return own or plan.graph.node(source).parallelism or parallelism


def task_groups(plan: PhysicalPlan, run: RunPlan) -> tuple[TaskGroup, ...]:
    """Return the groups of a run, in order of reading.

    Only split sources share tasks, because rows of files are no ranges of positions. In a batch run the
    parts of a hybrid source do not share tasks: they are read one after the other, and tasks are
    numbered in order of reading. In a live run the same tasks read one part, later the next.
    """
    shared: dict[int, list[tuple[int, int]]] = {}
    groups: list[tuple[list[tuple[int, int]], int | None]] = []
    for reading in run.readings:
        tasks = tasks_reading(plan, reading.source, run)
        for part in reading.parts:
            member = (reading.source, part)
            is_split = plan.source(reading.source).parts[part].as_split is not None
            are_apart = run.kind is RunKind.BATCH and len(reading.parts) > 1
            if tasks is None or not is_split or are_apart:
                groups.append(([member], tasks))
            elif tasks in shared:
                shared[tasks].append(member)
            else:
                shared[tasks] = [member]
                groups.append((shared[tasks], tasks))
    return tuple(TaskGroup(tuple(members), tasks) for members, tasks in groups)


def share_tasks(plan: PhysicalPlan, sources: Iterable[int]) -> bool:
    """Return whether some sources share tasks in every run that reads them."""
    wanted = set(sources)
    return all(
        sum(any(source in wanted for source, _ in group.parts) for group in task_groups(plan, run))
        <= 1
        for run in plan.runs
    )
