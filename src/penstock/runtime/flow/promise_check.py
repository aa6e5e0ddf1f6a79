"""`pipeline.object-reuse.verify`: finds functions that change values after emitting them.

The check stores the emitted values of a function with their pickles. Readers get copies, so only the
function itself can change the values. The values are compared with their pickles when a batch is
emitted, when the next one is, and at the end of the task or micro-batch.
"""

from __future__ import annotations

import pickle
from typing import Any

from penstock.errors import UserCodeError, UserFunctionError
from penstock.program.operator_spec import OperatorSpec
from penstock.types.values.copying import copy_value, is_immutable
from penstock.user_failure import failure_as, short

_MOST = 8192


class PromiseCheck:
    """The last values that one operator has emitted."""

    __slots__ = ("_before", "_now", "_spec")

    def __init__(self, spec: OperatorSpec) -> None:
        self._spec = spec
        self._now: list[tuple[Any, bytes]] = []
        self._before: list[tuple[Any, bytes]] = []

    def record(self, value: Any) -> Any:
        """Store an emitted value and return a copy for its readers."""
        if is_immutable(value):
            return value
        if len(self._now) >= _MOST:
            self.check_batch()
        self._now.append((value, self._pickled(value)))
        return copy_value(value)

    def _pickled(self, value: Any) -> bytes:
        try:
            return pickle.dumps(value, 5)
        except BaseException as cause:  # whatever a user's __reduce__ raises
            raise failure_as(
                UserCodeError,
                f"operator {self._spec.name!r} emitted {short(value)}, which cannot be pickled",
                cause,
                self._spec.origin,
                hint="Emit values that can be pickled, or do without pipeline.object-reuse.verify.",
            ) from cause

    def check_batch(self) -> None:
        """Compare all stored values, and drop those that were stored before the last call.

        Raises:
            UserFunctionError: The function changed a value.
        """
        self.check()
        self._before, self._now = self._now, []

    def check(self) -> None:
        """Compare the stored values with their pickles.

        Raises:
            UserFunctionError: The function changed a value.
        """
        for value, recorded in (*self._before, *self._now):
            if self._pickled(value) != recorded:
                spec = self._spec
                raise UserFunctionError(
                    f"operator {spec.name!r} changed a record after it had emitted it: it was "
                    f"{short(pickle.loads(recorded))} and is {short(value)}",
                    hint="Emit a new object each time; or use a function class and return True "
                    "from is_output_value_stored. With pipeline.object-reuse, or with a promise "
                    "that is not kept, readers of the record see the change.",
                    origin=spec.origin,
                )
