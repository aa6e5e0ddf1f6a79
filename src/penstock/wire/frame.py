"""Frames: batches of stream elements of one channel, as bytes. Spark moves nothing else.

Layout; the header is big-endian, so that comparing frames as bytes compares (task, sequence):

    offset  size  field
    0       1     version, now 1
    1       4     task that wrote it
    5       8     sequence number within that task
    13      1     kind: 0 records, 1 control, 2 state, 3 report, 4 signal,
                  5 punctuation, 6 latency, 7 log
    14      1     flags: bit 0 timestamps present, bit 1 rows stored by value,
                  bit 2 rows stored as Arrow columns, bit 3 in segments,
                  bit 4 with keys (always in segments)
    15      1     target level; 255 is the sink stage after the last level
    16      4     channel
    20      4     element count
    24      8·n   timestamps as native int64, if bit 0 is set
    …             payload

(task, sequence) is the order of writing, so Spark restores the arrival order per key after a
shuffle by sorting the frame column. The payload of records is one pickle (protocol 5) of the list
of values. With bit 1 it is `(field names, list of value lists)`, which takes about half the bytes
and time of a list of `Row` objects. With bit 2 it is an Arrow stream of one batch; for bit 3 see
`record_segments`. The payload of state is a state blob; its key group is the row's route. Payloads of
control and reports are pickles. A signal is a message to the loop that drives a subtask. A
punctuation is control that takes effect between the records written before and after it. The
payload of latency is the pickle of (suffix of the metric, `LatencyMarkerEvent`), with the number of
latencies in the metric if it is limited, for one route. The payload
of log is the pickle of the view of a subtask's change log, on its way to the subtask, of its change, on the
way to the sink stage, or of the attempt of the task that sends the other frames.

Worked example: one record "a" with timestamp 1, channel 2 to level 1, task 0, sequence 5:
`01 | 00000000 | 0000000000000005 | 00 01 01 | 00000002 | 00000001 | 0100000000000000 | pickle`.

Only the job that wrote frames reads them, through Spark's checksummed shuffle, so unpickling them is
safe.

A segment is pickled while its records are in the processor's cache. The segments of one route are then
buffered as bytes until they fill a frame, because a small frame has a high overhead. Layout of a payload,
segment after segment:

    offset  size  field
    0       4     size of the pickle, big-endian
    4       …     pickle (protocol 5) of (keys, values, None): two lists of one length, or None for no keys;
                  instead of the last None (field names,), if values are `Row` objects stored as lists

Two lists have fewer objects than a list of pairs, and take a quarter less time to write and to read.
"""

from __future__ import annotations

import io
import pickle
import struct
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from penstock.errors import DecodeError, PenstockError
from penstock.types.record_form import RecordForm
from penstock.types.row import Row, row_factory, rows_of_one_schema, rows_to_values
from penstock.user_failure import failure_as, has_user_frame, raise_interrupt, words_of
from penstock.wire.row_columns import from_bytes, rows_of, to_pieces

_SIZE = struct.Struct(">I")

Segment = tuple[list[Any] | None, list[Any]]
"""(keys, values)."""


def pack_segment(
    keys: list[Any] | None, values: list[Any], form: RecordForm | None = None
) -> bytes:
    """Return the segment of some records.

    Examples:
        >>> list(split_segments(memoryview(join_segments([pack_segment(["a", "b"], [1, 2])]))))
        [(['a', 'b'], [1, 2])]
        >>> list(split_segments(memoryview(join_segments([pack_segment(None, [1]), pack_segment(None, [2])]))))
        [(None, [1]), (None, [2])]
    """
    if form is not None:
        return pickle.dumps((keys, form.pack(values), None), 5)
    # If the first value is no row, not all of them are: most batches skip the second check.
    shared = rows_of_one_schema(values) if isinstance(values[0], Row) else None
    if shared is None:
        return pickle.dumps((keys, values, None), 5)
    return pickle.dumps((keys, rows_to_values(values), shared), 5)


def join_segments(segments: Sequence[bytes]) -> bytes:
    """Return the payload of a frame."""
    return b"".join(piece for segment in segments for piece in (_SIZE.pack(len(segment)), segment))


def split_segments(payload: memoryview) -> Iterator[Segment]:
    """Yield the keys and values of each segment."""
    offset = 0
    while offset < len(payload):
        (size,) = _SIZE.unpack_from(payload, offset)
        offset += _SIZE.size
        keys, values, shared = unpickled(payload[offset : offset + size])
        offset += size
        if shared is not None:
            (fields,) = shared
            values = row_factory(fields)(values)
        yield keys, values


_OF_DAMAGE = (pickle.UnpicklingError, EOFError, struct.error, UnicodeDecodeError, MemoryError)
"""Exceptions of `pickle` about bytes that are missing or wrong."""


