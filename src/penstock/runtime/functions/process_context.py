"""The contexts of process functions: time, timers and the current key."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

from penstock.errors import ArgumentError, UnkeyedStateError
from penstock.program.operator_spec import OperatorSpec
from penstock.runtime.time.timeless import no_timestamp
from penstock.state.handles.key_context import KeyContext
from penstock.types.list_key import selected_key
from penstock.types.time_domain import TimeDomain
from penstock.wire.elements import MIN_TIMESTAMP


class Timers(Protocol):
    """The timer service of a context."""

    def current_watermark(self) -> int:
        """Return the watermark."""

    def current_processing_time(self) -> int:
        """Return the wall clock."""


class UnkeyedTimerService:
    """Returns times; refuses timers, which need a key.

    Attributes:
        watermark: The current watermark.
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
    register_processing_time_timer = register_event_time_timer
    delete_processing_time_timer = register_event_time_timer


class ProcessContext:
    """Context of `ProcessFunction` and, with a key, of `KeyedProcessFunction`.

    Attributes:
        current_timestamp: Timestamp of the record or timer, None if it has none.
        domain: Domain of the firing timer.
    """

    __slots__ = ("_keys", "_timeless", "_timers", "current_timestamp", "domain")

    def __init__(
        self, timers: Timers, keys: KeyContext | None = None, *, spec: OperatorSpec
    ) -> None:
        self._timers = timers
        self._keys = keys
        self._timeless = spec if spec.is_timeless else None
        self.current_timestamp: int | None = None
        self.domain = TimeDomain.EVENT_TIME

    def timer_service(self) -> Timers:
        """Return the timer service."""
        return self._timers

    def timestamp(self) -> int:
        """Return the timestamp in epoch milliseconds, Long.MIN if the record has none.

        Raises:
            TimestampUnsupportedError: The job runs without timestamps.
        """
        stamp = self.current_timestamp
        if stamp is not None:
            return stamp
        if self._timeless is not None:
            raise no_timestamp(self._timeless)
        return MIN_TIMESTAMP

    def get_current_key(self) -> Any:
        """Return the key of the record or timer."""
        return None if self._keys is None else selected_key(self._keys.key)

    def time_domain(self) -> TimeDomain:
        """Return the domain of the firing timer."""
        return self.domain


class InternalBroadcastContext(ProcessContext):
    """Context of functions of a broadcast connected stream."""

    __slots__ = ("_state", "_states")

    def __init__(self, timers: Timers, spec: OperatorSpec, state: Callable[[Any], Any]) -> None:
        """Bind."""
        super().__init__(timers, spec=spec)
        self._states = spec.broadcast_states
        self._state = state

    def current_processing_time(self) -> int:
        """Return the wall clock in epoch milliseconds."""
        return self._timers.current_processing_time()

    def current_watermark(self) -> int:
        """Return the watermark, Long.MIN before the first."""
        return self._timers.current_watermark()

    def get_broadcast_state(self, state_descriptor: Any) -> Any:
        """Return the broadcast state of a descriptor.

        Raises:
            ArgumentError: The stream was not broadcast with such a state.
        """
        name = getattr(state_descriptor, "get_name", lambda: state_descriptor)()
        if name not in self._states:
            raise ArgumentError(
                f"{name!r} is no broadcast state of this stream; it has {list(self._states)}",
                hint="Pass its MapStateDescriptor to broadcast(…).",
            )
        return self._state(state_descriptor)


class InternalKeyedBroadcastContext(InternalBroadcastContext):
    """The context of the keyed side, which reads broadcast state."""

    __slots__ = ()

    def __init__(
        self,
        timers: Timers,
        spec: OperatorSpec,
        state: Callable[[Any], Any],
        keys: KeyContext,
    ) -> None:
        super().__init__(timers, spec, state)
        self._keys = keys
