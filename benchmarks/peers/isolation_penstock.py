"""`isolation`, our job: a keyed count of events of the clock, alone or beside a pipeline that reads history.

A round is a job of its own in a session that stays:

    submitted | events are out, history is read | events that are measured      | cancelled
                                                  history is read all the time

Rounds of both systems take turns. The history must outlast the round: if it does not, the round fails.
"""

from __future__ import annotations

import time

from latency_clock import ClockSource

from benchmarks.inputs.sources import storing_nothing
from benchmarks.systems.arrival_sink import ArrivalSink
from benchmarks.systems.latency_system import now_ms
from benchmarks.systems.penstock_latency import PenstockLatency
from benchmarks.systems.serve import serve
from penstock.common import Configuration, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DataGeneratorSource, DiscardingSink, HybridSource
from penstock.observe.events.job_events import JobEvent, RunFinished, RunStarted
from penstock.observe.events.listeners import JobListener, set_listeners

HISTORY = "history-records"
"""Parameter: records of the other pipeline."""

BESIDE = "beside"
"""Option: whether there is another pipeline."""

SETTLE_MS = 2000
_POLL_SECONDS = 0.05
_NO_TIME = WatermarkStrategy.no_watermarks()
_HISTORY_KEYS = 1000


class Isolated(PenstockLatency, JobListener):
    """A rolling count per key; a row per event."""

    def start(self) -> None:
        """Submit the job of the next round."""
        set_listeners(self)
        self._number = getattr(self, "_number", 0) + 1
        self._history: list[JobEvent] = []
        self._arrivals = self.work / f"arrivals-{self._number}.jsonl"
        settings = {
            "parallelism.default": str(self.shape.parallelism),
            "execution.checkpointing.interval-during-backlog": "0",
            "execution.checkpointing.dir": str(self.work / f"checkpoint-{self._number}"),
            "spark.local.dir": str(self.work / "local"),
            # While the process is stopped no heartbeat comes, and it is no reason to give up.
            "spark.network.timeout": "100000s",
            **self.specification.settings,
        }
        env = StreamExecutionEnvironment.get_execution_environment(
            Configuration.from_dict(settings)
        )
        if self._is_beside:
            self._add_history(env)
        keys = self.shape.keys
        (
            env.from_source(ClockSource(self.shape.parallelism, self.rate), _NO_TIME, "events")
            .map(lambda event: (event % keys, event, 1))
            .key_by(lambda event: event[0])
            .reduce(lambda a, b: (a[0], b[1], a[2] + b[2]))
            .sink_to(ArrivalSink(str(self._arrivals)))
        )
        self._job = env.execute_async("isolation")

    def on_event(self, event: JobEvent) -> None:
        """Keep when the history begins and ends."""
        if isinstance(event, RunStarted | RunFinished) and event.name == "history":
            self._history.append(event)

    def warm_up(self) -> dict[str, object]:
        """Run a job until its first output, and measure one that does not count."""
        self.start()
        self._wait()
        cold = time.monotonic() - self.specification.spawned
        self.close()
        self.round()
        return {"cold_seconds": cold}

    def round(self) -> dict[str, object]:
        """Run a job, and measure a stretch of the clock in which history is read, if there is one."""
        self.start()
        self._wait()
        answer = self.measure(now_ms() + SETTLE_MS)
        if self._is_beside and len(self._history) > 1:
            raise RuntimeError(
                f"the history ended within the round of {self.shape.records / 1000} seconds: ask for "
                f"more than {self.shape.parameters[HISTORY]:,} {HISTORY}"
            )
        self.close()
        return answer

    @property
    def _is_beside(self) -> bool:
        return BESIDE in self.specification.options

    def _wait(self) -> None:
        """Wait until events are out and, if there is another pipeline, its history is being read."""
        while not list(self.arrivals()) or len(self._history) < self._is_beside:
            self.check_alive()
            time.sleep(_POLL_SECONDS)

    def _add_history(self, env: StreamExecutionEnvironment) -> None:
        """Add a pipeline that reads history, and would go on with a record that is live."""
        make = storing_nothing(lambda i: (i % _HISTORY_KEYS, i, 1))
        history = DataGeneratorSource(make, self.shape.parameters[HISTORY])
        both = HybridSource.builder(history).add_source(DataGeneratorSource(make, 1)).build()
        (
            env.from_source(both, _NO_TIME, "orders")
            .key_by(lambda record: record[0])
            .reduce(lambda a, b: (a[0], b[1], a[2] + b[2]))
            .sink_to(DiscardingSink())
        )


if __name__ == "__main__":
    serve(Isolated)
