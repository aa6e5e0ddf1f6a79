"""Keys to key groups: a hash that never changes.

State is stored, moved and rescaled by key group, so the mapping must be the same in every
process, on every machine and in every later version. Python's own `hash` is not (strings are
randomised per process), so:

    numbers          Python's numeric hash, which is fixed and equal for equal numbers
    str, bytes       CRC-32 of the UTF-8 bytes
    None, enums      fixed tag; class and member name
    tuple, list,     combination of the elements
    Row, dataclass
    date, datetime,  CRC-32 of the ISO text (of the instant in UTC if it has a zone)
    time, UUID

The 64-bit result is spread by Fibonacci multiplication and scaled to the number of key groups,
so that its uppermost bits decide: only they depend on all bits of the hash. Keys are compared as Python compares them: 1, 1.0 and True
are **one** key. NaN equals nothing, so it cannot be a key; nor can a mutable object, except a list,
which is one by value (`penstock.types.list_key`), nor one of a class that defines `__eq__` itself
(`penstock.wire.canonical.key_classes`).

Golden values are in the tests and only ever added to.
"""

from __future__ import annotations

import sys
from cmath import isnan
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any
from uuid import UUID
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from penstock.types.list_key import ListKey, TupleKey
from penstock.types.row import Row
from penstock.wire.canonical.key_classes import (
    check_decimal,
    compared_values,
    key_class,
    no_key_class,
    not_a_number,
)

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15  # 2**64 / golden ratio, odd: spreads consecutive integers
_LIST = "list"
_CACHED_KEYS = 200_000
_MANY_KEYS = 16_384
_HASH_MODULUS = sys.hash_info.modulus
_HALF = np.uint64(32)
_LOWER = np.uint64(0xFFFFFFFF)


def stable_hash(key: Any) -> int:
    """Return a hash of `key` (an integer of up to 64 bits) that never changes.

    Equal keys have equal hashes.

    Raises:
        KeyTypeError: `key` is NaN, mutable, or of a type without a stable form.

    Examples:
        >>> stable_hash(1) == stable_hash(1.0) == stable_hash(True)
        True
        >>> stable_hash("a")
        3904355907
    """
    hasher = _HASHERS.get(type(key))
    if hasher is not None:
        return hasher(key)
    found = key_class(type(key))
    if isinstance(found, str):
        raise no_key_class(key, found)
    if found.family is None:
        return _combine(compared_values(key, found))
    return _HASHERS[found.family](key)


def _integer(key: Any) -> int:
    return hash(key) & _MASK


def _number(key: Any) -> int:
    if isnan(key):
        raise not_a_number()
    return hash(key) & _MASK


def _decimal(key: Decimal) -> int:
    check_decimal(key)
    return hash(key) & _MASK


def _combine(values: Iterable[Any]) -> int:
    parts = tuple(values)
    mixed = 0x345678 + len(parts)
    for part in parts:
        mixed = ((mixed ^ stable_hash(part)) * _GOLDEN) & _MASK
    return mixed


def _row(key: Row) -> int:
    names = key._fields
    if names is None:
        return _combine(tuple(key))
    # The order of names is irrelevant to equality, so it must be to the hash.
    return sum(map(_combine, zip(names, key, strict=True))) & _MASK


