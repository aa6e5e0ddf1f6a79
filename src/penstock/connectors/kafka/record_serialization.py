"""Records of Kafka out of records of a stream, and values out of messages: by a schema, or a function of whole records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from penstock.connectors.kafka.values import KafkaMalformedRecords, KafkaRecord
from penstock.connectors.rows.csv_rows import CsvRowDeserializationSchema
from penstock.connectors.rows.json_rows import JsonRowDeserializationSchema
from penstock.connectors.rows.serialization import (
    ByteArraySchema,
    DeserializationSchema,
    SerializationSchema,
    SimpleStringSchema,
)
from penstock.errors import ArgumentError, SourceError
from penstock.types import TypeInformation
from penstock.user_failure import raise_interrupt, refusal_of

_OURS = frozenset(
    {ByteArraySchema, CsvRowDeserializationSchema, JsonRowDeserializationSchema, SimpleStringSchema}
)
"""Schemas whose values are new, and have the declared form."""


class MessageDeserializer(ABC):
    """Makes values of messages."""

    is_ours: bool
    """True if values are new every time, and have the declared form."""

    @abstractmethod
    def value_of(self) -> Callable[[Any], Any]:
        """Return a function from a message to its value, or None to leave it out."""

    @abstractmethod
    def get_produced_type(self) -> TypeInformation:
        """Return the type of the values."""


@dataclass(frozen=True, slots=True)
class ValueDeserializer(MessageDeserializer):
    """Makes values of the values of messages."""

    schema: DeserializationSchema

    @property
    def is_ours(self) -> bool:  # type: ignore[override]
        """True if the schema is."""
        return type(self.schema) in _OURS

    def value_of(self) -> Callable[[Any], Any]:
        """Return the schema's method, behind a look for tombstones."""
        deserialize = self.schema.deserialize

        def value(message: Any) -> Any:
            content = message.value()
            if content is None:
                raise NoValue
            return deserialize(content)

        return value

    def get_produced_type(self) -> TypeInformation:
        """Return that of the schema."""
        return self.schema.get_produced_type()


@dataclass(frozen=True, slots=True)
class RecordDeserializer(MessageDeserializer):
    """Makes values of whole records."""

    function: Callable[[KafkaRecord], Any]
    type_info: TypeInformation

    is_ours = False

    def value_of(self) -> Callable[[Any], Any]:
        """Return the function, behind the making of a record."""
        function = self.function
        return lambda message: function(record_of(message))

    def get_produced_type(self) -> TypeInformation:
        """Return the declared type."""
        return self.type_info


class NoValue(Exception):  # noqa: N818 - its catcher makes an error of ours of it
    """A message has no value."""

    def __str__(self) -> str:
        return "it has no value: it is a tombstone"


def record_of(message: Any) -> KafkaRecord:
    """Return the record of a message of the library."""
    headers = message.headers()
    return KafkaRecord(
        message.key(),
        message.value(),
        message.topic(),
        message.partition(),
        message.offset(),
        message.timestamp()[1],
        tuple(headers) if headers else (),
    )


def deserialized(
    messages: list[Any], deserializer: MessageDeserializer, malformed: KafkaMalformedRecords
) -> tuple[list[Any], list[int]]:
    """Return the values of messages, and their timestamps."""
    value_of = deserializer.value_of()
    values: list[Any] = []
    times: list[int] = []
    for message in messages:
        try:
            value = value_of(message)
        except BaseException as cause:
            raise_interrupt(cause)
            if malformed is KafkaMalformedRecords.SKIP and isinstance(cause, Exception):
                continue
            raise _refused(message, cause) from cause
        if value is not None:
            values.append(value)
            times.append(message.timestamp()[1])
    return values, times


def _refused(message: Any, cause: BaseException) -> SourceError:
    where = f"topic {message.topic()!r}, partition {message.partition()}, offset {message.offset()}"
    return refusal_of(
        SourceError,
        f"the record of {where} cannot be deserialized",
        cause,
        None,
        hint="Correct the deserializer or the producer. set_malformed_records(KafkaMalformedRecords.SKIP) "
        "leaves such records out, and KafkaDeadLetters sends them to a side output.",
    )


OutgoingRecord = tuple[
    str, bytes | None, bytes | None, int, list[tuple[str, bytes | None]] | None, int
]
"""Topic, value, key, partition (-1: the client chooses), headers, timestamp (0: now)."""

ANY_PARTITION = -1


