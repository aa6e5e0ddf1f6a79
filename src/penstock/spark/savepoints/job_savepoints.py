"""The savepoints of a job: what each pipeline adds, and one manifest over all.

    request         served when every pipeline is in a live run, or has ended
    each pipeline   adds state and positions at the end of one of its own micro-batches; if the job is to
                    stop, it commits nothing afterwards and waits
    the last one    adds those of pipelines that have ended, writes the manifest, answers the request

Pipelines share no record, so their micro-batches need not be the same. The part of each is recorded
(`run-N.savepoint.json`) before its micro-batch counts as settled: a driver that starts in between goes on with
it. A job with one pipeline completes its savepoint at once, and needs no such record.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from penstock.config.options import SAVEPOINT_DIR
from penstock.errors import JobFencedError, PenstockError, SavepointError
from penstock.failpoint import failpoint
from penstock.filesystem.object_path import ObjectPath
from penstock.filesystem.stored_path import JobPath, store_of
from penstock.observe.events.job_events import SavepointFailed, SavepointTaken
from penstock.plan.physical import RunPlan
from penstock.spark.driver.run_context import JobContext
from penstock.spark.job.mounted_path import savepoint_place
from penstock.spark.job.observed_job import ObservedJob
from penstock.spark.savepoints.savepoint_requests import SavepointRequest, SavepointRequests
from penstock.spark.savepoints.settled_part import settled_part
from penstock.state.savepoint import (
    MANIFEST,
    Savepoint,
    merged,
    prepare_directory,
    put_savepoint,
    read_savepoint,
    write_manifest,
)
from penstock.wire.job_files import remove_tree, tree_bytes

STOPPED = "stopped"
"""The step of a job that was stopped with a savepoint."""


@dataclass(slots=True)
class _Open:
    """The savepoint in progress.

    Attributes:
        is_written: True if an earlier attempt has written the manifest.
        parts: Pipeline to what it has added.
        is_prepared: True if the directory is ready for state.
        is_completing: True if a thread writes the manifest.
        destination: Where the savepoint is copied to when it is complete; None leaves it where it is.
    """

    request: SavepointRequest
    target: JobPath
    is_written: bool
    parts: dict[int, Savepoint] = field(default_factory=dict)
    is_prepared: bool = False
    is_completing: bool = False
    destination: ObjectPath | None = None


class JobSavepoints:
    """Serves the requests for savepoints of one job. Its pipelines call it from their threads.

    Attributes:
        has_stopped: True if the job was stopped with a savepoint, after which it must not commit.
    """

    def __init__(self, job: JobContext) -> None:
        self._job = job
        self._requests = SavepointRequests(job.directory.path)
        self._lock = threading.RLock()
        self._pipelines = frozenset(pipeline.index for pipeline in job.plan.pipelines)
        self._with_state = frozenset(p.index for p in job.plan.pipelines if not p.is_region)
        self._ready: set[int] = set()
        self._ended: dict[int, int] = {}
        self._open: _Open | None = None
        self._has_reported = False
        self.has_stopped = False

    def begin(self, pipeline: int) -> None:
        """Note that a pipeline is in a live run, which can add to savepoints."""
        with self._lock:
            self._ready.add(pipeline)

    def leave(self, pipeline: int) -> None:
        """Note that a live run is over; another run of the pipeline may follow."""
        with self._lock:
            self._ready.discard(pipeline)

    def end(self, pipeline: int, last: RunPlan) -> None:
        """Note that a pipeline has ended, and complete a savepoint that waited only for it."""
        with self._lock:
            self._ended[pipeline] = last.index
        self._complete(time.monotonic())

    def next(self, pipeline: int) -> SavepointRequest | None:
        """Return the request to which a pipeline is to add now, None if there is none."""
        with self._lock:
            if self._open is None and self._pipelines <= self._ready | self._ended.keys():
                self._begin_first(self._requests.waiting())
            if self._open is not None and self._is_all():
                self._complete(time.monotonic())  # an earlier driver had added everything
            opened = self._open
            return None if opened is None or pipeline in opened.parts else opened.request

    def of_event(self, pipeline: int, event: str | None) -> SavepointRequest | None:
        """Return the open request with a control event, None if the pipeline must not add to it."""
        with self._lock:
            waiting = [request for request in self._requests.waiting() if request.event == event]
            opened = self._open
            if opened is not None and opened.request.event == event and not waiting:
                self._open = None  # withdrawn
            elif opened is None:
                self._begin_first(waiting)
            if self._open is not None and self._is_all():
                self._complete(time.monotonic())
            opened = self._open
            is_open = opened is not None and opened.request.event == event
            return opened.request if opened and is_open and pipeline not in opened.parts else None

    def is_held(self, pipeline: int) -> bool:
        """Return whether a pipeline must not commit, because the job stops with what it has added."""
        with self._lock:
            opened = self._open
            stops = opened is not None and opened.request.stop and pipeline in opened.parts
            return self.has_stopped or stops

    def add(self, run: RunPlan, make: Callable[[JobPath], Savepoint]) -> None:
        """Add what a pipeline has to the open savepoint; complete it if the others have added theirs.

        The job goes on if the savepoint fails.
        """
        started = time.monotonic()
        with self._lock:
            opened = self._open
        if opened is None:  # it failed meanwhile
            return
        try:
            with self._lock:
                if not opened.is_prepared:
                    prepare_directory(opened.target)
                    opened.is_prepared = True
            part = make(opened.target)
            if len(self._with_state) > 1:
                self._job.directory.record(_step(run.index), part.to_json())
            with self._lock:
                opened.parts[run.pipeline] = part
        except JobFencedError:
            raise  # the other driver answers the request
        except (PenstockError, OSError) as cause:
            self._fail(opened, cause)
            return
        failpoint("savepoint.added")
        self._complete(started)

    def _begin_first(self, waiting: list[SavepointRequest]) -> None:
        """Begin the first of some requests, with what an earlier driver has added to it."""
        if self.has_stopped or not waiting:
            return
        request = waiting[0]
        try:
            target, destination = self._places(request)
            opened = _Open(request, target, _is_complete(target, request), destination=destination)
        except PenstockError as cause:
            self._fail(_Open(request, self._job.directory.path, is_written=False), cause)
            return
        for run in self._job.plan.runs:
            recorded = self._job.directory.step(_step(run.index))
            if recorded is not None and recorded["id"] == request.id:
                opened.parts[run.pipeline] = Savepoint.from_json(recorded)
                opened.is_prepared = True
        self._open = opened

    def _is_all(self) -> bool:
        opened = self._open
        if opened is None or opened.is_completing:
            return False
        return opened.is_written or self._pipelines <= opened.parts.keys() | self._ended.keys()

    def _complete(self, started: float) -> None:
        """Write the manifest and answer the request, if every pipeline has added its part."""
        with self._lock:
            opened = self._open
            if opened is None or not self._is_all():
                return
            opened.is_completing = True
        try:
            if not opened.is_written:
                self._write(opened)
            place = self._put(opened)
        except JobFencedError:
            raise
        except (PenstockError, OSError) as cause:
            self._fail(opened, cause)
            return
        failpoint("savepoint.written")
        if opened.request.stop:
            self._job.directory.record(STOPPED, {"savepoint": str(place)})
            self.has_stopped = True
        unnamed = read_savepoint(opened.target).unnamed_state
        unreported = () if self._has_reported else unnamed
        self._has_reported = True
        seconds = time.monotonic() - started
        size = _size_bytes(opened.target)
        taken = SavepointTaken(str(place), seconds, opened.request.stop, unreported, size)
        self._job.events.publish(taken)
        self._requests.succeed(opened.request, place, unnamed)
        if opened.destination is not None:
            remove_tree(opened.target)
        self._close(opened)

    def _write(self, opened: _Open) -> None:
        parts = dict(opened.parts)
        for pipeline in sorted(self._with_state - parts.keys()):
            observed = ObservedJob.at(self._job.directory.path)
            run = self._ended[pipeline]
            parts[pipeline] = settled_part(
                observed, run, self._session, opened.target, opened.request.id
            )
        self._job.directory.fence()
        write_manifest(opened.target, merged([parts[index] for index in sorted(parts)]))

    def _session(self) -> SparkSession:
        return self._job.session

    def _put(self, opened: _Open) -> JobPath | ObjectPath:
        """Copy the savepoint to the requested place, and return it."""
        if opened.destination is None:
            return opened.target
        store = store_of(opened.destination, self._job.object_settings)
        put_savepoint(store, opened.target, opened.destination, self._job.directory.fence)
        return opened.destination

    def _fail(self, opened: _Open, cause: PenstockError | OSError) -> None:
        error = cause if isinstance(cause, PenstockError) else unwritable(cause)
        self._requests.fail(opened.request, error)
        self._job.events.publish(SavepointFailed(error.problem))
        self._close(opened)

    def _close(self, opened: _Open) -> None:
        with self._lock:
            if self._open is opened:
                self._open = None

    def _places(self, request: SavepointRequest) -> tuple[JobPath, ObjectPath | None]:
        """Return the directory in which a savepoint is made, and where it is copied to then."""
        inside = self._job.directory.path / "savepoints" / request.id
        parent = request.parent or self._job.configuration.get(SAVEPOINT_DIR)
        if parent is not None:
            place = savepoint_place(parent)
            if isinstance(place, ObjectPath):
                return inside, place / request.id
            return place / request.id, None
        if self._job.directory.is_temporary:
            raise SavepointError(
                "the checkpoint directory is temporary, so a savepoint in it would be lost",
                hint=f"Name a directory for the savepoint, or set {SAVEPOINT_DIR.key}.",
            )
        return inside, None


def _step(run: int) -> str:
    return f"run-{run}.savepoint"


def _size_bytes(target: JobPath) -> int | None:
    try:
        return tree_bytes(target)
    except OSError:  # it is complete all the same
        return None


def _is_complete(target: JobPath, request: SavepointRequest) -> bool:
    """Return whether an earlier attempt of the same request wrote the savepoint."""
    return (target / MANIFEST).exists() and read_savepoint(target).id == request.id


def unwritable(cause: OSError) -> SavepointError:
    """Return the error for a savepoint whose files cannot be written."""
    return SavepointError(
        f"the savepoint cannot be written: {cause}",
        hint="Make room, or name a directory this user may write to.",
    )
