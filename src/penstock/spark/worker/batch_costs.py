"""Sends the times of the tasks of a batch run to the driver in an accumulator.

Reports are sent through the exchanges to the sinks. If they contained times, the output of a task would
differ from that of its second attempt. Spark compares both, and would repeat the whole job after the
loss of a shuffle file (see `lost_output`). Therefore an accumulator of Spark sums the times. It counts
each successful task, a repeated one twice, because both attempts took time.
"""

from __future__ import annotations

from pyspark import SparkContext
from pyspark.accumulators import Accumulator, AccumulatorParam

Times = dict[str, int]
"""`<place>.<section>` to nanoseconds, see `penstock.metrics.task_clock`."""


class _Sums(AccumulatorParam[Times]):
    """Adds times by name."""

    def zero(self, value: Times) -> Times:
        return {}

    def addInPlace(self, value1: Times, value2: Times) -> Times:  # noqa: N802
        for name, spent in value2.items():
            value1[name] = value1.get(name, 0) + spent
        return value1


def make_batch_costs(context: SparkContext) -> Accumulator[Times]:
    """Return an accumulator for one attempt of a batch run."""
    return context.accumulator({}, _Sums())
