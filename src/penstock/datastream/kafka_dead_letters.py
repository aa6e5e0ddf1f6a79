"""Records of Kafka that cannot be read, in a side output."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from penstock.api.functions.context import UnkeyedProcessContext
from penstock.api.functions.function_classes import ProcessFunction
from penstock.connectors.kafka.values import KafkaRecord
from penstock.connectors.rows.serialization import DeserializationSchema
from penstock.errors import ArgumentError, DecodeError
from penstock.types.output_tag import OutputTag
from penstock.user_failure import words_of

__all__ = ["KafkaDeadLetter", "KafkaDeadLetters"]


class KafkaDeadLetter(NamedTuple):
    """A record that cannot be read.

    Attributes:
        reason: Exception of the deserializer.
        record: The record, with topic, partition and offset.

    Example:
        >>> KafkaDeadLetter("no JSON", KafkaRecord(None, b"{", "orders", 0, 17)).record.offset
        17
    """

    reason: str
    record: KafkaRecord


class KafkaDeadLetters(ProcessFunction[KafkaRecord, Any]):
    """Makes values of records; a record that cannot be read goes to a side output as a `KafkaDeadLetter`.

    The source gives it whole records: `set_deserializer(lambda record: record)`.

    Example:
        >>> from penstock.connectors.rows.serialization import SimpleStringSchema
        >>> tag = OutputTag("dead letters")
        >>> texts = KafkaDeadLetters(SimpleStringSchema(), tag)
        >>> list(texts.process_element(KafkaRecord(None, b"a"), None))
        ['a']
        >>> list(texts.process_element(KafkaRecord(None, None), None))[0][1].reason
        'it has no value: it is a tombstone'
    """

    def __init__(
        self,
        deserializer: DeserializationSchema | Callable[[KafkaRecord], Any],
        tag: OutputTag[Any],
    ) -> None:
        """Describe the function.

        Args:
            deserializer: Makes values, of values or of whole records; what it makes None of is left out.
            tag: Tag of the side output.

        Raises:
            ArgumentError: The deserializer is none, or the tag is no tag.
        """
        if not isinstance(tag, OutputTag):
            raise ArgumentError.here(
                f"KafkaDeadLetters got the tag {tag!r}", hint="Pass an OutputTag."
            )
        schema = deserializer if isinstance(deserializer, DeserializationSchema) else None
        if schema is None and (isinstance(deserializer, type) or not callable(deserializer)):
            raise ArgumentError.here(
                f"KafkaDeadLetters got {deserializer!r}",
                hint="Pass a DeserializationSchema, or a function of a KafkaRecord.",
            )
        self._tag = tag
        self._schema = schema
        self._function = deserializer

    def process_element(self, value: KafkaRecord, ctx: UnkeyedProcessContext) -> Iterator[Any]:
        """Yield the value of a record, or a dead letter.

        Args:
            value: The record.
            ctx: Is not used.
        """
        try:
            decoded = self._value_of(value)
        except Exception as cause:  # noqa: BLE001 - whatever a deserializer raises is the reason
            reason = cause.problem if isinstance(cause, DecodeError) else words_of(cause)
            yield self._tag, KafkaDeadLetter(reason, value)
            return
        if decoded is not None:
            yield decoded

    def _value_of(self, record: KafkaRecord) -> Any:
        if self._schema is None:
            assert callable(self._function), "it was checked"
            return self._function(record)
        if record.value is None:
            raise DecodeError(
                "it has no value: it is a tombstone", hint="Pass a function of the whole record."
            )
        return self._schema.deserialize(record.value)
