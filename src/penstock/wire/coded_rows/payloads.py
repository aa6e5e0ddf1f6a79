"""Payloads that need a function: decimals, timestamps, big integers, pickles."""

from __future__ import annotations

import pickle
from datetime import UTC, date, datetime, time, timedelta
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, InvalidOperation
from typing import Any

from penstock.errors import StateError, TypeMismatchError
from penstock.types import Instant
from penstock.user_failure import raise_interrupt, words_of
from penstock.wire.coded_rows.wire_types import (
    LONG_VARINT_BYTES,
    corrupt,
    read_varint,
    unzigzag,
    varint,
    zigzag,
)

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
    """Return the number with these bytes.

    Raises:
        ValueError: The bytes are not as short as possible.
    """
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


def read_decimal(data: bytes, at: int) -> tuple[Decimal, int]:
    """Return the decimal whose payload is at `at`, and the position after it."""
    scale, after = read_varint(data, at)
    size, after = read_varint(data, after)
    stop = after + size
    if stop > len(data):
        raise corrupt(at, "a decimal does not fit")
    exponent = -unzigzag(scale)
    if size == 0:
        return Decimal((1, (0,), exponent)), stop
    unscaled = integer_of(data[after:stop])
    found = (
        Decimal((0, (0,), exponent)) if not unscaled else _EXACT.scaleb(Decimal(unscaled), exponent)
    )
    if not found.is_finite() or found.as_tuple().exponent != exponent:
        raise corrupt(at, f"a decimal has scale {-exponent}")
    return found, stop


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
    """Return the payload of an instant.

    Raises:
        TypeMismatchError: It is more than 10 to the 28 years before or after 1970.
    """
    millis, nanos = divmod(value.seconds * 1_000_000_000 + value.nanos, _NANOS_PER_MILLI)
    if zigzag(millis) >= _MILLIS_LIMIT:
        raise TypeMismatchError(
            f"{value!r} is too far away to be stored",
            hint="Keep it as a number, of type Types.BIG_INT().",
        )
    return _moment(millis, nanos)


def _read_moment(data: bytes, at: int) -> tuple[int, int, int]:
    millis, after = read_varint(data, at, _MILLIS_LIMIT)
    nanos, after = read_varint(data, after, 2 * _NANOS_PER_MILLI)
    return unzigzag(millis), nanos, after


def _read_micros(data: bytes, at: int) -> tuple[timedelta, int, int]:
    millis, nanos, after = _read_moment(data, at)
    fold, rest = divmod(nanos, _NANOS_PER_MILLI)
    if rest % 1000:
        raise corrupt(at, "a timestamp has nanoseconds")
    return timedelta(milliseconds=millis, microseconds=rest // 1000), fold, after


def read_timestamp(data: bytes, at: int) -> tuple[datetime, int]:
    """Return the moment without time zone at `at`, and the position after it."""
    past, fold, after = _read_micros(data, at)
    moment = _EPOCH + past
    return (moment.replace(fold=1) if fold else moment), after


def read_zoned(data: bytes, at: int) -> tuple[datetime, int]:
    """Return the moment in UTC at `at`, and the position after it."""
    past, fold, after = _read_micros(data, at)
    moment = _EPOCH_UTC + past
    return (moment.replace(fold=1) if fold else moment), after


def read_instant(data: bytes, at: int) -> tuple[Instant, int]:
    """Return the instant at `at`, and the position after it."""
    millis, nanos, after = _read_moment(data, at)
    if nanos >= _NANOS_PER_MILLI:
        raise corrupt(at, f"a millisecond has {nanos} nanoseconds")
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
    """Return the pickle of a value.

    Raises:
        StateError: The value cannot be pickled.
    """
    try:
        return pickle.dumps(value, 5)
    except BaseException as cause:  # whatever a user's __reduce__ raises
        raise_interrupt(cause)
        raise StateError(
            f"a value of state cannot be stored: {words_of(cause)}",
            hint="Keep plain data in state; make connections and locks in open().",
        ) from cause


def unpickled(data: bytes, at: int) -> Any:
    """Return the value of a pickle that begins at `at` of a row.

    Raises:
        DecodeError: It cannot be unpickled, e.g. because its class is missing.
    """
    try:
        return pickle.loads(data)
    except BaseException as cause:  # a class of the user's program is missing or renamed
        raise_interrupt(cause)
        raise corrupt(at, f"a pickled field cannot be read: {words_of(cause)}") from cause
