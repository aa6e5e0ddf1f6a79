"""The first start of a job from a savepoint: matches it with the plan, copies its files, records the step.

State and positions are matched by uid. Those of operators and sources that the program no longer has
are an error, unless the user allows to drop them. New operators start without state, new sources at
their beginning. State that matches only by the number of an operator (or source) among
indistinguishable ones is always an error.

State files are copied into the checkpoint directory, so that the job never needs the savepoint
again. Then the step `restored` is recorded; without it the next start copies them again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from penstock.config.configuration import Configuration
from penstock.config.options import IGNORE_SOURCE_POSITIONS, IGNORE_UNCLAIMED_STATE, RECOVERY_PATH
from penstock.errors import CallSite, SavepointError, SavepointMismatchError
from penstock.failpoint import failpoint
from penstock.filesystem.object_path import ObjectPath
from penstock.filesystem.stored_path import JobPath, store_of
from penstock.graph.source_switch import SourceSwitch
from penstock.observe.events.job_events import Resumed
from penstock.observe.events.listeners import JobEvents
from penstock.plan.compat.fingerprint import may_have_key_groups
from penstock.plan.compat.function_digest import (
    numbered_sources,
    numbered_uids,
    source_uids,
)
from penstock.plan.phases.edges import region_of
from penstock.plan.physical import HandOver, PhysicalPlan, PipelinePlan, RunPlan
from penstock.program.run_settings import RunKind
from penstock.spark.driver.changed_functions import functions_of, publish_changes
from penstock.spark.driver.restored import Restored
from penstock.spark.job.job_directory import JobDirectory, key_groups_hint
from penstock.spark.job.mounted_path import savepoint_place
from penstock.spark.job.run_outline import SWITCHES
from penstock.spark.job.state_layout import StateLayout, matched_watermarks
from penstock.spark.session.settings import early_object_settings
from penstock.spark.sources.pinned_files import PinnedFiles
from penstock.spark.sources.source_row import ResumedPart
from penstock.spark.sources.split_reads import LATER, SNAPSHOT
from penstock.spark.sources.table import row_of
from penstock.state.savepoint import (
    MANIFEST,
    Savepoint,
    SourceRecord,
    fetch_savepoint,
    read_savepoint,
    restore_state,
)
from penstock.wire.job_files import remove_tree

_STEP = "restored"
_FETCHED = "fetched"


def restore(
    directory: JobDirectory, plan: PhysicalPlan, configuration: Configuration, events: JobEvents
) -> Restored | None:
    """Return the state and positions of a savepoint, None if the job did not start from one.

    The setting is for new jobs: if the job has begun in the directory, it is ignored.
    """
    recorded = directory.step(_STEP)
    if recorded is not None:
        layout = StateLayout.from_json(recorded["layout"])
        return Restored.from_json(recorded).moved(plan, layout, directory.fingerprint)
    configured = configuration.get(RECOVERY_PATH)
    if configured is None or directory.has_begun:
        return None
    path, savepoint, place = fetched_savepoint(directory, configured, configuration)
    matched = match_savepoint(
        plan,
        savepoint,
        place,
        ignore_unclaimed=configuration.get(IGNORE_UNCLAIMED_STATE),
        ignore_positions=configuration.get(IGNORE_SOURCE_POSITIONS),
    )
    layout = StateLayout.of(plan, directory.fingerprint)
    layout = replace(layout, max_parallelism=savepoint.max_parallelism)
    restored = replace(matched, layout=layout)
    try:
        restore_state(path, savepoint, directory.path / _STEP)
    except OSError as cause:
        raise SavepointError(
            f"the state of {place} cannot be copied to {directory.path}: {cause}",
            hint="Make room, and check that both directories can be accessed by this user.",
        ) from cause
    remove_tree(directory.path / _STEP / _FETCHED)
    failpoint("restore.copied")
    directory.record(_STEP, restored.to_json())
    failpoint("restore.recorded")
    events.publish(Resumed(f"savepoint {place} of job {savepoint.job_name!r}"))
    publish_changes(plan, functions_of(savepoint, place), events)
    return restored


def fetched_savepoint(
    directory: JobDirectory, configured: str, configuration: Configuration
) -> tuple[JobPath, Savepoint, Path | ObjectPath]:
    """Return where a savepoint can be read, its manifest, and the place that the settings name.

    One in a store is copied to the checkpoint directory first.
    """
    place = savepoint_place(configured)
    if isinstance(place, Path):
        return place, read_savepoint(place), place
    # A job may fetch several: the one of the job that it replaces, and the one that it has merged with that.
    name = hashlib.sha256(str(place).encode()).hexdigest()[:16]
    path = directory.path / _STEP / _FETCHED / name
    if not (path / MANIFEST).exists():
        path = _fetched(place, path, configuration)
    return path, read_savepoint(path), place


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


_IGNORE_STATE, _IGNORE_POSITIONS = IGNORE_UNCLAIMED_STATE.key, IGNORE_SOURCE_POSITIONS.key


def match_savepoint(
    plan: PhysicalPlan,
    savepoint: Savepoint,
    path: object,
    *,
    ignore_unclaimed: bool,
    ignore_positions: bool,
) -> Restored:
    """Return the state and positions that a new job takes over from a savepoint."""
    _check_key_groups(plan, savepoint)
    if not ignore_unclaimed:
        _check_claimed(plan, savepoint)
    _check_numbered(plan, savepoint)
    ids = {uid: source for source, uid in source_uids(plan).items()}
    records = {ids[record.uid]: record for record in savepoint.sources if record.uid in ids}
    for source, record in records.items():
        _check_kinds(plan, source, record)
    goes_on, skips = _runs_that_go_on(plan, savepoint, records)
    going_on = _going_on(plan, records, ignore_positions=ignore_positions)
    return Restored(
        savepoint=str(path),
        goes_on=goes_on,
        skips=skips,
        handed=HandOver(matched_watermarks(plan, savepoint.watermarks), dict(savepoint.memory)),
        state_files=tuple(file.name for file in savepoint.files),
        splits={key: part.splits for key, part in going_on.items() if part.splits is not None},
        left={key: part.left for key, part in going_on.items() if part.left is not None},
        read={
            (source, int(part)): PinnedFiles.from_json(files)
            for source, record in records.items()
            for part, files in record.read.items()
        },
        read_frames=frozenset(source for (source, _), part in going_on.items() if part.is_read),
        names={key: part.names for key, part in going_on.items() if part.names is not None},
        snapshots={
            source: record.position[SNAPSHOT]
            for source, record in records.items()
            if SNAPSHOT in record.position
        },
        switches=_switches(records),
        parts={
            source: record.part for source, record in records.items() if record.part is not None
        },
        began={
            (source, part): record.began.get(str(part))
            for source, record in records.items()
            if record.part is not None
            for part in range(record.part + 1)
        },
    )


def _check_key_groups(plan: PhysicalPlan, savepoint: Savepoint) -> None:
    groups = savepoint.max_parallelism
    if not may_have_key_groups(groups, plan.options.max_parallelism):
        raise SavepointMismatchError(
            f"the savepoint has {groups} key groups, but this job has {plan.options.max_parallelism}",
            hint=key_groups_hint(groups),
        )


def _going_on(
    plan: PhysicalPlan, records: Mapping[int, SourceRecord], *, ignore_positions: bool
) -> dict[tuple[int, int], ResumedPart]:
    """Return the positions at which parts of sources go on, and those at which later parts begin."""
    resumed_parts: dict[tuple[int, int], ResumedPart] = {}
    for source, record in records.items():
        if record.part is None:
            continue
        resumed = row_of(plan.source(source).parts[record.part]).resume(record.position)
        if resumed is None and not ignore_positions:
            raise _cannot_go_on(plan, source, record)
        resumed_parts[source, record.part] = resumed or ResumedPart()
        resumed_parts |= _later_parts(plan, source, record)
    return resumed_parts


def _switches(records: Mapping[int, SourceRecord]) -> dict[tuple[int, int], SourceSwitch]:
    return {
        (source, int(part)): SourceSwitch.from_json(switch)
        for source, record in records.items()
        if record.part is not None
        for part, switch in record.position.get(SWITCHES, {}).items()
    }


def _later_parts(
    plan: PhysicalPlan, source: int, record: SourceRecord
) -> dict[tuple[int, int], ResumedPart]:
    """Return the positions at which parts begin that the source had not reached."""
    resumed_parts = {}
    for name, position in record.position.get(LATER, {}).items():
        resumed = row_of(plan.source(source).parts[int(name)]).resume(position)
        if resumed is not None:
            resumed_parts[source, int(name)] = resumed
    return resumed_parts


def _check_claimed(plan: PhysicalPlan, savepoint: Savepoint) -> None:
    """Refuse state and sources that the plan lacks."""
    takers = {op.uid for level in plan.levels if level.level > 0 for op in level.operators}
    without = [uid for uid in savepoint.operators_with_state if uid not in takers]
    if without:
        raise SavepointMismatchError(
            f"the savepoint has state of {_names(savepoint, without)}, which this program does "
            f"not have; its operators with keyed state are {', '.join(sorted(takers)) or 'none'}",
            hint=_claim(savepoint, without),
        )
    known = source_uids(plan).values()
    gone = [source.uid for source in savepoint.sources if source.uid not in known]
    if gone:
        raise SavepointMismatchError(
            f"the savepoint has the position of source {_names(savepoint, gone)}, which this "
            f"program does not have; it has {', '.join(sorted(known))}",
            hint=f"Give the source its earlier uid or name, or set {_IGNORE_STATE} to drop its "
            "position.",
        )


def _claim(savepoint: Savepoint, uids: list[str]) -> str:
    """Return the hint about state that the plan lacks."""
    drop = f"or set {_IGNORE_STATE} to drop the state."
    generated = savepoint.generated_uids
    if not any(uid in generated for uid in uids):
        return f"Give the operator that takes the state over this uid, {drop}"
    shown = next(uid for uid in uids if uid in generated)
    return (
        "The operator had no uid, so it is known by its place in the program, which has changed. "
        f"Give the operator that takes the state over its uid, as in .uid({shown!r}), {drop}"
    )


def _check_numbered(plan: PhysicalPlan, savepoint: Savepoint) -> None:
    """Refuse state and positions that match only by number."""
    numbered = numbered_uids(plan)
    state = [uid for uid in savepoint.operators_with_state if uid in numbered]
    if state:
        raise SavepointMismatchError(
            f"the savepoint has state of {_names(savepoint, state)}, of which this program has "
            "several at equal places, without a uid: only their order assigns the states",
            hint="Give each of them the uid of the state that is its own, as in "
            f".uid({state[0]!r}); or another one, to begin without state.",
            origin=_origin_of(plan, state[0]),
        )
    uids = source_uids(plan)
    ids = {uid: source for source, uid in uids.items()}
    by_name = numbered_sources(plan) | {
        ids[record.uid] for record in _of_one_name(savepoint) if record.uid in ids
    }
    given = {node.id for node in plan.graph.nodes if node.uid is not None}
    unclear = [record.uid for record in savepoint.sources if ids.get(record.uid) in by_name - given]
    if unclear:
        raise SavepointMismatchError(
            f"the savepoint has the position of source {_names(savepoint, unclear)}, one of "
            "several of that name: only their order assigns the positions",
            hint="Give each source the uid of the position that is its own, as in "
            f"from_source(…, WatermarkStrategy.no_watermarks(), …).uid({unclear[0]!r}), before "
            "assign_timestamps_and_watermarks; or another name in from_source, to begin at its "
            "beginning.",
            origin=plan.source(ids[unclear[0]]).origin,
        )


def _of_one_name(savepoint: Savepoint) -> list[SourceRecord]:
    """Return the sources without a uid whose name occurs several times in the savepoint."""
    numbered = [source for source in savepoint.sources if _is_numbered(source)]
    names = [source.name for source in numbered]
    return [source for source in numbered if names.count(source.name) > 1]


def _is_numbered(source: SourceRecord) -> bool:
    return re.fullmatch(re.escape(source.name) + r"-\d{1,9}", source.uid) is not None


def _origin_of(plan: PhysicalPlan, uid: str) -> CallSite | None:
    operators = (op for level in plan.levels for op in level.operators)
    return next((op.origin for op in operators if op.uid == uid), None)


def _check_kinds(plan: PhysicalPlan, source: int, record: SourceRecord) -> None:
    """Refuse another kind of source under the same uid."""
    described = plan.source(source)
    kinds = tuple(part.kind for part in described.parts)
    if kinds != record.kinds:
        raise SavepointMismatchError(
            f"source {record.uid!r} was {', then '.join(record.kinds)} when the savepoint was "
            f"taken and is {', then '.join(kinds)} now, so its position has no meaning",
            hint="Give the new source another uid or name, and set "
            f"{_IGNORE_STATE} to forget where the old one stood.",
            origin=described.origin,
        )


def _runs_that_go_on(
    plan: PhysicalPlan, savepoint: Savepoint, records: dict[int, SourceRecord]
) -> tuple[tuple[int, ...], frozenset[int]]:
    """Return the run of each pipeline that goes on, and the runs before them, which are left out.

    A pipeline of which the savepoint has nothing begins at its beginning. A bounded region was complete
    when the savepoint was taken.
    """
    goes_on: list[int] = []
    skips: set[int] = set()
    for pipeline in plan.pipelines:
        runs = plan.runs_of(pipeline.index)
        known = {source: records[source] for source in pipeline.sources if source in records}
        if pipeline.is_region and len(plan.pipelines) > 1:
            skips |= {run.index for run in runs if known}
        elif known or len(plan.pipelines) == 1 or _has_state(plan, pipeline, savepoint):
            run = _run_that_goes_on(plan, pipeline, known)
            goes_on.append(run.index)
            skips |= {before.index for before in runs if before.index < run.index}
        elif skips.intersection(runs[0].after):
            raise _behind_history(plan, pipeline.sources[0], runs[0])
    return tuple(goes_on), frozenset(skips)


def _has_state(plan: PhysicalPlan, pipeline: PipelinePlan, savepoint: Savepoint) -> bool:
    with_state = {*savepoint.operators_with_state}
    levels = region_of(plan, plan.runs_of(pipeline.index)[0]).levels
    return any(op.uid in with_state for level in levels for op in level.operators)


def _run_that_goes_on(
    plan: PhysicalPlan, pipeline: PipelinePlan, records: dict[int, SourceRecord]
) -> RunPlan:
    """Return the live run of a pipeline that reads the same parts of sources as the savepoint's."""
    runs = plan.runs_of(pipeline.index)
    fitting = [
        run
        for run in runs
        if run.kind is RunKind.LIVE and all(_fits(run, s, r) for s, r in records.items())
    ]
    if not fitting:
        described = ", ".join(f"{run.name} ({run.kind.name.lower()})" for run in runs)
        parts = "; ".join(
            f"{r.uid!r} in part {r.part + 1} of {len(r.kinds)}"
            for r in records.values()
            if r.part is not None
        )
        raise SavepointMismatchError(
            f"no live run of this job reads what the savepoint was reading ({parts}); its runs "
            f"are {described}",
            hint="Start from a savepoint in STREAMING mode, with the sources it was taken with.",
        )
    run = fitting[0]
    for source in pipeline.sources:
        begins = [r.parts[0] for r in run.readings if r.source == source]
        if source not in records and begins and begins[0] > 0:
            raise _behind_history(plan, source, run)
    return run


