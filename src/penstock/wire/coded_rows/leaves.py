"""Source text of generated functions that write and read types without fields, and the functions that their payloads need."""

from __future__ import annotations

import linecache
import pickle
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, InvalidOperation
from itertools import count
from typing import Any

from penstock.errors import StateError, TypeMismatchError
from penstock.types import (
    BasicTypeInfo,
    InferredTypeInfo,
    Instant,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    TypeInformation,
)
from penstock.user_failure import raise_interrupt, words_of
from penstock.wire.coded_rows.wire_types import (
    LONG_VARINT_BYTES,
    Namespace,
    WireType,
    corrupt,
    read_varint,
    unzigzag,
    varint,
    zigzag,
)

_numbers = count(1)


class SourceText:
    """The source text of the functions of one codec.

    Attributes:
        names: Global names of the functions, except the functions themselves.
    """

    def __init__(self, names: Namespace) -> None:
        self.names = dict(names)
        self._functions: list[str] = []
        self._function_names: dict[Any, str] = {}
        self._constants: dict[Any, str] = {}

    def constant(self, name: str, make: Callable[[], Any]) -> str:
        """Return `name`, which the first call binds to the result of `make`."""
        if name not in self.names:
            self.names[name] = make()
        return name

    def function(self, key: Any, prefix: str, build: Callable[[str], list[str]]) -> str:
        """Return the name of a function, built once per `key`."""
        name = self._function_names.get(key)
        if name is None:
            name = self._function_names[key] = f"{prefix}_{len(self._function_names)}"
            self._functions.append("\n".join(build(name)))
        return name

    def text(self) -> str:
        """Return the module."""
        return "\n\n\n".join(self._functions) + "\n"

    def compile(self, what: str) -> tuple[Namespace, str]:
        """Return the functions by name, and the module's text."""
        text = self.text()
        filename = f"<penstock coded rows {next(_numbers)}: {what:.60}>"
        # So that tracebacks and debuggers show the lines.
        linecache.cache[filename] = len(text), None, text.splitlines(keepends=True), filename
        names = dict(self.names)
        exec(compile(text, filename, "exec"), names)  # noqa: S102 - made here, of types only
        return names, text


def indented(lines: Iterable[str], levels: int = 1) -> list[str]:
    """Return indented lines."""
    return ["    " * levels + line for line in lines]


EPOCH_DAY = date(1970, 1, 1).toordinal()
MICROS_PER_DAY = 86_400_000_000

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - it is subtracted from moments without a zone
_EPOCH_UTC = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_NANOS_PER_MILLI = 1_000_000
_MILLIS_LIMIT = 1 << 7 * LONG_VARINT_BYTES
_MINUS_ZERO = b"\x00"  # a length of 0 behind the scale

# The default context would round to 28 digits.
_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[InvalidOperation])


def integer_bytes(value: int) -> bytes:
    """Return big-endian two's complement, as short as possible."""
    bits = value.bit_length() if value >= 0 else (value + 1).bit_length()
    return value.to_bytes((bits >> 3) + 1, "big", signed=True)


def integer_of(data: bytes) -> int:
    """Return the number with these bytes."""
    value = int.from_bytes(data, "big", signed=True)
    if len(data) != 1 and len(data) != len(integer_bytes(value)):
        msg = "an integer is longer than it has to be"
        raise ValueError(msg)
    return value


def decimal_payload(value: Decimal) -> bytes:
    """Return scale and unscaled value, with trailing zeros and the sign of zero."""
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)  # the declared form is finite
    scale = varint(zigzag(-exponent))
    if not value:
        return scale + (_MINUS_ZERO if value.is_signed() else b"\x01\x00")
    unscaled = integer_bytes(int(value.scaleb(-exponent, _EXACT)))
    return scale + varint(len(unscaled)) + unscaled


def decimal_key(value: Decimal) -> bytes:
    """Return the same payload for all decimals that are equal to this one."""
    if not value:
        return decimal_payload(Decimal(0))
    return decimal_payload(value.normalize(_EXACT))


def read_decimal(data: bytes, position: int) -> tuple[Decimal, int]:
    """Return the decimal whose payload is at `position`, and the position after it."""
    scale, after = read_varint(data, position)
    size, after = read_varint(data, after)
    stop = after + size
    if stop > len(data):
        raise corrupt(position, "a decimal does not fit")
    exponent = -unzigzag(scale)
    if size == 0:
        return Decimal((1, (0,), exponent)), stop
    unscaled = integer_of(data[after:stop])
    value = (
        Decimal((0, (0,), exponent)) if not unscaled else _EXACT.scaleb(Decimal(unscaled), exponent)
    )
    if not value.is_finite() or value.as_tuple().exponent != exponent:
        raise corrupt(position, f"a decimal has scale {-exponent}")
    return value, stop


def _moment(millis: int, nanos: int) -> bytes:
    return varint(zigzag(millis)) + varint(nanos)


def timestamp_payload(value: datetime) -> bytes:
    """Return the payload of a moment without time zone."""
    micros = (value.replace(fold=0) - _EPOCH) // _MICROSECOND
    millis, rest = divmod(micros, 1000)
    return _moment(millis, rest * 1000 + (_NANOS_PER_MILLI if value.fold else 0))


