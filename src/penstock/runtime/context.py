"""The runtime context a function sees in `open`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.errors import ArgumentError, UnkeyedStateError
from penstock.runtime.program import OperatorSpec, RunSettings
from penstock.state.backend import KeyedStore
from penstock.state.key_context import KeyContext
from penstock.state.value_state import TableValueState


@dataclass(frozen=True, slots=True)
class KeyedScope:
    """Where the keyed state of an operator lives."""

    store: KeyedStore
    context: KeyContext


class OperatorContext:
    """Implements `RuntimeContext` of the API for one operator of one subtask."""

    def __init__(
        self,
        spec: OperatorSpec,
        settings: RunSettings,
        subtask: int,
        keyed: KeyedScope | None = None,
    ) -> None:
        self._spec = spec
        self._settings = settings
        self._subtask = subtask
        self._keyed = keyed

    def get_task_name(self) -> str:
        """Return the name of the operator."""
        return self._spec.name

    def get_number_of_parallel_subtasks(self) -> int:
        """Return the parallelism of the run."""
        return self._settings.parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        """Return the number of key groups."""
        return self._settings.max_parallelism

    def get_index_of_this_subtask(self) -> int:
        """Return the index of this subtask, from 0."""
        return self._subtask

    def get_task_name_with_subtasks(self) -> str:
        """Return e.g. `totals (3/6)`."""
        return f"{self._spec.name} ({self._subtask + 1}/{self._settings.parallelism})"

    def get_job_parameter(self, key: str, default_value: str | None) -> str | None:
        """Return a global job parameter."""
        return self._settings.job_parameters.get(key, default_value)

    def get_state(self, state_descriptor: Any) -> TableValueState:
        """Return the value state of `state_descriptor`.

        Raises:
            ArgumentError: `state_descriptor` is no descriptor.
            UnkeyedStateError: The operator has no key.
        """
        if not hasattr(state_descriptor, "get_name"):
            raise ArgumentError(
                f"{self._spec.name!r} asked for state with {state_descriptor!r}",
                hint="Pass a ValueStateDescriptor(name).",
                origin=self._spec.origin,
            )
        if self._keyed is None:
            raise UnkeyedStateError(
                f"{self._spec.name!r} asked for state {state_descriptor.get_name()!r}, but its "
                "stream has no key",
                hint="Call key_by before this operator.",
                origin=self._spec.origin,
            )
        table = self._keyed.store.table(self._spec.uid, state_descriptor.get_name())
        return TableValueState(table, self._keyed.context)
