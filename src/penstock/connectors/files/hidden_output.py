"""The hidden output of one sink: committed files that are merged before readers see them, or shown after all."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from penstock.connectors.files.file_compaction import (
    FileCompaction,
    FileCompactor,
    FileCompactStrategy,
)
from penstock.connectors.files.file_merger import FileMerger
from penstock.connectors.files.hidden_files import UNPUBLISHED, HiddenFile, HiddenFiles
from penstock.connectors.files.staged_files import Layout
from penstock.errors import DecodeError, SinkError
from penstock.graph.endpoints import SinkContext
from penstock.wire.atomic_file import create_directory, sync_directory, write_atomically

_AS_THEY_ARE = FileCompaction(FileCompactStrategy(), FileCompactor.identical_file_compactor(), 1)


class HiddenOutput:
    """Hidden output of a committer of staged files; it calls from one thread.

    Args:
        layout: Paths of the sink.
        context: Context of the committer.
        compaction: When and how files are merged; None shows what an earlier driver has hidden.
    """

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
        """Take over what earlier drivers have hidden, unless that is done.

        Raises:
            JobFencedError: Another driver has taken the job over.
            OSError: The file system refused.
        """
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
        """Finish merges, and begin to merge what is hidden, or show it. All decided epochs are executed.

        Raises:
            SinkError: The record of a merge is damaged.
            JobFencedError: Another driver has taken the job over.
            OSError: The file system refused.
        """
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
        """Show all that is hidden.

        Raises:
            OSError: The file system refused.
            JobFencedError: Another driver has taken the job over.
        """
        is_shown = self._merger.publish()
        self.check()
        if is_shown:
            self._unmark()

    def check(self) -> None:
        """Raise what a thread has failed with, once. Nothing is merged from then on, until `recover` begins again.

        Raises:
            JobFencedError: Another driver has taken the job over.
            OSError: The file system refused.
        """
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
        try:
            self._merger.finish(manifest)
        except DecodeError as cause:
            raise SinkError(
                f"the record of a merge cannot be read: {cause.problem}",
                hint="Restore the file from a copy. Without it nobody knows whether the merged file is output, or "
                "the files it was made of.",
                origin=self._origin,
            ) from cause

    def _unmark(self) -> None:
        self._mark.unlink(missing_ok=True)
        self._is_marked = False
