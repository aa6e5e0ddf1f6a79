"""Which aircraft are out of New York's sight, and how late are its carriers?

    penstock demo                                    prepares the files in demo-data
    penstock run examples/departures.py demo-data    stop it with Ctrl-C; run again, it resumes

History is read as one batch. Then the job goes on live, with the same state and timers.
"""

import sys
from bisect import bisect_right, insort
from pathlib import Path

from penstock.common import Configuration, Duration, Row, WatermarkStrategy
from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.connectors import FileSink, FileSource, HybridSource
from penstock.datastream.state import ValueStateDescriptor

TWO_WEEKS = Duration.of_days(14).to_millis()


class OutOfSight(KeyedProcessFunction):
    """Reports an aircraft two weeks after a departure that no other one followed."""

    def open(self, context):
        self.departures = context.get_state(ValueStateDescriptor("departures"))

    def process_element(self, flight, context):
        departures = self.departures.value() or []
        insort(departures, flight.dep_ms)
        self.departures.update(departures)
        context.timer_service().register_event_time_timer(flight.dep_ms + TWO_WEEKS)

    def on_timer(self, timestamp, context):
        departures = self.departures.value()
        del departures[: bisect_right(departures, timestamp - TWO_WEEKS)]
        self.departures.update(departures or None)
        if not departures or departures[0] > timestamp:
            yield Row(tailnum=context.get_current_key(), last_ms=timestamp - TWO_WEEKS)


data = Path(sys.argv[1] if len(sys.argv) > 1 else "demo-data").resolve()
out = data / "example"
settings = Configuration().set("execution.history", "batch")
env = StreamExecutionEnvironment(settings.set("execution.checkpointing.dir", f"{out}/checkpoint"))
history = FileSource.parquet(data / "history")
live = FileSource.parquet(data / "live").monitor_continuously()
time = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_days(4))
time = time.with_timestamp_assigner(lambda flight, _: flight.dep_ms)
source = HybridSource.builder(history).add_source(live).build()
flights = env.from_source(source, time, "flights").filter(lambda flight: not flight.cancelled)

alerts = flights.key_by(lambda flight: flight.tailnum).process(OutOfSight()).uid("out-of-sight")
alerts.sink_to(FileSink.json(out / "alerts")).uid("alerts")
totals = flights.map(lambda f: Row(carrier=f.carrier, flights=1, minutes=f.dep_delay))
totals = totals.key_by(lambda t: t.carrier).reduce(
    lambda a, b: Row(carrier=a.carrier, flights=a[1] + b[1], minutes=a[2] + b[2])
)
totals.uid("totals").sink_to(FileSink.json(out / "totals")).uid("carriers")
env.execute("departures")
