"""Copies records for readers of a stream, as the plan decides (FLIP-329).

A value may be copied at two places:

    at emission        because the function may change it or emit it again. The call is wrapped, so
                       the copy exists before the function goes on
    between readers    because each of them may change it. A batch is copied before any reader gets
                       it; channels, which write at once, come first

`pipeline.object-reuse.verify` finds functions that change values after emitting them: the emitted values of a
function are stored with their pickles. Readers get copies, so only the function itself can change the values.
They are compared with their pickles when a batch is emitted, when the next one is, and at the end of the task or
micro-batch.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from penstock.errors import CallSite, UserCodeError, UserFunctionError
from penstock.program.level import Copies, OperatorSpec
from penstock.program.operator_kind import Returns
from penstock.runtime.flow.output import FanOut, Output, output_to
from penstock.types.value_kinds import (
    Copier,
    batch_copier,
    copy_batch,
    copy_value,
    emission_copier,
    is_immutable,
)
from penstock.user_failure import failure_as, placed, short

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
        """Compare all stored values, and drop those that were stored before the last call."""
        self.check()
        self._before, self._now = self._now, []

    def check(self) -> None:
        """Compare the stored values with their pickles."""
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


# FLIP-329, rule 1.
class Emission:
    """The emission of values of one operator.

    Attributes:
        copy: Copies an emitted value for its readers; None if they get the value itself.
        promise_check: Stores emitted values; None if the option to verify promises is off.
    """

    __slots__ = ("copy", "promise_check")

    def __init__(self, spec: OperatorSpec) -> None:
        self.copy: Copier | None = None
        self.promise_check: PromiseCheck | None = None
        if spec.verifies_promise:
            self.promise_check = PromiseCheck(spec)
            self.copy = self.promise_check.record
        elif spec.copies.at_emission:
            known = spec.copies.type_info
            aside = bool(spec.side_outputs) or known is None
            self.copy = copy_value if aside or known is None else emission_copier(known)

    def of_call(self, returns: Returns, call: Any) -> Any:
        """Return the function that an operator calls instead of `call`, to copy several results.

        The loop around the calls copies single results, which saves a call per record.
        """
        return self.many(call) if returns in _SEVERAL else call

    def many(self, call: Any) -> Any:
        """Return a wrapper of a function that returns an iterable of results, or None."""
        return call if self.copy is None or call is None else _many(call, self.copy)

    def of_batch(self, values: list[Any]) -> list[Any]:
        """Return what readers get of values that are emitted now, at once."""
        if self.copy is copy_value:
            return copy_batch(values)
        copy = self.copy
        return values if copy is None else [copy(value) for value in values]

    def of(self, values: Iterable[Any]) -> Iterable[Any]:
        """Return copies of single values for their readers."""
        return values if self.copy is None else map(self.copy, values)


def _many(call: Callable[..., Any], copy: Copier) -> Callable[..., Any]:
    def copied(*arguments: Any) -> Any:
        produced = call(*arguments)
        return None if produced is None else map(copy, produced)

    return copied


_SEVERAL = frozenset({Returns.MANY, Returns.MANY_OR_NONE})


class CopyingFanOut(FanOut):
    """Forwards batches to several outputs, to some of them as copies."""

    __slots__ = ("_copied", "_copy", "_origin", "_pairs", "_subject")

    def __init__(
        self,
        outputs: Sequence[tuple[Output, bool]],
        copies: Copies,
        subject: str,
        origin: CallSite | None,
        *,
        at_once: bool,
    ) -> None:
        """Bind."""
        super().__init__([output for output, _ in outputs])
        copier = None if copies.type_info is None else batch_copier(copies.type_info)
        assert copier is not None, "values that cannot be changed are not copied"
        self._copy = copier
        self._pairs = tuple(outputs)
        self._copied = at_once
        self._subject = subject
        self._origin = origin

    def collect(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Make the copies, then forward the batch to every output."""
        try:
            if self._copied:
                values = self._copy(values)
            batches = [self._copy(values) if own else values for _, own in self._pairs]
        except UserCodeError as cause:
            raise placed(cause, self._subject, "its results", self._origin) from cause
        for (output, _), batch in zip(self._pairs, batches, strict=True):
            output.collect(batch, timestamps)


def readers_output(
    operators: Sequence[tuple[int, Output]],
    channels: Sequence[tuple[int, Output]],
    copies: Copies,
    subject: str,
    origin: CallSite | None,
    *,
    at_once: bool = False,
) -> Output:
    """Return one output for all readers of a stream."""
    # Channels come first: they write at once, before another reader can change a record.
    outputs = [(output, number in copies.channels) for number, output in channels]
    outputs += [(output, key in copies.operators) for key, output in operators]
    if at_once or any(own for _, own in outputs):
        return CopyingFanOut(outputs, copies, subject, origin, at_once=at_once)
    return output_to([output for output, _ in outputs])
