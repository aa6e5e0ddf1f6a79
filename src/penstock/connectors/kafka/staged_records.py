"""Records that wait for their epoch: chunks of `OutgoingRecord`, staged in the job's directory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.connectors.kafka.producers import check_sizes
from penstock.connectors.kafka.properties import KafkaProperties
from penstock.connectors.kafka.record_serialization import (
    KafkaRecordSerializationSchema,
    OutgoingRecord,
    RecordFunction,
)
from penstock.connectors.staged import ChunkWriter
from penstock.errors import PenstockError, SinkError
from penstock.graph.endpoints import SinkContext
from penstock.user_failure import refusal_of, short

RecordSerializer = KafkaRecordSerializationSchema | RecordFunction

EPOCH_HEADER = "penstock-epoch"
"""Header with the number of the epoch, e.g. `1-17`: run and micro-batch."""

_CHUNK_RECORDS = 2048


def directory_of(context: SinkContext) -> Path:
    """Return the directory of what a sink keeps with the job."""
    return context.mounted_scratch / "kafka" / context.sink_id


def staging_of(context: SinkContext) -> Path:
    """Return the directory of the staged records of a sink."""
    return directory_of(context) / "staged"


def with_epoch(records: list[OutgoingRecord], context: SinkContext) -> list[OutgoingRecord]:
    """Return records with the header `EPOCH_HEADER`, in place of one that they have."""
    header: tuple[str, bytes | None] = (EPOCH_HEADER, str(context.epoch).encode())
    alone = [header]
    return [
        (
            topic,
            value,
            key,
            partition,
            [*(each for each in headers if each[0] != EPOCH_HEADER), header] if headers else alone,
            timestamp,
        )
        for topic, value, key, partition, headers, timestamp in records
    ]


def outgoing(
    values: list[Any], serializer: RecordSerializer, context: SinkContext
) -> list[OutgoingRecord]:
    """Return what is written for records.

    Raises:
        SinkError: The serializer refuses one.
    """
    make = serializer.outgoing
    made: list[OutgoingRecord] = []
    for value in values:
        try:
            made.append(make(value))
        except PenstockError as cause:
            raise SinkError(
                f"sink {context.name!r} cannot write {short(value)}: {cause.problem}",
                hint=cause.hint,
                origin=cause.origin or context.origin,
            ).permanent(cause.is_permanent) from cause
        except BaseException as cause:
            failed = f"sink {context.name!r} cannot write {short(value)}"
            hint = "Correct the record serializer, or map the records to what it writes."
            raise refusal_of(SinkError, failed, cause, context.origin, hint=hint) from cause
    return made


class StagedRecordWriter(ChunkWriter):
    """Serializes and stages records."""

    doing = "stage records"
    file_kind = "staged"
    refusal = "records of sink {} cannot be staged"

    def __init__(
        self, serializer: RecordSerializer, properties: KafkaProperties, context: SinkContext
    ) -> None:
        """Write what a serializer makes, in the task of `context`."""
        super().__init__(staging_of(context), context)
        self._serializer = serializer
        self._properties = properties

    def write(self, values: list[Any]) -> None:
        """Append records.

        Raises:
            SinkError: A record cannot be serialized, or the file system refused.
        """
        for start in range(0, len(values), _CHUNK_RECORDS):
            chunk = values[start : start + _CHUNK_RECORDS]
            made = outgoing(chunk, self._serializer, self._context)
            records = with_epoch(made, self._context)
            check_sizes(chunk, records, self._properties, self._context)
            self._append_values(records)
