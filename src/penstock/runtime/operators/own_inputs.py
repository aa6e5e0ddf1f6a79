"""The methods of an operator of the user's own, input by input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from penstock.errors import UserFunctionError
from penstock.program.operator_kind import Inputs
from penstock.program.operator_spec import OperatorSpec
from penstock.program.own_operators import INPUTS_HINT, problem_of_inputs
from penstock.program.record_attributes import RecordAttributes


@dataclass(frozen=True, slots=True)
class InputMethods:
    """The methods that one input calls.

    Attributes:
        element: Takes a record and the context.
        attributes: Takes record attributes.
        end: Takes the end of the input.
    """

    element: Callable[[Any, Any], Any]
    attributes: Callable[[RecordAttributes], None]
    end: Callable[[], None]


class OwnInputs:
    """Calls the methods of one operator object; it is told the end of each input once.

    Attributes:
        elements: Per input, what takes a record and the context.
    """

    def __init__(self, target: Any, spec: OperatorSpec) -> None:
        """Ask the operator for its methods.

        Args:
            target: The user's operator; its output is set.
            spec: The operator.

        Raises:
            UserFunctionError: Its inputs do not fit its streams.
        """
        self._methods = _METHODS[spec.kind.inputs](target, spec)
        self._ended: set[int] = set()
        self.elements = tuple(methods.element for methods in self._methods)

    def attributes(self, number: int, backlog: bool) -> None:  # noqa: FBT001
        """Pass the attributes of an input."""
        self._methods[number].attributes(RecordAttributes(backlog))

    def end(self, number: int) -> None:
        """Pass the end of an input, once."""
        if number not in self._ended:
            self._ended.add(number)
            self._methods[number].end()

    def restore_ended(self, number: int) -> None:
        """Record that the operator was told the end of an input before a restart."""
        self._ended.add(number)


def _of_one(target: Any, _: OperatorSpec) -> list[InputMethods]:
    record = target.process_element
    return [InputMethods(record, target.process_record_attributes, target.end_input)]


def _of_two(target: Any, _: OperatorSpec) -> list[InputMethods]:
    end = target.end_input
    return [
        InputMethods(target.process_element1, target.process_record_attributes1, partial(end, 1)),
        InputMethods(target.process_element2, target.process_record_attributes2, partial(end, 2)),
    ]


def _of_many(target: Any, spec: OperatorSpec) -> list[InputMethods]:
    target.number_of_inputs = spec.input_count
    inputs = target.get_inputs()
    problem = problem_of_inputs(inputs, spec.input_count)
    if problem is not None:
        # The API has checked an operator; only that of a factory can come here.
        raise UserFunctionError(
            f"operator {spec.name!r}: {problem}", hint=INPUTS_HINT, origin=spec.origin
        )
    return [
        InputMethods(
            found.process_element, found.process_record_attributes, partial(target.end_input, n)
        )
        for n, found in enumerate(inputs, 1)
    ]


_METHODS: dict[Inputs, Callable[[Any, OperatorSpec], list[InputMethods]]] = {
    Inputs.ONE: _of_one,
    Inputs.TWO: _of_two,
    Inputs.MANY: _of_many,
}
"""Inputs of an operator to the methods of each."""
