"""What has each customer spent? Orders are in files up to a time, and in Kafka from then on; totals go to Kafka.

    make kafka-demo                                              with a broker and orders of its own
    penstock run examples/kafka/totals.py SERVERS FILES SINCE_MS     with yours

Files are read at batch speed, then Kafka with the totals of the files. A reader of committed records sees each
total once, whatever fails and however often the program is started again.
"""

from __future__ import annotations

import sys
from typing import Any

from penstock.common import Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import FileSource, HybridSource
from penstock.datastream.connectors.kafka import (
    DeliveryGuarantee,
    KafkaOffsetsInitializer,
    KafkaRecord,
    KafkaSink,
    KafkaSource,
)
from penstock.datastream.formats.json import JsonRowDeserializationSchema

ORDER = Types.ROW_NAMED(["customer", "amount"], [Types.STRING(), Types.LONG()])


def orders(servers: str, files: str, since_ms: int, topic: str = "orders") -> HybridSource:
    """Return the orders in files, then those in Kafka."""
    schema = JsonRowDeserializationSchema.builder().type_info(ORDER).build()
    live = (
        KafkaSource.builder()
        .set_bootstrap_servers(servers)
        .set_topics(topic)
        .set_group_id("totals")
        .set_starting_offsets(KafkaOffsetsInitializer.timestamp(since_ms))
        .set_value_only_deserializer(schema)
        .build()
    )
    return HybridSource.builder(FileSource.json(files, type_info=ORDER)).add_source(live).build()


def totals(servers: str, topic: str = "totals") -> KafkaSink:
    """Return the topic of totals: the newest record of a customer is what counts."""

    def record(total: Any) -> KafkaRecord:
        return KafkaRecord(total.customer.encode(), b"%d" % total.amount, topic)

    return (
        KafkaSink.builder()
        .set_bootstrap_servers(servers)
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_record_serializer(record)
        .build()
    )


def build(
    source: HybridSource, sink: KafkaSink, env: StreamExecutionEnvironment | None = None
) -> StreamExecutionEnvironment:
    """Return the environment of the program."""
    env = env or StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders").uid("orders")
    spent = stream.key_by(lambda order: order.customer).sum("amount").uid("totals")
    # The newest total of a customer: once for all of history, then once per micro-batch.
    spent.upsert_to(sink, key=lambda total: total.customer).name("totals").uid("out")
    return env


if __name__ == "__main__":
    servers, files, since_ms = sys.argv[1:]
    build(orders(servers, files, int(since_ms)), totals(servers)).execute("totals")
