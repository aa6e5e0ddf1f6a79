"""The Kafka sink, and its writers that write from the workers at once: at least once, or without a guarantee."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.connectors.client_library import OfThisProcess, check_set
from penstock.connectors.epoch_marks import DeliveryGuarantee
from penstock.connectors.kafka.client import (
    SERVERS,
    KafkaClientBuilder,
    KafkaProperties,
    check_installed,
    kafka_errors,
    words_of_kafka,
)
from penstock.connectors.kafka.kafka_committer import KafkaCommitter
from penstock.connectors.kafka.producers import (
    RecordSerializer,
    StagedRecordWriter,
    give,
    new_producer,
    outgoing,
    with_epoch,
)
from penstock.connectors.kafka.record_serialization import (
    KafkaRecordSerializationSchema,
    RecordFunction,
)
from penstock.connectors.kafka.values import KafkaRecord
from penstock.connectors.python.function_sink import NothingCommitter
from penstock.errors import ArgumentError, SinkError
from penstock.graph.dataset import Dataset
from penstock.graph.endpoints import Committer, Sink, SinkContext, SinkWriter

_producers: OfThisProcess = OfThisProcess()


class _Kept:
    """A producer, and what it could not deliver."""

    def __init__(self, properties: KafkaProperties) -> None:
        self.failed: list[Any] = []
        fixed = {"delivery.report.only.error": True, "on_delivery": self._note}
        self.producer = new_producer(properties, "writer", fixed)

    def _note(self, error: Any, message: Any) -> None:
        del message
        if error is not None and not self.failed:
            self.failed.append(error)


class DirectWriter(SinkWriter):
    """Gives records to the producer of this process, and waits at the end of the epoch until they are written."""

    def __init__(
        self,
        properties: KafkaProperties,
        serializer: RecordSerializer,
        context: SinkContext,
        *,
        may_lose: bool,
    ) -> None:
        """Write in the task of `context`."""
        self._properties = properties
        self._serializer = serializer
        self._context = context
        self._may_lose = may_lose
        self._kept: _Kept | None = None

    def write(self, values: list[Any]) -> None:
        """Give records to the producer."""
        records = outgoing(values, self._serializer, self._context)
        if not self._may_lose:
            records = with_epoch(records, self._context)
        with self._errors():
            if self._kept is None:
                self._kept = _producers.get(self._properties) or _Kept(self._properties)
                _producers[self._properties] = self._kept
            give(self._kept.producer, records)
        self._check()

    def prepare_commit(self) -> list[Any]:
        """Wait until all records are written."""
        if self._kept is not None:
            with self._errors():
                left = self._kept.producer.flush(self._properties.patience_seconds)
            self._check(left)
        return []

    def abort(self) -> None:
        """Drop what was not sent yet; what was sent stays."""
        if self._kept is not None:
            self._forget()

    def _check(self, left: int = 0) -> None:
        assert self._kept is not None, "something was written"
        failed = self._kept.failed
        if not failed and not left:
            return
        self._forget()
        if self._may_lose:
            return
        reason = words_of_kafka(failed[0]) if failed else f"no answer to {left} of them"
        raise SinkError(
            f"records of sink {self._context.name!r} were not written to "
            f"{self._properties.servers}: {self._properties.masked(reason)}",
            hint="Check that the brokers are up, and that the user of the job may write to the topic.",
            origin=self._context.origin,
        )

    def _forget(self) -> None:
        """Drop the producer with what it has: records of this task must not be written by the next one."""
        kept, self._kept = self._kept, None
        _producers.pop(self._properties, None)
        if kept is not None:
            with self._errors():
                kept.producer.purge()

    def _errors(self) -> Any:
        doing = f"write records of sink {self._context.name!r}"
        return kafka_errors(SinkError, self._properties, doing, self._context.origin)


_PREFIX = "penstock"


class KafkaSinkBuilder(KafkaClientBuilder):
    """Builds a `KafkaSink`, as PyFlink's builder does.

    Example:
        >>> builder = KafkaSink.builder().set_bootstrap_servers("localhost:9092")
        >>> builder = builder.set_record_serializer(lambda n: KafkaRecord(None, b"%d" % n, "numbers"))
        >>> builder.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).build().describe()
        'kafka, exactly-once'
        >>> builder.set_property("linger.ms", "20").build().describe()
        'kafka, exactly-once'
    """

    def __init__(self) -> None:
        super().__init__()
        self._serializer: RecordSerializer | None = None
        self._guarantee = DeliveryGuarantee.NONE
        self._prefix = _PREFIX

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> KafkaSinkBuilder:
        """Set what is promised of each record; the default is nothing, as in Flink.

        Args:
            delivery_guarantee: The guarantee.

        Raises:
            ArgumentError: It is no `DeliveryGuarantee`.
        """
        if not isinstance(delivery_guarantee, DeliveryGuarantee):
            raise ArgumentError.here(
                f"set_delivery_guarantee got {delivery_guarantee!r}",
                hint="Pass DeliveryGuarantee.EXACTLY_ONCE, AT_LEAST_ONCE or NONE.",
            )
        self._guarantee = delivery_guarantee
        return self

    def set_transactional_id_prefix(self, transactional_id_prefix: str) -> KafkaSinkBuilder:
        """Set the prefix of transactional ids. Job and sink follow, so two jobs never have the same.

        Args:
            transactional_id_prefix: The beginning; `penstock` if it is not set.

        Raises:
            ArgumentError: It is empty, or no string.
        """
        if not isinstance(transactional_id_prefix, str) or not transactional_id_prefix:
            raise ArgumentError.here(
                f"the prefix of transactional ids is {transactional_id_prefix!r}",
                hint="Pass a string.",
            )
        self._prefix = transactional_id_prefix
        return self

    def set_record_serializer(
        self,
        record_serializer: KafkaRecordSerializationSchema | Callable[[Any], KafkaRecord],
    ) -> KafkaSinkBuilder:
        """Set how records of the stream become records of Kafka.

        Args:
            record_serializer: A schema, or a function that returns a `KafkaRecord` with its topic.

        Raises:
            ArgumentError: It is neither.
        """
        if isinstance(record_serializer, KafkaRecordSerializationSchema):
            self._serializer = record_serializer
        elif callable(record_serializer) and not isinstance(record_serializer, type):
            self._serializer = RecordFunction(record_serializer)
        else:
            raise ArgumentError.here(
                f"set_record_serializer got {record_serializer!r}",
                hint="Pass KafkaRecordSerializationSchema.builder()….build(), or a function that returns a "
                "KafkaRecord.",
            )
        return self

    def build(self) -> KafkaSink:
        """Return the sink.

        Raises:
            ArgumentError: Something that it needs was not set.
            MissingConnectorError: The package `confluent-kafka` is not installed.
        """
        check_installed("KafkaSink")
        servers = self._properties.get(SERVERS)
        needed = {
            "brokers": (servers is not None, "set_bootstrap_servers"),
            "records of Kafka": (self._serializer is not None, "set_record_serializer"),
        }
        check_set("a Kafka sink", needed)
        assert self._serializer is not None, "it was checked"
        return KafkaSink(self._properties, self._serializer, self._guarantee, self._prefix)


@dataclass(frozen=True, slots=True)
class KafkaSink(Sink):
    """Writes records to topics of Apache Kafka. Build one with `KafkaSink.builder()`.

    With `EXACTLY_ONCE` a reader of committed records (`isolation.level=read_committed`) sees each record once,
    whatever fails: the driver writes the records of an epoch in one transaction, with the number of the epoch. With
    `AT_LEAST_ONCE` the workers write at once, so that what is repeated is written again. With `NONE`, the
    default, what cannot be written is left out too.

    Attributes:
        properties: Properties of the clients.
        serializer: Makes records of Kafka.
        guarantee: The delivery guarantee.
        prefix: Beginning of transactional ids.

    Example:
        >>> builder = KafkaRecordSerializationSchema.builder().set_topic("words")
        >>> from penstock.connectors.rows.serialization import SimpleStringSchema
        >>> words = builder.set_value_serialization_schema(SimpleStringSchema()).build()
        >>> sink = KafkaSink.builder().set_bootstrap_servers("localhost:9092")
        >>> sink.set_record_serializer(words).build().describe()
        'kafka topic words, none'
    """

    properties: KafkaProperties
    serializer: RecordSerializer
    guarantee: DeliveryGuarantee = DeliveryGuarantee.NONE
    prefix: str = _PREFIX

    kind: ClassVar[str] = "kafka"

    @staticmethod
    def builder() -> KafkaSinkBuilder:
        """Return a builder."""
        return KafkaSinkBuilder()

    def create_writer(self, context: SinkContext) -> SinkWriter:
        """Return a writer, for the task of `context`."""
        if self.guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            return StagedRecordWriter(self.serializer, self.properties, context)
        return DirectWriter(
            self.properties,
            self.serializer,
            context,
            may_lose=self.guarantee is DeliveryGuarantee.NONE,
        )

    def create_committer(self, context: SinkContext) -> Committer:
        """Return a committer; it does nothing if the workers write."""
        if self.guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            return KafkaCommitter(self.properties, self.prefix, self.serializer.topic, context)
        return NothingCommitter()

    def datasets(self) -> Sequence[Dataset]:
        """Return its topic; nothing if a function chooses it."""
        topic = self.serializer.topic
        return () if topic is None else self.properties.datasets((topic,))

    def describe(self) -> str:
        """Return e.g. `kafka topic words, exactly-once`."""
        topic = self.serializer.topic
        return f"kafka{'' if topic is None else f' topic {topic}'}, {self.guarantee.value}"
