"""Writer of a batch DataFrame to files, in a Spark job beside those of epochs.

    run-N/dataframe-S-P.<uuid>/   part P of source S as one driver writes it; no epoch reads it
    run-N/dataframe-S-P/          complete and durable: one rename made it, and no driver adds to it

A driver that was replaced, and wakes up, goes on in a directory of its own. If it is the first that completes one, its rows
are as good as those of the next driver: none was read before.
"""

from __future__ import annotations

import os
import shutil
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame

from penstock.errors import PenstockError
from penstock.failpoint import failpoint
from penstock.spark.session.job_settings import POOL
from penstock.wire.atomic_file import create_directory, sync_directory

_COMPLETE = "_SUCCESS"
"""Spark's mark of a complete directory; a setting of the session may leave it out."""

_POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class WriteLimits:
    """Limits of the writing of a DataFrame.

    Attributes:
        records_per_file: Most records of a file: an epoch reads whole files.
        tasks: Most tasks at the same time; None sets no limit.
    """

    records_per_file: int
    tasks: int | None = None


class FrameWriter:
    """Writes one DataFrame, unless that is done."""

    def __init__(
        self, frame: DataFrame, target: Path, limits: WriteLimits, fence: Callable[[], None]
    ) -> None:
        self._frame = frame
        self._target = target
        self._limits = limits
        self._fence = fence
        self._group = f"{target.name}-{uuid.uuid4().hex}"
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None

    @property
    def is_complete(self) -> bool:
        """True if all files are there."""
        return is_written(self._target)

    def start(self) -> None:
        """Begin to write in a thread of its own, unless it is done or under way."""
        if self._thread is None and not self.is_complete:
            name = f"{threading.current_thread().name}-{self._target.name}"
            self._thread = threading.Thread(target=self._run, name=name, daemon=True)
            self._thread.start()

    def check(self) -> bool:
        """Return whether all files are there."""
        if self._failure is not None:
            raise self._failure
        return self.is_complete

    def wait(self) -> None:
        """Return when all files are there."""
        if self._thread is not None:
            self._thread.join()
        self.check()

    def stop(self) -> None:
        """Cancel what is under way; return when the thread has ended."""
        thread = self._thread
        while thread is not None and thread.is_alive():
            # More than once: the job may begin behind the first call.
            self._frame.sparkSession.sparkContext.cancelJobGroup(self._group)
            thread.join(_POLL_SECONDS)

    def _run(self) -> None:
        context = self._frame.sparkSession.sparkContext
        try:
            context.setJobGroup(self._group, f"writing {self._target.name}", interruptOnCancel=True)
            # A pool of its own: in that of the epochs, its tasks would have the next free slots, as it began first.
            context.setLocalProperty(POOL, self._group)
            self._write()
        except BaseException as failure:  # noqa: BLE001 - raised in the thread of the run
            self._failure = self._fenced() or failure

    def _fenced(self) -> PenstockError | None:
        """Return the reason if this driver was replaced: the next one has removed what it wrote."""
        try:
            self._fence()
        except PenstockError as fenced:
            return fenced
        return None

    def _write(self) -> None:
        target, limits = self._target, self._limits
        self._fence()
        create_directory(target.parent)
        for left in target.parent.glob(f"{target.name}.*"):
            # Files that a replaced driver still adds there stay unread.
            shutil.rmtree(left, ignore_errors=True)
        own = target.with_name(f"{target.name}.{uuid.uuid4().hex}")
        frame = self._frame if limits.tasks is None else self._frame.coalesce(limits.tasks)
        failpoint("frame.begun")
        frame.write.option("maxRecordsPerFile", limits.records_per_file).parquet(str(own))
        failpoint("frame.written")
        (own / _COMPLETE).touch()
        put_whole(own, target, self._fence, "frame")


def put_whole(own: Path, target: Path, fence: Callable[[], None], place: str) -> None:
    """Give a directory of files that is complete its name, durably."""
    for path in own.iterdir():
        _sync(path)
    sync_directory(own)
    fence()
    failpoint(f"{place}.checked")
    try:
        own.rename(target)
    except OSError:
        if not target.is_dir():
            raise
        shutil.rmtree(own, ignore_errors=True)
    sync_directory(target.parent)
    failpoint(f"{place}.complete")


def directory_of(run_directory: Path, source: int, part: int) -> Path:
    """Return the directory of the files of a DataFrame."""
    return run_directory / f"dataframe-{source}-{part}"


def is_written(target: Path) -> bool:
    """Return whether a directory has all files of a DataFrame."""
    return (target / _COMPLETE).exists()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
