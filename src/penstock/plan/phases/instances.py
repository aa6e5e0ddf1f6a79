"""In how many tasks sources are read, and which of them are read in the same tasks.

A function that is chained to a source is opened in every task that reads it. So where the program
said how many subtasks there are, a source is read in no more tasks, and a function that several
sources feed is chained to them only if they are read in the same tasks: else it is put behind an
exchange (`plan.levels`). Where nobody said it, Spark decides.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from penstock.plan.physical import PhysicalPlan, RunPlan


@dataclass(frozen=True, slots=True)
class TaskGroup:
    """What is read in the same tasks of a run.

    Attributes:
        parts: (source id, part index), in order of reading.
        tasks: How many there are at most; None is as many as there is something to read for.
    """

    parts: tuple[tuple[int, int], ...]
    tasks: int | None


def tasks_reading(plan: PhysicalPlan, source: int) -> int | None:
    """Return in how many tasks a source may be read, None if the program did not say it."""
    options = plan.options
    asked = options.default_parallelism if options.parallelism_is_asked else None
    return plan.graph.node(source).parallelism or asked


def task_groups(plan: PhysicalPlan, run: RunPlan) -> tuple[TaskGroup, ...]:
    """Return the groups of a run, in order of what is read first.

    Only split sources share tasks, because rows of files are no ranges. The parts of a hybrid
    source do not: tasks are numbered in order of reading, and its parts come one after the other.
    """
    shared: dict[int, list[tuple[int, int]]] = {}
    groups: list[tuple[list[tuple[int, int]], int | None]] = []
    for reading in run.readings:
        tasks = tasks_reading(plan, reading.source)
        for part in reading.parts:
            member = (reading.source, part)
            is_split = plan.source(reading.source).parts[part].as_split is not None
            if tasks is None or not is_split or len(reading.parts) > 1:
                groups.append(([member], tasks))
            elif tasks in shared:
                shared[tasks].append(member)
            else:
                shared[tasks] = [member]
                groups.append((shared[tasks], tasks))
    return tuple(TaskGroup(tuple(members), tasks) for members, tasks in groups)


def share_tasks(plan: PhysicalPlan, sources: Iterable[int]) -> bool:
    """Return whether, in every run, what is read of some sources is read in the same tasks."""
    wanted = set(sources)
    return all(
        sum(any(source in wanted for source, _ in group.parts) for group in task_groups(plan, run))
        <= 1
        for run in plan.runs
    )