def _clock(key: time) -> int:
    # Times with a zone are equal if they are the same time in UTC, a naive one equals none.
    offset = key.utcoffset()
    if offset is None:
        return crc32(key.isoformat().encode())
    since_midnight = timedelta(
        hours=key.hour, minutes=key.minute, seconds=key.second, microseconds=key.microsecond
    )
    return crc32(repr((since_midnight - offset) // timedelta(microseconds=1)).encode())


def _moment(key: datetime) -> int:
    offset = key.replace(fold=0).utcoffset()  # equality, as Python's hash, ignores `fold`
    if offset is None:
        return crc32(datetime.isoformat(key).encode())
    moment = (key.replace(tzinfo=None) - offset).replace(tzinfo=UTC)
    return crc32(moment.isoformat().encode())


_HASHERS: dict[type, Callable[[Any], int]] = {
    int: _integer,
    bool: _integer,
    float: _number,
    complex: _number,
    Decimal: _decimal,
    Fraction: _integer,
    str: lambda key: crc32(str.encode(key, "utf-8", "surrogatepass")),
    bytes: crc32,
    type(None): lambda _: 0x6E6F6E65,
    tuple: lambda key: _combine(tuple.__iter__(key)),
    TupleKey: _combine,
    ListKey: lambda key: _combine((_LIST, *key)),
    Row: _row,
    frozenset: lambda key: sum(map(stable_hash, key)) & _MASK,
    datetime: _moment,
    date: lambda key: crc32(key.isoformat().encode()),
    time: _clock,
    timedelta: lambda key: hash(key / timedelta(microseconds=1)) & _MASK,
    UUID: lambda key: crc32(key.bytes),
    Enum: lambda key: crc32(f"{type(key).__qualname__}.{key.name}".encode()),
}


class KeyGroups(dict[Any, int]):
    """Key to key group, remembered: `list(map(groups.__getitem__, keys))` runs in C.

    Holds at most `_CACHED_KEYS` keys and then starts again, so memory does not grow with
    the number of keys.

    Examples:
        >>> groups = KeyGroups(128)
        >>> 0 <= groups["a"] < 128
        True
    """

    def __init__(self, max_parallelism: int) -> None:
        super().__init__()
        self._max_parallelism = max_parallelism

    def __missing__(self, key: Any) -> int:
        """Compute, remember and return the key group of a new key."""
        if len(self) >= _CACHED_KEYS:
            self.clear()
        spread = (stable_hash(key) * _GOLDEN) & _MASK
        group = self[key] = spread * self._max_parallelism >> 64
        return group

    def of(self, keys: Sequence[Any]) -> list[int]:
        """Return what `[self[key] for key in keys]` gives; many keys are computed together.

        A few keys that come again and again are looked up. Once there are many, remembering them
        would cost more than to compute all of a batch at a time, if they are integers or strings.

        Raises:
            KeyTypeError: A key cannot be one.
        """
        if len(self) >= _MANY_KEYS:
            hashes = hashes_of(keys)
            if hashes is not None:
                return self._from_groups(groups_of(hashes, self._max_parallelism))
        return list(map(self.__getitem__, keys))

    def _from_groups(self, groups: NDArray[np.uint64]) -> list[int]:
        """Return the values for key groups."""
        found: list[int] = groups.tolist()
        return found


def hashes_of(keys: Sequence[Any]) -> NDArray[np.uint64] | None:
    """Return the stable hash of every key if all are integers, or all are strings, else None.

    Examples:
        >>> hashes_of([1, 2]).tolist() == [stable_hash(1), stable_hash(2)]
        True
    """
    kinds = set(map(type, keys))
    together = _TOGETHER.get(kinds.pop()) if len(kinds) == 1 else None
    return None if together is None else together(keys)


def groups_of(hashes: NDArray[np.uint64], max_parallelism: int) -> NDArray[np.uint64]:
    """Return the key groups for stable hashes."""
    spread = hashes * np.uint64(_GOLDEN)  # modulo 2**64
    # (spread * max_parallelism) >> 64, of which 64 bits hold no more than a half at a time
    upper = (spread >> _HALF) * np.uint64(max_parallelism)
    lower = (spread & _LOWER) * np.uint64(max_parallelism)
    return (upper + (lower >> _HALF)) >> _HALF


def hashes_of_integers(keys: NDArray[np.int64]) -> NDArray[np.uint64] | None:
    """Return the stable hash of every integer; None if there is one of more than 61 bits."""
    if len(keys) and (keys.max() >= _HASH_MODULUS or keys.min() <= -_HASH_MODULUS):
        return None  # reduced by Python's hash
    # Python's hash keeps -1 for errors.
    return np.where(keys == -1, -2, keys).view(np.uint64)


def _of_integers(keys: Sequence[int]) -> NDArray[np.uint64] | None:
    try:
        found = np.fromiter(keys, np.int64, len(keys))
    except OverflowError:
        return None
    return hashes_of_integers(found)


def _of_strings(keys: Sequence[str]) -> NDArray[np.uint64] | None:
    try:
        return np.fromiter(map(crc32, map(str.encode, keys)), np.uint64, len(keys))
    except UnicodeEncodeError:  # lone surrogates
        return None


_TOGETHER: dict[type, Callable[[Sequence[Any]], NDArray[np.uint64] | None]] = {
    int: _of_integers,
    str: _of_strings,
}


def subtask_of(key_group: int, parallelism: int, max_parallelism: int) -> int:
    """Return the subtask that owns `key_group` (Flink's assignment of ranges)."""
    return key_group * parallelism // max_parallelism
