"""A job whose directory is in a store of objects: its limits, and the numbers of its drivers."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from penstock.config.options import CHECKPOINT_DIR
from penstock.errors import CallSite, DecodeError, JobDirectoryError, JobLockedError
from penstock.failpoint import failpoint
from penstock.filesystem.stored_path import JobPath, StoredPath
from penstock.plan.phases.backlog import snapshot_parts
from penstock.plan.physical import PhysicalPlan
from penstock.program.run_settings import RunKind
from penstock.spark.session.process_identity import ProcessIdentity
from penstock.wire.atomic_file import decode_verified, encode_verified
from penstock.wire.fence import Fence, driver_name

_Refused = tuple[str, CallSite | None]


def check_can_be_stored(path: JobPath, plan: PhysicalPlan) -> None:
    """Refuse a job that cannot have its checkpoint directory in a store."""
    if not isinstance(path, StoredPath):
        return
    for why, origin in (*_sources(plan), *_sinks(plan)):
        raise JobDirectoryError(
            f"{CHECKPOINT_DIR.key} is {path}, and {why}",
            hint="Use a checkpoint directory on a file system that the driver and all executors see, such as a "
            "network mount.",
            origin=origin,
        )


def _sources(plan: PhysicalPlan) -> Iterator[_Refused]:
    for source, part in snapshot_parts(plan).items():
        del part
        planned = plan.source(source)
        yield (
            f"source {planned.name!r} captures a snapshot in files of it, which must be on a mounted file system",
            planned.origin,
        )
    live = {of.source for run in plan.runs if run.kind is RunKind.LIVE for of in run.readings}
    for planned in plan.sources:
        if planned.id in live and any(part.is_written_first for part in planned.parts):
            yield (
                f"source {planned.name!r} is a DataFrame, which Spark writes to files of it through Hadoop first",
                planned.origin,
            )


def _sinks(plan: PhysicalPlan) -> Iterator[_Refused]:
    for sink in plan.sinks:
        if not sink.sink.may_stage_in_store:
            yield (
                f"sink {sink.name!r} ({sink.sink.kind}) keeps files in it that must be on a mounted file system",
                sink.origin,
            )


_OLD_JVM_SECONDS = 30.0


def wait_for_jvm(known: dict[str, Any], directory: JobPath) -> None:
    """Wait until the JVM of a killed driver has ended: it could still write."""
    jvm = ProcessIdentity.from_json(known["jvm"])
    if jvm is None or ProcessIdentity.from_json(known["driver"]) == ProcessIdentity.own():
        return
    deadline = time.monotonic() + _OLD_JVM_SECONDS
    while jvm.runs_here():
        if time.monotonic() > deadline:
            raise JobLockedError(
                f"the JVM of an earlier driver of {directory} is still running: {jvm}",
                hint=f"End process {jvm.pid} and start again.",
            )
        time.sleep(0.1)


DRIVERS = "drivers"
"""The directory."""

BEAT_SECONDS = 5.0
LOST_SECONDS = 15.0
"""Age from which on the driver of another machine is taken for lost."""

_LOOK_SECONDS = 1.0


class StoredLock:
    """A checkpoint directory in a store that this driver has taken over.

    Attributes:
        fence: The fence, which lets this driver commit until another one takes over.
    """

    def __init__(self, fence: Fence, alive: StoredPath) -> None:
        """Use `take`."""
        self.fence = fence
        self._alive = alive
        self._jvm: ProcessIdentity | None = None
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="penstock-alive", daemon=True)

    @classmethod
    def take(cls, directory: StoredPath) -> StoredLock:
        """Take the next number."""
        drivers = directory / DRIVERS
        newest = newest_driver(directory)
        if newest:
            _wait_until_lost(directory, newest)
        epoch, token = newest + 1, secrets.token_hex(8)
        own = drivers / driver_name(epoch)
        failpoint("lock.number")
        try:
            own.store.create(own.address, encode_verified({"epoch": epoch, "token": token}))
        except FileExistsError:
            raise _refused(directory, None) from None
        failpoint("lock.taken")
        _check_refuses(own)
        lock = cls(Fence(own, epoch, token), drivers / _alive_name(epoch))
        lock._write(ProcessIdentity.own())
        lock._thread.start()
        return lock

    def note_jvm(self, pid: int) -> None:
        """Record the JVM of this driver; it may outlive the driver."""
        self.fence()
        self._jvm = ProcessIdentity.of(pid)
        self._write(ProcessIdentity.own())

    def release(self) -> None:
        """Let other drivers have the directory."""
        self._ended.set()
        self._thread.join()
        with suppress(OSError):  # then the next driver waits
            self._write(None)

    def _beat(self) -> None:
        while not self._ended.wait(BEAT_SECONDS):
            with suppress(OSError):  # only the fence decides
                self._write(ProcessIdentity.own())

    def _write(self, driver: ProcessIdentity | None) -> None:
        with self._lock:
            jvm = None if driver is None or self._jvm is None else self._jvm.to_json()
            payload = {"driver": None if driver is None else driver.to_json(), "jvm": jvm}
            self._alive.store.write(self._alive.address, encode_verified(payload))


def newest_driver(directory: StoredPath) -> int:
    """Return the greatest number of a driver, 0 if there is none."""
    names = [path.name for path in (directory / DRIVERS).iterdir()]
    return max((int(name.partition(".")[0]) for name in names if name.endswith(".json")), default=0)


def is_alive(directory: StoredPath) -> bool:
    """Return whether a driver seems to run the job."""
    newest = newest_driver(directory)
    alive = directory / DRIVERS / _alive_name(newest)
    driver = ProcessIdentity.from_json(_processes(alive).get("driver"))
    if driver is None or driver.has_ended():
        return False
    age = alive.store.age_seconds(alive.address)
    return driver.runs_here() or (age is not None and age < LOST_SECONDS)


def _wait_until_lost(directory: StoredPath, newest: int) -> None:
    """Return when a driver is not alive."""
    alive = directory / DRIVERS / _alive_name(newest)
    known = _processes(alive)
    driver = ProcessIdentity.from_json(known.get("driver"))
    if driver is None:
        return
    if driver.runs_here():
        raise _refused(directory, driver)
    last = None
    while not driver.has_ended():
        age = alive.store.age_seconds(alive.address)
        if age is None or age >= LOST_SECONDS:
            break
        if last is not None and age < last:
            raise _refused(directory, driver)
        last = age
        time.sleep(_LOOK_SECONDS)
    wait_for_jvm(known, directory)


def _check_refuses(own: StoredPath) -> None:
    """Check that the store does not create an object again: one that ignores the condition would number two drivers alike."""
    try:
        own.store.create(own.address, own.read_bytes())
    except FileExistsError:
        return
    raise JobDirectoryError(
        f"the store of {own} ignores If-None-Match: it has replaced an object in a request to create it only if there is none",
        hint="Without that two drivers could run the job at once. Use a store that supports the condition (Amazon S3, MinIO, Ceph), "
        "or a checkpoint directory on a mounted file system.",
    )


def _processes(alive: StoredPath) -> dict[str, Any]:
    try:
        return decode_verified(alive.read_bytes(), alive)
    except (FileNotFoundError, DecodeError):
        return {}


def _alive_name(epoch: int) -> str:
    return driver_name(epoch).removesuffix("json") + "alive"


def _refused(directory: StoredPath, driver: ProcessIdentity | None) -> JobLockedError:
    who = "" if driver is None else f" ({driver})"
    return JobLockedError(
        f"another driver{who} is running the job in {directory}",
        hint="Stop it first, or give this job a checkpoint directory of its own. If it hangs and "
        f"cannot be ended, remove the newest object .alive in {directory / DRIVERS}: whatever it commits later is "
        "refused.",
    )
