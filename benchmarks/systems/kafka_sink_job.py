"""The process of our systems that write numbers to Kafka: a new topic per run."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from benchmarks.inputs.kafka import make_topic, outputs_of, servers
from benchmarks.model.program import Outputs
from benchmarks.model.shape import MODES
from benchmarks.systems.bounded import BoundedSystem
from benchmarks.systems.serve import serve
from penstock.common import Configuration, SimpleStringSchema, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DeliveryGuarantee, NumberSequenceSource
from penstock.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink


class KafkaWriting(BoundedSystem):
    """A job per run; the Spark session stays."""

    def prepare(self) -> None:
        """Begin without a topic."""
        self._topic = ""

    def run(self) -> Mapping[str, Any]:
        """Write all numbers to a new topic."""
        self._topic = f"written-{uuid.uuid4().hex}"
        make_topic(self._topic)
        options = dict(self.specification.options)
        guarantee = DeliveryGuarantee(options.pop("guarantee"))
        env = StreamExecutionEnvironment.get_execution_environment(
            Configuration.from_dict(
                {
                    "parallelism.default": str(self.shape.parallelism),
                    "spark.local.dir": str(self.work / "local"),
                    "spark.network.timeout": "100000s",
                    **MODES[self.shape.mode],
                    **options,
                    **self.specification.settings,
                }
            )
        )
        values = KafkaRecordSerializationSchema.builder().set_topic(self._topic)
        schema = values.set_value_serialization_schema(SimpleStringSchema()).build()
        sink = KafkaSink.builder().set_bootstrap_servers(servers()).set_record_serializer(schema)
        numbers = env.from_source(
            NumberSequenceSource(0, self.shape.total - 1),
            WatermarkStrategy.no_watermarks(),
            "numbers",
        )
        texts = numbers.map(str, output_type=Types.STRING())
        texts.sink_to(sink.set_delivery_guarantee(guarantee).build())
        env.execute(self.specification.program)
        return {}

    def digest(self) -> Outputs:
        """Write once more, and read what was written."""
        self.run()
        return outputs_of(self._topic, int)

    def close(self) -> None:
        """Nothing runs between runs; the session ends with the process."""


if __name__ == "__main__":
    serve(KafkaWriting)
