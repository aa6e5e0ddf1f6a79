"""The process of our systems in `live-state`: a keyed process function with a value state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.model.measurement import PROFILE
from benchmarks.model.program import Outputs
from benchmarks.systems.digest_sink import DigestSink, read_outputs
from benchmarks.systems.file_stream import FileStreamSystem
from benchmarks.systems.serve import serve
from benchmarks.systems.watcher import Watcher
from penstock.common import Configuration, JobStatus, Row, Types, WatermarkStrategy
from penstock.datastream import (
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
)
from penstock.datastream.connectors import FileSource
from penstock.errors import JobCancelledError
from penstock.metrics.job_metrics import SECONDS_PREFIX
from penstock.metrics.profile import JobProfile
from penstock.observe.events.job_events import JobEvent, MetricsReported, MicroBatch
from penstock.observe.events.listeners import JobListener, set_listeners
from penstock.observe.ui.server import announced_to

RECORD = Types.ROW_NAMED(["key", "value"], [Types.LONG(), Types.LONG()])


class CountAndSum(KeyedProcessFunction):
    """Per record: reads (count, sum) of its key, writes it back, and puts it out."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get the state."""
        self._total = runtime_context.get_state(ValueStateDescriptor("total"))

    def process_element(
        self, value: Any, ctx: KeyedProcessFunction.Context
    ) -> Iterator[tuple[int, int, int]]:
        """Count one record."""
        count, total = self._total.value() or (0, 0)
        count, total = count + 1, total + value[1]
        self._total.update((count, total))
        yield value[0], count, total


class PenstockLiveState(FileStreamSystem, JobListener):
    """Our job; every `MicroBatch` event is a commit."""

    def start(self) -> None:
        """Submit the job."""
        self._seconds: Mapping[str, float] = {}
        self._at_commits: list[Mapping[str, float]] = []
        settings = {
            "parallelism.default": str(self.specification.parallelism),
            "execution.live.max-files-per-batch": str(self.files_per_batch),
            "execution.checkpointing.dir": str(self.checkpoint),
            "spark.local.dir": str(self.work / "local"),
            # While the process is stopped no heartbeat comes, and it is no reason to give up.
            "spark.network.timeout": "100000s",
            **self.specification.options,
            **self.specification.settings,
        }
        set_listeners(self)
        env = StreamExecutionEnvironment.get_execution_environment(
            Configuration.from_dict(settings)
        )
        source = FileSource.parquet(self.delivery.pattern, RECORD).monitor_continuously()
        records = env.from_source(source, WatermarkStrategy.no_watermarks(), "records")
        results = self.compute(records)
        results.sink_to(DigestSink(str(self.flag), str(self.work / "results.jsonl")))
        self._watcher = Watcher()
        with announced_to(self._watcher.look_at):
            self._job = env.execute_async("live-state")

    def compute(self, records: DataStream[Row]) -> DataStream[Any]:
        """Return (key, count, sum): a row per record."""
        return records.key_by(lambda record: record[0]).process(CountAndSum())

    def on_event(self, event: JobEvent) -> None:
        """Report a commit, and keep where the time had gone by then."""
        if isinstance(event, MetricsReported):
            self._seconds = event.seconds
        elif isinstance(event, MicroBatch):
            self._at_commits.append(self._seconds)
            self.commits.add(event.records)

    def round(self) -> dict[str, Any]:
        """Run a lead-in and the measured micro-batches; say where the time of these went."""
        first = len(self._at_commits)
        answer = super().round()
        lead_in, last = self._at_commits[first], self._at_commits[-1]
        spent = {f"{SECONDS_PREFIX}{name}": last[name] - lead_in.get(name, 0.0) for name in last}
        profile = JobProfile.of(spent, self.specification.parallelism)
        return answer | {PROFILE: profile.to_json()}

    def check_alive(self) -> None:
        """Raise what ended the job."""
        if self._job.get_job_status().result() is not JobStatus.RUNNING:
            self._job.get_job_execution_result().result()
            raise RuntimeError("the job ended by itself")

    def start_check(self) -> None:
        """Let the sink digest."""
        self.flag.touch()

    def outputs(self) -> Outputs:
        """Return what the sink digested."""
        return read_outputs(self.work / "results.jsonl")

    def close(self) -> None:
        """Cancel the job."""
        self._watcher.close()
        self._job.cancel()
        try:
            self._job.get_job_execution_result().result()
        except JobCancelledError:
            return

    @property
    def checkpoint(self) -> Any:
        """The job's checkpoint directory."""
        return self.work / "checkpoint"


if __name__ == "__main__":
    serve(PenstockLiveState)
