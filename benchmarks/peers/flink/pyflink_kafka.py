"""`kafka` in PyFlink, with its own connector; runs in the Flink environment."""

from __future__ import annotations

import os
from pathlib import Path

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.serialization import SimpleStringSchema
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from pyflink_job import PyFlinkPeer

from benchmarks.answers.kafka_records import is_last_count
from benchmarks.model.digest_parts import added_up, digest_rows
from benchmarks.model.program import Outputs
from benchmarks.systems.serve import serve

JARS = Path(os.environ.get("PENSTOCK_BENCH_FLINK", Path(__file__).parent / "environment")) / "kafka"


class PyFlinkKafka(PyFlinkPeer):
    """A local job per round; what it takes to start is that of a job over an empty range of the topic."""

    def prepare(self) -> None:
        """Add the connector's jars."""
        super().prepare()
        self._settings["pipeline.jars"] = ";".join(
            f"file://{jar}" for jar in sorted(JARS.glob("*.jar"))
        )

    def digest(self) -> Outputs:
        """Collect the last row of every key."""
        env = self._environment()
        shape = self.shape
        last = self._rolling(env, shape.records).filter(lambda r: bool(is_last_count(shape, r)))
        with last.execute_and_collect() as results:
            return added_up(digest_rows(tuple(row) for row in results))

    def _rolling(self, env: StreamExecutionEnvironment, records: int) -> DataStream:
        ends = KafkaOffsetsInitializer.latest()
        starts = KafkaOffsetsInitializer.earliest() if records == self.shape.records else ends
        source = (
            KafkaSource.builder()
            .set_bootstrap_servers(os.environ["PENSTOCK_BENCH_KAFKA"])
            .set_topics(f"counted-{self.shape.records}-{self.shape.keys}")
            .set_group_id("pyflink")
            .set_starting_offsets(starts)
            .set_bounded(ends)
            .set_value_only_deserializer(SimpleStringSchema())
            .build()
        )
        texts = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders")
        count = Types.TUPLE([Types.LONG(), Types.LONG()])
        ones = texts.map(lambda text: (int(text), 1), output_type=count)
        keyed = ones.key_by(lambda one: one[0], key_type=Types.LONG())
        return keyed.reduce(lambda a, b: (a[0], a[1] + b[1]))


if __name__ == "__main__":
    serve(PyFlinkKafka)
