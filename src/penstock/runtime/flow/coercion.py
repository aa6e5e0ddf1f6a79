"""Bringing records to the type a stream declares.

Only streams with a declared type pay for it: the planner leaves `OperatorSpec.result_type` and
`LevelProgram.source_types` empty where records need no conversion.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.errors import CallSite, TypeMismatchError
from penstock.runtime.flow.output import Output
from penstock.types import TypeInformation, find_mismatch
from penstock.user_failure import short


class CoercingOutput:
    """Brings whole batches to the declared type and passes them on."""

    __slots__ = ("_origin", "_output", "_subject", "_type")

    def __init__(
        self, output: Output, type_info: TypeInformation, subject: str, origin: CallSite | None
    ) -> None:
        """Wrap `output`.

        Args:
            output: Takes the converted batches.
            type_info: Declared type.
            subject: Who made the records, e.g. `operator 'totals'`.
            origin: The user's line that created it.
        """
        self._output = output
        self._type = type_info
        self._subject = subject
        self._origin = origin

    def collect(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Convert a batch.

        Raises:
            TypeMismatchError: A record cannot be brought to the type.
        """
        try:
            fitted = self._type.coerce_batch(values)
        except ValueError as refused:
            found = find_mismatch(self._type, values)
            record, reason = (values[found[0]], found[1]) if found else (values, str(refused))
            raise mismatch(self._subject, record, self._type, reason, self._origin) from refused
        self._output.collect(fitted, timestamps)

    def advance_watermark(self, watermark: int) -> None:
        """Pass a watermark on."""
        self._output.advance_watermark(watermark)

    def restore_watermark(self, watermark: int) -> None:
        """Pass a restored watermark on."""
        self._output.restore_watermark(watermark)

    def set_idle(self, idle: bool) -> None:  # noqa: FBT001
        """Pass it on."""
        self._output.set_idle(idle)

    def separate(self) -> None:
        """Pass it on."""
        self._output.separate()

    def set_backlog(self, backlog: bool) -> None:  # noqa: FBT001
        """Pass it on."""
        self._output.set_backlog(backlog)


def coercing_function(
    function: Callable[..., Any],
    type_info: TypeInformation,
    subject: str,
    origin: CallSite | None,
) -> Callable[..., Any]:
    """Return `function` with results of the declared form, for functions that see them again.

    A result whose form is right is passed as it is; what is in it is looked at in the batch
    that leaves the operator.
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
    """Return the error for a record that does not have its declared type."""
    return TypeMismatchError(
        f"{subject} gave {short(record)}, which is not of its declared type {type_info!r}: "
        f"{reason}",
        hint="Correct what makes the record, or the declared type.",
        origin=origin,
    )