def unpickled(data: bytes | memoryview) -> Any:
    """Return the object that was pickled."""
    try:
        return pickle.loads(data)
    except (*_OF_DAMAGE, PenstockError):  # the latter of a serializer of the program
        raise
    except BaseException as cause:
        raise_interrupt(cause)
        name = _last_class(data)
        if name is None and not has_user_frame(cause):
            raise
        what = "a record" if name is None else f"a record with an object of class {name}"
        raise failure_as(
            DecodeError,
            f"{what} was pickled and cannot be unpickled",
            cause,
            None,
            hint="Correct how the class is pickled (__reduce__, __getstate__ and __setstate__; of an exception with arguments of its own, "
            "__reduce__), and try pickle.loads(pickle.dumps(record)).",
        ).permanent() from cause


class _Names(pickle.Unpickler):
    """Remembers the last class or function by name; slower than `pickle.loads`."""

    last: str | None = None

    def find_class(self, module: str, name: str) -> Any:
        self.last = name if module == "__main__" else f"{module}.{name}"
        return super().find_class(module, name)


def _last_class(data: bytes | memoryview) -> str | None:
    """Return the name of the class at which unpickling fails."""
    names = _Names(io.BytesIO(data))
    try:
        names.load()
    except BaseException as cause:  # noqa: BLE001 - the first failure is raised
        raise_interrupt(cause)
    return names.last


VERSION = 1

_HEADER = struct.Struct(">BIQBBBII")
_TIMESTAMPS = 1
_ROWS = 2
_COLUMNS = 4
_SEGMENTS = 8
_KEYS = 16


class FrameKind(IntEnum):
    """The kind of elements in a frame."""

    RECORDS = 0
    CONTROL = 1
    STATE = 2
    REPORT = 3
    SIGNAL = 4
    PUNCTUATION = 5
    LATENCY = 6
    LOG = 7


@dataclass(frozen=True, slots=True, order=True)
class FrameHeader:
    """The header of a frame; headers sort in the order of writing.

    Attributes:
        sequence: Position among that task's frames.
        flags: See the module's head.
    """

    task: int
    sequence: int
    channel: int
    target_level: int
    kind: FrameKind
    count: int
    flags: int = 0

    @property
    def has_timestamps(self) -> bool:
        """True if the records have timestamps."""
        return bool(self.flags & _TIMESTAMPS)

    @property
    def has_columns(self) -> bool:
        """True if the records are columns; `decode_columns` returns them."""
        return bool(self.flags & _COLUMNS)

    @property
    def has_keys(self) -> bool:
        """True if the frame contains the keys of its records; `decode_pairs` returns both."""
        return bool(self.flags & _KEYS)


def encode_records(
    header: FrameHeader,
    values: list[Any],
    timestamps: Sequence[int] | None,
    form: RecordForm | None = None,
) -> bytes:
    """Encode records; `header.count` and `header.flags` are ignored and set here."""
    flags = 0
    stamps = b""
    if timestamps is not None:
        flags |= _TIMESTAMPS
        stamps = array("q", timestamps).tobytes()
    payload: object = values
    # If the first record is no row, not all of them are: most batches skip the second check.
    shared = rows_of_one_schema(values) if values and isinstance(values[0], Row) else None
    if form is not None:
        payload = form.pack(values)
    elif shared is not None:
        flags |= _ROWS
        payload = (*shared, rows_to_values(values))
    head = _HEADER.pack(
        VERSION,
        header.task,
        header.sequence,
        header.kind,
        flags,
        header.target_level,
        header.channel,
        len(values),
    )
    return b"".join((head, stamps, pickle.dumps(payload, 5)))


def encode_columns(
    header: FrameHeader, batch: Any, timestamps: Sequence[int] | None = None
) -> bytes:
    """Encode the rows of an Arrow batch; see `encode_records`."""
    stamps = b"" if timestamps is None else array("q", timestamps).tobytes()
    head = _HEADER.pack(
        VERSION,
        header.task,
        header.sequence,
        header.kind,
        _COLUMNS | (0 if timestamps is None else _TIMESTAMPS),
        header.target_level,
        header.channel,
        batch.num_rows,
    )
    return b"".join((head, stamps, *to_pieces(batch)))


def encode_segments(
    header: FrameHeader, segments: Sequence[bytes], stamps: Sequence[bytes] = (), *, keyed: bool
) -> bytes:
    """Encode records that are pickled in segments."""
    head = _HEADER.pack(
        VERSION,
        header.task,
        header.sequence,
        header.kind,
        _SEGMENTS | (_KEYS if keyed else 0) | (_TIMESTAMPS if stamps else 0),
        header.target_level,
        header.channel,
        header.count,
    )
    return b"".join((head, *stamps, join_segments(segments)))


def encode_payload(header: FrameHeader, payload: bytes) -> bytes:
    """Encode a control, state, report or log frame around its payload."""
    head = _HEADER.pack(
        VERSION,
        header.task,
        header.sequence,
        header.kind,
        0,
        header.target_level,
        header.channel,
        header.count,
    )
    return head + payload


