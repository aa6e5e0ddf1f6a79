"""What windows hold, by definition, from the plain list of records.

A record is (key, time, value, number). Nothing here knows of operators, panes, timers or state.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

MIN, MAX = -(2**63), 2**63 - 1

Shape = tuple[Any, ...]
"""("tumbling", size, offset), ("sliding", size, slide, offset) or ("session", gap)."""


def regular(shape: Shape, time: int) -> list[tuple[int, int]]:
    """Return the windows that hold a time, found by trying all near ones."""
    size, slide, offset = shape[1], shape[-2], shape[-1]
    starts = range(offset - 50 * slide, offset + 50 * slide, slide)
    return [(start, start + size) for start in starts if start <= time < start + size]


def contents(shape: Shape, records: Iterable[Any]) -> dict[Any, list[Any]]:
    """Return (key, window) to its records, for records of which none is late."""
    found = defaultdict(list)
    if shape[0] != "session":
        for record in records:
            for window in regular(shape, record[1]):
                found[record[0], window].append(record)
        return dict(found)
    per_key = defaultdict(list)
    for record in records:
        per_key[record[0]].append(record)
    for key, of_key in per_key.items():
        ordered = sorted(of_key, key=lambda record: record[1])
        groups = [[ordered[0]]]
        for record in ordered[1:]:
            if record[1] - groups[-1][-1][1] <= shape[1]:
                groups[-1].append(record)
            else:
                groups.append([record])
        for group in groups:
            found[key, (group[0][1], group[-1][1] + shape[1])] = group
    return dict(found)


class LateOracle:
    """Micro-batches with watermarks between them: every firing, and every late record.

    Windows are sets of records. A regular window fires when the watermark passes its end and for
    every record after that until its lateness is over. A session takes all it touches.
    """

    def __init__(self, shape: Shape, lateness: int) -> None:
        self.shape, self.lateness = shape, lateness
        self.watermark = MIN
        self.held: dict[Any, list[Any]] = {}
        self.late: list[Any] = []
        self.firings: list[tuple[Any, tuple[int, int], tuple[int, ...]]] = []

    def add(self, record: Any) -> None:
        key, time = record[0], record[1]
        windows = (
            [self._joined(key, time)] if self.shape[0] == "session" else regular(self.shape, time)
        )
        taken = False
        for window in windows:
            if window[1] - 1 + self.lateness <= self.watermark:
                continue
            taken = True
            self.held.setdefault((key, window), []).append(record)
            if window[1] - 1 <= self.watermark:
                self._fire(key, window)
        if not taken and time + self.lateness <= self.watermark:
            self.late.append(record)

    def advance(self, watermark: int) -> None:
        before, self.watermark = self.watermark, max(watermark, self.watermark)
        for (key, window), _ in sorted(self.held.items(), key=lambda item: item[0][1][1]):
            if before < window[1] - 1 <= self.watermark:
                self._fire(key, window)
        self.held = {
            (key, window): records
            for (key, window), records in self.held.items()
            if window[1] - 1 + self.lateness > self.watermark
        }

    def _fire(self, key: Any, window: tuple[int, int]) -> None:
        numbers = tuple(sorted(record[3] for record in self.held[key, window]))
        self.firings.append((key, window, numbers))

    def _joined(self, key: Any, time: int) -> tuple[int, int]:
        start, end = time, time + self.shape[1]
        touching = [
            window
            for (of, window) in self.held
            if of == key and window[0] <= end and start <= window[1]
        ]
        joined = (
            min([start, *(window[0] for window in touching)]),
            max([end, *(window[1] for window in touching)]),
        )
        merged = [record for window in touching for record in self.held.pop((key, window))]
        if merged:
            self.held[key, joined] = merged
        return joined


def summary(
    found: dict[Any, list[Any]], of: Callable[[list[Any]], Any]
) -> list[tuple[Any, tuple[int, int], Any]]:
    """Return (key, window, what `of` makes of the records) of all windows."""
    return [(key, window, of(records)) for (key, window), records in found.items()]
