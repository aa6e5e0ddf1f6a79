"""Epochs of a few logs without Spark, for tests: tasks, crashes, and what is read back."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import penstock.failpoint
from penstock.errors import JobFailedError
from penstock.filesystem.stored_path import JobPath
from penstock.state.backends.hash.backend import HashBackend
from penstock.state.log.change_log import ChangeLog
from penstock.state.log.epoch_log import EpochLog
from penstock.state.log.epoch_record import RECORDS
from penstock.state.log.extent import SEGMENTS
from penstock.state.log.log_table import with_logs
from penstock.state.log.subtask_log import INLINE_BYTES, LogName, SubtaskLog
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.types import Types

SCHEMA = StateSchema(StateKind.VALUE, Types.LONG())
GROUPS = 4
Copies: TypeAlias = dict[LogName, HashBackend]
"""What the workers keep between epochs."""

PLACES = (
    "epoch.temporaries-removed",
    "epoch.encoded",
    "epoch.record-written",
    "epoch.record-checked",
    "epoch.record-linked",
    "epoch.record-durable",
    "epoch.sweep",
    "epoch.merge-planned",
    "epoch.merge-written",
    "epoch.merge-adopted",
    "epoch.segment-written",
    "epoch.segment-synced",
    "epoch.segment-named",
)
"""All failpoints of these modules; a test compares them with the source."""

PUT_SUCCEEDS = ("epoch.record-linked", "epoch.record-durable", "epoch.sweep")
"""A crash there is after the record can be seen."""


def small_limits(monkeypatch):
    """Merge after a few epochs, and write nothing durably: no test pulls the plug."""
    limits = {"MAX_EXTENTS": 3, "MAX_RECORDS": 6, "NEWEST_RECORDS": 2, "_MERGE_STEP": 2}
    for name, value in limits.items():
        monkeypatch.setattr(f"penstock.state.log.epoch_log.{name}", value)
    monkeypatch.setattr("penstock.state.log.log_merge.SMALL_BYTES", 600)
    monkeypatch.setattr("penstock.state.log.log_merge.SEGMENT_BYTES", 1500)
    monkeypatch.setattr("penstock.state.log.log_table.RECENT_BYTES", 400)
    monkeypatch.setattr("penstock.state.log.change_log._MIN_REWRITE_BYTES", 1)
    not_durable(monkeypatch)


def not_durable(monkeypatch):
    """Spare the disk."""
    for call in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, call, lambda _: None)


def run_task(directory, view, backend, changes, *, inline_bytes=INLINE_BYTES, compact_bytes=1500):
    """Put or remove values, as a task of an epoch does, and return its storage."""
    storage = SubtaskLog(directory, view, inline_bytes=inline_bytes)
    try:
        log = ChangeLog(storage, min_compact_bytes=compact_bytes)
        backend.catch_up(log)
        table = backend.table("op", "s", SCHEMA)
        for key, value in changes.items():
            if value is None:
                table[key % GROUPS].remove(key)
            else:
                table[key % GROUPS].put(key, value)
        appended = log.append(backend.drain(), b"memory", backend)
        backend.written(appended.position)
    except BaseException:
        backend.discard()  # as every subtask does that fails
        storage.close()
        raise
    return storage


def updated(model, changes):
    """Return the content of a log after changes."""
    return {key: value for key, value in {**model, **changes}.items() if value is not None}


def content(directory, view):
    """Return what a new task reads."""
    backend = HashBackend()
    backend.catch_up(ChangeLog(SubtaskLog(directory, view)))
    table = backend.table("op", "s", SCHEMA)
    found: dict[int, int] = {}
    for group in table.groups():
        keys = table[group].keys()
        found |= {key: table[group].get(key) for key in keys}
    return found


def contents_elsewhere(directory):
    """Return the newest epoch and all logs, as another process reads them."""
    return with_logs(
        directory,
        lambda record, views: (
            record.epoch,
            {name: content(directory, view) for name, view in views.items()},
        ),
    )


def opened(directory):
    """Return the log of a new driver."""
    log = EpochLog(directory)
    log.open()
    return log


def put(log, changes, *, copies=None, outcome=b"", **how):
    """Run the tasks of an epoch and put its record."""
    done = []
    for name, some in changes.items():
        backend = HashBackend() if copies is None else copies.setdefault(name, HashBackend())
        done.append(run_task(log._directory, log.view(name), backend, some, **how).change(*name))
    return log.put(log.next_epoch, {}, done, outcome)


def contents(log, names):
    """Return what new tasks of some logs read."""
    return {name: content(log._directory, log.view(name)) for name in names}


def files(directory: JobPath):
    """Return all files of the log."""
    return {
        f"{folder}/{path.name}"
        for folder in (RECORDS, SEGMENTS)
        for path in (directory / folder).iterdir()
    }


def merge(log: EpochLog):
    """Merge at once, if it is time."""
    planned = log.plan_merge()
    if planned is not None:
        planned.write()
        log.adopt(planned)


@contextmanager
def crash_at(place, nth, *, killed=False):
    """Fail at the nth pass of a failpoint; after a kill, nothing is cleaned up."""
    dead = []

    def die(name):
        dead.append(name)
        raise JobFailedError(name, hint="")

    def unlink(path, *, missing_ok=False):
        if not (killed and dead):
            original_unlink(path, missing_ok=missing_ok)

    original_unlink, original_die = Path.unlink, penstock.failpoint._ACTIONS["raise"]
    penstock.failpoint.count_anew()
    penstock.failpoint._ACTIONS["raise"] = die
    Path.unlink = unlink  # type: ignore[assignment, method-assign]
    os.environ["PENSTOCK_FAILPOINT"] = f"{place}:{nth}:raise"
    try:
        yield dead
    finally:
        del os.environ["PENSTOCK_FAILPOINT"]
        Path.unlink = original_unlink  # type: ignore[method-assign]
        penstock.failpoint._ACTIONS["raise"] = original_die
