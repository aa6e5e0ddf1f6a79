"""The process of our systems in programs over an input that ends."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from pkgutil import resolve_name
from typing import Any

from benchmarks.model.measurement import PROFILE
from benchmarks.model.program import Outputs
from benchmarks.model.shape import MODES
from benchmarks.systems.bounded import BoundedSystem
from benchmarks.systems.digest_sink import DigestSink, read_outputs
from benchmarks.systems.serve import serve
from benchmarks.systems.watcher import Watcher
from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.metrics.profile import JobProfile
from penstock.observe.events.job_events import JobEvent, MicroBatch, Switched
from penstock.observe.events.listeners import JobListener, set_listeners
from penstock.observe.ui.server import announced_to

HAND_OVER = "switch_seconds"
"""Told by jobs with a switch: from the end of the batch run to the start of the live query."""

FIRST_OUTPUT = "first_output_seconds"
"""Likewise: from the end of the batch run to the first committed live records."""


class PenstockPipeline(BoundedSystem, JobListener):
    """A job per run; the Spark session stays."""

    def prepare(self) -> None:
        """Find the program's functions."""
        found = {name: resolve_name(path) for name, path in self.specification.functions.items()}
        self._build = found["build"]
        is_output = found.get("is_output")
        self._keep = None if is_output is None else partial(is_output, self.shape)
        self._flag = self.work / "check"
        self._results = self.work / "results.jsonl"
        self._switch: dict[str, float] = {}
        self._history_ended = 0.0
        set_listeners(self)
        self._watcher = Watcher()

    def on_event(self, event: JobEvent) -> None:
        """Keep how long the switch took."""
        if isinstance(event, Switched):
            self._switch[HAND_OVER] = event.seconds
            self._history_ended = time.monotonic() - event.seconds
        elif isinstance(event, MicroBatch) and event.records and HAND_OVER in self._switch:
            self._switch.setdefault(FIRST_OUTPUT, time.monotonic() - self._history_ended)

    def run(self) -> Mapping[str, Any]:
        """Run the job; tell what each of its runs took."""
        self._switch.clear()
        env = StreamExecutionEnvironment.get_execution_environment(
            Configuration.from_dict(
                {
                    "parallelism.default": str(self.shape.parallelism),
                    "spark.local.dir": str(self.work / "local"),
                    # While the process is stopped no heartbeat comes, and it is no reason to
                    # give up.
                    "spark.network.timeout": "100000s",
                    **MODES[self.shape.mode],
                    **self.specification.options,
                    **self.specification.settings,
                }
            )
        )
        outputs = self._build(env, self.shape)
        outputs.sink_to(DigestSink(str(self._flag), str(self._results), self._keep))
        with announced_to(self._watcher.look_at):
            result = env.execute(self.specification.program)
        told: dict[str, Any] = {f"{run.name}_seconds": run.seconds for run in result.runs}
        profile = JobProfile.of(result.get_all_accumulator_results(), self.shape.parallelism)
        return told | self._switch | {PROFILE: profile.to_json()}

    def digest(self) -> Outputs:
        """Run with a sink that digests."""
        self._flag.touch()
        self.run()
        return read_outputs(self._results)

    def close(self) -> None:
        """Nobody watches any more. Nothing runs between runs; the session ends with the process."""
        self._watcher.close()


if __name__ == "__main__":
    serve(PenstockPipeline)
