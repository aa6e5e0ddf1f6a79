"""The names of `pyflink.datastream.connectors.kafka`, and what there is beyond them."""

from penstock.connectors.absent import OLD_PLACES, absent
from penstock.connectors.epoch_marks import DeliveryGuarantee
from penstock.connectors.kafka.flink_kafka import FlinkKafkaConsumer, FlinkKafkaProducer, Semantic
from penstock.connectors.kafka.kafka_sink import KafkaSink, KafkaSinkBuilder
from penstock.connectors.kafka.kafka_source import KafkaSource
from penstock.connectors.kafka.kafka_source_builder import KafkaSourceBuilder
from penstock.connectors.kafka.record_serialization import (
    KafkaRecordSerializationSchema,
    KafkaRecordSerializationSchemaBuilder,
    KafkaTopicSelector,
)
from penstock.connectors.kafka.values import (
    KafkaMalformedRecords,
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaRecord,
    KafkaTopicPartition,
)
from penstock.datastream.kafka_dead_letters import KafkaDeadLetter, KafkaDeadLetters

__all__ = [
    "DeliveryGuarantee",
    "FlinkKafkaConsumer",
    "FlinkKafkaProducer",
    "KafkaDeadLetter",
    "KafkaDeadLetters",
    "KafkaMalformedRecords",
    "KafkaOffsetResetStrategy",
    "KafkaOffsetsInitializer",
    "KafkaRecord",
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaSink",
    "KafkaSinkBuilder",
    "KafkaSource",
    "KafkaSourceBuilder",
    "KafkaTopicPartition",
    "KafkaTopicSelector",
    "Semantic",
]

__getattr__ = absent("kafka", [name for name, module in OLD_PLACES.items() if module == "kafka"])