class KafkaTopicSelector(ABC):
    """Chooses the topic of a record.

    Example:
        >>> class ByKind(KafkaTopicSelector):
        ...     def apply(self, data):
        ...         return f"orders-{data[0]}"
        >>> ByKind().apply(("small", 7))
        'orders-small'
    """

    @abstractmethod
    def apply(self, data: Any) -> str:
        """Return the name of the topic.

        Args:
            data: The record.
        """


@dataclass(frozen=True, slots=True)
class KafkaRecordSerializationSchema:
    """Makes records of Kafka; build one with `builder()`, or pass a sink a function that returns a `KafkaRecord`.

    Attributes:
        topic_of: Name of the topic, or a function from a record to it.
        value_of: Function from a record to the value.
        key_of: Function from a record to the key; None for none.
        partition_of: Function from a record to the number of its partition; None leaves it to the client.
        headers_of: Function from a record to headers; None for none.
        timestamp_of: Function from a record to epoch milliseconds; None is the time of writing.

    Example:
        >>> from penstock.connectors.rows.serialization import SimpleStringSchema
        >>> builder = KafkaRecordSerializationSchema.builder().set_topic("words")
        >>> schema = builder.set_value_serialization_schema(SimpleStringSchema()).build()
        >>> schema.outgoing("a")
        ('words', b'a', None, -1, None, 0)
    """

    topic_of: str | Callable[[Any], str]
    value_of: Callable[[Any], bytes | None]
    key_of: Callable[[Any], bytes | None] | None = None
    partition_of: Callable[[Any], int] | None = None
    headers_of: Callable[[Any], Iterable[tuple[str, bytes | None]]] | None = None
    timestamp_of: Callable[[Any], int] | None = None

    @staticmethod
    def builder() -> KafkaRecordSerializationSchemaBuilder:
        """Return a builder."""
        return KafkaRecordSerializationSchemaBuilder()

    @property
    def topic(self) -> str | None:
        """The topic, if all records have one."""
        return self.topic_of if isinstance(self.topic_of, str) else None

    def outgoing(self, element: Any) -> OutgoingRecord:
        """Return what is written for a record.

        Args:
            element: The record.
        """
        topic = self.topic_of if isinstance(self.topic_of, str) else self.topic_of(element)
        return (
            topic,
            self.value_of(element),
            None if self.key_of is None else self.key_of(element),
            ANY_PARTITION if self.partition_of is None else self.partition_of(element),
            None if self.headers_of is None else list(self.headers_of(element)),
            0 if self.timestamp_of is None else self.timestamp_of(element),
        )


@dataclass(frozen=True, slots=True)
class RecordFunction:
    """Makes records of Kafka with a function of the user's.

    Attributes:
        function: Returns a `KafkaRecord` that names its topic.
    """

    function: Callable[[Any], KafkaRecord]

    topic = None

    def outgoing(self, element: Any) -> OutgoingRecord:
        """Return what is written for a record."""
        record = self.function(element)
        if not isinstance(record, KafkaRecord) or not record.topic:
            raise TypeError(
                f"the record serializer returned {record!r}, not a KafkaRecord with a topic"
            )
        return (
            record.topic,
            record.value,
            record.key,
            ANY_PARTITION if record.partition is None else record.partition,
            list(record.headers) or None,
            record.timestamp or 0,
        )


