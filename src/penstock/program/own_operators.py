"""Methods of the user's own operators, by kind of inputs: shared by runtime and API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.program.operator_kind import Inputs
from penstock.user_failure import short

CREATE = "create_stream_operator"
"""The method of a factory that creates an operator."""

RECORD_METHODS: dict[Inputs, str] = {
    Inputs.ONE: "process_element",
    Inputs.TWO: "process_element1",
    Inputs.MANY: "get_inputs",
}
"""Inputs of an operator to the method that takes records, or returns what takes them."""


def problem_of_inputs(inputs: Any, streams: int) -> str | None:
    """Return what is wrong with the result of `get_inputs`, None if it can be used."""
    if not isinstance(inputs, Sequence) or isinstance(inputs, str | bytes):
        return f"get_inputs returned {short(inputs)}, which is no list of inputs"
    if len(inputs) != streams:
        return f"get_inputs returned {len(inputs)} inputs, but the operator reads {streams} streams"
    for number, found in enumerate(inputs, 1):
        if not callable(getattr(found, "process_element", None)):
            return f"input {number} is {short(found)}, which has no process_element"
        if getattr(found, "input_id", number) != number:
            return f"input {number} has the input_id {short(found.input_id)}"
    return None


INPUTS_HINT = (
    "Return one Input per stream from get_inputs, in the order in which the streams are connected; "
    "the input_id of the first is 1."
)
"""The hint of errors about the result of `get_inputs`."""
