"""Builds Kafka sources."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, Generic, TypeVar

from penstock.connectors.client_library import check_set
from penstock.connectors.kafka.client import (
    CLIENT_ID_PREFIX,
    GROUP,
    SERVERS,
    KafkaClientBuilder,
    check_installed,
)
from penstock.connectors.kafka.record_serialization import (
    MessageDeserializer,
    RecordDeserializer,
    ValueDeserializer,
)
from penstock.connectors.kafka.topics import KafkaTopics
from penstock.connectors.kafka.values import (
    KafkaMalformedRecords,
    KafkaOffsetsInitializer,
    KafkaRecord,
    KafkaTopicPartition,
    OffsetsKind,
    checked_initializer,
)
from penstock.connectors.rows.serialization import DeserializationSchema
from penstock.errors import ArgumentError
from penstock.types import TypeInformation
from penstock.types.types import Types

S = TypeVar("S")


class KafkaSourceBuilder(KafkaClientBuilder, Generic[S]):
    """Builds a `KafkaSource`, as PyFlink's builder does.

    Example:
        >>> from penstock.datastream.connectors.kafka import KafkaSource
        >>> builder = KafkaSource.builder().set_bootstrap_servers("localhost:9092")
        >>> builder = builder.set_topics("orders").set_deserializer(lambda record: record.value)
        >>> builder.set_bounded(KafkaOffsetsInitializer.latest()).build().is_bounded
        True
        >>> builder = KafkaSource.builder().set_bootstrap_servers("localhost:9092")
        >>> builder = builder.set_topic_pattern("orders-.*").set_client_id_prefix("shop")
        >>> builder = builder.set_property("fetch.wait.max.ms", "20").set_records_per_second(5_000)
        >>> builder = builder.set_malformed_records(KafkaMalformedRecords.SKIP)
        >>> builder = builder.set_deserializer(lambda record: record.value)
        >>> builder.build().describe()
        "kafka topics like 'orders-.*'"
        >>> builder.set_unbounded(KafkaOffsetsInitializer.latest()).build().is_bounded
        True
        >>> builder = KafkaSource.builder().set_bootstrap_servers("localhost:9092")
        >>> builder = builder.set_partitions([KafkaTopicPartition("orders", 2)])
        >>> builder.set_deserializer(lambda record: record.value).build().describe()
        'kafka partitions orders-2'
    """

    def __init__(self, make: Callable[..., S]) -> None:
        """Begin with nothing set.

        Args:
            make: Makes the source.
        """
        self._make = make
        super().__init__()
        self._topics: KafkaTopics | None = None
        self._starting = KafkaOffsetsInitializer.earliest()
        self._stopping: KafkaOffsetsInitializer | None = None
        self._deserializer: MessageDeserializer | None = None
        self._malformed = KafkaMalformedRecords.FAIL
        self._records_per_second: int | None = None

    def set_group_id(self, group_id: str) -> KafkaSourceBuilder[S]:
        """Set the consumer group, for which offsets are committed after each epoch.

        Partitions are not shared among its members: the job reads all of them.

        Args:
            group_id: Its name.
        """
        return self.set_property(GROUP, group_id)

    def set_topics(self, *topics: str) -> KafkaSourceBuilder[S]:
        """Read topics; they must be there when the job starts.

        Args:
            topics: Their names.

        Raises:
            ArgumentError: There is no name, or something else was set to be read.
        """
        if not topics or not all(isinstance(name, str) and name for name in topics):
            raise ArgumentError.here(
                f"the topics are {list(topics)}", hint="Pass one or more names of topics."
            )
        return self._reads(KafkaTopics(names=tuple(dict.fromkeys(topics))))

    def set_topic_pattern(self, topic_pattern: str) -> KafkaSourceBuilder[S]:
        """Read all topics with a name like a pattern, those that appear later too.

        Args:
            topic_pattern: Regular expression of the whole name.

        Raises:
            ArgumentError: It is no regular expression, or something else was set to be read.
        """
        try:
            re.compile(topic_pattern)
        except (re.error, TypeError) as cause:
            raise ArgumentError.here(
                f"the pattern of topics is {topic_pattern!r}: {cause}",
                hint="Pass a regular expression.",
            ) from cause
        return self._reads(KafkaTopics(pattern=topic_pattern))

    def set_partitions(self, partitions: Collection[KafkaTopicPartition]) -> KafkaSourceBuilder[S]:
        """Read some partitions, and no others.

        Args:
            partitions: The partitions.

        Raises:
            ArgumentError: There is none, or something else was set to be read.
        """
        given = list(partitions)
        if not given or not all(isinstance(place, KafkaTopicPartition) for place in given):
            raise ArgumentError.here(
                f"the partitions are {given}",
                hint="Pass a set of KafkaTopicPartition(topic, number).",
            )
        return self._reads(KafkaTopics(partitions=tuple(sorted(set(given)))))

    def set_starting_offsets(
        self, starting_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder[S]:
        """Set where each partition begins if the job starts for the first time; at its first record otherwise.

        Args:
            starting_offsets_initializer: The offsets.

        Raises:
            ArgumentError: It is no initializer.
        """
        self._starting = checked_initializer(starting_offsets_initializer, "set_starting_offsets")
        return self

    def set_bounded(
        self, stopping_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder[S]:
        """Set where each partition ends. The end must be there when the job starts.

        Args:
            stopping_offsets_initializer: The offsets; `KafkaOffsetsInitializer.latest()` is the end at the start.

        Raises:
            ArgumentError: It is no initializer.
        """
        self._stopping = checked_initializer(stopping_offsets_initializer, "set_bounded")
        return self

    def set_unbounded(
        self, stopping_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder[S]:
        """Set where each partition ends, as `set_bounded` does. In Flink the job is streaming; the results are the same.

        Args:
            stopping_offsets_initializer: The offsets at which partitions end.

        Raises:
            ArgumentError: It is no initializer.
        """
        self._stopping = checked_initializer(stopping_offsets_initializer, "set_unbounded")
        return self

    def set_value_only_deserializer(
        self, deserialization_schema: DeserializationSchema
    ) -> KafkaSourceBuilder[S]:
        """Make records of the values of Kafka's records. A record without a value is malformed.

        Args:
            deserialization_schema: Makes them; what it makes None of is left out.

        Raises:
            ArgumentError: It is no schema.
        """
        if not isinstance(deserialization_schema, DeserializationSchema):
            raise ArgumentError.here(
                f"set_value_only_deserializer got {deserialization_schema!r}",
                hint="Pass a DeserializationSchema, such as SimpleStringSchema(), or call "
                "set_deserializer with a function of a KafkaRecord.",
            )
        self._deserializer = ValueDeserializer(deserialization_schema)
        return self

    def set_deserializer(
        self,
        deserializer: Callable[[KafkaRecord], Any],
        type_info: TypeInformation | None = None,
    ) -> KafkaSourceBuilder[S]:
        """Make records of Kafka's records: with key, headers, topic, partition, offset and timestamp.

        Args:
            deserializer: Called with a `KafkaRecord`, in workers; what it makes None of is left out.
            type_info: Type of the records.

        Raises:
            ArgumentError: It cannot be called.
        """
        if not callable(deserializer):
            raise ArgumentError.here(
                f"set_deserializer got {deserializer!r}", hint="Pass a function of a KafkaRecord."
            )
        declared = Types.PICKLED_BYTE_ARRAY() if type_info is None else type_info
        self._deserializer = RecordDeserializer(deserializer, declared)
        return self

    def set_malformed_records(self, malformed: KafkaMalformedRecords) -> KafkaSourceBuilder[S]:
        """Set what is done about a record that the deserializer refuses; the default is to fail.

        Args:
            malformed: The policy.

        Raises:
            ArgumentError: It is no `KafkaMalformedRecords`.
        """
        if not isinstance(malformed, KafkaMalformedRecords):
            raise ArgumentError.here(
                f"set_malformed_records got {malformed!r}",
                hint="Pass KafkaMalformedRecords.FAIL or KafkaMalformedRecords.SKIP.",
            )
        self._malformed = malformed
        return self

    def set_records_per_second(self, records_per_second: int) -> KafkaSourceBuilder[S]:
        """Limit the rate of a live run, over all partitions.

        Args:
            records_per_second: The limit.

        Raises:
            ArgumentError: It is no int from 1.
        """
        if type(records_per_second) is not int or records_per_second < 1:
            raise ArgumentError.here(
                f"set_records_per_second got {records_per_second!r}", hint="Pass an int from 1."
            )
        self._records_per_second = records_per_second
        return self

    def set_client_id_prefix(self, prefix: str) -> KafkaSourceBuilder[S]:
        """Set what the names of the clients begin with, which brokers log.

        Args:
            prefix: The beginning.
        """
        return self.set_property(CLIENT_ID_PREFIX, prefix)

    def set_properties(self, props: Mapping[str, str]) -> KafkaSourceBuilder[S]:
        """Set properties of the clients.

        Args:
            props: Name to value.

        Raises:
            ArgumentError: A name or a value is no text.
        """
        for key, value in props.items():
            self.set_property(key, value)
        return self

    def build(self) -> S:
        """Return the source.

        Raises:
            ArgumentError: Something that it needs was not set.
            MissingConnectorError: The package `confluent-kafka` is not installed.
        """
        check_installed("KafkaSource")
        for initializer in (self._starting, self._stopping):
            if initializer is not None and initializer.kind is OffsetsKind.COMMITTED:
                self._needed(self._properties.get(GROUP), "the committed offsets", "set_group_id")
        self._needed(self._properties.get(SERVERS), "brokers", "set_bootstrap_servers")
        deserializer = self._deserializer
        return self._make(
            self._needed(self._topics, "topics", "set_topics"),
            self._properties,
            self._needed(deserializer, "values", "set_value_only_deserializer"),
            self._starting,
            self._stopping,
            self._malformed,
            self._records_per_second,
        )

    def _reads(self, topics: KafkaTopics) -> KafkaSourceBuilder[S]:
        if self._topics is not None:
            raise ArgumentError.here(
                f"a Kafka source reads {self._topics.describe()}, and cannot read "
                f"{topics.describe()} too",
                hint="Call one of set_topics, set_topic_pattern and set_partitions, once.",
            )
        self._topics = topics
        return self

    def _needed(self, value: Any, what: str, method: str) -> Any:
        check_set("a Kafka source", {what: (value, method)})
        return value
