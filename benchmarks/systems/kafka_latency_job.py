"""The process of a system from topic to topic: one job, which stays; producer and reader have a process beside it.

A value is `NUMBER MADE_NS`, the clock of the producer. The job counts the records of each key and passes the value on; the
reader sees committed records, and compares with the clock when it gets them. Clients are made elsewhere: what a script defines
travels to workers by value, and classes of the client cannot.
"""

from __future__ import annotations

import os
import time
import uuid
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from benchmarks.inputs.kafka import SERVERS, make_topic, servers
from benchmarks.model.digest_parts import added_up, digest_rows
from benchmarks.model.measurement import LATENCY
from benchmarks.systems.kafka_clients import KafkaClients
from benchmarks.systems.serve import serve
from penstock.common import Configuration, SimpleStringSchema, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DeliveryGuarantee
from penstock.datastream.connectors.kafka import (
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)

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
        servers: The brokers.
        spawned: When the process was started, on the monotonic clock of the machine.
    """

    work: str
    parallelism: int
    records: int
    records_per_second: int
    servers: str
    settings: dict[str, str] = field(default_factory=dict)
    spawned: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """Return its attributes."""
        return asdict(self)


class KafkaLatency:
    """One job over all rounds."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._told = KafkaLatencySpecification(**values)
        self._seen: list[int] = []
        os.environ[SERVERS] = self._told.servers
        suffix = uuid.uuid4().hex
        self._topics = f"from-{suffix}", f"to-{suffix}"
        for name in self._topics:
            make_topic(name)
        self._clients = KafkaClients(read_from=self._topics[1], write_to=self._topics[0])
        self._client = self._environment().execute_async("latency")

    def warm_up(self) -> dict[str, Any]:
        """Run one round that does not count."""
        self.round()
        return {"cold_seconds": time.monotonic() - self._told.spawned}

    def round(self) -> dict[str, Any]:
        """Have records made at the rate and read.

        Raises:
            TimeoutError: They do not arrive.
        """
        told, result = self._told, self._client.get_job_execution_result()
        self._clients.round(len(self._seen), told.records, told.records_per_second)
        while (arrived := self._clients.arrivals(timeout_seconds=1)) is None:
            if result.done():
                result.result()  # raises what the job failed for
        self._seen += arrived.numbers
        found = {
            name: 1000 * float(np.quantile(arrived.latencies, q)) for name, q in _QUANTILES.items()
        }
        return {"records": told.records, "seconds": arrived.seconds, LATENCY: found}

    def check(self) -> dict[str, Any]:
        """Return the digest of all numbers that were read."""
        return asdict(added_up(digest_rows(iter(self._seen))))

    def close(self) -> None:
        """Stop the job and the clients."""
        self._client.cancel().result()
        self._clients.close()

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
