"""Writes records from the workers, at once: at least once, or without a guarantee."""

from __future__ import annotations

from typing import Any

from penstock.connectors.kafka.client import kafka_errors, words_of_kafka
from penstock.connectors.kafka.producers import give, new_producer
from penstock.connectors.kafka.properties import KafkaProperties
from penstock.connectors.kafka.staged_records import RecordSerializer, outgoing, with_epoch
from penstock.connectors.process_table import OfThisProcess
from penstock.errors import SinkError
from penstock.graph.endpoints import SinkContext, SinkWriter

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
        """Write in the task of `context`.

        Args:
            properties: Of the producer.
            serializer: Makes records of Kafka.
            context: Where it runs.
            may_lose: Whether what cannot be written is left out.
        """
        self._properties = properties
        self._serializer = serializer
        self._context = context
        self._may_lose = may_lose
        self._kept: _Kept | None = None

    def write(self, values: list[Any]) -> None:
        """Give records to the producer.

        Raises:
            SinkError: A record cannot be serialized, or was refused.
        """
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
        """Wait until all records are written.

        Raises:
            SinkError: One is not.
        """
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
