"""Operators of your own and their factories: the classes that `transform` takes, and what the runtime gives them.

A function gets records; an operator also gets what is sent between them: watermarks, record
attributes (FLIP-327 §2.4) and the end of its inputs. Derive a class from `OneInputStreamOperator`,
`TwoInputStreamOperator` or `MultipleInputStreamOperator`. The runtime sets `output` (and `keys`, if the stream has a key) before
it calls `open`, then calls one method at a time, never two at once.

Call order: `open`; any number of `process_element`, `process_record_attributes`,
`process_watermark`, `on_timer` and, before each checkpoint of a live run,
`prepare_snapshot_pre_barrier`; `end_input` when an input ends; `close`. Attributes come before the
first record they apply to, and again to every new object: after a restart, and in the live run
after a batch run. Values in attributes of an object are lost with it; values that must last belong in
keyed state. An operator without a key has no state: it must emit all buffered results in
`prepare_snapshot_pre_barrier`, unless it is in a batch run, which repeats whole tasks.

With a key a batch run makes one object per key group, so that none buffers more than that. It gets
the attribute `backlog` at its begin, and no backlog at its end (if a live run follows), then the
ends of inputs and the watermark. State written there is transferred to the live run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, Protocol

from penstock.api.functions.context import RuntimeContext, TimerService
from penstock.api.user_code import method_of
from penstock.errors import ArgumentError
from penstock.graph.operator_attributes import OperatorAttributes, OperatorAttributesBuilder
from penstock.program.operators import CREATE
from penstock.program.record_attributes import RecordAttributes, RecordAttributesBuilder
from penstock.types.output_tag import OutputTag
from penstock.types.type_parameters import IN, IN1, IN2, OUT


class StreamOperatorOutput(Protocol):
    """The output of an operator. Emitted records stay in order.

    Example:
        >>> class Marked(OneInputStreamOperator):
        ...     def process_element(self, value, ctx):
        ...         self.output.collect(value, timestamp=value * 1_000)
        ...         self.output.emit_watermark(value * 1_000)
        >>> marked = numbers.transform("marked", Types.INT(), Marked())
        >>> windows = marked.window_all(TumblingEventTimeWindows.of(Time.seconds(2)))
        >>> collect(windows.reduce(lambda a, b: a + b))
        [1, 5, 4]

        Side outputs and attributes of what follows are emitted, too:

        >>> ODD = OutputTag("odd", Types.INT())
        >>> class Divided(OneInputStreamOperator):
        ...     def process_element(self, value, ctx):
        ...         if value % 2:
        ...             self.output.collect_to(ODD, value)
        ...         else:
        ...             self.output.collect(value)
        ...     def end_input(self):
        ...         self.output.emit_record_attributes(RecordAttributesBuilder([]).build())
        >>> divided = numbers.transform("divided", Types.INT(), Divided())
        >>> collect(divided), collect(divided.get_side_output(ODD))
        ([2, 4], [1, 3])
    """

    def collect(self, value: Any, timestamp: int | None = None) -> None:
        """Emit a record.

        Args:
            value: The record.
            timestamp: Epoch milliseconds; None takes that of the current record or timer.
        """

    def collect_to(
        self, output_tag: OutputTag[Any], value: Any, timestamp: int | None = None
    ) -> None:
        """Emit a record to a side output.

        Args:
            output_tag: Tag of the side output.
            value: The record.
            timestamp: Epoch milliseconds; None takes that of the current record or timer.
        """

    def emit_watermark(self, watermark: int) -> None:
        """Emit a watermark; one that is not greater than the last is dropped.

        Long.MAX is emitted by the runtime after the last record, whatever the operator does.

        Args:
            watermark: Epoch milliseconds.
        """

    def emit_record_attributes(self, record_attributes: RecordAttributes) -> None:
        """Send `record_attributes` of the records that follow to all downstream channels.

        Attributes equal to the last ones are dropped. A call costs as much as a watermark.
        """


class StreamOperatorKeys(Protocol):
    """The current key of an operator on keyed streams.

    Example:
        >>> class WithKey(OneInputStreamOperator):
        ...     def process_element(self, value, ctx):
        ...         self.output.collect((self.keys.get_current_key(), value))
        >>> keyed = numbers.key_by(lambda n: n % 2 == 0)
        >>> sorted(collect(keyed.transform("with key", None, WithKey())))
        [(False, 1), (False, 3), (True, 2), (True, 4)]

        Outside of `process_element` the operator sets the key, for state and timers:

        >>> class AtTheEnd(OneInputStreamOperator):
        ...     def open(self, runtime_context):
        ...         self.sum = runtime_context.get_state(ValueStateDescriptor("sum"))
        ...     def process_element(self, value, ctx):
        ...         self.sum.update((self.sum.value() or 0) + value)
        ...         self.keys.timer_service().register_event_time_timer(1_000)
        ...     def on_timer(self, timestamp, ctx):
        ...         self.output.collect((self.keys.get_current_key(), self.sum.value()))
        ...     def end_input(self):
        ...         self.keys.set_current_key(False)
        ...         self.output.collect(("odd", self.sum.value()))
        >>> sorted(collect(keyed.transform("at the end", None, AtTheEnd())), key=str)
        [('odd', 4), (False, 4), (True, 6)]
    """

    def set_current_key(self, key: Any) -> None:
        """Set the current key, for state and timers, outside of `process_element`.

        Args:
            key: The key.

        Raises:
            UnkeyedStateError: Records with this key belong to another subtask.
        """

    def get_current_key(self) -> Any:
        """Return the current key."""

    def timer_service(self) -> TimerService:
        """Return the timer service of the current key."""


class StreamOperator(ABC, Generic[OUT]):
    """Base of operators with one, two and any number of inputs.

    Attributes:
        output: Set before `open`.
        keys: Set before `open` if the stream has a key.

    Example:
        >>> class Buffer(OneInputStreamOperator):
        ...     def open(self, runtime_context):
        ...         self.kept = []
        ...     def process_element(self, value, ctx):
        ...         self.kept.append(value)
        ...     def process_watermark(self, watermark):
        ...         self.give()
        ...     def prepare_snapshot_pre_barrier(self):
        ...         self.give()
        ...     def end_input(self):
        ...         self.give()
        ...     def give(self):
        ...         if self.kept:
        ...             self.output.collect(sum(self.kept))
        ...         self.kept.clear()
        ...     def close(self):
        ...         del self.kept
        ...     def get_operator_attributes(self):
        ...         return OperatorAttributes(output_stream_record_value_stored=False)
        >>> collect(numbers.transform("buffer", Types.INT(), Buffer()))
        [10]
    """

    output: StreamOperatorOutput
    keys: StreamOperatorKeys

    def open(self, runtime_context: RuntimeContext) -> None:
        """Prepare: get state. Called once per object, before anything else.

        Args:
            runtime_context: Gives state, metrics, and the index of the subtask.
        """

    def close(self) -> None:
        """Release resources. Not called when the process is killed."""

    def process_watermark(self, watermark: int) -> None:
        """React to a watermark of all inputs together; timers up to it have fired.

        The default emits `watermark`. Results emitted after it may be late.
        """
        self.output.emit_watermark(watermark)

    def on_timer(self, timestamp: int, ctx: Any) -> None:
        """React to a timer of the current key.

        Args:
            timestamp: Time of the timer, in epoch milliseconds.
            ctx: Has `time_domain()`, `get_current_key()` and `timer_service()`.
        """

    def prepare_snapshot_pre_barrier(self) -> None:
        """Emit all buffered results, or write them to state: a checkpoint follows."""

    def get_operator_attributes(self) -> OperatorAttributes:
        """Return the properties that the planner may rely on; called when the job is planned."""
        return OperatorAttributesBuilder().build()


class OneInputStreamOperator(StreamOperator[OUT], Generic[IN, OUT]):
    """An operator with one input.

    Example:
        >>> class Twice(OneInputStreamOperator):
        ...     def process_element(self, value, ctx):
        ...         self.output.collect(value)
        ...         self.output.collect(value)
        >>> collect(numbers.transform("twice", Types.INT(), Twice()))
        [1, 1, 2, 2, 3, 3, 4, 4]

        On a stream with keys it has state and timers, and `end_input` is called at the end:

        >>> class Sum(OneInputStreamOperator):
        ...     def open(self, runtime_context):
        ...         self.sum = runtime_context.get_state(ValueStateDescriptor("sum"))
        ...     def process_element(self, value, ctx):
        ...         self.sum.update((self.sum.value() or 0) + value)
        ...         self.keys.timer_service().register_event_time_timer(1_000)
        ...     def on_timer(self, timestamp, ctx):
        ...         self.output.collect(self.sum.value())
        ...     def end_input(self):
        ...         self.output.collect("end")
        >>> collect(numbers.key_by(lambda n: "all").transform("sum", None, Sum()))
        [10, 'end']
    """

    @abstractmethod
    def process_element(self, value: IN, ctx: Any) -> None:
        """Process a record; emit to `output`.

        Args:
            value: The record.
            ctx: As in `ProcessFunction`, or with a key `KeyedProcessFunction`: time, timers, key.
        """

    def process_record_attributes(self, record_attributes: RecordAttributes) -> None:
        """React to attributes of the records that follow. The default emits `record_attributes`."""
        builder = RecordAttributesBuilder([record_attributes])
        self.output.emit_record_attributes(builder.build())

    def end_input(self) -> None:
        """React to the end of input, once; results emitted here are not late."""


class TwoInputStreamOperator(StreamOperator[OUT], Generic[IN1, IN2, OUT]):
    """An operator with two inputs. Records of different inputs have no order.

    Example:
        >>> class Merge(TwoInputStreamOperator):
        ...     def process_element1(self, value, ctx):
        ...         self.output.collect(value)
        ...     def process_element2(self, value, ctx):
        ...         self.output.collect(-value)
        >>> merged = numbers.connect(numbers).transform("merge", Types.INT(), Merge())
        >>> sorted(collect(merged))
        [-4, -3, -2, -1, 1, 2, 3, 4]

        It gets the attributes of each input, which mark backlog, and the end of each input:

        >>> class Attentive(Merge):
        ...     def process_record_attributes1(self, record_attributes):
        ...         self.output.collect(("first", record_attributes.is_backlog()))
        ...     def process_record_attributes2(self, record_attributes):
        ...         self.output.collect(("second", record_attributes.is_backlog()))
        ...     def end_input(self, input_id):
        ...         self.output.collect((input_id, "has ended"))
        >>> notes = numbers.connect(numbers).transform("attentive", None, Attentive())
        >>> [note for note in collect(notes) if isinstance(note, tuple)]
        [('first', False), ('second', False), (1, 'has ended'), (2, 'has ended')]
    """

    @abstractmethod
    def process_element1(self, value: IN1, ctx: Any) -> None:
        """Process a record of the first input; emit to `output`.

        Args:
            value: The record.
            ctx: As in `OneInputStreamOperator.process_element`.
        """

    @abstractmethod
    def process_element2(self, value: IN2, ctx: Any) -> None:
        """Process a record of the second input; emit to `output`.

        Args:
            value: The record.
            ctx: As in `OneInputStreamOperator.process_element`.
        """

    def process_record_attributes1(self, record_attributes: RecordAttributes) -> None:
        """React to attributes of the first input. The default emits the attributes of both inputs.

        They are in backlog if either input is. That neither is in backlog is emitted only once both
        inputs have sent attributes.

        Args:
            record_attributes: Attributes of the records of the first input that follow.
        """
        self._emit_combined(1, record_attributes)

    def process_record_attributes2(self, record_attributes: RecordAttributes) -> None:
        """React to attributes of the second input, as for the first.

        Args:
            record_attributes: Attributes of the records of the second input that follow.
        """
        self._emit_combined(2, record_attributes)

    def end_input(self, input_id: int) -> None:
        """React to the end of an input; results emitted here are not late.

        Args:
            input_id: 1 or 2; called once each.
        """

    def _emit_combined(self, input_id: int, record_attributes: RecordAttributes) -> None:
        combined = combined_attributes(self, input_id, record_attributes, 2)
        if combined is not None:
            self.output.emit_record_attributes(combined)


def combined_attributes(
    operator: StreamOperator[Any], input_id: int, record_attributes: RecordAttributes, inputs: int
) -> RecordAttributes | None:
    """Return the attributes of all inputs together, None as long as they are unknown (FLIP-327 §2.9)."""
    last: dict[int, RecordAttributes] = operator.__dict__.setdefault("_last_attributes", {})
    last[input_id] = record_attributes
    combined = RecordAttributesBuilder(list(last.values())).build()
    return combined if combined.is_backlog() or len(last) == inputs else None


class StreamOperatorParameters(Protocol):
    """The arguments that a factory creates an operator with.

    Example:
        >>> class Named(OneInputStreamOperator):
        ...     def __init__(self, name):
        ...         self.name = name
        ...     def process_element(self, value, ctx):
        ...         self.output.collect((self.name, value))
        >>> class NamedFactory(StreamOperatorFactory):
        ...     def create_stream_operator(self, parameters):
        ...         return Named(parameters.get_runtime_context().get_task_name())
        >>> collect(numbers.transform("named", None, NamedFactory()))[:2]
        [('named', 1), ('named', 2)]
        >>> class GreetingFactory(StreamOperatorFactory):
        ...     def create_stream_operator(self, parameters):
        ...         parameters.get_output().collect(("created", 0))
        ...         return Named("named")
        >>> collect(numbers.transform("named", None, GreetingFactory()))[:2]
        [('created', 0), ('named', 1)]
    """

    def get_output(self) -> StreamOperatorOutput:
        """Return the output of the operator, which is also its attribute `output`."""

    def get_runtime_context(self) -> RuntimeContext:
        """Return the context that `open` of the operator is given too."""


class StreamOperatorFactory(ABC, Generic[OUT]):
    """Creates operators in the worker, so that an operator may have what cannot be pickled.

    `transform` takes one in place of an operator. The factory itself is pickled. Its operators must
    fit the streams: a `OneInputStreamOperator`, `TwoInputStreamOperator` or `MultipleInputStreamOperator`.

    Example:
        >>> class Above(OneInputStreamOperator):
        ...     def __init__(self, least):
        ...         self.least = least
        ...     def process_element(self, value, ctx):
        ...         if value > self.least:
        ...             self.output.collect(value)
        >>> class AboveFactory(StreamOperatorFactory):
        ...     def create_stream_operator(self, parameters):
        ...         context = parameters.get_runtime_context()
        ...         return Above(int(context.get_job_parameter("least", "2")))
        ...     def get_operator_attributes(self):
        ...         builder = OperatorAttributesBuilder()
        ...         return builder.set_output_stream_record_value_stored(False).build()
        >>> collect(numbers.transform("above", Types.INT(), AboveFactory()))
        [3, 4]
    """

    @abstractmethod
    def create_stream_operator(self, parameters: StreamOperatorParameters) -> StreamOperator[OUT]:
        """Return a new operator. The runtime sets `output` and `keys`, then calls `open`.

        Called once per subtask of a live run or of an operator without a key, and once per key group
        in a batch run, each time with a factory that nothing else uses.

        Args:
            parameters: The output and the runtime context of the operator.
        """

    def get_operator_attributes(self) -> OperatorAttributes:
        """Return the properties of every operator of this factory that the planner may rely on.

        It is called when the job is planned, before there is an operator (FLIP-329).
        """
        return OperatorAttributesBuilder().build()


class SimpleOperatorFactory(StreamOperatorFactory[OUT], Generic[OUT]):
    """A factory of an operator that exists. Its attributes are those of the operator.

    Example:
        >>> class Twice(OneInputStreamOperator):
        ...     def process_element(self, value, ctx):
        ...         self.output.collect(2 * value)
        >>> factory = SimpleOperatorFactory.of(Twice())
        >>> collect(numbers.transform("twice", Types.INT(), factory))
        [2, 4, 6, 8]
    """

    def __init__(self, operator: StreamOperator[OUT]) -> None:
        """For `of`."""
        if not isinstance(operator, StreamOperator):
            raise ArgumentError.here(
                f"SimpleOperatorFactory got {operator!r}", hint="Pass an operator object."
            )
        self._operator = operator

    @staticmethod
    def of(operator: StreamOperator[OUT]) -> SimpleOperatorFactory[OUT]:
        """Return a factory of `operator`.

        Raises:
            ArgumentError: It is no operator.
        """
        return SimpleOperatorFactory(operator)

    def create_stream_operator(self, parameters: StreamOperatorParameters) -> StreamOperator[OUT]:
        """Return the operator, which was pickled with this factory; `parameters` are not used."""
        return self._operator

    def get_operator_attributes(self) -> OperatorAttributes:
        """Return the attributes of the operator."""
        return self._operator.get_operator_attributes()


def creating_method(operator: Any, base: type, method: str) -> str:
    """Return the method of the user's object that `transform` is given: of an operator or a factory."""
    if isinstance(operator, StreamOperatorFactory):
        return CREATE
    name = method_of(operator, base, method, "transform", allow_callable=False)
    assert name is not None, "an operator is not called itself"
    return name
