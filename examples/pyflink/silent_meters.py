"""A meter that has said nothing for a minute is reported. A program for PyFlink."""

from pyflink.common import Duration, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import StateTtlConfig, ValueStateDescriptor
from pyflink.common.time import Time


class ReadingTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Silence(KeyedProcessFunction):
    def __init__(self):
        self.last = None
        self.reports = 0

    def open(self, runtime_context: RuntimeContext):
        descriptor = ValueStateDescriptor("last", Types.LONG())
        descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.days(1)).build())
        self.last = runtime_context.get_state(descriptor)

    def process_element(self, value, ctx):
        self.last.update(ctx.timestamp())
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 60_000)

    def on_timer(self, timestamp, ctx):
        if self.last.value() == timestamp - 60_000:
            self.reports += 1  # counts what this object has reported: not a state
            yield f"meter {ctx.get_current_key()} is silent since {timestamp - 60_000}"


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
readings = env.from_collection([("m1", 0), ("m2", 10_000), ("m1", 30_000), ("m1", 200_000)])
strategy = WatermarkStrategy.for_bounded_out_of_orderness(
    Duration.of_seconds(5)
).with_timestamp_assigner(ReadingTime())
(
    readings.assign_timestamps_and_watermarks(strategy)
    .key_by(lambda reading: reading[0])
    .process(Silence(), Types.STRING())
    .print()
)
env.execute("silent meters")
