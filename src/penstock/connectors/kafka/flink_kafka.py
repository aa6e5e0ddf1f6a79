"""The names of older PyFlink programs: `FlinkKafkaConsumer` and `FlinkKafkaProducer`."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import ClassVar

from penstock.connectors.epoch_marks import DeliveryGuarantee
from penstock.connectors.kafka.client import COMMITS_OFFSETS
from penstock.connectors.kafka.kafka_sink import KafkaSink
from penstock.connectors.kafka.kafka_source import KafkaSource
from penstock.connectors.kafka.record_serialization import KafkaRecordSerializationSchema
from penstock.connectors.kafka.values import KafkaOffsetResetStrategy, KafkaOffsetsInitializer
from penstock.connectors.rows.serialization import DeserializationSchema, SerializationSchema
from penstock.errors import ArgumentError


class Semantic(Enum):
    """The guarantee of a `FlinkKafkaProducer`.

    Example:
        >>> Semantic.EXACTLY_ONCE.value
        'exactly-once'
    """

    EXACTLY_ONCE = "exactly-once"
    AT_LEAST_ONCE = "at-least-once"
    NONE = "none"


class FlinkKafkaConsumer(KafkaSource):
    """A `KafkaSource` under its older name, for `add_source` and `from_source`.

    By default it begins at the offsets of its group. A partition without offset begins as the property
    `auto.offset.reset` defines: `latest`, which is the default, `earliest` or `none`.

    Example:
        >>> from penstock.connectors.rows.serialization import SimpleStringSchema
        >>> servers = {"bootstrap.servers": "localhost:9092", "group.id": "shop"}
        >>> FlinkKafkaConsumer("orders", SimpleStringSchema(), servers).describe()
        'kafka topic orders'
        >>> orders = FlinkKafkaConsumer("orders", SimpleStringSchema(), servers)
        >>> orders = orders.set_start_from_earliest().set_commit_offsets_on_checkpoints(True)
        >>> orders = orders.disable_filter_restored_partitions_with_subscribed_topics()  # no effect
        >>> orders = orders.set_start_from_timestamp(1_700_000_000_000)  # the last such call counts
        >>> orders = orders.set_start_from_latest().set_start_from_group_offsets()
        >>> orders.describe()
        'kafka topic orders'
    """

    kind: ClassVar[str] = "kafka-consumer"

    def __init__(
        self,
        topics: str | list[str],
        deserialization_schema: DeserializationSchema,
        properties: Mapping[str, str],
    ) -> None:
        """Describe a source.

        Args:
            topics: A topic, or several.
            deserialization_schema: Makes records of values.
            properties: Properties of the clients, with `bootstrap.servers` and `group.id`.

        Raises:
            ArgumentError: One of them cannot be used.
        """
        names = [topics] if isinstance(topics, str) else topics
        builder = KafkaSource.builder().set_topics(*names).set_properties(properties)
        builder.set_value_only_deserializer(deserialization_schema)
        reset = properties.get("auto.offset.reset", "latest")
        known = {strategy.value: strategy for strategy in KafkaOffsetResetStrategy}
        if reset not in known:
            raise ArgumentError.here(
                f"the property auto.offset.reset is {reset!r}", hint=f"Pass one of {sorted(known)}."
            )
        if "group.id" in properties:
            builder.set_starting_offsets(KafkaOffsetsInitializer.committed_offsets(known[reset]))
        elif known[reset] is KafkaOffsetResetStrategy.LATEST:
            builder.set_starting_offsets(KafkaOffsetsInitializer.latest())
        self._take_over(builder.build())

    def set_start_from_earliest(self) -> FlinkKafkaConsumer:
        """Begin at the first record of each partition."""
        return self._starting_at(KafkaOffsetsInitializer.earliest())

    def set_start_from_latest(self) -> FlinkKafkaConsumer:
        """Begin behind the last record of each partition."""
        return self._starting_at(KafkaOffsetsInitializer.latest())

    def set_start_from_timestamp(self, startup_offsets_timestamp: int) -> FlinkKafkaConsumer:
        """Begin at the first record that is not before a time.

        Args:
            startup_offsets_timestamp: In epoch milliseconds.

        Raises:
            ArgumentError: It is no int from 0.
        """
        return self._starting_at(KafkaOffsetsInitializer.timestamp(startup_offsets_timestamp))

    def set_start_from_group_offsets(self) -> FlinkKafkaConsumer:
        """Begin at the offsets of the group, which is the default; without one at the end."""
        strategy = KafkaOffsetResetStrategy.LATEST
        return self._starting_at(KafkaOffsetsInitializer.committed_offsets(strategy))

    def set_commit_offsets_on_checkpoints(
        self,
        commit_on_checkpoints: bool,  # noqa: FBT001 - PyFlink's
    ) -> FlinkKafkaConsumer:
        """Set whether offsets are committed for the group.

        Args:
            commit_on_checkpoints: True to commit them.
        """
        properties = self.properties.with_property(COMMITS_OFFSETS, commit_on_checkpoints)
        object.__setattr__(self, "properties", properties)
        return self

    def disable_filter_restored_partitions_with_subscribed_topics(self) -> FlinkKafkaConsumer:
        """Do nothing: a partition that is gone is an error. PyFlink has the method."""
        return self

    def _starting_at(self, starting: KafkaOffsetsInitializer) -> FlinkKafkaConsumer:
        # The older class has setters; a source does not change once a job reads it.
        object.__setattr__(self, "starting", starting)
        return self

    def _take_over(self, source: KafkaSource) -> None:
        KafkaSource.__init__(
            self,
            source.topics,
            source.properties,
            source.deserializer,
            source.starting,
            source.stopping,
            source.malformed,
            source.records_per_second,
        )


class FlinkKafkaProducer(KafkaSink):
    """A `KafkaSink` under its older name, for `add_sink` and `sink_to`.

    Example:
        >>> from penstock.connectors.rows.serialization import SimpleStringSchema
        >>> servers = {"bootstrap.servers": "localhost:9092"}
        >>> FlinkKafkaProducer("words", SimpleStringSchema(), servers).describe()
        'kafka topic words, at-least-once'
        >>> words = FlinkKafkaProducer("words", SimpleStringSchema(), servers)
        >>> words.set_log_failures_only(False)
        >>> words.set_flush_on_checkpoint(True)  # has no effect
        >>> words.ignore_failures_after_transaction_timeout() is words  # neither
        True
        >>> words.set_write_timestamp_to_kafka(False)  # True is refused
    """

    def __init__(
        self,
        topic: str,
        serialization_schema: SerializationSchema,
        producer_config: Mapping[str, str],
        kafka_producer_pool_size: int = 5,
        semantic: Semantic = Semantic.AT_LEAST_ONCE,
    ) -> None:
        """Describe a sink.

        Args:
            topic: Its topic.
            serialization_schema: Makes values of records.
            producer_config: Properties of the clients, with `bootstrap.servers`.
            kafka_producer_pool_size: Has no effect.
            semantic: The guarantee.

        Raises:
            ArgumentError: One of them cannot be used.
        """
        del kafka_producer_pool_size
        if not isinstance(semantic, Semantic):
            raise ArgumentError.here(
                f"the semantic is {semantic!r}", hint="Pass Semantic.EXACTLY_ONCE, for example."
            )
        schema = KafkaRecordSerializationSchema.builder().set_topic(topic)
        schema.set_value_serialization_schema(serialization_schema)
        builder = KafkaSink.builder().set_record_serializer(schema.build())
        builder.set_delivery_guarantee(DeliveryGuarantee(semantic.value))
        for key, value in producer_config.items():
            builder.set_property(key, value)
        sink = builder.build()
        KafkaSink.__init__(self, sink.properties, sink.serializer, sink.guarantee, sink.prefix)

    def set_log_failures_only(self, log_failures_only: bool) -> None:  # noqa: FBT001 - PyFlink's
        """Set whether what cannot be written is left out.

        Args:
            log_failures_only: True to log failures only.
        """
        how = DeliveryGuarantee.NONE if log_failures_only else DeliveryGuarantee.AT_LEAST_ONCE
        if self.guarantee is not DeliveryGuarantee.EXACTLY_ONCE:
            object.__setattr__(self, "guarantee", how)

    def set_flush_on_checkpoint(self, flush_on_checkpoint: bool) -> None:  # noqa: FBT001 - PyFlink's
        """Do nothing: an epoch ends when its records are written. PyFlink has the method.

        Args:
            flush_on_checkpoint: Has no effect.
        """

    def ignore_failures_after_transaction_timeout(self) -> FlinkKafkaProducer:
        """Do nothing: no transaction is open while a job stands still. PyFlink has the method."""
        return self

    def set_write_timestamp_to_kafka(
        self,
        write_timestamp_to_kafka: bool,  # noqa: FBT001 - PyFlink's
    ) -> None:
        """Refuse event timestamps, which do not reach sinks.

        Args:
            write_timestamp_to_kafka: Only False.

        Raises:
            ArgumentError: It is True.
        """
        if write_timestamp_to_kafka:
            raise ArgumentError.here(
                "a FlinkKafkaProducer cannot write timestamps of events: they do not reach sinks",
                hint="Map the timestamp into the record, and use KafkaSink with "
                "KafkaRecordSerializationSchema.builder()…set_timestamp(function).",
            )
