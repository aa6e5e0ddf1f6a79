"""Operators of your own with any number of inputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic

from penstock.api.functions.stream_operators import (
    StreamOperator,
    StreamOperatorOutput,
    combined_attributes,
)
from penstock.program.record_attributes import RecordAttributes
from penstock.types.type_parameters import IN, OUT


class Input(ABC, Generic[IN]):
    """One input of a `MultipleInputStreamOperator`. `AbstractInput` has the usual methods.

    The runtime calls one method of an operator and its inputs at a time. If the streams have keys, it
    sets the key of the record first: state and timers are those of the key, whatever the input.

    Example:
        >>> class Lengths(Input):
        ...     def __init__(self, operator):
        ...         self.operator = operator
        ...     def process_element(self, value, ctx):
        ...         self.operator.output.collect(len(value))
        >>> class Measure(MultipleInputStreamOperator):
        ...     def get_inputs(self):
        ...         return [Lengths(self)]
        >>> words = MultipleConnectedStreams(env.from_collection(["one", "three"]))
        >>> collect(words.transform("measure", Types.INT(), Measure()))
        [3, 5]

        It may also react when the records that follow are stale, or no longer:

        >>> class Attributes(Lengths):
        ...     def process_record_attributes(self, record_attributes):
        ...         self.operator.output.collect(record_attributes.is_backlog())
        >>> class Attentive(MultipleInputStreamOperator):
        ...     def get_inputs(self):
        ...         return [Attributes(self)]
        >>> collect(words.transform("attentive", None, Attentive()))
        [False, 3, 5]
    """

    @abstractmethod
    def process_element(self, value: IN, ctx: Any) -> None:
        """Process a record; emit to the `output` of the operator.

        Args:
            value: The record.
            ctx: As in `ProcessFunction`, or with a key `KeyedProcessFunction`: time, timers, key.
        """

    def process_record_attributes(self, record_attributes: RecordAttributes) -> None:
        """React to attributes of the records of this input that follow (FLIP-327).

        The default ignores them, so that readers of the results get no attributes of backlog;
        that of `AbstractInput` passes them to the operator.

        Args:
            record_attributes: The attributes.
        """


class AbstractInput(Input[IN], Generic[IN, OUT]):
    """An input with its operator and its number.

    Attributes:
        owner: The operator.
        input_id: Number of the input, from 1.

    Example:
        >>> class Tagged(AbstractInput):
        ...     def process_element(self, value, ctx):
        ...         self.output.collect((self.input_id, value))
        >>> class Both(MultipleInputStreamOperator):
        ...     def get_inputs(self):
        ...         return [Tagged(self, 1), Tagged(self, 2)]
        >>> letters = env.from_collection(["a", "b"])
        >>> tagged = MultipleConnectedStreams(numbers, letters).transform("both", None, Both())
        >>> sorted(collect(tagged))
        [(1, 1), (1, 2), (1, 3), (1, 4), (2, 'a'), (2, 'b')]
    """

    owner: Any  # its class is the user's: inputs use what it has

    def __init__(self, owner: MultipleInputStreamOperator[OUT], input_id: int) -> None:
        """Bind.

        Args:
            owner: The operator whose input it is.
            input_id: Position in the result of `get_inputs`, from 1.
        """
        self.owner = owner
        self.input_id = input_id

    @property
    def output(self) -> StreamOperatorOutput:
        """The output of the operator."""
        output: StreamOperatorOutput = self.owner.output
        return output

    def process_record_attributes(self, record_attributes: RecordAttributes) -> None:
        """Pass the attributes to `process_record_attributes` of the operator.

        Args:
            record_attributes: Attributes of the records of this input that follow.
        """
        self.owner.process_record_attributes(record_attributes, self.input_id)


class MultipleInputStreamOperator(StreamOperator[OUT], Generic[OUT]):
    """An operator with any number of inputs, from one. Records of different inputs have no order.

    Its watermark is the least of all inputs. Records, attributes and ends come per input.

    Attributes:
        number_of_inputs: Set before `open`.

    Example:
        >>> class Sum(AbstractInput):
        ...     def process_element(self, value, ctx):
        ...         total = (self.owner.total.value() or 0) + value
        ...         self.owner.total.update(total)
        ...         self.output.collect((ctx.get_current_key(), total))
        >>> class SumOfAll(MultipleInputStreamOperator):
        ...     def open(self, runtime_context):
        ...         self.total = runtime_context.get_state(ValueStateDescriptor("total"))
        ...     def get_inputs(self):
        ...         return [Sum(self, input_id) for input_id in (1, 2, 3)]
        >>> is_even = lambda n: n % 2 == 0
        >>> three = MultipleConnectedStreams(numbers, numbers, numbers)
        >>> keyed = three.key_by(is_even, is_even, is_even)
        >>> max(collect(keyed.transform("sums", None, SumOfAll())))
        (True, 18)

        It may wait for the end of its inputs, and gets attributes that mark backlog:

        >>> class Ends(MultipleInputStreamOperator):
        ...     def get_inputs(self):
        ...         return [Sum(self, 1)]
        ...     def open(self, runtime_context):
        ...         self.total = runtime_context.get_state(ValueStateDescriptor("total"))
        ...     def process_record_attributes(self, record_attributes, input_id):
        ...         self.output.collect((f"input {input_id}", record_attributes.is_backlog()))
        ...     def end_input(self, input_id):
        ...         self.output.collect((f"input {input_id}", "has ended"))
        >>> one = MultipleConnectedStreams(numbers).key_by(lambda n: "all")
        >>> notes = collect(one.transform("ends", None, Ends()))
        >>> notes[0], notes[-1]
        (('input 1', False), ('input 1', 'has ended'))
    """

    number_of_inputs: int

    @abstractmethod
    def get_inputs(self) -> Sequence[Input[Any]]:
        """Return the inputs, in the order in which the streams are connected.

        Called when the program is built, to check the result, and once per object before `open`.
        """

    def process_record_attributes(self, record_attributes: RecordAttributes, input_id: int) -> None:
        """React to attributes of an input. The default emits the attributes of all inputs.

        They are in backlog if any input is. That none is in backlog is emitted only once all
        inputs have sent attributes.

        Args:
            record_attributes: Attributes of the records of the input that follow.
            input_id: Number of the input, from 1.
        """
        combined = combined_attributes(self, input_id, record_attributes, self.number_of_inputs)
        if combined is not None:
            self.output.emit_record_attributes(combined)

    def end_input(self, input_id: int) -> None:
        """React to the end of an input; results emitted here are not late.

        Args:
            input_id: Number of the input, from 1; called once each.
        """
