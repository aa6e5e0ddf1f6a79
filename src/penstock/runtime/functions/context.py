"""The runtime context, the argument of `open`."""

from __future__ import annotations

from penstock.errors import ArgumentError
from penstock.metrics.metric_group import MetricGroup, MetricRegistry
from penstock.program.level import OperatorSpec
from penstock.program.run_settings import RunKind, RunSettings
from penstock.runtime.functions.state_handles import (
    Descriptor,
    KeyedScope,
    KeyedStates,
    StateHandles,
)
from penstock.runtime.spill.external_sort import RecordSorter
from penstock.runtime.spill.spill_space import SpillCounts, SpillSpace
from penstock.state.handles.map_state import ReadOnlyPairs, TableMapState

__all__ = ["KeyedScope", "OperatorContext"]


class OperatorContext(KeyedStates):
    """Implements `RuntimeContext` of the API for one operator of one subtask.

    Attributes:
        spill_space: Disk space of its sorters; the level sets it before the operator is opened.
        spilled: Counts of spilling of its sorters.
    """

    spill_space: SpillSpace

    def __init__(
        self,
        spec: OperatorSpec,
        settings: RunSettings,
        subtask: int,
        keyed: KeyedScope | None = None,
    ) -> None:
        super().__init__(StateHandles(spec, keyed))
        self._spec = spec
        self.settings = settings
        self._subtask = subtask
        self.metrics = MetricRegistry(spec.uid, subtask)
        self.spilled = SpillCounts()
        self._sorters: list[RecordSorter] = []

    @property
    def is_live(self) -> bool:
        """True if this is a live run."""
        return self.settings.kind is RunKind.LIVE

    def get_task_name(self) -> str:
        """Return the name of the operator."""
        return self._spec.name

    def get_number_of_parallel_subtasks(self) -> int:
        """Return the parallelism of the operator."""
        return self._spec.parallelism or self.settings.parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        """Return the number of key groups."""
        return self.settings.max_parallelism

    def get_index_of_this_subtask(self) -> int:
        """Return the index of this subtask, from 0."""
        return self._subtask % self.get_number_of_parallel_subtasks()

    def get_task_name_with_subtasks(self) -> str:
        """Return e.g. `totals (3/6)`."""
        subtasks = self.get_number_of_parallel_subtasks()
        return f"{self._spec.name} ({self.get_index_of_this_subtask() + 1}/{subtasks})"

    def get_attempt_number(self) -> int:
        """Return the number of restarts of the run after failures, from 0."""
        return self.settings.attempt

    def get_metrics_group(self) -> MetricGroup:
        """Return the group in which the function makes metrics."""
        return MetricGroup(self.metrics, ())

    def get_job_parameter(self, key: str, default_value: str | None) -> str | None:
        """Return a global job parameter."""
        return self.settings.job_parameters.get(key, default_value)

    def get_broadcast_state(self, state_descriptor: Descriptor) -> TableMapState:
        """Return broadcast state, for the broadcast side, which may change it."""
        return self._states.broadcast(state_descriptor)

    def get_read_only_broadcast_state(self, state_descriptor: Descriptor) -> ReadOnlyPairs:
        """Return broadcast state, for the other side, which may only read it."""
        return ReadOnlyPairs(self._states.broadcast(state_descriptor))

    def create_external_sorter(self, share: float = 1.0) -> RecordSorter:
        """Return an empty sorter, for operators of the user's own."""
        if not self._spec.kind.is_own:
            raise ArgumentError(
                f"the function of {self._spec.name!r} requested a sorter, which is for operators",
                hint="Pass an operator of your own to transform(…): it is notified when its input ends.",
                origin=self._spec.origin,
            )
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
            raise ArgumentError(
                f"create_external_sorter got share={share!r}",
                hint="Pass a number above 0, at most 1; those of all sorters of an operator add up to 1.",
                origin=self._spec.origin,
            )
        sorter = RecordSorter(self.spill_space, self.spilled, share)
        self._sorters.append(sorter)
        return sorter

    def waiting_records(self) -> int:
        """Return the number of records in sorters whose reading has not begun."""
        return sum(len(sorter) for sorter in self._sorters if sorter.is_waiting)

    def close_sorters(self) -> None:
        """Close all sorters, and remove their files. Never raises."""
        for sorter in self._sorters:
            sorter.close()
        self._sorters.clear()