def timestamp_key(value: datetime) -> bytes:
    """Return the same without `fold`, which equality ignores."""
    return timestamp_payload(value.replace(fold=0))


def zoned_payload(value: datetime) -> bytes:
    """Return the payload of a moment in UTC."""
    millis, rest = divmod((value - _EPOCH_UTC) // _MICROSECOND, 1000)
    return _moment(millis, rest * 1000 + (_NANOS_PER_MILLI if value.fold else 0))


def zoned_key(value: datetime) -> bytes:
    """Return the same without `fold`."""
    return zoned_payload(value.replace(fold=0))


def instant_payload(value: Instant) -> bytes:
    """Return the payload of an instant."""
    millis, nanos = divmod(value.seconds * 1_000_000_000 + value.nanos, _NANOS_PER_MILLI)
    if zigzag(millis) >= _MILLIS_LIMIT:
        raise TypeMismatchError(
            f"{value!r} is out of the range of stored times",
            hint="Keep it as a number, of type Types.BIG_INT().",
        )
    return _moment(millis, nanos)


def _read_moment(data: bytes, position: int) -> tuple[int, int, int]:
    millis, after = read_varint(data, position, _MILLIS_LIMIT)
    nanos, after = read_varint(data, after, 2 * _NANOS_PER_MILLI)
    return unzigzag(millis), nanos, after


def _read_micros(data: bytes, position: int) -> tuple[timedelta, int, int]:
    millis, nanos, after = _read_moment(data, position)
    fold, rest = divmod(nanos, _NANOS_PER_MILLI)
    if rest % 1000:
        raise corrupt(position, "a timestamp has nanoseconds")
    return timedelta(milliseconds=millis, microseconds=rest // 1000), fold, after


def read_timestamp(data: bytes, position: int) -> tuple[datetime, int]:
    """Return the moment without time zone at `position`, and the position after it."""
    past, fold, after = _read_micros(data, position)
    moment = _EPOCH + past
    return (moment.replace(fold=1) if fold else moment), after


def read_zoned(data: bytes, position: int) -> tuple[datetime, int]:
    """Return the moment in UTC at `position`, and the position after it."""
    past, fold, after = _read_micros(data, position)
    moment = _EPOCH_UTC + past
    return (moment.replace(fold=1) if fold else moment), after


def read_instant(data: bytes, position: int) -> tuple[Instant, int]:
    """Return the instant at `position`, and the position after it."""
    millis, nanos, after = _read_moment(data, position)
    if nanos >= _NANOS_PER_MILLI:
        raise corrupt(position, f"a millisecond has {nanos} nanoseconds")
    seconds, rest = divmod(millis, 1000)
    return Instant(seconds, rest * _NANOS_PER_MILLI + nanos), after


def clock_number(value: time) -> int:
    """Return the number of a time of day."""
    return clock_key(value) + MICROS_PER_DAY * value.fold


def clock_key(value: time) -> int:
    """Return the same without `fold`."""
    seconds = value.hour * 3600 + value.minute * 60 + value.second
    return seconds * 1_000_000 + value.microsecond


def clock_of(number: int) -> time:
    """Return the time of day that has a number, which is below two days."""
    fold, micros = divmod(number, MICROS_PER_DAY)
    seconds, micro = divmod(micros, 1_000_000)
    return time(seconds // 3600, seconds // 60 % 60, seconds % 60, micro, fold=fold)


def pickled(value: Any) -> bytes:
    """Return the pickle of a value."""
    try:
        return pickle.dumps(value, 5)
    except BaseException as cause:  # whatever a user's __reduce__ raises
        raise_interrupt(cause)
        raise StateError(
            f"a value of state cannot be stored: {words_of(cause)}",
            hint="Keep plain data in state; make connections and locks in open().",
        ) from cause


def unpickled(data: bytes, position: int) -> Any:
    """Return the value of a pickle that begins at `position` of a row."""
    try:
        return pickle.loads(data)
    except BaseException as cause:  # a class of the user's program is missing or renamed
        raise_interrupt(cause)
        raise corrupt(position, f"a pickled field cannot be read: {words_of(cause)}") from cause


_TEXT = "{v}.encode({text})"
_ZIGZAG = "({v} << 1 ^ {v} >> 63)"
_UNZIGZAG = "z >> 1 ^ -(z & 1)"


@dataclass(frozen=True, slots=True)
class Leaf:
    """The expressions of one type without fields.

    Attributes:
        write: Expression in the value `{v}`: for VARINT the unsigned number, else the payload,
            for LENGTH_DELIMITED without its length. `{text}` are the arguments of `str.encode`.
        read: Expression of the value: in `z`, the number of a VARINT; in `data[at:stop]`, the bytes
            of LENGTH_DELIMITED; else in `data` and `at`, and it is (value, end).
        limit: Upper bound of the number of a VARINT, exclusive.
        key: `write` for keys; None if the type has no canonical form.
    """

    wire: WireType
    write: str
    read: str
    limit: int = 1 << 64
    key: str | None = ""

    @property
    def canonical(self) -> str | None:
        """The expression that writes keys; None if values cannot be keys."""
        return self.write if self.key == "" else self.key


def _integer(bits: int) -> Leaf:
    return Leaf(WireType.VARINT, _ZIGZAG, _UNZIGZAG, 1 << bits)


_STRING = Leaf(WireType.LENGTH_DELIMITED, _TEXT, "data[at:stop].decode('utf-8', 'surrogatepass')")
_PICKLED = Leaf(WireType.LENGTH_DELIMITED, "pickled({v})", "unpickled(data[at:stop], at)", key=None)
_BYTES = Leaf(WireType.LENGTH_DELIMITED, "{v}", "data[at:stop]")

_LEAVES: dict[str, Leaf] = {
    "String": _STRING,
    "Char": Leaf(
        WireType.LENGTH_DELIMITED,
        _TEXT,
        "character(data[at:stop].decode('utf-8', 'surrogatepass'))",
    ),
    "Boolean": Leaf(WireType.VARINT, "(1 if {v} else 0)", "z == 1", 2),
    "Byte": _integer(8),
    "Short": _integer(16),
    "Integer": _integer(32),
    "Long": _integer(64),
    "Float": Leaf(
        WireType.FIXED32, "pack_single({v})", "single_at(data, at)", key="pack_single(plain({v}))"
    ),
    "Double": Leaf(
        WireType.FIXED64, "pack_double({v})", "double_at(data, at)", key="pack_double(plain({v}))"
    ),
    "BigInteger": Leaf(
        WireType.LENGTH_DELIMITED, "integer_bytes({v})", "integer_of(data[at:stop])"
    ),
    "BigDecimal": Leaf(
        WireType.DECIMAL,
        "decimal_payload({v})",
        "read_decimal(data, at)",
        key="decimal_key({v})",
    ),
    "Instant": Leaf(WireType.TIMESTAMP, "instant_payload({v})", "read_instant(data, at)"),
    "SqlDate": Leaf(WireType.VARINT, "zigzag_day({v})", "day_of(z)", 1 << 32),
    "SqlTime": Leaf(
        WireType.VARINT,
        "clock_number({v})",
        "clock_of(z)",
        2 * MICROS_PER_DAY,
        key="clock_key({v})",
    ),
    "SqlTimestamp": Leaf(
        WireType.TIMESTAMP,
        "timestamp_payload({v})",
        "read_timestamp(data, at)",
        key="timestamp_key({v})",
    ),
    "TimestampLtz": Leaf(
        WireType.TIMESTAMP, "zoned_payload({v})", "read_zoned(data, at)", key="zoned_key({v})"
    ),
}
"""Name of every basic type to its leaf."""


# CodedRowData, rule 1.
def leaf_of(type_info: TypeInformation) -> Leaf | None:
    """Return the leaf of a type; None if it has fields, elements or pairs, or is unknown."""
    kind = type(type_info)
    if kind is BasicTypeInfo:
        return _LEAVES[type_info.name]  # type: ignore[attr-defined]
    if kind is PrimitiveArrayTypeInfo and type_info.is_bytes:  # type: ignore[attr-defined]
        return _BYTES
    return _PICKLED if kind in {PickledBytesTypeInfo, InferredTypeInfo} else None


_single = struct.Struct("<f")
_double = struct.Struct("<d")
_NAN = _double.unpack(b"\0\0\0\0\0\0\xf8\x7f")[0]


def _reader(layout: struct.Struct) -> Callable[[bytes, int], tuple[float, int]]:
    unpack, size = layout.unpack_from, layout.size

    def read(data: bytes, position: int) -> tuple[float, int]:
        return unpack(data, position)[0], position + size

    return read


def _plain(value: float) -> float:
    """Return the same number for all numbers that are equal as keys."""
    return value + 0.0 if value == value else _NAN  # noqa: PLR0124 - what NaN is not


def _zigzag_day(value: date) -> int:
    days = value.toordinal() - EPOCH_DAY
    return days << 1 ^ days >> 63


def _day_of(number: int) -> date:
    return date.fromordinal((number >> 1 ^ -(number & 1)) + EPOCH_DAY)


def _character(text: str) -> str:
    if len(text) != 1:
        msg = f"{text!r:.80} is not one character"
        raise ValueError(msg)
    return text


NAMES: Namespace = {
    "pack_single": _single.pack,
    "pack_double": _double.pack,
    "single_at": _reader(_single),
    "double_at": _reader(_double),
    "plain": _plain,
    "zigzag_day": _zigzag_day,
    "day_of": _day_of,
    "character": _character,
    **{
        function.__name__: function
        for function in (
            clock_key, clock_number, clock_of, decimal_key, decimal_payload, instant_payload,
            integer_bytes, integer_of, pickled, read_decimal, read_instant, read_timestamp,
            read_zoned, timestamp_key, timestamp_payload, unpickled, zoned_key, zoned_payload,
        )
    },
}  # fmt: skip
"""Names in the expressions."""
