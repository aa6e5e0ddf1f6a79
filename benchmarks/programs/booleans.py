"""`booleans`: what time costs where a value is as small as can be. 10^6 booleans, 10 hops.

record i = True              then 10 maps that are not chained, so that each reads frames

Between the maps nothing needs an exchange, so frames stay in their subtask, as Flink's channels do
within a task manager; they are written and read all the same. 10^6 records are a moment's work
beside the start of a live run. Ten times as many show what a hop costs.

Every record of the source has a timestamp, as in Flink, where a source without event time gives
Long.MIN. `on` carries it through all hops, as a job does that may ask for it; `off` runs
without time (`pipeline.force-timestamp-support` is false); `planned` is what the planner makes of
the program with default settings: it sees by itself that nobody looks at timestamps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.inputs.timed_source import TimedSource
from benchmarks.model.digest import as_text, digest_of
from benchmarks.model.program import BenchSystem, Outputs, Point
from benchmarks.model.shape import BATCH, STREAMING, Shape
from benchmarks.programs.pipeline import Pipeline, ours
from penstock.common import WatermarkStrategy
from penstock.datastream import DataStream, StreamExecutionEnvironment

RECORDS = 1_000_000
MANY_RECORDS = 10_000_000
HOPS = "hops"

ON = {"pipeline.drop-unused-timestamps": "false"}
OFF = {"pipeline.force-timestamp-support": "false", "pipeline.auto-watermark-interval": "0"}
"""Settings of systems with time forced on, and without time."""


def number(index: int) -> int:
    """Return the index."""
    return index


def to_true(_: int) -> bool:
    """Return True."""
    return True


def same(value: bool) -> bool:  # noqa: FBT001 - a record
    """Return the record."""
    return value


def build(env: StreamExecutionEnvironment, shape: Shape) -> DataStream[Any]:
    """Return the booleans behind the last hop."""
    source = TimedSource(number, shape.records)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").map(to_true)
    for _ in range(shape.parameters[HOPS]):
        stream = stream.map(same).disable_chaining()
    return stream


def expected(shape: Shape) -> Outputs:
    """Every record arrives, and is True."""
    ones = np.ones(shape.records, dtype=np.int64)
    return Outputs(shape.records, as_text(digest_of(ones)))


def on_off_planned(mode: str, *, by_default: bool = True) -> tuple[BenchSystem, ...]:
    """Return our systems of a mode with time forced on, without it, and as planned."""
    return (
        ours(mode, "on", note="Timestamps go everywhere.", by_default=by_default, **ON),
        ours(mode, "off", note="The job runs without time.", by_default=by_default, **OFF),
        ours(mode, "planned", note="Default settings.", by_default=by_default),
    )


PROGRAM = Pipeline(
    name="booleans",
    summary="booleans through 10 maps without chaining, timestamps forced on against off",
    build=build,
    expected=expected,
    systems=(*on_off_planned(STREAMING), *on_off_planned(BATCH, by_default=False)),
    reference="penstock streaming off",
    records=RECORDS,
    keys=1,
    options={HOPS: 10},
    points=(Point(RECORDS), Point(MANY_RECORDS)),
).program()
