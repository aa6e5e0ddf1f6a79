"""Records that wait for their epoch: one file per task in the job's directory, or none if they are few (`staged_bytes`).

They are a sequence of chunks, each an 8-byte little-endian length and a pickle of a list of `OutgoingRecord`.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.connectors.kafka.properties import KafkaProperties
from penstock.connectors.kafka.record_limits import check_sizes
from penstock.connectors.kafka.record_serialization import (
    KafkaRecordSerializationSchema,
    OutgoingRecord,
    RecordFunction,
)
from penstock.connectors.os_errors import sink_errors
from penstock.connectors.pickled_file import PickledFileWriter
from penstock.connectors.staged_bytes import Staged, open_staged
from penstock.errors import PenstockError, SinkError
from penstock.graph.endpoints import SinkContext
from penstock.user_failure import refusal_of, short

RecordSerializer = KafkaRecordSerializationSchema | RecordFunction

EPOCH_HEADER = "penstock-epoch"
"""Header with the number of the epoch, e.g. `1-17`: run and micro-batch."""

_CHUNK_RECORDS = 2048
_LENGTH = struct.Struct("<Q")


@dataclass(frozen=True, slots=True)
class StagedRecords:
    """Handle of one file.

    Attributes:
        name: Name in the directory of staged records.
        subtask: Index of the task that wrote it.
        size_bytes: Its size.
    """

    name: str
    subtask: int
    size_bytes: int


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


class StagedRecordWriter(PickledFileWriter):
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

    def prepare_commit(self) -> list[Any]:
        """Return the handle of the records; none if there were no records.

        Raises:
            SinkError: The file system refused.
        """
        return self._handles(
            lambda: StagedRecords(self._path.name, self._context.subtask, self._size_bytes)
        )

    def _head_of(self, data: bytes) -> bytes:
        return _LENGTH.pack(len(data))


def staged_chunks(staged: list[Staged], context: SinkContext) -> Iterator[list[OutgoingRecord]]:
    """Yield the chunks of staged files, by subtask and then in order of writing.

    Raises:
        SinkError: A file is missing or has another size.
    """
    directory = staging_of(context)
    with sink_errors(directory, "read staged records", context.origin):
        for handle in sorted(staged, key=lambda each: each.subtask):
            with open_staged(directory, handle, context) as file:
                while head := file.read(_LENGTH.size):
                    yield pickle.loads(file.read(_LENGTH.unpack(head)[0]))