def _behind_history(plan: PhysicalPlan, source: int, run: RunPlan) -> SavepointMismatchError:
    described = plan.source(source)
    return SavepointMismatchError(
        f"source {described.name!r} is not in the savepoint, and the job goes on in its run "
        f"{run.name!r}, behind the history of that source",
        hint="Add the source without its history, or start the job without a savepoint.",
        origin=described.origin,
    )


def _fits(run: RunPlan, source: int, record: SourceRecord) -> bool:
    """Return whether a live run can begin where a source was.

    A source without a part waited for the history of another one, or has given results. A run that
    reads history beside live input reads the former from its beginning.
    """
    parts = next((reading.parts for reading in run.readings if reading.source == source), ())
    if record.part is None:
        return not parts or any(len(reading.parts) > 1 for reading in run.readings)
    return record.part in parts


def _cannot_go_on(plan: PhysicalPlan, source: int, record: SourceRecord) -> SavepointMismatchError:
    described = plan.source(source)
    offsets = record.position.get("offsets")
    if offsets is None:
        return SavepointMismatchError(
            f"source {record.uid!r} is a batch DataFrame with unread rows, which only the old "
            "checkpoint directory can identify",
            hint=f"Pass a DataFrame of the rows that are left, and set {_IGNORE_POSITIONS}.",
            origin=described.origin,
        )
    shown = "; ".join("none" if offset is None else offset for offset in offsets)
    return SavepointMismatchError(
        f"source {record.uid!r} is a streaming DataFrame, which Penstock cannot position; the "
        f"savepoint is at Spark's offset {shown}",
        hint="Make the DataFrame start there (startingOffsets, for Kafka), and set "
        f"{_IGNORE_POSITIONS}.",
        origin=described.origin,
    )


def _names(savepoint: Savepoint, uids: list[str]) -> str:
    return ", ".join(
        repr(uid) if savepoint.name_of(uid) == uid else f"{uid!r} ({savepoint.name_of(uid)})"
        for uid in uids
    )
