"""The contexts of process functions and the output of the user's own operators: time, timers and the current key."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

from penstock.errors import ArgumentError, CallSite, TypeMismatchError, UnkeyedStateError
from penstock.program.level import OperatorSpec
from penstock.program.record_attributes import RecordAttributes
from penstock.runtime.flow.output import Output, sides_of
from penstock.runtime.time.timeless import check_watermark, no_timestamp
from penstock.state.handles.key_context import KeyContext
from penstock.types.list_key import selected_key
from penstock.types.output_tag import OutputTag
from penstock.types.time import TimeDomain
from penstock.types.value_kinds import Copier
from penstock.wire.elements import MIN_TIMESTAMP

_FLUSH_RECORDS = 4096


class OperatorOutput:
    """Implements `StreamOperatorOutput` of the API for one operator of one subtask.

    While `holds` is true, watermarks and attributes are stored instead of forwarded: in a batch run
    they take effect only after all key groups of the task.

    Attributes:
        watermark: The greatest emitted watermark; Long.MIN for none.
        backlog: The backlog of the last emitted attributes; None for none.
        holds: Whether watermarks and attributes are stored.
        copy: Copies an emitted value for its readers; None if they get the value itself.
        timeless: Name of the operator in a job without time, where it must not emit watermarks.
    """

    def __init__(self, output: Output, context: ProcessContext, origin: CallSite | None) -> None:
        self._output = output
        self._sides = sides_of(output)
        self._context = context
        self._origin = origin
        self._values: list[Any] = []
        self._stamps: list[int] = []
        self._has_stamps = False
        self.watermark = MIN_TIMESTAMP
        self.backlog: bool | None = None
        self.holds = False
        self.copy: Copier | None = None
        self.timeless: str | None = None

    def collect(self, value: Any, timestamp: int | None = None) -> None:
        """Emit a record; its timestamp is that of the record or timer being processed."""
        stamp = self._context.current_timestamp if timestamp is None else timestamp
        if self._values and (stamp is not None) is not self._has_stamps:
            self.flush()
        self._values.append(value if self.copy is None else self.copy(value))
        self._has_stamps = stamp is not None
        if stamp is not None:
            self._stamps.append(stamp)
        if len(self._values) >= _FLUSH_RECORDS:
            self.flush()

    def collect_to(self, output_tag: OutputTag, value: Any, timestamp: int | None = None) -> None:
        """Emit a record to a side output."""
        side = self._sides.get(output_tag.tag_id)
        if side is not None:
            stamp = self._context.current_timestamp if timestamp is None else timestamp
            own = value if self.copy is None else self.copy(value)
            side.collect([own], None if stamp is None else [stamp])

    def emit_watermark(self, watermark: int) -> None:
        """Emit a watermark; one that is not greater than the last is dropped."""
        if type(watermark) is not int:
            raise TypeMismatchError(
                f"the watermark {watermark!r} was emitted",
                hint="Pass epoch milliseconds as an int.",
                origin=self._origin,
            )
        if self.timeless is not None:
            check_watermark(watermark, self.timeless, self._origin)
        self.flush()
        self.watermark = max(self.watermark, watermark)
        if not self.holds:
            self._output.advance_watermark(self.watermark)

    def emit_record_attributes(self, record_attributes: RecordAttributes) -> None:
        """Emit attributes. They are forwarded only if they differ from the last ones."""
        if not isinstance(record_attributes, RecordAttributes):
            raise TypeMismatchError(
                f"{record_attributes!r} was emitted as record attributes",
                hint="Build them with RecordAttributesBuilder.",
                origin=self._origin,
            )
        self.flush()
        self.backlog = record_attributes.backlog
        if not self.holds:
            self._output.set_backlog(self.backlog)

    def flush(self) -> None:
        """Forward the buffered records."""
        if not self._values:
            return
        values, stamps = self._values, self._stamps if self._has_stamps else None
        self._values, self._stamps = [], []
        self._output.collect(values, stamps)


class Timers(Protocol):
    """The timer service of a context."""

    def current_watermark(self) -> int:
        """Return the watermark."""

    def current_processing_time(self) -> int:
        """Return the wall clock."""


class UnkeyedTimerService:
    """Returns times; refuses timers, which need a key."""

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
        """Refuse."""
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
        """Return the timestamp in epoch milliseconds, Long.MIN if the record has none."""
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
        """Return the broadcast state of a descriptor."""
        name = getattr(state_descriptor, "get_name", lambda: state_descriptor)()
        if name not in self._states:
            raise ArgumentError(
                f"{name!r} is not a broadcast state of this stream; it has {list(self._states)}",
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
