"""Splits the records of an operator's keys into portions, each with all records of its keys.

    key ──stable hash──▶ mixed with the depth ──▶ one of 16 portions      depth 1, 2, …, 8
        ──order of first appearance────────────▶ one of 16 portions       deeper
        ──many records of the first frame──────▶ a portion of its own

The hash that chose the key group says nothing about a key any more: all keys of the group have
it in common. So it is mixed with the depth by a function whose every output bit depends on every
input bit; two keys that meet at one depth part at the next with probability 15/16. What is still
together at depth 8 has one stable hash, such as strings of equal CRC-32, and is told apart by
being remembered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from penstock.wire.canonical.key_encodings import stable_hash

FAN_OUT = 16
"""Portions by hash; keys with many records have portions beside them."""

_HASHED_DEPTHS = 8
_REMEMBERED_KEYS = 20_000
_HEAVY_SHARE = 8  # a key with more than 1/8 of the records looked at is heavy
_LEAST_HEAVY = 64

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_M1 = 0xFF51AFD7ED558CCD
_M2 = 0xC4CEB9FE1A85EC53


class KeyPortions(dict[Any, int]):
    """Key to the number of its portion, remembered.

    Attributes:
        several: Numbers of the portions that have more than one key.
    """

    def __init__(self, depth: int, first_keys: Iterable[Any] = ()) -> None:
        """Look for heavy keys.

        Args:
            depth: How deep the portions are nested, from 1.
            first_keys: Of the first records.
        """
        super().__init__()
        self._depth = depth
        self._only: dict[int, Any] = {}
        self.several: set[int] = set()
        counted = Counter(first_keys)
        least = max(_LEAST_HEAVY, counted.total() // _HEAVY_SHARE)
        self._heavy = {
            key: FAN_OUT + number
            for number, key in enumerate(k for k, n in counted.items() if n > least)
        }

    def __missing__(self, key: Any) -> int:
        """Choose, remember and return the portion of a key that is not remembered."""
        portion = self._heavy.get(key)
        if portion is None:
            portion = self._by_hash(key) if self._depth <= _HASHED_DEPTHS else len(self) % FAN_OUT
        if self._only.setdefault(portion, key) != key:
            self.several.add(portion)
        if len(self) >= _REMEMBERED_KEYS and self._depth <= _HASHED_DEPTHS:
            self.clear()
        self[key] = portion
        return portion

    def _by_hash(self, key: Any) -> int:
        mixed = (stable_hash(key) + self._depth * _GOLDEN) & _MASK
        mixed = ((mixed ^ (mixed >> 33)) * _M1) & _MASK
        mixed = ((mixed ^ (mixed >> 33)) * _M2) & _MASK
        return (mixed ^ (mixed >> 33)) % FAN_OUT
