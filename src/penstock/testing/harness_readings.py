"""What a test reads of a harness: output, state, timers and metrics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.errors import ArgumentError, CallSite
from penstock.metrics.job_metrics import result_named
from penstock.program.operator_spec import OperatorSpec
from penstock.testing.harness_program import MAIN_OUTPUT, HarnessProgram
from penstock.testing.harness_run import HarnessRun
from penstock.testing.harness_subtask import HarnessSubtask
from penstock.testing.harness_values import Emitted, PendingTimer
from penstock.types.output_tag import OutputTag

_ANY_KEY = object()


class HarnessReadings:
    """Base of the harness; all of it may be called after `close` as well."""

    def __init__(self, program: HarnessProgram, run: HarnessRun) -> None:
        self._program = program
        self._run = run

    def output(self) -> list[Any]:
        """Return the values emitted so far."""
        return [emitted.value for emitted in self.emitted()]

    def emitted(self) -> list[Emitted]:
        """Return the records emitted so far, with their timestamps."""
        return list(self._run.records.get(MAIN_OUTPUT, ()))

    def side_output(self, tag: OutputTag) -> list[Any]:
        """Return the values emitted under a tag so far.

        Raises:
            ArgumentError: The tag was not named when the harness was opened.
        """
        return [emitted.value for emitted in self.side_emitted(tag)]

    def side_emitted(self, tag: OutputTag) -> list[Emitted]:
        """Return the records emitted under a tag so far, with their timestamps.

        Raises:
            ArgumentError: The tag was not named when the harness was opened.
        """
        known = self._program.side_outputs
        name: Any = getattr(tag, "tag_id", tag)
        if name not in known:
            raise ArgumentError(
                f"the harness does not read the side output {name!r}; it reads {list(known)}",
                hint="Open it with side_outputs=[tag].",
                origin=CallSite.of_caller(),
            )
        return list(self._run.records.get(known[name], ()))

    def watermarks(self) -> list[int]:
        """Return the watermarks emitted so far, in epoch milliseconds."""
        return list(self._run.watermarks)

    def clear_output(self) -> None:
        """Forget what was emitted so far, side outputs and watermarks included."""
        self._run.records.clear()
        del self._run.watermarks[:-1]

    @property
    def processing_time(self) -> int:
        """What the clock shows, in epoch milliseconds."""
        return self._run.now_ms

    def state(self, descriptor: Any, key: Any, *, operator: str | None = None) -> Any:
        """Return the content of keyed state: a value, a list, a dictionary, or an aggregate.

        Reading leaves no trace: it does not refresh a time-to-live.

        Args:
            descriptor: Of the state.
            key: Whose it is.
            operator: Name or uid of the operator, if several have keys.

        Raises:
            ArgumentError: It is no state descriptor, or it is not clear which operator is meant.
            StateMigrationError: The state has another type.
        """
        spec = self._operator(operator, keyed=True)
        (found,) = [each for each in self._subtasks(spec) if each.owns(spec, key)]
        return found.read_state(spec, descriptor, key)

    def keys(self, descriptor: Any, *, operator: str | None = None) -> list[Any]:
        """Return the keys that have an entry in a state, expired ones included.

        Raises:
            ArgumentError: It is not clear which operator is meant.
            StateMigrationError: The state has another type.
        """
        spec = self._operator(operator, keyed=True)
        return [key for each in self._subtasks(spec) for key in each.keys(spec, descriptor)]

    def broadcast_state(
        self, descriptor: Any, *, subtask: int = 0, operator: str | None = None
    ) -> dict[Any, Any]:
        """Return the content of broadcast state in one subtask.

        Raises:
            ArgumentError: It is no map state descriptor, or it is not clear which operator is
                meant.
            StateMigrationError: The state has other types.
        """
        spec = self._operator(operator, keyed=False)
        return self._subtasks(spec)[subtask].read_broadcast_state(spec, descriptor)

    def timers(self, key: Any = _ANY_KEY, *, operator: str | None = None) -> list[PendingTimer]:
        """Return the pending timers in order of time.

        Args:
            key: Whose timers; all keys if it is left out.
            operator: Name or uid of the operator, if several have keys.

        Raises:
            ArgumentError: It is not clear which operator is meant.
        """
        spec = self._operator(operator, keyed=True)
        found = [timer for each in self._subtasks(spec) for timer in each.timers(spec)]
        wanted = [timer for timer in found if key is _ANY_KEY or timer.key == key]
        return sorted(wanted, key=lambda timer: timer.timestamp)

    def metrics(self) -> dict[str, Any]:
        """Return the results of all metrics by full name, of every push that did not fail."""
        return self._run.metrics.results()

    def metric(self, name: str) -> Any:
        """Return the result of one metric.

        Args:
            name: Full name, or the end of it if no other metric has the same.

        Raises:
            ArgumentError: There is no such metric, or more than one.
        """
        return result_named(self.metrics(), name)

    def _operator(self, named: str | None, *, keyed: bool) -> OperatorSpec:
        """Return the operator whose state a test asks for."""
        specs = [
            spec
            for spec in self._program.operators()
            if (spec.key_selectors if keyed else spec.broadcast_states)
        ]
        found = [spec for spec in specs if named is None or named in {spec.uid, spec.name}]
        if len(found) != 1:
            kind = "a key" if keyed else "broadcast state"
            raise ArgumentError(
                f"{len(found)} operators could be meant by {named!r}; those with {kind} are "
                f"{[spec.uid for spec in specs]}",
                hint="Pass operator=… with the name or uid of one of them.",
                origin=CallSite.of_caller(),
            )
        return found[0]

    def _subtasks(self, spec: OperatorSpec) -> list[HarnessSubtask]:
        return next(
            subtasks for _, subtasks in self._run.levels if spec.id in _ids(subtasks[0].operators)
        )


def _ids(specs: Iterable[OperatorSpec]) -> set[int]:
    return {spec.id for spec in specs}
