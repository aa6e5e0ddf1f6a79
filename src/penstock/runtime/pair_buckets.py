"""Puts keys and values into buckets by route, and pickles them while they are in the cache.

    keys, values ──▶ one bucket per route ──16,384 pairs in all──▶ parts ──▶ frames

A bucket of many routes holds few pairs by then, and a frame of few pairs costs its reader, and Spark,
more than the pairs do. So the parts of a route wait, as bytes, until they make a whole frame.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import CallSite
from penstock.runtime.channel_errors import unpicklable
from penstock.serde.pair_parts import pack_pairs

_OPEN_PAIRS = 1 << 14
_WAITING_BYTES = 16 << 20


@dataclass(slots=True)
class PairFrame:
    """What makes a frame of pairs.

    Attributes:
        route: Where it goes.
        parts: Made by `pack_pairs`.
        count: Pairs in all.
    """

    route: int
    parts: list[bytes] = field(default_factory=list)
    count: int = 0


class PairBuckets:
    """The pairs of one channel in one task. Those of a route keep their order."""

    def __init__(self, max_frame_records: int, origin: CallSite | None) -> None:
        """Begin empty.

        Args:
            max_frame_records: Most pairs of a frame.
            origin: The user's line that created the channel.
        """
        self._most = max_frame_records
        self._origin = origin
        self._keys: dict[int, list[Any]] = defaultdict(list)
        self._values: dict[int, list[Any]] = defaultdict(list)
        self._open = 0
        self._waiting: dict[int, PairFrame] = {}
        self._waiting_bytes = 0

    def add(self, routes: list[int], keys: list[Any], values: list[Any]) -> None:
        """Put pairs into their buckets."""
        key_buckets, value_buckets = self._keys, self._values
        for route, key, value in zip(routes, keys, values, strict=True):
            key_buckets[route].append(key)
            value_buckets[route].append(value)
        self._open += len(keys)

    @property
    def is_full(self) -> bool:
        """Whether what is in the buckets should be pickled."""
        return self._open >= _OPEN_PAIRS

    def take_frames(self, *, rest: bool) -> Iterator[PairFrame]:
        """Pickle what is in the buckets, and yield what makes a frame.

        Args:
            rest: Yield everything.

        Raises:
            UserCodeError: A value cannot be pickled.
        """
        for route, keys in self._keys.items():
            values = self._values[route]
            for at in range(0, len(keys), self._most):
                yield from self._add(
                    route, keys[at : at + self._most], values[at : at + self._most]
                )
        self._keys.clear()
        self._values.clear()
        self._open = 0
        if rest or self._waiting_bytes >= _WAITING_BYTES:
            yield from self._waiting.values()
            self._waiting.clear()
            self._waiting_bytes = 0

    def _add(self, route: int, keys: list[Any], values: list[Any]) -> Iterator[PairFrame]:
        try:
            part = pack_pairs(keys, values)
        except Exception as cause:  # whatever a user's __reduce__ raises
            raise unpicklable(cause, values, self._origin) from cause
        frame = self._waiting.get(route)
        if frame is not None and frame.count + len(keys) > self._most:
            self._waiting_bytes -= sum(map(len, frame.parts))
            yield frame
            frame = None
        if frame is None:
            frame = self._waiting[route] = PairFrame(route)
        frame.parts.append(part)
        frame.count += len(keys)
        self._waiting_bytes += len(part)
