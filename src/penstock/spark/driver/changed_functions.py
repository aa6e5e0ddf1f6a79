"""Functions that differ from those which made the state of a job: found at its start, and by `penstock plan`.

The step `functions` has the digests of the last start in a checkpoint directory, a savepoint those of its job. Earlier
versions recorded none, and their state is not compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from penstock.config.configuration import Configuration
from penstock.config.options import CHECKPOINT_DIR, RECOVERY_PATH
from penstock.filesystem.object_path import ObjectPath
from penstock.observe.events.job_events import FunctionChanged
from penstock.observe.events.listeners import JobEvents
from penstock.plan.compat.function_digest import changed_functions, function_digests
from penstock.plan.physical import PhysicalPlan
from penstock.spark.job.job_directory import JobDirectory
from penstock.spark.job.job_steps import steps_of
from penstock.spark.job.mounted_path import checkpoint_path, savepoint_place
from penstock.state.savepoint import Savepoint, read_savepoint

_STEP = "functions"
_OPERATORS = "operators"


class RecordedFunctions(NamedTuple):
    """The digests of the functions that made some state.

    Attributes:
        place: Where the state is, in words.
    """

    place: str
    digests: Mapping[str, str]


def functions_of(savepoint: Savepoint, place: object) -> RecordedFunctions:
    """Return those of a savepoint."""
    digests = {record.uid: record.digest for record in savepoint.operators}
    return RecordedFunctions(f"savepoint {place}", digests)


def publish_changes(plan: PhysicalPlan, known: RecordedFunctions, events: JobEvents) -> None:
    """Publish which operators have other functions than those that are recorded."""
    for op in changed_functions(plan, known.digests):
        events.publish(FunctionChanged(op.name, op.uid, known.place))


def compare_with_last_start(directory: JobDirectory, events: JobEvents) -> Callable[[], None]:
    """Publish which functions have changed since the last start in a directory, and record those of this one.

    The result takes the record back, for a start that makes no state.
    """
    now = function_digests(directory.plan)
    recorded = directory.step(_STEP)
    if recorded is not None:
        known = RecordedFunctions("the last start", recorded[_OPERATORS])
        publish_changes(directory.plan, known, events)
    if recorded is not None and recorded[_OPERATORS] == now:
        return lambda: None
    directory.record(_STEP, {_OPERATORS: now})
    return partial(directory.put_back, _STEP, recorded)


def recorded_functions(configuration: Configuration) -> RecordedFunctions | None:
    """Return the functions that made the state with which a job would start; None if there is none.

    For a savepoint in a store it is None, because only a job may fetch it.
    """
    directory, savepoint = configuration.get(CHECKPOINT_DIR), configuration.get(RECOVERY_PATH)
    if directory is not None:
        recorded = steps_of(checkpoint_path(directory)).read(_STEP)
        if recorded is not None:
            return RecordedFunctions("the last start", recorded[_OPERATORS])
    place = None if savepoint is None else savepoint_place(savepoint)
    if place is None or isinstance(place, ObjectPath):
        return None
    return functions_of(read_savepoint(place), place)
