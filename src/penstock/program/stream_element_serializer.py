"""Serializers of single stream elements. Their bytes equal Flink's.

This is the reference definition of the elements of a stream. No run calls the serializers: a frame
(`wire/frame.py`) contains the same elements in batches, and its header says once what the tag of an
element says here every time. Tests write each stream both ways and compare. Layout (FLIP-330 §1.4), all numbers big-endian:

    element                     bytes
    record with a timestamp     00, timestamp (8), value
    record without one          01, value
    watermark                   02, timestamp (8)
    latency marker              03, marked time (8), operator id low (8) and high (8), subtask (4)
    watermark status            04, status (4): 0 active, -1 idle
    record attributes           05, 1 if the records are backlog, else 0
    internal watermark          06, subpartition (4), timestamp (8)

In a stream without timestamps and watermarks a record is its value alone (`ValueOnlySerializer`): one
byte less than a record without a timestamp, nine less than one with a timestamp.

Worked example: `True` as one byte, with timestamp 258: `00 | 0000000000000102 | 01`.

`write_elements` writes the length of each element, in 4 bytes, before it.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from io import BytesIO
from typing import Any

from penstock.errors import ArgumentError, DecodeError, PenstockError, WatermarkUnsupportedError
from penstock.program.latency_marker import OperatorId
from penstock.program.record_attributes import RecordAttributes
from penstock.program.type_serializer import TypeSerializer
from penstock.program.watermark_generator import Watermark
from penstock.user_failure import raise_interrupt, words_of

_LENGTH = struct.Struct(">I")
_LONG = struct.Struct(">q")
_MARKER = struct.Struct(">qQQi")
_STATUS = struct.Struct(">i")
_INTERNAL = struct.Struct(">iq")


@dataclass(frozen=True, slots=True)
class StreamRecord:
    """A value, with or without a timestamp.

    Attributes:
        value: The value.
        timestamp: Epoch milliseconds; None if it has none.
    """

    value: Any
    timestamp: int | None = None


@dataclass(frozen=True, slots=True)
class LatencyMarker:
    """A latency marker.

    Attributes:
        marked_time: Time at which its source emitted it, in epoch milliseconds.
        operator_id: Id of the source.
        subtask_index: Subtask of the source, from 0.
    """

    marked_time: int
    operator_id: OperatorId
    subtask_index: int


class StreamStatus(IntEnum):
    """Whether the stream is active or idle; the numbers are those in the stream."""

    ACTIVE = 0
    IDLE = -1


@dataclass(frozen=True, slots=True)
class InternalWatermark:
    """A watermark of one subpartition.

    Attributes:
        subpartition: Index, from 0.
        timestamp: Epoch milliseconds.
    """

    subpartition: int
    timestamp: int


StreamElement = (
    StreamRecord | Watermark | LatencyMarker | StreamStatus | RecordAttributes | InternalWatermark
)
"""All elements of a stream."""


class PickleSerializer(TypeSerializer[Any]):
    """Serializes values of any type by pickle, as frames do."""

    def serialize(self, element: Any, stream: BytesIO) -> None:
        """Write a pickle."""
        stream.write(pickle.dumps(element, 5))

    def deserialize(self, stream: BytesIO) -> Any:
        """Read a pickle."""
        return pickle.load(stream)


class _ElementSerializer(TypeSerializer[StreamElement]):
    """Base of both serializers; it has a serializer of values."""

    def __init__(self, value_serializer: TypeSerializer[Any]) -> None:
        """Write values with `value_serializer`.

        Raises:
            ArgumentError: `value_serializer` is a serializer of elements.
        """
        if isinstance(value_serializer, _ElementSerializer):
            raise ArgumentError(
                f"{type(value_serializer).__name__} was given as the serializer of values",
                hint="Pass the serializer of the values alone; elements do not nest.",
            )
        self._values = value_serializer

    def _read_value(self, stream: BytesIO) -> Any:
        at = stream.tell()
        try:
            return self._values.deserialize(stream)
        except PenstockError:
            raise
        except BaseException as cause:  # a serializer may raise anything on damaged bytes
            raise_interrupt(cause)
            raise _damaged(f"it holds no value: {words_of(cause)}", at) from cause


class StreamElementSerializer(_ElementSerializer):
    """Writes the tag of an element, then the element."""

    def serialize(self, element: StreamElement, stream: BytesIO) -> None:
        """Write an element.

        Raises:
            ArgumentError: It is no element, or a number in it is out of range.
        """
        if isinstance(element, StreamRecord):
            if element.timestamp is None:
                stream.write(b"\x01")
            else:
                stream.write(b"\x00" + _packed(_LONG, element, element.timestamp))
            self._values.serialize(element.value, stream)
            return
        write = _WRITERS.get(type(element))
        if write is None:
            raise ArgumentError(
                f"{element!r} is no element of a stream",
                hint=f"Pass one of {', '.join(kind.__name__ for kind in _WRITERS)}, StreamRecord.",
            )
        stream.write(write(element))

    def deserialize(self, stream: BytesIO) -> StreamElement:
        """Read the next element.

        Raises:
            DecodeError: The bytes are damaged.
        """
        at = stream.tell()
        tag = stream.read(1)
        if tag == b"\x00":
            (timestamp,) = _unpacked(_LONG, stream)
            return StreamRecord(self._read_value(stream), timestamp)
        if tag == b"\x01":
            return StreamRecord(self._read_value(stream))
        read = _READERS.get(tag)
        if read is None:
            found = f"its tag is {tag[0]}" if tag else "it is empty"
            raise _damaged(found, at)
        return read(stream)


# FLIP-330, rule 2.
class ValueOnlySerializer(_ElementSerializer):
    """Writes records without timestamps, as their values only."""

    def serialize(self, element: StreamElement, stream: BytesIO) -> None:
        """Write the value of a record without its timestamp.

        Raises:
            WatermarkUnsupportedError: It is no record.
        """
        if not isinstance(element, StreamRecord):
            raise WatermarkUnsupportedError(
                f"{element!r} reached a stream that carries values only",
                hint="Turn off what makes watermarks to run without them, or set "
                "pipeline.force-timestamp-support to true.",
            )
        self._values.serialize(element.value, stream)

    def deserialize(self, stream: BytesIO) -> StreamRecord:
        """Read the next record.

        Raises:
            DecodeError: The bytes are damaged.
        """
        return StreamRecord(self._read_value(stream))


def write_elements(
    serializer: TypeSerializer[StreamElement], elements: Iterable[StreamElement]
) -> bytes:
    """Return elements as bytes, the length of each before it."""
    out = BytesIO()
    for element in elements:
        one = BytesIO()
        serializer.serialize(element, one)
        data = one.getvalue()
        out.write(_LENGTH.pack(len(data)))
        out.write(data)
    return out.getvalue()


def read_elements(
    serializer: TypeSerializer[StreamElement], data: bytes
) -> Iterator[StreamElement]:
    """Yield the elements that `write_elements` wrote.

    Raises:
        DecodeError: The bytes are damaged at `position`.
    """
    at = 0
    while at < len(data):
        if len(data) - at < _LENGTH.size:
            raise _damaged(f"{len(data) - at} bytes are no length", at)
        (length,) = _LENGTH.unpack_from(data, at)
        at += _LENGTH.size
        if length > len(data) - at:
            raise _damaged(f"{len(data) - at} of its {length} bytes are there", at)
        one = BytesIO(data[at : at + length])
        try:
            element = serializer.deserialize(one)
        except DecodeError as cause:
            position = at + (cause.position or 0)
            raise DecodeError(cause.problem, hint=cause.hint, position=position) from cause
        if one.tell() != length:
            raise _damaged(f"{length - one.tell()} bytes are left over", at + one.tell())
        yield element
        at += length


def _packed(layout: struct.Struct, element: Any, *numbers: int) -> bytes:
    try:
        return layout.pack(*numbers)
    except struct.error as cause:
        raise ArgumentError(
            f"{element!r} cannot be written: {cause}",
            hint="Pass integers of at most 64 bits for times, 32 bits for indexes.",
        ) from cause


def _unpacked(layout: struct.Struct, stream: BytesIO) -> tuple[Any, ...]:
    at = stream.tell()
    data = stream.read(layout.size)
    if len(data) < layout.size:
        raise _damaged(f"{len(data)} of {layout.size} bytes are there", at)
    return layout.unpack(data)


def _write_marker(marker: LatencyMarker) -> bytes:
    source = marker.operator_id
    numbers = (marker.marked_time, source.lower, source.upper, marker.subtask_index)
    return b"\x03" + _packed(_MARKER, marker, *numbers)


def _read_marker(stream: BytesIO) -> LatencyMarker:
    time, lower, upper, subtask = _unpacked(_MARKER, stream)
    return LatencyMarker(time, OperatorId(upper, lower), subtask)


def _read_status(stream: BytesIO) -> StreamStatus:
    at = stream.tell()
    (status,) = _unpacked(_STATUS, stream)
    if status not in StreamStatus._value2member_map_:
        raise _damaged(f"its status is {status}", at)
    return StreamStatus(status)


def _read_attributes(stream: BytesIO) -> RecordAttributes:
    at = stream.tell()
    flag = stream.read(1)
    if flag not in (b"\x00", b"\x01"):
        raise _damaged(f"its backlog flag is {flag!r}", at)
    return RecordAttributes(flag == b"\x01")


_WRITERS: dict[type, Callable[[Any], bytes]] = {
    Watermark: lambda mark: b"\x02" + _packed(_LONG, mark, mark.timestamp),
    LatencyMarker: _write_marker,
    StreamStatus: lambda status: b"\x04" + _STATUS.pack(status),
    RecordAttributes: lambda made: b"\x05\x01" if made.backlog else b"\x05\x00",
    InternalWatermark: lambda mark: (
        b"\x06" + _packed(_INTERNAL, mark, mark.subpartition, mark.timestamp)
    ),
}

_READERS: dict[bytes, Callable[[BytesIO], StreamElement]] = {
    b"\x02": lambda stream: Watermark(*_unpacked(_LONG, stream)),
    b"\x03": _read_marker,
    b"\x04": _read_status,
    b"\x05": _read_attributes,
    b"\x06": lambda stream: InternalWatermark(*_unpacked(_INTERNAL, stream)),
}


def _damaged(what: str, position: int) -> DecodeError:
    return DecodeError(
        f"a stream element is damaged: {what}",
        hint="Read the bytes with the serializer that wrote them.",
        position=position,
    )
