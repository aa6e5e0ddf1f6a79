"""Hidden output of a sink: committed files that threads of the driver merge before readers see them.

A merge has bounded work: it ends with the file that makes it as large as it is to be. Its steps, each durable before
the next one begins:

    merged/<uuid>.<ext>     the records of all its files
    merges/<uuid>.json      manifest: the merge counts, its files are no output any more
    rename                  to the place where readers find it: their only step
    files                   are deleted, and then the manifest

Without a manifest a merge never happened. With it the next driver goes on where this one stopped. A file that is alone
is renamed, and needs no manifest.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet

from penstock.connectors.epoch_marks import damaged_record
from penstock.connectors.files.file_compaction import (
    FileCompaction,
    FileCompactor,
    FileCompactStrategy,
)
from penstock.connectors.files.file_formats import SPECS, FileFormat
from penstock.connectors.files.file_writers import ROW_GROUP_ROWS, ParquetBatchFile
from penstock.connectors.files.hidden_files import UNPUBLISHED, HiddenFile, HiddenFiles
from penstock.connectors.files.staged_files import Layout
from penstock.failpoint import failpoint
from penstock.graph.endpoints import SinkContext
from penstock.wire.atomic_file import (
    create_directory,
    read_verified,
    sync_directory,
    write_atomically,
    write_verified,
)

_AS_THEY_ARE = FileCompaction(FileCompactStrategy(), FileCompactor.identical_file_compactor(), 1)


class HiddenOutput:
    """Hidden output of a committer of staged files; it calls from one thread."""

    def __init__(
        self, layout: Layout, context: SinkContext, compaction: FileCompaction | None
    ) -> None:
        self._hides = compaction is not None
        self._may_commit = context.may_commit
        self._origin = context.origin
        self._hidden = HiddenFiles(layout, context.may_commit)
        self._merger = FileMerger(
            layout, self._hidden, compaction or _AS_THEY_ARE, context.may_commit
        )
        self._mark = context.scratch / UNPUBLISHED / context.sink_id
        self._is_open = False
        self._is_marked = False

    @property
    def hides(self) -> bool:
        """True if small files are hidden."""
        return self._hides

    def open(self) -> None:
        """Take over what earlier drivers have hidden, unless that is done."""
        if not self._is_open:
            self._hidden.take_over()
            self._is_open = True

    def place(self, file: HiddenFile) -> Path:
        """Return where a staged file is to be renamed to. Its directory is there."""
        self.open()
        bucket = self._hidden.files / file.bucket
        if not bucket.exists():
            # Not with its parents: a driver that was replaced must not make its directory anew.
            bucket.mkdir(exist_ok=True)
            sync_directory(bucket.parent)
        if not self._is_marked:
            create_directory(self._mark.parent)
            write_atomically(self._mark, b"")
            self._is_marked = True
        return self._hidden.files / file.place

    def add(self, files: Iterable[Path], sequence: int) -> None:
        """Take note of an epoch and of the places of files that were hidden."""
        if self._is_open:
            self._merger.add([HiddenFile.found(path) for path in files], sequence)

    def recover(self, sequence: int) -> None:
        """Finish merges, and begin to merge what is hidden, or show it. All decided epochs are executed."""
        if not (self._hides or self._hidden.exists):
            return
        self.open()
        for manifest in sorted(self._hidden.merges.glob("*.json")):
            self._finish(manifest)
        self._hidden.clear()
        files = self._hidden.found()
        if self._hides:
            self._merger.start(files, sequence)
        else:
            self._merger.show(files)
            self._hidden.remove()
            self._is_open = False
        if not (self._hides and files):
            self._unmark()

    def publish(self) -> None:
        """Show all that is hidden."""
        is_shown = self._merger.publish()
        self.check()
        if is_shown:
            self._unmark()

    def check(self) -> None:
        """Raise what a thread has failed with, once. Nothing is merged from then on, until `recover` begins again."""
        failure = self._merger.failure
        if failure is None:
            return
        self._merger.stop()
        if isinstance(failure, OSError):
            self._may_commit()  # a driver that was replaced finds none of its files
        raise failure

    def stop(self) -> None:
        """End the threads. The next call takes over once more what others may have taken meanwhile."""
        self._merger.stop()
        self._is_open = False

    def _finish(self, manifest: Path) -> None:
        unknown = "whether the merged file is output, or the files it was made of"
        with damaged_record("a merge", unknown, self._origin):
            self._merger.finish(manifest)

    def _unmark(self) -> None:
        self._mark.unlink(missing_ok=True)
        self._is_marked = False


Check = Callable[[], None]
"""Called between files, and between pieces of one; its exception ends the merge."""

_CHUNK_BYTES = 1024 * 1024


def merge_files(
    paths: Sequence[Path], target: BinaryIO, delimiter: bytes = b"", check: Check = lambda: None
) -> int:
    """Write the records of files into one, in order; return how many files there are in it.

    These are the first ones, of which all have the columns of the first: a job that was upgraded may have written others.
    """
    return _MERGES[paths[0].suffix](paths, target, delimiter, check)


def _merge_parquet(paths: Sequence[Path], target: BinaryIO, _: bytes, check: Check) -> int:
    schema = pyarrow.parquet.read_schema(paths[0])
    merged = ParquetBatchFile(target, schema)
    try:
        count = _append_parquet(paths, merged, schema, check)
    except BaseException:
        merged.discard()
        raise
    merged.finish()
    return count


def _append_parquet(
    paths: Sequence[Path], merged: ParquetBatchFile, schema: pa.Schema, check: Check
) -> int:
    for count, path in enumerate(paths):
        with pyarrow.parquet.ParquetFile(path) as file:
            if not file.schema_arrow.equals(schema):
                return count
            for batch in file.iter_batches(ROW_GROUP_ROWS):
                check()
                merged.append(batch)
    return len(paths)


def _merge_csv(paths: Sequence[Path], target: BinaryIO, _: bytes, check: Check) -> int:
    first: bytes | None = None
    for count, path in enumerate(paths):
        with path.open("rb") as file:
            header = _header_of(file)
            if first is None:
                target.write(header)
                first = header
            elif header != first:
                return count
            _copy(file, target, check)
    return len(paths)


def _header_of(file: BinaryIO) -> bytes:
    """Return the first record of a CSV file; the name of a column may have line ends, between quotes."""
    header = b""
    while line := file.readline():
        header += line
        if header.count(b'"') % 2 == 0:
            break
    return header


def _merge_lines(paths: Sequence[Path], target: BinaryIO, delimiter: bytes, check: Check) -> int:
    for number, path in enumerate(paths):
        if number:
            target.write(delimiter)
        with path.open("rb") as file:
            _copy(file, target, check)
    return len(paths)


def _copy(file: BinaryIO, target: BinaryIO, check: Check) -> None:
    check()
    shutil.copyfileobj(file, target, _CHUNK_BYTES)


_MERGES: dict[str, Callable[[Sequence[Path], BinaryIO, bytes, Check], int]] = {
    f".{SPECS[FileFormat.PARQUET].extension}": _merge_parquet,
    f".{SPECS[FileFormat.CSV].extension}": _merge_csv,
    f".{SPECS[FileFormat.JSON].extension}": _merge_lines,
    f".{SPECS[FileFormat.TEXT].extension}": _merge_lines,
}
"""Every extension of the file sink; `test_file_merges` compares them."""


class _StoppedError(Exception):
    """The merger was stopped in the middle of a merge; nothing was decided."""


@dataclass(slots=True)
class _HiddenBucket:
    """The hidden files of one bucket and format, in order."""

    files: list[HiddenFile] = field(default_factory=list)
    byte_count: int = 0

    def add(self, file: HiddenFile) -> None:
        self.files.append(file)
        self.byte_count += file.byte_count

    def put_back(self, files: Sequence[HiddenFile]) -> None:
        self.files[:0] = files
        self.byte_count += sum(file.byte_count for file in files)

    def take(self, most_bytes: int) -> list[HiddenFile]:
        """Remove and return the first files, up to the one with which they have so many bytes."""
        taken, count = 0, 0
        while taken < len(self.files) and count < most_bytes:
            count += self.files[taken].byte_count
            taken += 1
        files, self.files = self.files[:taken], self.files[taken:]
        self.byte_count -= count
        return files

    def is_due(self, strategy: FileCompactStrategy, sequence: int, target_bytes: int) -> bool:
        """Return whether a condition of the strategy holds; files of the target size are due by any strategy."""
        if not self.files:
            return False
        age = sequence - self.files[0].sequence + 1
        if strategy.checkpoints is not None and age >= strategy.checkpoints:
            return True
        return self.byte_count >= target_bytes or self.due_in_seconds(strategy) <= 0

    def due_in_seconds(self, strategy: FileCompactStrategy) -> float:
        """Return the time until the oldest file is too old."""
        if strategy.max_delay_ms is None or not self.files:
            return float("inf")
        return self.files[0].written_seconds + strategy.max_delay_ms / 1000 - time.time()


class FileMerger:
    """The threads that merge the hidden files of one sink.

    `start` is the first call; `stop` may be followed by another `start`. The other calls come from one thread.
    """

    def __init__(
        self,
        layout: Layout,
        hidden: HiddenFiles,
        compaction: FileCompaction,
        may_commit: Callable[[], None],
    ) -> None:
        self._layout = layout
        self._hidden = hidden
        self._compaction = compaction
        self._may_commit = may_commit
        self._changed = threading.Condition()
        self._waiting: dict[tuple[str, str], _HiddenBucket] = {}
        self._sequence = 0
        self._running = 0
        self._publishes = False
        self._stops = False
        self._failure: BaseException | None = None
        self._threads: list[threading.Thread] = []

    @property
    def failure(self) -> BaseException | None:
        """The error that ended a thread, None without one."""
        return self._failure

    def start(self, files: Iterable[HiddenFile], sequence: int) -> None:
        """Begin to merge."""
        self._failure, self._stops, self._waiting, self._running = None, False, {}, 0
        self.add(files, sequence)
        self._threads = [
            threading.Thread(
                target=self._main, name=f"penstock-merge-{self._layout.sink_id}-{n}", daemon=True
            )
            for n in range(self._compaction.strategy.threads)
        ]
        for thread in self._threads:
            thread.start()

    def add(self, files: Iterable[HiddenFile], sequence: int) -> None:
        """Take note of an epoch and of the files that its commit has hidden."""
        with self._changed:
            self._sequence = max(self._sequence, sequence)
            for file in files:
                self._waiting.setdefault((file.bucket, file.extension), _HiddenBucket()).add(file)
            self._changed.notify_all()

    def publish(self) -> bool:
        """Show all that is hidden; return whether that is done. It is not if a thread has failed, or none runs."""
        if not self._threads:
            return False
        with self._changed:
            self._publishes = True
            self._changed.notify_all()
            self._changed.wait_for(self._is_idle)
            self._publishes = False
            return self._failure is None

    def stop(self) -> None:
        """End the threads, and forget their failure; a merge that is not decided is given up."""
        with self._changed:
            self._stops = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
        self._threads, self._failure = [], None

    def finish(self, manifest: Path) -> None:
        """Carry out a merge that was decided."""
        self._carry_out(manifest, read_verified(manifest))

    def show(self, files: Iterable[HiddenFile]) -> None:
        """Show files as they are."""
        self._keep_marks()
        for file in files:
            self._rename(self._hidden.files / file.place, self._visible(file))

    def _is_idle(self) -> bool:
        return self._failure is not None or not (self._running or self._waiting)

    def _main(self) -> None:
        while (files := self._next()) is not None:
            left: Sequence[HiddenFile] = ()
            failure: BaseException | None = None
            try:
                left = self._merge(files)
            except _StoppedError:
                pass  # no caller waits for it: the next start finds the files
            except BaseException as error:  # noqa: BLE001 - raised by the next call of the committer
                failure = error
            with self._changed:
                self._running -= 1
                self._failure = self._failure or failure
                if left:
                    key = left[0].bucket, left[0].extension
                    self._waiting.setdefault(key, _HiddenBucket()).put_back(left)
                self._changed.notify_all()

    def _next(self) -> list[HiddenFile] | None:
        """Wait for files that are due, and return them; None ends the thread."""
        strategy, target = self._compaction.strategy, self._compaction.target_bytes
        with self._changed:
            while not self._stops and self._failure is None:
                for key, waiting in self._waiting.items():
                    if self._publishes or waiting.is_due(strategy, self._sequence, target):
                        files = waiting.take(target)
                        if not waiting.files:
                            del self._waiting[key]
                        self._running += 1
                        return files
                delays = [group.due_in_seconds(strategy) for group in self._waiting.values()]
                seconds = min(delays, default=float("inf"))
                self._changed.wait(None if seconds == float("inf") else max(seconds, 0.001))
        return None

    def _check(self) -> None:
        if self._stops:
            raise _StoppedError

    def _merge(self, files: list[HiddenFile]) -> Sequence[HiddenFile]:
        """Merge files and show the result; return those that have other columns than the first."""
        failpoint("compaction.begun")
        if self._compaction.compactor.delimiter is None:
            self.show(files)
            return ()
        count = 1 if len(files) == 1 else self._merge_several(files)
        if count == 1:
            self.show(files[:1])
        return files[count:]

    def _merge_several(self, files: list[HiddenFile]) -> int:
        """Merge the first files that have the same columns; return their number, 1 if there was nothing to do."""
        self._keep_marks()
        hidden, name = self._hidden, uuid.uuid4().hex
        merged = hidden.merged / f"{name}{files[0].extension}"
        paths = [hidden.files / file.place for file in files]
        with merged.open("xb") as target:
            delimiter = self._compaction.compactor.delimiter or b""
            count = merge_files(paths, target, delimiter, self._check)
            target.flush()
            os.fsync(target.fileno())
        if count == 1:
            merged.unlink()
            return 1
        sync_directory(hidden.merged)
        failpoint("compaction.merged")
        manifest = hidden.merges / f"{name}.json"
        decided = {
            "merged": merged.name,
            "visible": str(self._visible(files[0])),
            "files": [str(file.place) for file in files[:count]],
        }
        write_verified(manifest, decided, may_replace=self._may_commit)
        failpoint("compaction.decided")
        self._carry_out(manifest, decided)
        return count

    def _keep_marks(self) -> None:
        """Sync the marks of executed epochs: without a mark the next start would require files that are gone."""
        sync_directory(self._layout.commits)

    def _carry_out(self, manifest: Path, decided: dict[str, Any]) -> None:
        merged = self._hidden.merged / decided["merged"]
        if merged.exists():  # otherwise it is where readers may take it away
            self._rename(merged, Path(decided["visible"]))
        failpoint("compaction.shown")
        files = [self._hidden.files / place for place in decided["files"]]
        for number, file in enumerate(files):
            file.unlink(missing_ok=True)
            if number == 0:
                failpoint("compaction.one-deleted")
        # A file that comes back without the manifest would be shown once more.
        sync_directory(files[0].parent)
        failpoint("compaction.deleted")
        manifest.unlink()

    def _rename(self, source: Path, visible: Path) -> None:
        target = self._layout.directory / visible
        create_directory(target.parent)
        source.replace(target)
        sync_directory(target.parent)

    def _visible(self, file: HiddenFile) -> Path:
        return Path(self._layout.visible_name(file.epoch, file.index, file.staged_name))
