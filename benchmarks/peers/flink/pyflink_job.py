"""`reduce` in PyFlink: runs in the Flink environment, over Penstock's side of the protocol.

A PyFlink job starts a cluster and Python workers of its own, and no setting keeps them for the next
one. What our jobs and the other peers find warm is therefore measured by the same job over one
record per subtask, and subtracted; both times are told.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import time
from collections.abc import Mapping
from statistics import median
from typing import Any

from pyflink.common import Configuration, Types, WatermarkStrategy
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.connectors import NumberSequenceSource, Sink
from pyflink.java_gateway import get_gateway

from benchmarks.answers.reduce_records import combine, count_of, key_of, record_maker
from benchmarks.model.digest_parts import added_up, digest_rows
from benchmarks.model.program import Outputs
from benchmarks.systems.bounded import BoundedSystem
from benchmarks.systems.serve import serve

EMPTY_RUNS = 3


class PyFlinkPeer(BoundedSystem):
    """A local job per round."""

    def prepare(self) -> None:
        """Take the settings, before the JVM starts."""
        # In thread mode Python runs inside the JVM, which knows nothing of this environment.
        paths = [os.environ.get("PYTHONPATH"), sysconfig.get_path("purelib")]
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        self._settings = {
            "parallelism.default": str(self.shape.parallelism),
            "execution.runtime-mode": self.shape.mode,
            "python.executable": sys.executable,
            "python.client.executable": sys.executable,
            "taskmanager.memory.managed.size": "512m",
            "rest.port": "0",
            **self.specification.options,
        }
        self._empty_seconds = 0.0

    def warm_up(self) -> dict[str, Any]:
        """Run once cold, then measure what starting a job takes."""
        told = super().warm_up()
        empty = [self._seconds(self.shape.parallelism) for _ in range(EMPTY_RUNS)]
        self._empty_seconds = median(empty)
        return {**told, "empty_seconds": self._empty_seconds}

    def run(self) -> Mapping[str, Any]:
        """Run over all records."""
        whole = self._seconds(self.shape.records)
        return {"seconds": whole - self._empty_seconds, "whole_seconds": whole}

    def digest(self) -> Outputs:
        """Collect the last row of every key."""
        env = self._environment()
        shape = self.shape
        last = self._rolling(env, shape.records).filter(lambda r: r[2] >= count_of(shape, r[0]))
        with last.execute_and_collect() as results:
            return added_up(digest_rows(tuple(row) for row in results))

    def close(self) -> None:
        """Nothing runs between runs."""

    def _seconds(self, records: int) -> float:
        started = time.monotonic()
        env = self._environment()
        discarding = get_gateway().jvm.org.apache.flink.streaming.api.functions.sink.v2
        self._rolling(env, records).sink_to(Sink(discarding.DiscardingSink()))
        env.execute(self.specification.program)
        return time.monotonic() - started

    def _environment(self) -> StreamExecutionEnvironment:
        configuration = Configuration()
        for key, value in self._settings.items():
            configuration.set_string(key, value)
        return StreamExecutionEnvironment.get_execution_environment(configuration)

    def _rolling(self, env: StreamExecutionEnvironment, records: int) -> DataStream:
        numbers = env.from_source(
            NumberSequenceSource(0, records - 1), WatermarkStrategy.no_watermarks(), "numbers"
        )
        record = Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG()])
        return (
            numbers.map(record_maker(self.shape.keys), output_type=record)
            .key_by(key_of, key_type=Types.LONG())
            .reduce(combine)
        )


if __name__ == "__main__":
    serve(PyFlinkPeer)
