"""The first start of a job from a savepoint: checks the savepoint, copies its files, records the step.

State files are copied into the checkpoint directory, so that the job never needs the savepoint
again. Then the step `restored` is recorded; without it the next start copies them again.
"""

from __future__ import annotations

from penstock.config.configuration import Configuration
from penstock.config.options import (
    IGNORE_SOURCE_POSITIONS,
    IGNORE_UNCLAIMED_STATE,
    RECOVERY_PATH,
)
from penstock.errors import SavepointError
from penstock.events.job_events import Resumed
from penstock.events.listeners import JobEvents
from penstock.failpoint import failpoint
from penstock.filesystem.object_path import ObjectPath
from penstock.filesystem.stored_path import JobPath
from penstock.filesystem.stores import store_of
from penstock.plan.physical import PhysicalPlan
from penstock.spark.driver.changed_functions import functions_of, publish_changes
from penstock.spark.driver.recovery import match_savepoint
from penstock.spark.driver.restored import Restored
from penstock.spark.job.job_directory import JobDirectory
from penstock.spark.job.mounted_path import savepoint_place
from penstock.spark.session.settings import early_object_settings
from penstock.state.savepoint import fetch_savepoint, read_savepoint, restore_state
from penstock.wire.job_files import remove_tree

_STEP = "restored"


def restore(
    directory: JobDirectory, plan: PhysicalPlan, configuration: Configuration, events: JobEvents
) -> Restored | None:
    """Return the state and positions of a savepoint, None if the job did not start from one.

    The setting is for new jobs: if the job has begun in the directory, it is ignored.

    Raises:
        SavepointError: The savepoint is damaged, or does not fit the program.
        JobDirectoryError: The checkpoint directory cannot be read or written.
    """
    recorded = directory.step(_STEP)
    if recorded is not None:
        return Restored.from_json(recorded)
    configured = configuration.get(RECOVERY_PATH)
    if configured is None or directory.has_begun:
        return None
    place = savepoint_place(configured)
    fetched = directory.path / _STEP / "fetched"
    path = _fetched(place, fetched, configuration) if isinstance(place, ObjectPath) else place
    savepoint = read_savepoint(path)
    restored = match_savepoint(
        plan,
        savepoint,
        place,
        ignore_unclaimed=configuration.get(IGNORE_UNCLAIMED_STATE),
        ignore_positions=configuration.get(IGNORE_SOURCE_POSITIONS),
    )
    try:
        restore_state(path, savepoint, directory.path / _STEP)
    except OSError as cause:
        raise SavepointError(
            f"the state of {place} cannot be copied to {directory.path}: {cause}",
            hint="Make room, and check that both directories can be accessed by this user.",
        ) from cause
    remove_tree(fetched)
    failpoint("restore.copied")
    directory.record(_STEP, restored.to_json())
    failpoint("restore.recorded")
    events.publish(Resumed(f"savepoint {place} of job {savepoint.job_name!r}"))
    publish_changes(plan, functions_of(savepoint, place), events)
    return restored


def _fetched(path: ObjectPath, target: JobPath, configuration: Configuration) -> JobPath:
    """Copy a savepoint from a store to a directory, and return the directory."""
    store = store_of(path, early_object_settings(configuration))
    try:
        fetch_savepoint(store, path, target)
    except OSError as cause:
        raise SavepointError(
            f"the savepoint {path} cannot be copied to {target}: {cause}",
            hint="Make room, and check the login and that the store can be reached.",
        ) from cause
    return target


def state_files_of(directory: JobDirectory, restored: Restored) -> list[JobPath]:
    """Return the copies of the state files."""
    return [directory.path / _STEP / name for name in restored.state_files]
