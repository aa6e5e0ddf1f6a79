"""Coercion of records to the declared type of a stream.

Streams without a declared type do not pay for it: the planner leaves `OperatorSpec.result_type` and
`LevelProgram.source_types` empty if records need no coercion.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.errors import CallSite, TypeMismatchError
from penstock.runtime.flow.output import ForwardingOutput, Output
from penstock.types import TypeInformation, find_mismatch
from penstock.user_failure import short


class CoercingOutput(ForwardingOutput):
    """Coerces batches to the declared type and emits them."""

    __slots__ = ("_origin", "_subject", "_type")

    def __init__(
        self, output: Output, type_info: TypeInformation, subject: str, origin: CallSite | None
    ) -> None:
        """Wrap `output`."""
        super().__init__(output)
        self._type = type_info
        self._subject = subject
        self._origin = origin

    def collect(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Coerce a batch."""
        try:
            fitted = self._type.coerce_batch(values)
        except ValueError as refused:
            pair = find_mismatch(self._type, values)
            record, reason = (values[pair[0]], pair[1]) if pair else (values, str(refused))
            raise mismatch(self._subject, record, self._type, reason, self._origin) from refused
        self._output.collect(fitted, timestamps)


def coercing_function(
    function: Callable[..., Any],
    type_info: TypeInformation,
    subject: str,
    origin: CallSite | None,
) -> Callable[..., Any]:
    """Return `function` with coerced results, for functions whose results are their next arguments.

    A result with the declared class is returned unchanged. Its fields are checked later, in the batch
    that the operator emits.
    """
    has_form = type_info.has_form
    coerce = type_info.coerce

    def call(*arguments: Any) -> Any:
        result = function(*arguments)
        if has_form(result):
            return result
        try:
            return coerce(result)
        except ValueError as refused:
            raise mismatch(subject, result, type_info, str(refused), origin) from refused

    return call


def mismatch(
    subject: str, record: Any, type_info: TypeInformation, reason: str, origin: CallSite | None
) -> TypeMismatchError:
    """Return the error about a record that does not have its declared type."""
    return TypeMismatchError(
        f"{subject} gave {short(record)}, which is not of its declared type {type_info!r}: "
        f"{reason}",
        hint="Correct what makes the record, or the declared type.",
        origin=origin,
    )
