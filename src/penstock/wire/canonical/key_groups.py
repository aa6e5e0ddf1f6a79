"""The key groups of keys, by `penstock.wire.canonical.key_encodings.stable_hash`, which never changes.

State is stored, moved and rescaled by key group, so the mapping must be the same in every process, on every machine
and in every later version. The 64-bit hash is multiplied by the Fibonacci constant and scaled to the number of key
groups. The uppermost bits of the product decide, because only they depend on all bits of the hash.

Golden values are in the tests and only ever added to.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from penstock.wire.canonical.key_encodings import GOLDEN, MASK, stable_hash

_CACHED_KEYS = 200_000
_MANY_KEYS = 16_384
_HASH_MODULUS = sys.hash_info.modulus
_HALF = np.uint64(32)
_LOWER = np.uint64(0xFFFFFFFF)


class KeyGroups(dict[Any, int]):
    """A cache of key to key group: `list(map(groups.__getitem__, keys))` runs in C.

    It is emptied when it has `_CACHED_KEYS` keys, so memory does not grow with the number of keys.

    Examples:
        >>> groups = KeyGroups(128)
        >>> 0 <= groups["a"] < 128
        True
    """

    def __init__(self, max_parallelism: int) -> None:
        super().__init__()
        self._max_parallelism = max_parallelism

    def __missing__(self, key: Any) -> int:
        """Compute, cache and return the key group of a new key."""
        if len(self) >= _CACHED_KEYS:
            self.clear()
        spread = (stable_hash(key) * GOLDEN) & MASK
        group = self[key] = spread * self._max_parallelism >> 64
        return group

    def of(self, keys: Sequence[Any]) -> list[int]:
        """Return `[self[key] for key in keys]`.

        A few repeated keys are looked up in the cache. For many different integers or strings the
        method computes all key groups of a batch with NumPy, which is cheaper than a cache.
        """
        if len(self) >= _MANY_KEYS:
            hashes = hashes_of(keys)
            if hashes is not None:
                return self._from_groups(groups_of(hashes, self._max_parallelism))
        return list(map(self.__getitem__, keys))

    def _from_groups(self, groups: NDArray[np.uint64]) -> list[int]:
        """Return the values for key groups."""
        numbers: list[int] = groups.tolist()
        return numbers


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
    spread = hashes * np.uint64(GOLDEN)  # modulo 2**64
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
        numbers = np.fromiter(keys, np.int64, len(keys))
    except OverflowError:
        return None
    return hashes_of_integers(numbers)


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
