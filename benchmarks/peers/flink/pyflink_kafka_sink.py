"""`kafka-sink` in PyFlink, with its own connector; runs in the Flink environment."""

from __future__ import annotations

import os
import time
import uuid

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.serialization import SimpleStringSchema
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.connectors import NumberSequenceSource
from pyflink.datastream.connectors.base import DeliveryGuarantee
from pyflink.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from pyflink_kafka import PyFlinkKafka

from benchmarks.model.digest_parts import added_up, digest_rows
from benchmarks.model.program import Outputs
from benchmarks.systems.serve import serve

_TRANSACTION_TIMEOUT_MS = "600000"
"""Flink asks for an hour by default, which a broker refuses that allows 15 minutes, as brokers do."""

_CHECKPOINT_INTERVAL_MS = "1000"
"""As often as ours; a job that ends commits with one more checkpoint."""


class PyFlinkKafkaSink(PyFlinkKafka):
    """A local job per round, all of which append to one topic but the last, whose topic is read."""

    def prepare(self) -> None:
        """Take the guarantee, which is no setting of Flink, and let checkpoints commit."""
        super().prepare()
        self._guarantee = self._settings.pop("guarantee")
        self._settings["execution.checkpointing.interval"] = _CHECKPOINT_INTERVAL_MS

    def digest(self) -> Outputs:
        """Write all numbers to a topic of their own, and read what is committed there."""
        topic = os.environ["PENSTOCK_BENCH_KAFKA_READ"]
        self._write(self.shape.records, topic)
        env = self._environment()
        ends = KafkaOffsetsInitializer.latest()
        source = (
            KafkaSource.builder()
            .set_bootstrap_servers(os.environ["PENSTOCK_BENCH_KAFKA"])
            .set_topics(topic)
            .set_group_id("pyflink")
            .set_starting_offsets(KafkaOffsetsInitializer.earliest())
            .set_bounded(ends)
            .set_property("isolation.level", "read_committed")
            .set_value_only_deserializer(SimpleStringSchema())
            .build()
        )
        texts = env.from_source(source, WatermarkStrategy.no_watermarks(), "written")
        with texts.execute_and_collect() as results:
            return added_up(digest_rows(int(text) for text in results))

    def _seconds(self, records: int) -> float:
        started = time.monotonic()
        self._write(records, os.environ["PENSTOCK_BENCH_KAFKA_WRITTEN"])
        return time.monotonic() - started

    def _write(self, records: int, topic: str) -> None:
        env = self._environment()
        values = KafkaRecordSerializationSchema.builder().set_topic(topic)
        sink = (
            KafkaSink.builder()
            .set_bootstrap_servers(os.environ["PENSTOCK_BENCH_KAFKA"])
            .set_record_serializer(
                values.set_value_serialization_schema(SimpleStringSchema()).build()
            )
            .set_delivery_guarantee(DeliveryGuarantee[self._guarantee.replace("-", "_").upper()])
            .set_transactional_id_prefix(f"pyflink-{uuid.uuid4().hex}")
            .set_property("transaction.timeout.ms", _TRANSACTION_TIMEOUT_MS)
            .build()
        )
        self._texts(env, records).sink_to(sink)
        env.execute(self.specification.program)

    @staticmethod
    def _texts(env: StreamExecutionEnvironment, records: int) -> DataStream:
        numbers = env.from_source(
            NumberSequenceSource(0, records - 1), WatermarkStrategy.no_watermarks(), "numbers"
        )
        return numbers.map(str, output_type=Types.STRING())


if __name__ == "__main__":
    serve(PyFlinkKafkaSink)
