"""A sink that calls a function of the user's with a DataFrame per epoch, in the driver.

Tasks stage records in Parquet files of the job, as for every sink. The record of the epoch names these files, so a
driver that was killed is followed by one that calls the function with the same rows. Beside them is

    epoch.json     number and name of the newest epoch with rows, and whether the function has returned

Numbers rise by one per epoch with rows. The number is written before the call, so a repeated call gets the same one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, ClassVar

from penstock.connectors.epoch_marks import EpochFile
from penstock.connectors.files.file_formats import SPECS, FileFormat
from penstock.connectors.files.staged_files import Layout, StagedFile, StagedFileWriter
from penstock.connectors.local_path import sink_errors
from penstock.connectors.staged import SHARED, make_empty, remove_files
from penstock.errors import ArgumentError, CallSite, SinkError
from penstock.failpoint import failpoint
from penstock.graph.endpoints import Committer, Sink, SinkContext, SinkWriter
from penstock.types import TypeInformation
from penstock.user_failure import failing_as

READER = "penstock.spark.sources.dataframes:read_staged"
"""Name of the function that makes the DataFrame. A name, because layers below must not import the layers above them."""

_HINT = (
    "Correct the function, or what it writes to, and start the job again: it is called with the same "
    "rows and the same number."
)


@dataclass(frozen=True, slots=True)
class BatchEpoch:
    """The epoch of a batch of rows: what `for_each_batch` passes beside the rows.

    Attributes:
        writer: Names the sink of the job; another job has another one. Safe in a file name.
        number: 1 for the first batch, and one more for each further one. A batch that is repeated has its
            number again.

    Example:
        >>> str(BatchEpoch("0123-totals", 7))
        '0123-totals-7'
    """

    writer: str
    number: int

    def __str__(self) -> str:
        return f"{self.writer}-{self.number}"


BatchFunction = Callable[[Any, BatchEpoch], object]
"""(DataFrame, epoch) to anything."""


@dataclass(frozen=True, slots=True)
class StagedBatchSink(Sink):
    """The worker's side of a `BatchFunctionSink`: it only stages records."""

    kind: ClassVar[str] = "batches"

    def check(self, type_info: TypeInformation, origin: CallSite | None) -> None:
        """Check that records of a type have columns.

        Args:
            type_info: Type of the records.
            origin: The user's line, for the error.

        Raises:
            GraphError: The type is not declared, or one of its fields does not fit.
        """
        SPECS[FileFormat.PARQUET].check(type_info, origin)

    def create_writer(self, context: SinkContext) -> SinkWriter:
        """Return a writer of one staged file, for the task of `context`."""
        return StagedFileWriter(_directory(context), FileFormat.PARQUET, context)

    def create_committer(self, context: SinkContext) -> Committer:
        """Refuse: the driver has the sink with its function."""
        raise AssertionError("a worker commits nothing")


@dataclass(frozen=True, slots=True)
class BatchFunctionSink(StagedBatchSink):
    """Calls a function with a DataFrame of the rows of each epoch, in the driver: at least once.

    See `DataStream.for_each_batch`; as a sink it also fits `upsert_to`.

    Attributes:
        function: Called with a DataFrame and a `BatchEpoch`.

    Example:
        >>> def append(frame, epoch):
        ...     frame.write.mode("append").saveAsTable("orders")
        >>> BatchFunctionSink(append).describe()
        'batches for append'
    """

    function: BatchFunction

    def __post_init__(self) -> None:
        """Check the function.

        Raises:
            ArgumentError: It cannot be called.
        """
        if not callable(self.function):
            raise ArgumentError.here(
                f"for_each_batch got {self.function!r}",
                hint="Pass a function of a DataFrame and a BatchEpoch.",
            )

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the form for workers. The function may have sessions and connections, which cannot be pickled."""
        return StagedBatchSink, ()

    def create_committer(self, context: SinkContext) -> Committer:
        """Return the committer, which calls the function."""
        return _BatchFunctionCommitter(self.function, context)

    def describe(self) -> str:
        """Return e.g. `batches for append`."""
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return f"batches for {name}"


class _BatchFunctionCommitter(Committer):
    def __init__(self, function: BatchFunction, context: SinkContext) -> None:
        self._function = function
        self._context = context
        self._layout = Layout(_directory(context), context.job_id, context.sink_id)
        self._file = EpochFile(self._layout.private, context, "which batches were written")

    def recover(self) -> None:
        context, staging = self._context, self._layout.staging
        with sink_errors(staging, "prepare for staging", context.origin):
            make_empty(staging)

    def commit(self, epoch: str, committables: Sequence[Any]) -> None:
        staged: list[StagedFile] = list(committables)
        if staged:
            known = self._file.read() or {"number": 0, "epoch": "", "is_done": True}
            if known["epoch"] != epoch:
                known = {"number": known["number"] + 1, "epoch": epoch, "is_done": False}
                self._file.record(**known)
                failpoint("batches.numbered")
            if not known["is_done"]:
                self._call(known["number"], staged)
                failpoint("batches.called")
                self._file.record(**{**known, "is_done": True})
                failpoint("batches.recorded")
        with sink_errors(self._layout.staging, "remove staged rows", self._context.origin):
            remove_files(self._layout.staging, staged)

    def _call(self, number: int, staged: list[StagedFile]) -> None:
        context = self._context
        files = [self._layout.staging / file.name for file in staged]
        lost = [file for file in files if not file.exists()]
        if lost:
            raise SinkError(
                f"the staged file {lost[0]} is gone",
                hint=SHARED.format("checkpoint directory"),
                origin=context.origin,
            )
        context.may_commit()
        failed = f"the function of sink {context.name!r} failed on batch {number}"
        with failing_as(SinkError, failed, context.origin, hint=_HINT):
            frame = resolve_name(READER)(files, context.type_info, context.origin)
            self._function(frame, BatchEpoch(f"{context.job_id}-{context.sink_id}", number))


def _directory(context: SinkContext) -> Path:
    return context.mounted_scratch / "batches"
