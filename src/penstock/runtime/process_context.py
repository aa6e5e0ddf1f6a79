"""What process functions see while they run: time, timers and the current key."""

from __future__ import annotations

import time
from typing import Any, Protocol

from penstock.errors import UnkeyedStateError
from penstock.runtime.program import OperatorSpec
from penstock.serde.elements import MIN_TIMESTAMP
from penstock.state.key_context import KeyContext
from penstock.types.time_domain import TimeDomain


class Timers(Protocol):
    """The timer service a context hands out."""

    def current_watermark(self) -> int:
        """Return the watermark."""


class UnkeyedTimerService:
    """Tells the time; refuses timers, which need a key.

    Attributes:
        watermark: What `current_watermark` returns.
    """

    __slots__ = ("_spec", "watermark")

    def __init__(self, spec: OperatorSpec) -> None:
        self._spec = spec
        self.watermark = MIN_TIMESTAMP

    def current_processing_time(self) -> int:
        """Return the wall clock in epoch milliseconds."""
        return time.time_ns() // 1_000_000

    def current_watermark(self) -> int:
        """Return the watermark, Long.MIN before the first."""
        return self.watermark

    def register_event_time_timer(self, timestamp: int) -> None:
        """Refuse.

        Raises:
            UnkeyedStateError: Always: the stream has no key.
        """
        raise UnkeyedStateError(
            f"{self._spec.name!r} registered a timer for {timestamp}, but its stream has no key",
            hint="Call key_by before this operator.",
            origin=self._spec.origin,
        )

    delete_event_time_timer = register_event_time_timer


class ProcessContext:
    """Context of `ProcessFunction` and, with a key, of `KeyedProcessFunction`.

    Attributes:
        current_timestamp: Timestamp of the record or timer, None if it has none.
        domain: Domain of the firing timer.
    """

    __slots__ = ("_keys", "_timers", "current_timestamp", "domain")

    def __init__(self, timers: Timers, keys: KeyContext | None = None) -> None:
        self._timers = timers
        self._keys = keys
        self.current_timestamp: int | None = None
        self.domain = TimeDomain.EVENT_TIME

    def timer_service(self) -> Timers:
        """Return the timer service."""
        return self._timers

    def timestamp(self) -> int:
        """Return the timestamp in epoch milliseconds, Long.MIN if the record has none."""
        stamp = self.current_timestamp
        return MIN_TIMESTAMP if stamp is None else stamp

    def get_current_key(self) -> Any:
        """Return the key of the record or timer."""
        return None if self._keys is None else self._keys.key

    def time_domain(self) -> TimeDomain:
        """Return the domain of the firing timer."""
        return self.domain
