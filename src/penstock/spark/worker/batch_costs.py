"""What the tasks of a batch run took, told to the driver beside records and not among them.

Reports travel through the exchanges to the sinks. A time in one of them would make the output of a
task differ from the output of its second attempt, and Spark, which compares them, would compute
everything behind a lost shuffle file again (see `lost_output`). An accumulator of Spark brings times
to the driver. It counts each task that succeeded, a repeated one twice: that is what was spent.
"""

from __future__ import annotations

from pyspark import SparkContext
from pyspark.accumulators import Accumulator, AccumulatorParam

Times = dict[str, int]
"""`<place>.<section>` to nanoseconds, see `penstock.metrics.task_clock`."""


class _Sums(AccumulatorParam[Times]):
    """Adds name by name."""

    def zero(self, value: Times) -> Times:
        return {}

    def addInPlace(self, value1: Times, value2: Times) -> Times:  # noqa: N802
        for name, spent in value2.items():
            value1[name] = value1.get(name, 0) + spent
        return value1


def make_batch_costs(context: SparkContext) -> Accumulator[Times]:
    """Return an accumulator for one attempt of a batch run."""
    return context.accumulator({}, _Sums())
