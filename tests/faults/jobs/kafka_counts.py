"""Counts the records of every key of one topic of Kafka into another one, exactly once.

Arguments: servers, the topic that is read up to what is there at the start, the topic that is written.
"""

from __future__ import annotations

import sys

from penstock.common import SimpleStringSchema, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.kafka import (
    DeliveryGuarantee,
    KafkaOffsetsInitializer,
    KafkaRecord,
    KafkaSink,
    KafkaSource,
)


def main(servers: str, topic: str, to: str) -> None:
    source = KafkaSource.builder().set_bootstrap_servers(servers).set_topics(topic)
    source.set_value_only_deserializer(SimpleStringSchema())
    source.set_bounded(KafkaOffsetsInitializer.latest())

    def record(seen: tuple[str, int]) -> KafkaRecord:
        return KafkaRecord(seen[0].encode(), b"%d" % seen[1], to)

    sink = KafkaSink.builder().set_bootstrap_servers(servers).set_record_serializer(record)
    sink.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
    env = StreamExecutionEnvironment.get_execution_environment()
    keys = env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "keys").uid("keys")
    ones = keys.map(lambda key: (key, 1)).key_by(lambda one: one[0])
    ones.sum(1).uid("counts").sink_to(sink.build()).uid("out")
    env.execute("counts")


if __name__ == "__main__":
    main(*sys.argv[1:])
