"""Operators of your own: what `DataStream.transform` and `ConnectedStreams.transform` take.

A function sees records; an operator also sees what travels between them: watermarks, record
attributes (FLIP-327 §2.4) and the end of its inputs. Derive a class from `OneInputStreamOperator`
or `TwoInputStreamOperator`. The runtime sets `output` (and `keys`, if the stream has a key) before
it calls `open`, then calls one method at a time, never two at once.

Call order: `open`; any number of `process_element`, `process_record_attributes`,
`process_watermark`, `on_timer` and, before each checkpoint of a live run,
`prepare_snapshot_pre_barrier`; `end_input` when an input ends; `close`. Attributes come before the
first record they apply to, and again to every new object: after a restart, and in the live run
behind a batch run. What an object keeps in its attributes is lost with it; what must last belongs
into keyed state. Without a key that is nowhere: such an operator gives all it holds back in
`prepare_snapshot_pre_barrier`, unless it is a batch run, which repeats whole tasks.

With a key a batch run makes one object per key group, so that none gathers more than that. It is
told `backlog` at its begin, that backlog is over at its end (if a live run follows), then the ends of
inputs and the watermark. State written there is handed over.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, Protocol

from penstock.api.functions.context import RuntimeContext, TimerService
from penstock.graph.operator_attributes import OperatorAttributes, OperatorAttributesBuilder
from penstock.program.record_attributes import RecordAttributes, RecordAttributesBuilder
from penstock.types.output_tag import OutputTag
from penstock.types.type_parameters import IN, IN1, IN2, OUT


class StreamOperatorOutput(Protocol):
    """Where an operator emits to. What is emitted keeps its order."""

    def collect(self, value: Any, timestamp: int | None = None) -> None:
        """Emit a record. Without a timestamp it takes that of the record or timer at hand."""

    def collect_to(
        self, output_tag: OutputTag[Any], value: Any, timestamp: int | None = None
    ) -> None:
        """Emit a record to a side output."""

    def emit_watermark(self, watermark: int) -> None:
        """Emit a watermark, in epoch milliseconds; one that is not above the last is dropped.

        Long.MAX is emitted by the runtime behind the last record, whatever the operator does.
        """

    def emit_record_attributes(self, record_attributes: RecordAttributes) -> None:
        """Tell all downstream channels about the records that follow.

        Those that say what the last ones did are dropped. A call costs as much as a watermark.
        """


class StreamOperatorKeys(Protocol):
    """The keys of an operator on keyed streams."""

    def set_current_key(self, key: Any) -> None:
        """Make a key the current one, for state and timers, outside of `process_element`.

        Raises:
            UnkeyedStateError: No record with this key is for this object.
        """

    def get_current_key(self) -> Any:
        """Return the current key."""

    def timer_service(self) -> TimerService:
        """Return time, and the timers of the current key."""


class StreamOperator(ABC, Generic[OUT]):
    """What operators with one and two inputs have in common.

    Attributes:
        output: Set before `open`.
        keys: Set before `open` if the stream has a key.
    """

    output: StreamOperatorOutput
    keys: StreamOperatorKeys

    def open(self, runtime_context: RuntimeContext) -> None:
        """Prepare: get state. Called once per object, before anything else."""

    def close(self) -> None:
        """Clean up. Not called when the process is killed."""

    def process_watermark(self, watermark: int) -> None:
        """React to a watermark of all inputs together; timers up to it have fired.

        The default passes it on. Results emitted after it is passed on may be late.
        """
        self.output.emit_watermark(watermark)

    def on_timer(self, timestamp: int, ctx: Any) -> None:
        """React to a timer of the current key; `ctx.time_domain()` says of which time."""

    def prepare_snapshot_pre_barrier(self) -> None:
        """Emit, or put into state, whatever is held back: a live run makes a checkpoint."""

    def get_operator_attributes(self) -> OperatorAttributes:
        """Return what the planner may rely on; called when the job is planned."""
        return OperatorAttributesBuilder().build()


class OneInputStreamOperator(StreamOperator[OUT], Generic[IN, OUT]):
    """An operator with one input."""

    @abstractmethod
    def process_element(self, value: IN, ctx: Any) -> None:
        """Process a record; emit to `output`.

        Args:
            value: The record.
            ctx: As in `ProcessFunction`, or with a key `KeyedProcessFunction`: time, timers, key.
        """

    def process_record_attributes(self, record_attributes: RecordAttributes) -> None:
        """React to attributes of the records that follow. The default passes them on."""
        builder = RecordAttributesBuilder([record_attributes])
        self.output.emit_record_attributes(builder.build())

    def end_input(self) -> None:
        """React to the end of input, once; what is emitted here is not late."""


class TwoInputStreamOperator(StreamOperator[OUT], Generic[IN1, IN2, OUT]):
    """An operator with two inputs, which have no order against each other."""

    @abstractmethod
    def process_element1(self, value: IN1, ctx: Any) -> None:
        """Process a record of the first input."""

    @abstractmethod
    def process_element2(self, value: IN2, ctx: Any) -> None:
        """Process a record of the second input."""

    def process_record_attributes1(self, record_attributes: RecordAttributes) -> None:
        """React to attributes of the first input. The default passes on what both say.

        In backlog if either is; not before both have spoken it is said that none is.
        """
        self._pass_on(1, record_attributes)

    def process_record_attributes2(self, record_attributes: RecordAttributes) -> None:
        """React to attributes of the second input, as for the first."""
        self._pass_on(2, record_attributes)

    def end_input(self, input_id: int) -> None:
        """React to the end of input 1 or 2, once each; what is emitted here is not late."""

    def _pass_on(self, number: int, record_attributes: RecordAttributes) -> None:
        last: dict[int, RecordAttributes] = self.__dict__.setdefault("_last_attributes", {})
        last[number] = record_attributes
        combined = RecordAttributesBuilder(list(last.values())).build()
        if combined.is_backlog() or len(last) == 2:  # noqa: PLR2004 - both inputs
            self.output.emit_record_attributes(combined)
