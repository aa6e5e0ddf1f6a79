"""The Spark job of an epoch: one stage per level, with Spark's shuffle between them.

This is the only module with names of PySpark that are not public. With the public RDD API every
epoch would pickle its functions again, and its shuffle would copy each frame twice in Python. Here the
functions are wrapped once per run, and the JVM moves the frames as they are:

    parallelize(inputs) ─▶ PythonRDD ─▶ (partition, frame) pairs ─▶ partitionBy ─▶ PythonRDD … ─▶ collect
    rows of files, as Arrow batches ─▶ PythonRDD ─▶ the same pairs

An epoch that is a single task is the first two of them and the collection.

Shuffle files are removed after each epoch. Otherwise they would wait for a full garbage collection of the
JVM, which may come after ten thousands of epochs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.core.rdd import _wrap_function
from pyspark.serializers import NoOpSerializer
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.util import _load_from_socket

from penstock.graph.endpoints import EpochNumber
from penstock.spark.failures.final_failures import FinalFailure
from penstock.spark.session.job_settings import POOL
from penstock.spark.worker.sink_task import set_epoch


@dataclass(frozen=True, slots=True)
class FileRows:
    """The rows of files, as input of an epoch.

    Attributes:
        frame: Returns the rows; called in the thread of the Spark jobs.
        stage: The wrapped function of stage 0 for Arrow batches, see `EpochJob.wrap`.
        batch_records: Greatest number of rows of an Arrow batch.
    """

    frame: Callable[[], DataFrame]
    stage: Any
    batch_records: int


Stage = Callable[[int, Iterator[bytes]], Iterable[bytes]]
"""Partition and input to output. All but the last return partition (8 bytes) and frame in turn."""


@dataclass(frozen=True, slots=True)
class Stages:
    """The functions of the jobs of one live run.

    Attributes:
        per_level: One function per level; the last one also stages the sinks.
        single: One function that does what all of them do.
        parallelism: Number of partitions of all stages but the first.
    """

    per_level: tuple[Stage, ...]
    single: Stage
    parallelism: int


_POLL_SECONDS = 0.02
_FUNCTION_ID = 7
"""Spark takes partitioners with the same number and function id for equal; the function is always ours."""


class EpochJob:
    """Runs the Spark jobs of one live run, one after the other, in a thread of its own."""

    def __init__(
        self,
        context: SparkContext,
        group: str,
        stages: Stages,
        pool: str | None = None,
    ) -> None:
        """Wrap the functions of all stages."""
        self._pool = pool
        self._context = context
        self._group = group
        jvm: Any = context._jvm  # noqa: SLF001 - see the module
        self._jvm = jvm
        *per_level, single = map(self.wrap, (*stages.per_level, stages.single))
        self._functions = {False: per_level, True: [single]}
        self._partitioner = jvm.PythonPartitioner(stages.parallelism, _FUNCTION_ID)
        self._shuffles: list[int] = []
        self._thread = ThreadPoolExecutor(1, f"penstock-epochs-{group}", self._begin_thread)

    @contextmanager
    def watched(self, failures: Path) -> Iterator[FinalFailure]:
        """Watch for final failures of the tasks inside the context."""
        # It sets a local property, which tasks get from the thread that starts their job.
        final = self._thread.submit(FinalFailure, self._context, failures).result()
        try:
            yield final
        finally:
            self._thread.submit(final.__exit__).result()

    def wrap(self, stage: Stage) -> Any:
        """Return a function in the form in which Spark runs it; it is pickled once."""
        return _wrap_function(self._context, stage, NoOpSerializer(), NoOpSerializer())

    def run(
        self,
        inputs: Sequence[bytes],
        epoch: EpochNumber,
        watch: Callable[[], bool],
        files: Sequence[FileRows] = (),
        *,
        is_single_task: bool = False,
    ) -> list[bytes]:
        """Run one job and return the output of its last stage."""
        functions = self._functions[is_single_task]
        future = self._thread.submit(self._run, inputs, epoch, files, functions)
        cancelled = False
        while not wait([future], _POLL_SECONDS).done:
            if not cancelled and watch():
                cancelled = True
                self._context.cancelJobGroup(self._group)
        return future.result()

    def _begin_thread(self) -> None:
        self._context.setJobGroup(self._group, "penstock live run", interruptOnCancel=True)
        if self._pool is not None:
            self._context.setLocalProperty(POOL, self._pool)

    def _run(
        self,
        inputs: Sequence[bytes],
        epoch: EpochNumber,
        files: Sequence[FileRows],
        functions: Sequence[Any],
    ) -> list[bytes]:
        jvm = self._jvm
        set_epoch(self._context, epoch)
        items = jvm.java.util.ArrayList()
        for task_input in inputs:
            items.append(bytearray(task_input))
        java_context: Any = self._context._jsc  # noqa: SLF001
        rdd = java_context.parallelize(items, len(inputs)).rdd()
        first, *later = functions
        rdd = jvm.PythonRDD(rdd, first, False, False)  # noqa: FBT003 - a constructor of the JVM
        for rows in files:
            read = jvm.PythonRDD(_arrow_batches(rows), rows.stage, False, False)  # noqa: FBT003
            rdd = rdd.union(read)
        shuffles = []
        for function in later:
            pairs = jvm.PairwiseRDD(rdd).asJavaPairRDD().partitionBy(self._partitioner)
            shuffles.append(pairs.rdd().dependencies().head().shuffleId())
            values = jvm.PythonRDD.valueOfPair(pairs).rdd()
            rdd = jvm.PythonRDD(values, function, False, False)  # noqa: FBT003
        self._shuffles = shuffles
        sockets = jvm.PythonRDD.collectAndServe(rdd)
        with _load_from_socket(sockets, NoOpSerializer()) as messages:
            return list(messages)

    def remove_shuffle(self) -> None:
        """Remove the shuffle files of the last job, without waiting."""
        shuffles, self._shuffles = self._shuffles, []
        if shuffles:
            self._thread.submit(self._remove, shuffles)

    def _remove(self, shuffles: Sequence[int]) -> None:
        with suppress(Py4JError):  # the JVM has ended, and its files with it
            java_context: Any = self._context._jsc  # noqa: SLF001
            cleaner = java_context.sc().cleaner()
            if cleaner.isDefined():
                for shuffle in shuffles:
                    cleaner.get().doCleanupShuffle(shuffle, False)  # noqa: FBT003 - does not wait

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, *raised: object) -> None:
        """End the thread."""
        self._thread.shutdown()


def arrow_schema_of(frame: DataFrame) -> pa.Schema:
    """Return the schema of the Arrow batches of a DataFrame."""
    return to_arrow_schema(frame.schema, timezone=_time_zone(frame))


def _time_zone(frame: DataFrame) -> str:
    return str(frame.sparkSession.conf.get("spark.sql.session.timeZone"))


def _arrow_batches(rows: FileRows) -> Any:
    """Return Spark's RDD of the Arrow batches of some rows; each is a message without its schema."""
    frame = rows.frame()
    java_frame: Any = frame._jdf  # noqa: SLF001
    return java_frame.toArrowBatchRdd(rows.batch_records, _time_zone(frame), False, False)  # noqa: FBT003
