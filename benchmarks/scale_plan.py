"""What a job of 10^12 records on 100 executors would move and hold, computed from sizes measured here.

    python -m benchmarks.scale_plan

Two tables: sizes, measured in this process with the classes that run on Spark; and the plan, which is
arithmetic over them. `docs/decisions/0071-estimates.md` has both, and a test compares. The job is the `reduce` of the
benchmarks with history and a live part: tuples (v % K, v, 1), a tenth as many keys as records.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace

import pyarrow as pa

from benchmarks.answers.reduce_records import record_maker
from benchmarks.model.shape import MIXED, Shape
from benchmarks.programs.reduce import build
from benchmarks.reporting.render import table
from penstock.common import Configuration
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import StreamExecutionEnvironment
from penstock.plan.physical import HandOver
from penstock.plan.programs import programs_of
from penstock.program.level import LevelProgram
from penstock.runtime.task.batch_level import BatchLevel
from penstock.runtime.task.level_zero import LevelZero
from penstock.runtime.task.report import decode_report, encode_report
from penstock.spark.worker.sink_task import SinkMessage
from penstock.wire.frame import FrameKind, payload_of, read_header

SAMPLE_RECORDS = 1_048_576
"""After so many records a task sends what it has pickled: it has more than 16 MiB."""

_STEP = 1000
_BATCH = 8192
_SOURCE = 0
_LZ4 = pa.Codec("lz4")


@dataclass(frozen=True, slots=True)
class Sizes:
    """What is measured.

    Attributes:
        frame_bytes: Of frames per record.
        frame_bytes_lz4: The same compressed, as Spark's shuffle writes them.
        records_per_frame: With as many key groups as `Cluster.key_groups`.
        control_bytes: That a task of level 0 sends to each task of level 1 beside records.
        state_bytes: Per key in a snapshot and in the log.
        report_bytes: That a task tells the driver.
        message_bytes: That a task of the sink stage answers the driver.
    """

    frame_bytes: float
    frame_bytes_lz4: float
    records_per_frame: float
    control_bytes: float
    state_bytes: float
    report_bytes: float
    message_bytes: float


@dataclass(frozen=True, slots=True)
class Cluster:
    """What is planned for.

    Attributes:
        records: Of the history.
        keys: Different ones.
        executors: Each with a disk.
        cores: Of each.
        key_groups: `pipeline.max-parallelism`.
        frame_records: `execution.frame.max-records`.
        splits: Tasks of level 0.
        network_bytes_s: Of an executor.
        worker_records_ms: What a core takes: three quarters of what one did with 10^6 keys when
            every record was exchanged.
    """

    records: int = 10**12
    keys: int = 10**11
    executors: int = 100
    cores: int = 16
    key_groups: int = 8192
    frame_records: int = 131_072
    splits: int = 8000
    network_bytes_s: float = 1.25e9
    worker_records_ms: float = 250.0


CLUSTER = Cluster()


def measure(cluster: Cluster = CLUSTER, sample: int = SAMPLE_RECORDS) -> Sizes:
    """Measure the sizes over a sample of records, each of another key."""
    zero, one = _programs(cluster)
    rows = _level_zero(zero, sample)
    records = [frame for _, frame in rows if read_header(frame).kind is FrameKind.RECORDS]
    control = [row for row in rows if read_header(row[1]).kind is FrameKind.CONTROL]
    raw = sum(map(len, records))
    packed = sum(_LZ4.compress(batch).size for batch in _joined(records))
    group = [(route, frame) for route, frame in rows if route < 0 or _is_records(frame)]
    leaving = [row for some in BatchLevel(one, 0).run(sorted(group)) for row in some]
    state = [payload_of(f) for _, f in leaving if read_header(f).kind is FrameKind.STATE]
    (report,) = (f for _, f in leaving if read_header(f).kind is FrameKind.REPORT)
    told = replace(decode_report(report), times=dict.fromkeys(_SECTIONS, 10**9))
    return Sizes(
        frame_bytes=raw / sample,
        frame_bytes_lz4=packed / sample,
        records_per_frame=sample / len(records),
        control_bytes=sum(len(frame) for _, frame in control) / zero.settings.parallelism,
        state_bytes=sum(map(len, state)) / sample,
        report_bytes=len(encode_report(told, 0, 0)),
        message_bytes=len(
            pickle.dumps(SinkMessage({0: ["staged"]}, {"f" * 40: "0" * 64}, told), 5)
        ),
    )


_SECTIONS = [f"level-1.section-{number}" for number in range(12)]


def _is_records(frame: bytes) -> bool:
    return read_header(frame).kind is FrameKind.RECORDS


def _joined(frames: list[bytes]) -> Iterator[bytes]:
    """Yield frames in blocks of 32 KiB and more, as Spark compresses them."""
    waiting, size = [], 0
    for frame in frames:
        waiting.append(frame)
        size += len(frame)
        if size >= 32 << 10:
            yield b"".join(waiting)
            waiting, size = [], 0
    yield b"".join(waiting)


def _level_zero(program: LevelProgram, sample: int) -> list[tuple[int, bytes]]:
    """Return what a task writes that reads the last records of the history."""
    make = record_maker(CLUSTER.keys)
    level = LevelZero(program, 0)
    first = CLUSTER.keys - sample
    rows: list[tuple[int, bytes]] = []
    for start in range(first, CLUSTER.keys, _BATCH):
        indexes = range(start, min(start + _BATCH, CLUSTER.keys))
        level.collect(_SOURCE, list(map(make, indexes)), None)
        rows += level.take_output()
    level.finish_split(_SOURCE, 0, finished=True)
    level.end_source(_SOURCE)
    level.close()
    return rows + level.take_output()


def _programs(cluster: Cluster) -> tuple[LevelProgram, LevelProgram]:
    """Return the levels of the batch run, as one task runs them."""
    settings = {
        "parallelism.default": "1",
        "pipeline.max-parallelism": str(cluster.key_groups),
        "execution.checkpointing.interval-during-backlog": "0",
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    build(env, Shape(1, 1, cluster.keys, 1, MIXED)).sink_to(DiscardingSink())
    plan = env.plan()
    zero, one = programs_of(
        plan,
        plan.runs[0],
        tasks=1,
        max_frame_records=cluster.frame_records,
        handed=HandOver(),
        job_parameters={},
    )
    return zero, one


def size_rows(sizes: Sizes) -> list[tuple[str, str]]:
    """Return the measured sizes as they are documented."""
    return [(name, f"{getattr(sizes, name):.3g}") for name in _NAMES]


_NAMES = [each.name for each in fields(Sizes)]


def plan_rows(sizes: Sizes, cluster: Cluster = CLUSTER) -> list[tuple[str, str]]:
    """Return what follows for a cluster, as it is documented."""
    return [(what, made(sizes, cluster)) for what, made in _CLAIMS]


def _shuffled(sizes: Sizes, cluster: Cluster) -> float:
    return sizes.frame_bytes_lz4 * cluster.records


def _state(sizes: Sizes, cluster: Cluster) -> float:
    return sizes.state_bytes * cluster.keys


def _tasks(cluster: Cluster) -> int:
    return cluster.executors * cluster.cores


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.2g} h"


def _bytes(size: float) -> str:
    """Return a size with its unit.

    >>> _bytes(1.5e12)
    '1.5 TB'
    """
    for unit in ("B", "kB", "MB", "GB"):
        if size < _STEP:
            return f"{size:.3g} {unit}"
        size /= _STEP
    return f"{size:.3g} TB"


_CLAIMS: tuple[tuple[str, Callable[[Sizes, Cluster], str]], ...] = (
    (
        "python time of all cores",
        lambda _, c: _hours(c.records / c.worker_records_ms / 1000 / _tasks(c)),
    ),
    ("shuffle, compressed", lambda s, c: _bytes(_shuffled(s, c))),
    ("shuffle per executor", lambda s, c: _bytes(_shuffled(s, c) / c.executors)),
    (
        "shuffle over the network",
        lambda s, c: _hours(_shuffled(s, c) / c.executors / c.network_bytes_s),
    ),
    ("shuffle files", lambda _, c: f"{2 * c.splits:,}"),
    ("shuffle blocks", lambda _, c: f"{c.splits * _tasks(c):,}"),
    (
        "size of a shuffle block",
        lambda s, c: _bytes(_shuffled(s, c) / c.splits / _tasks(c)),
    ),
    (
        "records in a frame",
        lambda s, _: f"{s.records_per_frame:,.0f}",
    ),
    (
        "records waiting in the buckets of a task",
        lambda _, c: f"{2 * c.frame_records:,}",
    ),
    (
        "control frames",
        lambda s, c: _bytes(s.control_bytes * c.splits * _tasks(c)),
    ),
    (
        "records of a key group",
        lambda _, c: f"{c.records / c.key_groups:.3g}",
    ),
    (
        "frames of a key group, spilled once",
        lambda s, c: _bytes(s.frame_bytes * c.records / c.key_groups),
    ),
    ("state", lambda s, c: _bytes(_state(s, c))),
    ("state per executor", lambda s, c: _bytes(_state(s, c) / c.executors)),
    ("files of the snapshot", lambda _, c: f"{_tasks(c):,}"),
    ("size of a file of the snapshot", lambda s, c: _bytes(_state(s, c) / _tasks(c))),
    (
        "driver: map output statuses",
        lambda _, c: _bytes(c.splits * (_STATUS_BYTES + _tasks(c) / 8)),
    ),
    ("driver: answers of the sink stage", lambda s, c: _bytes(s.message_bytes * _tasks(c))),
    ("one task: reports of all splits", lambda s, c: _bytes(s.report_bytes * c.splits)),
)
"""What to what follows from sizes and cluster."""

_STATUS_BYTES = 200
"""Of Spark's `HighlyCompressedMapStatus` (more than 2,000 partitions): location and average; and a
bit per empty block at most."""


def markdown(rows: list[tuple[str, str]], header: tuple[str, str]) -> str:
    """Return a table."""
    return table(header, rows) + "\n"


def main() -> int:
    """Print both tables."""
    sizes = measure()
    sys.stdout.write(markdown(size_rows(sizes), ("measured", "")) + "\n")
    sys.stdout.write(markdown(plan_rows(sizes), ("follows", "")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
