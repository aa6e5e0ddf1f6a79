"""Factories of operators: what creates an operator in the process that runs it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, Protocol

from penstock.api.functions.context import RuntimeContext
from penstock.api.functions.stream_operators import StreamOperator, StreamOperatorOutput
from penstock.api.user_code import method_of
from penstock.errors import ArgumentError
from penstock.graph.operator_attributes import OperatorAttributes, OperatorAttributesBuilder
from penstock.program.own_operators import CREATE
from penstock.types.type_parameters import OUT


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

    `transform` takes one in place of an operator. The factory itself is pickled. What it creates must
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
        """Return what the planner may rely on of every operator that this factory creates.

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
    """Return the method of the user's object that `transform` is given: of an operator or a factory.

    Args:
        operator: The object.
        base: The class of operators that the streams need.
        method: Its method that takes records.

    Raises:
        ArgumentError: The object is neither.
    """
    if isinstance(operator, StreamOperatorFactory):
        return CREATE
    found = method_of(operator, base, method, "transform", allow_callable=False)
    assert found is not None, "an operator is not called itself"
    return found