class KafkaRecordSerializationSchemaBuilder:
    """Builds a `KafkaRecordSerializationSchema`, as PyFlink's builder does.

    Example:
        >>> from penstock.connectors.rows.serialization import ByteArraySchema
        >>> builder = KafkaRecordSerializationSchema.builder()
        >>> builder = builder.set_topic_selector(lambda value: f"of-{len(value)}")
        >>> builder.set_value_serialization_schema(ByteArraySchema()).build().outgoing(b"abc")[0]
        'of-3'
        >>> builder = KafkaRecordSerializationSchema.builder().set_topic("words")
        >>> builder = builder.set_key_serialization_schema(ByteArraySchema())
        >>> builder = builder.set_value_serialization_schema(ByteArraySchema())
        >>> builder = builder.set_partitioner(lambda value: len(value) % 4)
        >>> builder = builder.set_headers(lambda value: [("from", b"shop")])
        >>> builder.set_timestamp(lambda value: 1_700_000_000_000).build().outgoing(b"abc")
        ('words', b'abc', b'abc', 3, [('from', b'shop')], 1700000000000)
    """

    def __init__(self) -> None:
        self._topic: str | Callable[[Any], str] | None = None
        self._key: Callable[[Any], bytes | None] | None = None
        self._value: Callable[[Any], bytes | None] | None = None
        self._partition: Callable[[Any], int] | None = None
        self._headers: Callable[[Any], Iterable[tuple[str, bytes | None]]] | None = None
        self._timestamp: Callable[[Any], int] | None = None

    def set_topic(self, topic: str) -> KafkaRecordSerializationSchemaBuilder:
        """Write all records to one topic.

        Args:
            topic: Its name.

        Raises:
            ArgumentError: It is no name, or a topic or selector was set.
        """
        if not isinstance(topic, str) or not topic:
            raise ArgumentError.here(f"the topic is {topic!r}", hint="Pass the name of a topic.")
        return self._to(topic)

    def set_topic_selector(
        self, topic_selector: Callable[[Any], str] | KafkaTopicSelector
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Choose the topic of each record.

        Args:
            topic_selector: A function from a record to the name of a topic, or a `KafkaTopicSelector`.

        Raises:
            ArgumentError: It is neither, or a topic or selector was set.
        """
        if isinstance(topic_selector, KafkaTopicSelector):
            return self._to(topic_selector.apply)
        return self._to(_called(topic_selector, "set_topic_selector"))

    def set_key_serialization_schema(
        self, key_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Make keys of records; without it they have none.

        Args:
            key_serialization_schema: Makes them.

        Raises:
            ArgumentError: It is no schema.
        """
        self._key = _schema(key_serialization_schema, "set_key_serialization_schema")
        return self

    def set_value_serialization_schema(
        self, value_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Make values of records.

        Args:
            value_serialization_schema: Makes them; a None that it returns is a tombstone.

        Raises:
            ArgumentError: It is no schema.
        """
        self._value = _schema(value_serialization_schema, "set_value_serialization_schema")
        return self

    def set_partitioner(
        self, partitioner: Callable[[Any], int]
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Choose the partition of each record. The default is that of Java's client: by key, else any.

        Args:
            partitioner: A function from a record to the number of its partition.

        Raises:
            ArgumentError: It cannot be called.
        """
        self._partition = _called(partitioner, "set_partitioner")
        return self

    def set_headers(
        self, headers: Callable[[Any], Iterable[tuple[str, bytes | None]]]
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Give records headers.

        Args:
            headers: A function from a record to (name, value) pairs.

        Raises:
            ArgumentError: It cannot be called.
        """
        self._headers = _called(headers, "set_headers")
        return self

    def set_timestamp(
        self, timestamp: Callable[[Any], int]
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Give records timestamps; the default is the time at which they are written.

        Args:
            timestamp: A function from a record to epoch milliseconds.

        Raises:
            ArgumentError: It cannot be called.
        """
        self._timestamp = _called(timestamp, "set_timestamp")
        return self

    def build(self) -> KafkaRecordSerializationSchema:
        """Return the schema.

        Raises:
            ArgumentError: The topic, or the schema of values, was not set.
        """
        if self._topic is None or self._value is None:
            missing = "topic" if self._topic is None else "schema of values"
            method = (
                "set_topic or set_topic_selector"
                if self._topic is None
                else "set_value_serialization_schema"
            )
            raise ArgumentError.here(
                f"the builder of records of Kafka has no {missing}", hint=f"Call {method} first."
            )
        return KafkaRecordSerializationSchema(
            self._topic, self._value, self._key, self._partition, self._headers, self._timestamp
        )

    def _to(self, topic: str | Callable[[Any], str]) -> KafkaRecordSerializationSchemaBuilder:
        if self._topic is not None:
            raise ArgumentError.here(
                "records of Kafka have one topic, or one selector of topics",
                hint="Call one of set_topic and set_topic_selector, once.",
            )
        self._topic = topic
        return self


def _schema(value: Any, method: str) -> Callable[[Any], bytes]:
    if isinstance(value, SerializationSchema):
        return value.serialize
    raise ArgumentError.here(
        f"{method} got {value!r}", hint="Pass a SerializationSchema, such as SimpleStringSchema()."
    )


def _called(value: Any, method: str) -> Callable[[Any], Any]:
    if callable(value):
        return value  # type: ignore[no-any-return]
    raise ArgumentError.here(f"{method} got {value!r}", hint="Pass a function of a record.")
