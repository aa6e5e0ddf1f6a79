"""Values out of messages: with a schema that sees values only, or with a function of whole records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.connectors.kafka.values import KafkaMalformedRecords, KafkaRecord
from penstock.connectors.rows.csv_rows import CsvRowDeserializationSchema
from penstock.connectors.rows.json_rows import JsonRowDeserializationSchema
from penstock.connectors.rows.serialization import (
    ByteArraySchema,
    DeserializationSchema,
    SimpleStringSchema,
)
from penstock.errors import SourceError
from penstock.types.information import TypeInformation
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
    """Makes values of the values of messages.

    Attributes:
        schema: Makes them.
    """

    schema: DeserializationSchema

    @property
    def is_ours(self) -> bool:  # type: ignore[override]
        """True if the schema is."""
        return type(self.schema) in _OURS

    def value_of(self) -> Callable[[Any], Any]:
        """Return the schema's method, behind a look for tombstones."""
        deserialize = self.schema.deserialize

        def value(message: Any) -> Any:
            found = message.value()
            if found is None:
                raise NoValue
            return deserialize(found)

        return value

    def get_produced_type(self) -> TypeInformation:
        """Return that of the schema."""
        return self.schema.get_produced_type()


@dataclass(frozen=True, slots=True)
class RecordDeserializer(MessageDeserializer):
    """Makes values of whole records.

    Attributes:
        function: Makes them.
        type_info: Their type.
    """

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
    """Return the values of messages, and their timestamps.

    Raises:
        SourceError: It refuses one, and the job is to fail then.
    """
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
