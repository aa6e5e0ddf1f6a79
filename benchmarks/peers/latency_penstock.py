"""`latency`, our job: events of the clock, counted by key."""

from __future__ import annotations

from latency_clock import ClockSource

from benchmarks.systems.arrival_sink import ArrivalSink
from benchmarks.systems.latency_system import LEVELS
from benchmarks.systems.penstock_latency import PenstockLatency
from benchmarks.systems.serve import serve
from penstock.common import Configuration, WatermarkStrategy
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.observe.events.listeners import set_listeners

_NO_TIME = WatermarkStrategy.no_watermarks()


class PenstockCount(PenstockLatency):
    """A rolling count per key; a row per event."""

    def start(self) -> None:
        """Submit the job."""
        configuration = Configuration.from_dict(
            {
                "execution.runtime-mode": "STREAMING",
                "parallelism.default": str(self.shape.parallelism),
                "execution.checkpointing.dir": str(self.work / "checkpoint"),
                "spark.local.dir": str(self.work / "local"),
                # While the process is stopped no heartbeat comes, and it is no reason to give up.
                "spark.network.timeout": "100000s",
                **self.specification.options,
                **self.specification.settings,
            }
        )
        set_listeners()
        keys = self.shape.keys
        self._arrivals = self.work / "arrivals.jsonl"
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        counts = self.events(env, configuration).map(lambda event: (event % keys, event, 1))
        for _ in range(self.shape.parameters[LEVELS]):
            keyed = counts.key_by(lambda count: count[0])
            counts = keyed.reduce(lambda a, b: (a[0], b[1], a[2] + b[2]))
        counts.sink_to(ArrivalSink(str(self._arrivals)))
        self._job = env.execute_async("latency")

    def events(self, env: StreamExecutionEnvironment, _: Configuration) -> DataStream:
        """Return the events, as numbers."""
        return env.from_source(ClockSource(self.shape.parallelism, self.rate), _NO_TIME, "events")


if __name__ == "__main__":
    serve(PenstockCount)
