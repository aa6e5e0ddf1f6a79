"""What a record costs in a key group that is spilled: CPU and memory in this process, without Spark.

    python -m benchmarks.spill_cost map --records 1000000 --keys 500000 --memory 16mb
    python -m benchmarks.spill_cost map --records 1000000 --keys 1 --memory 16mb --timed

Prints microseconds of CPU per record, all of the level behind the exchange, and by how much the memory grew
that is the process's own: pages of files, which the kernel takes back, are not in it. All keys are of one key
group; with --timed records have timestamps, which come in no order.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from penstock.common import Configuration, WatermarkStrategy
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import CollectionSource
from penstock.plan.physical import HandOver
from penstock.plan.programs import programs_of
from penstock.program.level import LevelProgram
from penstock.runtime.task.batch_level import BatchLevel
from penstock.wire.frame import FrameHeader, FrameKind, encode_records

PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "map": lambda keyed: keyed.map(lambda record: record),
    "filter": lambda keyed: keyed.filter(lambda record: record[1] % 2 == 0),
}
KEYS: dict[str, Callable[[int], Any]] = {
    "int": int,
    "str": "user-{:012d}".format,
    "tuple": lambda number: (number, "eu"),
}
FRAME_RECORDS = 4096

Row = tuple[int, bytes]
"""(route, frame)."""


def program(name: str, memory: str) -> LevelProgram:
    """Return the program of the level that is keyed."""
    settings = {
        "execution.runtime-mode": "BATCH",
        "parallelism.default": 1,
        "pipeline.max-parallelism": 1,
        "execution.sorted-inputs.memory": memory,
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    source = CollectionSource.of([(0, 0, "", 0)])
    records = env.from_source(source, WatermarkStrategy.no_watermarks(), "records")
    PROGRAMS[name](records.key_by(lambda record: record[0])).sink_to(DiscardingSink())
    plan = env.plan()
    made = programs_of(
        plan,
        plan.runs[0],
        tasks=1,
        max_frame_records=FRAME_RECORDS,
        handed=HandOver(),
        job_parameters={},
    )
    return made[1]


def rows(channel: int, given: argparse.Namespace) -> Iterator[Row]:
    """Yield the frames of the key group."""
    chosen = random.Random(7)  # noqa: S311 - only has to be the same each time
    make = KEYS[given.keys_are]
    for sequence, at in enumerate(range(0, given.records, FRAME_RECORDS)):
        header = FrameHeader(0, sequence, channel, 1, FrameKind.RECORDS, 0)
        values = [
            (make(chosen.randrange(given.keys)), n * 7919 % 1_000_003, f"{n:040}", n)
            for n in range(at, min(at + FRAME_RECORDS, given.records))
        ]
        stamps = [value[1] for value in values] if given.timed else None
        yield 0, encode_records(header, values, stamps)


def own_kilobytes() -> int:
    """Return the memory of the process that is not of files."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))


def main(arguments: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="CPU and memory of a spilled key group.")
    parser.add_argument("program", choices=sorted(PROGRAMS))
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=500_000)
    parser.add_argument("--keys-are", choices=sorted(KEYS), default="int")
    parser.add_argument("--memory", default="16mb")
    parser.add_argument("--timed", action="store_true")
    given = parser.parse_args(arguments)
    wanted = program(given.program, given.memory)
    arrived = list(rows(wanted.inputs[0].id, given))
    level = BatchLevel(wanted, 0)
    most = before = own_kilobytes()
    started = time.process_time()
    for _ in level.run(arrived):
        most = max(most, own_kilobytes())
    seconds = time.process_time() - started
    cost = f"{seconds / given.records * 1e6:.2f} µs per record"
    sys.stdout.write(f"{cost}, {(most - before) / 1024:.1f} MiB more\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
