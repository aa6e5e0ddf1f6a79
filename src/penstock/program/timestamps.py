"""The settings of an operator that assigns timestamps, and the generators of its watermarks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any


@dataclass(frozen=True, slots=True, order=True)
class Watermark:
    """No later record has a timestamp at or below `timestamp`.

    Attributes:
        timestamp: Epoch milliseconds.
    """

    timestamp: int


class WatermarkOutput(ABC):
    """The output of a watermark generator. It belongs to one split of one source.

    Example:
        >>> class Heartbeats(WatermarkGenerator):
        ...     def on_event(self, event, event_timestamp, output):
        ...         if event[1] == "pause":
        ...             output.mark_idle()
        ...         else:
        ...             output.mark_active()
        ...             output.emit_watermark(Watermark(event_timestamp - 1))
        ...     def on_periodic_emit(self, output):
        ...         pass
        >>> strategy = WatermarkStrategy.for_generator(lambda context: Heartbeats())
        >>> strategy = strategy.with_timestamp_assigner(lambda event, _: event[0])
        >>> beats = env.from_collection([(1_000, "beat"), (2_000, "pause")])
        >>> collect(beats.assign_timestamps_and_watermarks(strategy))
        [(1000, 'beat'), (2000, 'pause')]
    """

    @abstractmethod
    def emit_watermark(self, watermark: Watermark) -> None:
        """Emit a watermark; one that is not greater than the last is ignored.

        A split that was idle is active again.

        Raises:
            TypeMismatchError: It is no `Watermark` of a 64-bit integer.
        """

    @abstractmethod
    def mark_idle(self) -> None:
        """Mark the split idle: watermarks of the stream do not wait for it."""

    @abstractmethod
    def mark_active(self) -> None:
        """Mark the split active: records are expected again."""


class WatermarkGenerator(ABC):
    """Emits the watermarks of one split, or of one subtask after an exchange.

    The operator that assigns timestamps calls it: `on_event` once per record, after the record
    was emitted; `on_periodic_emit` once at the end of the records that a task or micro-batch has
    of the split. A generator made for a split of a source lives as long as the task that reads
    some records of it: the next micro-batch makes another one, which has no memory, and the
    greatest watermark so far stays valid. So watermarks must be computed from the records alone.

    Example:
        >>> class AtEach(WatermarkGenerator):
        ...     def on_event(self, event, event_timestamp, output):
        ...         output.emit_watermark(Watermark(event_timestamp))
        ...     def on_periodic_emit(self, output):
        ...         pass
        >>> strategy = WatermarkStrategy.for_generator(AtEach)
    """

    @abstractmethod
    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        """Inspect a record; may emit a watermark, which takes effect before the next record.

        Args:
            event: The record.
            event_timestamp: Its timestamp in epoch milliseconds, Long.MIN if it has none.
            output: Takes watermarks.
        """

    @abstractmethod
    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Emit the watermark of all records seen, if it is not emitted per record."""


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class ColumnTimestamps:
    """An assigner that takes the timestamp from a column: epoch milliseconds, or a time; one without zone is UTC.

    Attributes:
        address: Its name in a record, or its position in a tuple.
    """

    name: str
    address: str | int

    def __call__(self, value: Any, timestamp: int) -> Any:
        """Return the timestamp of a record; what is no time is returned as it is, and refused by the caller."""
        del timestamp
        moment = value[self.address]
        if not isinstance(moment, datetime):
            return moment
        known = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return (known - _EPOCH) // _MILLISECOND


@dataclass(frozen=True, slots=True)
class TimestampSpec:
    """The settings of an operator that assigns timestamps and makes watermarks.

    Attributes:
        assigner: (value, previous timestamp) to epoch milliseconds; None keeps them.
        out_of_orderness_ms: The watermark is greatest timestamp minus this minus 1; None
            makes no watermarks.
        make_generator: Makes the user's own watermark generators, given the runtime context;
            then there is no out-of-orderness.
        idle_ms: Time without records after which a split is idle; None is never.
    """

    assigner: Callable[[Any, int], int] | None
    out_of_orderness_ms: int | None
    make_generator: Callable[[Any], WatermarkGenerator] | None = None
    idle_ms: int | None = None
