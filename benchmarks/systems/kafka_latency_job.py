"""The process of a system from topic to topic: one job, which stays, and a producer and a reader beside it.

A value is `NUMBER MADE_NS`, the clock of the producer. The job counts the records of each key and passes the value on; the
reader sees committed records, and compares with the clock when it gets them. Clients are made elsewhere: what a script defines
travels to workers by value, and classes of the client cannot.
"""

from __future__ import annotations

import time
import uuid
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from benchmarks.inputs.kafka import PARTITIONS, make_topic, new_producer, new_reader, servers
from benchmarks.model.digest_parts import added_up, digest_rows
from benchmarks.model.measurement import LATENCY
from benchmarks.systems.serve import serve
from penstock.common import Configuration, SimpleStringSchema, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DeliveryGuarantee
from penstock.datastream.connectors.kafka import (
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)

_SECONDS = 120.0
_QUANTILES = {"p50": 0.5, "p99": 0.99}


@dataclass(frozen=True, slots=True)
class KafkaLatencySpecification:
    """What the process is told.

    Attributes:
        work: Empty directory of its own.
        parallelism: Cores and subtasks.
        records: Records of a round.
        records_per_second: Rate at which they are made.
        settings: `KEY=VALUE`, for the job.
        spawned: When the process was started, on the monotonic clock of the machine.
    """

    work: str
    parallelism: int
    records: int
    records_per_second: int
    settings: dict[str, str] = field(default_factory=dict)
    spawned: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """Return its attributes."""
        return asdict(self)


class KafkaLatency:
    """One job over all rounds."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._told = KafkaLatencySpecification(**values)
        self._made = 0
        self._seen: list[int] = []
        suffix = uuid.uuid4().hex
        self._topics = f"from-{suffix}", f"to-{suffix}"
        for name in self._topics:
            make_topic(name)
        self._producer = new_producer()
        self._reader = new_reader(self._topics[1])
        self._client = self._environment().execute_async("latency")

    def warm_up(self) -> dict[str, Any]:
        """Run one round that does not count."""
        self.round()
        return {"cold_seconds": time.monotonic() - self._told.spawned}

    def round(self) -> dict[str, Any]:
        """Make records at the rate, and read them.

        Raises:
            TimeoutError: They do not arrive.
        """
        told, latencies = self._told, list[float]()
        began = time.monotonic()
        for number in range(told.records):
            due = began + number / told.records_per_second
            while time.monotonic() < due:
                self._read(latencies, due - time.monotonic())
            self._produce()
        until = time.monotonic() + _SECONDS
        result = self._client.get_job_execution_result()
        while len(latencies) < told.records:
            if result.done():
                result.result()  # raises what the job failed for
            if time.monotonic() > until:
                raise TimeoutError(f"{told.records - len(latencies)} records do not arrive")
            self._read(latencies, 0.05)
        seconds = time.monotonic() - began
        found = {name: 1000 * float(np.quantile(latencies, q)) for name, q in _QUANTILES.items()}
        return {"records": told.records, "seconds": seconds, LATENCY: found}

    def check(self) -> dict[str, Any]:
        """Return the digest of all numbers that were read."""
        return asdict(added_up(digest_rows(iter(self._seen))))

    def close(self) -> None:
        """Stop the job and the clients."""
        self._client.cancel().result()
        self._reader.close()

    def _produce(self) -> None:
        text = f"{self._made} {time.time_ns()}"
        self._producer.produce(self._topics[0], text.encode(), partition=self._made % PARTITIONS)
        self._producer.poll(0)
        self._made += 1

    def _read(self, latencies: list[float], seconds: float) -> None:
        message = self._reader.poll(max(min(seconds, 0.01), 0))
        if message is None:
            return
        if message.error() is not None:
            raise RuntimeError(message.error().str())
        number, made_ns = map(int, (message.value() or b"").split())
        latencies.append((time.time_ns() - made_ns) / 1e9)
        self._seen.append(number)

    def _environment(self) -> StreamExecutionEnvironment:
        settings = {
            "parallelism.default": str(self._told.parallelism),
            "execution.runtime-mode": "STREAMING",
            "execution.checkpointing.dir": f"{self._told.work}/job",
            "spark.local.dir": f"{self._told.work}/local",
            "spark.network.timeout": "100000s",
            **self._told.settings,
        }
        conf = Configuration.from_dict(settings)
        env = StreamExecutionEnvironment.get_execution_environment(conf)
        read = KafkaSource.builder().set_bootstrap_servers(servers()).set_topics(self._topics[0])
        source = read.set_value_only_deserializer(SimpleStringSchema()).build()
        schema = KafkaRecordSerializationSchema.builder().set_topic(self._topics[1])
        values = schema.set_value_serialization_schema(SimpleStringSchema()).build()
        sink = KafkaSink.builder().set_bootstrap_servers(servers()).set_record_serializer(values)
        sink.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        texts = env.from_source(source, WatermarkStrategy.no_watermarks(), "in")
        counted = texts.map(lambda text: (int(text.split()[0]) % 10, text, 1))
        totals = counted.key_by(lambda one: one[0]).reduce(lambda a, b: (a[0], b[1], a[2] + b[2]))
        totals.map(lambda total: total[1], output_type=Types.STRING()).sink_to(sink.build())
        return env


if __name__ == "__main__":
    serve(KafkaLatency)
