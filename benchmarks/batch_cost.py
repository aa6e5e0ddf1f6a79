"""What a record of a batch run costs in each level: CPU in this process, without Spark.

    python -m benchmarks.batch_cost reduce --records 1000000 --keys 1000
    python -m benchmarks.batch_cost reduce --records 1000000 --keys 1000 -D execution.batch.combine=false

Prints microseconds of CPU per record, the least of several repetitions: of reading the source and
writing frames (level 0), and of the level behind the exchange. Two subtasks, one after the other. For
`co-group` a record is one of either side.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.model.shape import BATCH, Shape
from benchmarks.programs import aggregate, co_group, reduce, window_reduce
from penstock.common import Configuration
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import StreamExecutionEnvironment
from penstock.plan.physical import HandOver, PhysicalPlan
from penstock.plan.programs import programs_of
from penstock.program.level import LevelProgram
from penstock.runtime.task.batch_level import BatchLevel
from penstock.runtime.task.garbage_collection import rare_for_records
from penstock.runtime.task.level_zero import LevelZero
from penstock.testing.logs import splits_of
from penstock.wire import user_code

PROGRAMS: dict[str, Callable[[Any, Shape], Any]] = {
    "aggregate": aggregate.build,
    "co-group": co_group.build,
    "reduce": reduce.build,
    "window-reduce": window_reduce.build,
}
SUBTASKS = 2
REPETITIONS = 3
READ_RECORDS = 8192
"""Of a batch of a source, as on Spark."""

Row = tuple[int, bytes]
"""(route, frame)."""


def level_zero(plan: PhysicalPlan, program: LevelProgram) -> list[Row]:
    """Read everything; return what is to be exchanged."""
    rows: list[Row] = []
    for piece in splits_of(plan, plan.runs[0]):
        level = LevelZero(user_code.load(user_code.dump(program)), piece.split)
        piece.feed(level, READ_RECORDS)
        level.close()
        rows += level.take_output()
    return rows


def level(program: LevelProgram, rows: list[Row]) -> list[Row]:
    """Run a level over sorted rows."""
    groups = program.settings.max_parallelism
    leaving: list[Row] = []
    for task in range(SUBTASKS):
        own = [row for row in rows if (-row[0] - 1 if row[0] < 0 else row[0] * 2 // groups) == task]
        for written in BatchLevel(user_code.load(user_code.dump(program)), task).run(own):
            leaving += written
    return leaving


def timed(call: Callable[[], list[Row]]) -> tuple[list[Row], float]:
    """Return what a call gives, and its CPU seconds."""
    started = time.process_time()
    given = call()
    return given, time.process_time() - started


def measure(plan: PhysicalPlan) -> list[float]:
    """Return the CPU seconds of each level, once."""
    programs = programs_of(
        plan,
        plan.runs[0],
        tasks=SUBTASKS,
        max_frame_records=4096,
        handed=HandOver(),
        job_parameters={},
    )
    rows, seconds = timed(partial(level_zero, plan, programs[0]))
    found = [seconds]
    for program in programs[1:]:
        arrived = sorted(rows)  # by Spark, not in Python
        rows, seconds = timed(partial(level, program, arrived))
        found.append(seconds)
    return found


def main(arguments: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="CPU per record of a batch run.")
    parser.add_argument("program", choices=sorted(PROGRAMS))
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=1_000)
    parser.add_argument("-D", dest="settings", action="append", default=[], metavar="KEY=VALUE")
    given = parser.parse_args(arguments)
    values: dict[str, object] = {
        "execution.runtime-mode": "BATCH",
        "parallelism.default": SUBTASKS,
    }
    for setting in given.settings:
        key, _, value = setting.partition("=")
        values[key] = value
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(values))
    shape = Shape(given.records, 0, given.keys, SUBTASKS, BATCH)
    PROGRAMS[given.program](env, shape).sink_to(DiscardingSink())
    plan = env.plan()
    with rare_for_records():
        rounds = [measure(plan) for _ in range(REPETITIONS)]
    for number, seconds in enumerate(map(min, zip(*rounds, strict=True))):
        sys.stdout.write(f"level {number}: {seconds / given.records * 1e6:.2f} µs per record\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
