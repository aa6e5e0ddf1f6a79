"""A topic is filtered into another one. A program for PyFlink with jars, options and Kafka."""

from pyflink.common import Configuration, SimpleStringSchema, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.base import DeliveryGuarantee
from pyflink.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)

config = Configuration()
config.set_string("execution.checkpointing.mode", "EXACTLY_ONCE")
config.set_string("taskmanager.memory.process.size", "4g")
config.set_string("pipeline.jars", "file:///opt/flink-sql-connector-kafka.jar")
config.set_string("execution.checkpointing.intervall", "10s")

env = StreamExecutionEnvironment.get_execution_environment(config)
env.add_jars("file:///opt/flink-sql-connector-kafka.jar")
source = (
    KafkaSource.builder()
    .set_bootstrap_servers("localhost:9092")
    .set_topics("orders")
    .set_group_id("filter")
    .set_starting_offsets(KafkaOffsetsInitializer.earliest())
    .set_value_only_deserializer(SimpleStringSchema())
    .build()
)
sink = (
    KafkaSink.builder()
    .set_bootstrap_servers("localhost:9092")
    .set_record_serializer(
        KafkaRecordSerializationSchema.builder()
        .set_topic("large-orders")
        .set_value_serialization_schema(SimpleStringSchema())
        .build()
    )
    .set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE)
    .build()
)
orders = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders")
orders.filter(lambda line: len(line) > 100).sink_to(sink)
env.execute("large orders")
