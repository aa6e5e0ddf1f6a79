"""Sales per shop and hour. A program for PyFlink that imports whole modules."""

import typing

import pyflink.common.watermark_strategy, pyflink.datastream.functions as functions
import pyflink.datastream.window as windows
from pyflink.datastream import StreamExecutionEnvironment

if typing.TYPE_CHECKING:
    from pyflink.datastream \
        import DataStream

HOUR = 3_600_000


class Sold(functions.ProcessWindowFunction):
    def process(self, key, context, elements):
        ärger = sum(amount for _, _, amount in elements); start = context.window().start; hour: pyflink.common.Row = pyflink.common.Row(key, start // HOUR, ärger)
        yield hour

    def clear(self, context):
        pass


def build(sales: "DataStream") -> "DataStream":
    by_time = pyflink.common.WatermarkStrategy.for_monotonous_timestamps()
    timed = sales.assign_timestamps_and_watermarks(
        by_time.with_timestamp_assigner(AtSale())
    )
    hours = timed.key_by(lambda sale: sale[0]).window(
        windows.TumblingEventTimeWindows.of(pyflink.common.Time.hours(1))
    )
    return hours.process(Sold())


class AtSale(pyflink.common.watermark_strategy.TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
build(env.from_collection([("a", 0, 5), ("b", 10, 1), ("a", HOUR - 1, 2), ("a", HOUR, 7)])).print()
env.execute("hourly sales")