def read_header(frame: bytes) -> FrameHeader:
    """Decode the header."""
    if len(frame) < _HEADER.size:
        raise _damaged(f"it has {len(frame)} bytes, a header has {_HEADER.size}")
    fields = _HEADER.unpack_from(frame)
    version, task, sequence, kind, flags, level, channel, count = fields
    if version != VERSION:
        raise _damaged(f"its version is {version}, this is version {VERSION}")
    if kind not in FrameKind._value2member_map_:
        raise _damaged(f"its kind is {kind}")
    return FrameHeader(task, sequence, channel, level, FrameKind(kind), count, flags)


def decode_records(header: FrameHeader, frame: bytes) -> tuple[list[Any], list[int] | None]:
    """Return values and timestamps of a records frame."""
    timestamps, offset = _decode_timestamps(header, frame)
    values: Any
    if header.flags & _SEGMENTS:
        keys, values = _decode_segments(header, frame, offset)
        return list(zip(keys, values, strict=True)) if header.has_keys else values, timestamps
    is_columnar = header.flags & _COLUMNS
    values = rows_of(_decode_batch(header, frame, offset)) if is_columnar else _load(frame, offset)
    if header.flags & _ROWS:
        values = _rows(values)
    if not isinstance(values, list):
        raise _damaged(f"its records are not a list but {type(values).__name__}")
    if len(values) != header.count:
        raise _damaged(f"it announces {header.count} records and holds {len(values)}")
    return values, timestamps


def decode_pairs(
    header: FrameHeader, frame: bytes
) -> tuple[list[Any], list[Any], list[int] | None]:
    """Return keys, values and timestamps of a frame with keys."""
    timestamps, offset = _decode_timestamps(header, frame)
    return (*_decode_segments(header, frame, offset), timestamps)


def _decode_timestamps(header: FrameHeader, frame: bytes) -> tuple[list[int] | None, int]:
    """Return the timestamps, None if there are none, and the position of the payload."""
    if not header.flags & _TIMESTAMPS:
        return None, _HEADER.size
    end = _HEADER.size + 8 * header.count
    if len(frame) < end:
        raise _damaged(f"{header.count} timestamps do not fit in {len(frame)} bytes")
    stamps = array("q")
    stamps.frombytes(frame[_HEADER.size : end])
    return stamps.tolist(), end


def _decode_segments(header: FrameHeader, frame: bytes, offset: int) -> tuple[list[Any], list[Any]]:
    keys: list[Any] = []
    values: list[Any] = []
    try:
        for some_keys, some_values in split_segments(memoryview(frame)[offset:]):
            values += some_values
            if header.has_keys:
                keys += some_keys or ()
    except (MemoryError, PenstockError):
        raise
    except BaseException as cause:  # unpickling damaged bytes can raise anything
        raise_interrupt(cause)
        raise _damaged(
            f"its payload does not hold segments of records: {words_of(cause)}"
        ) from cause
    if len(values) != header.count or (header.has_keys and len(keys) != len(values)):
        held = f"{len(values)} records, {len(keys)} keys"
        raise _damaged(f"it announces {header.count} records and holds {held}")
    return keys, values


def decode_columns(header: FrameHeader, frame: bytes) -> tuple[Any, list[int] | None]:
    """Return the Arrow batch of a frame of columns, and the timestamps."""
    timestamps, offset = _decode_timestamps(header, frame)
    return _decode_batch(header, frame, offset), timestamps


def _decode_batch(header: FrameHeader, frame: bytes, offset: int) -> Any:
    try:
        batch = from_bytes(memoryview(frame)[offset:])
        batch.validate()
    except MemoryError:
        raise
    except BaseException as cause:  # damaged bytes can raise anything
        raise_interrupt(cause)
        raise _damaged(f"its payload does not hold columns: {words_of(cause)}") from cause
    if batch.num_rows != header.count:
        raise _damaged(f"it announces {header.count} records and holds {batch.num_rows}")
    return batch


def payload_of(frame: bytes) -> bytes:
    """Return the payload of a control, state, report or log frame."""
    return frame[_HEADER.size :]


def load_payload(frame: bytes) -> Any:
    """Unpickle the payload of a control, report or log frame."""
    return _load(frame, _HEADER.size)


def _load(frame: bytes, offset: int) -> Any:
    try:
        return unpickled(memoryview(frame)[offset:])
    except (MemoryError, PenstockError):
        raise
    except BaseException as cause:  # unpickling damaged bytes can raise anything
        raise_interrupt(cause)
        raise _damaged(f"its payload does not unpickle: {words_of(cause)}") from cause


def _rows(loaded: Any) -> Any:
    try:
        fields, rows = loaded
        return row_factory(fields)(rows)
    except MemoryError:
        raise
    except BaseException as cause:  # damaged bytes may unpickle to any object
        raise_interrupt(cause)
        raise _damaged(f"its payload does not hold rows: {words_of(cause)}") from cause


def _damaged(what: str) -> DecodeError:
    return DecodeError(
        f"a frame is damaged: {what}",
        hint="Restart the job from its checkpoint; if it happens again, check the workers' "
        "Penstock versions and disks.",
    )
