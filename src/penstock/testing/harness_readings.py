"""The readings of a harness: output, state, timers and metrics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.errors import ArgumentError
from penstock.metrics.job_metrics import result_named
from penstock.program.level import OperatorSpec
from penstock.testing.harness_program import MAIN_OUTPUT, HarnessProgram
from penstock.testing.harness_run import HarnessRun, HarnessSubtask
from penstock.testing.harness_values import Emitted, PendingTimer
from penstock.types.output_tag import OutputTag

_ANY_KEY = object()


class HarnessReadings:
    """Base of the harness; its methods may be called after `close` too."""

    def __init__(self, program: HarnessProgram, run: HarnessRun) -> None:
        self._program = program
        self._run = run

    def output(self) -> list[Any]:
        """Return the values emitted so far.

        Example:
            >>> with OperatorHarness.of(lambda stream: stream.map(str)) as harness:
            ...     emitted = harness.push(1), harness.push(2)
            >>> harness.output()
            ['1', '2']
        """
        return [emitted.value for emitted in self.emitted()]

    def emitted(self) -> list[Emitted]:
        """Return the records emitted so far, with their timestamps.

        Example:
            >>> with OperatorHarness.of(lambda stream: stream.map(str)) as harness:
            ...     emitted = harness.push(1, timestamp=1_000)
            >>> harness.emitted()
            [Emitted(value='1', timestamp=1000)]
        """
        return list(self._run.records.get(MAIN_OUTPUT, ()))

    def side_output(self, tag: OutputTag) -> list[Any]:
        """Return the values emitted to a side output so far.

        Args:
            tag: One of the `side_outputs` that the harness was opened with.

        Raises:
            ArgumentError: The harness was opened without it.

        Example:
            >>> odd = OutputTag("odd", Types.INT())
            >>> class Split(ProcessFunction):
            ...     def process_element(self, value, ctx):
            ...         yield (odd, value) if value % 2 else value
            >>> with OperatorHarness.of(Split(), side_outputs=[odd]) as harness:
            ...     emitted = harness.push_all([1, 2, 3])
            >>> harness.side_output(odd)
            [1, 3]
        """
        return [emitted.value for emitted in self.side_emitted(tag)]

    def side_emitted(self, tag: OutputTag) -> list[Emitted]:
        """Return the records emitted to a side output so far, with their timestamps.

        Args:
            tag: One of the `side_outputs` that the harness was opened with.

        Raises:
            ArgumentError: The harness was opened without it.

        Example:
            >>> odd = OutputTag("odd", Types.INT())
            >>> class Split(ProcessFunction):
            ...     def process_element(self, value, ctx):
            ...         yield (odd, value) if value % 2 else value
            >>> with OperatorHarness.of(Split(), side_outputs=[odd]) as harness:
            ...     emitted = harness.push(1, timestamp=1_000)
            >>> harness.side_emitted(odd)
            [Emitted(value=1, timestamp=1000)]
        """
        known = self._program.side_outputs
        name: Any = getattr(tag, "tag_id", tag)
        if name not in known:
            raise ArgumentError.here(
                f"the harness does not read the side output {name!r}; it reads {list(known)}",
                hint="Open it with side_outputs=[tag].",
            )
        return list(self._run.records.get(known[name], ()))

    def watermarks(self) -> list[int]:
        """Return the watermarks emitted so far, in epoch milliseconds.

        Example:
            >>> with OperatorHarness.of(lambda stream: stream.map(str)) as harness:
            ...     emitted = harness.advance_watermark(1_000)
            >>> harness.watermarks()
            [1000]
        """
        return list(self._run.watermarks)

    def clear_output(self) -> None:
        """Remove all emitted records, those of side outputs too, and watermarks.

        Example:
            >>> with OperatorHarness.of(lambda stream: stream.map(str)) as harness:
            ...     emitted = harness.push(1)
            ...     harness.clear_output()
            >>> harness.output()
            []
        """
        self._run.records.clear()
        del self._run.watermarks[:-1]

    @property
    def processing_time(self) -> int:
        """The time of the clock, in epoch milliseconds."""
        return self._run.now_ms

    def state(self, descriptor: Any, key: Any, *, operator: str | None = None) -> Any:
        """Return the content of keyed state: a value, a list, a dictionary, or an aggregate.

        Reading does not count as an access: it does not restart a time-to-live.

        Args:
            descriptor: Descriptor of the state.
            key: The key.
            operator: Name or uid of the operator, if several have keys.

        Raises:
            ArgumentError: It is no state descriptor, or several operators have keys.
            StateMigrationError: The state has another type.

        Example:
            >>> COUNT = ValueStateDescriptor("count", Types.INT())
            >>> class Count(KeyedProcessFunction):
            ...     def open(self, runtime_context):
            ...         self.count = runtime_context.get_state(COUNT)
            ...     def process_element(self, value, ctx):
            ...         self.count.update((self.count.value() or 0) + 1)
            >>> with OperatorHarness.of(Count(), key_selector=lambda word: word) as harness:
            ...     emitted = harness.push_all(["a", "b", "a"])
            >>> harness.state(COUNT, key="a")
            2
        """
        spec = self._operator(operator, keyed=True)
        (owner,) = [subtask for subtask in self._subtasks(spec) if subtask.owns(spec, key)]
        return owner.read_state(spec, descriptor, key)

    def keys(self, descriptor: Any, *, operator: str | None = None) -> list[Any]:
        """Return the keys that have an entry in a state, with expired ones.

        Args:
            descriptor: Descriptor of the state.
            operator: Name or uid of the operator, if several have keys.

        Raises:
            ArgumentError: Several operators have keys.
            StateMigrationError: The state has another type.

        Example:
            >>> LAST = ValueStateDescriptor("last", Types.STRING())
            >>> class Last(KeyedProcessFunction):
            ...     def open(self, runtime_context):
            ...         self.last = runtime_context.get_state(LAST)
            ...     def process_element(self, value, ctx):
            ...         self.last.update(value)
            >>> with OperatorHarness.of(Last(), key_selector=lambda word: word) as harness:
            ...     emitted = harness.push_all(["a", "b", "a"])
            >>> sorted(harness.keys(LAST))
            ['a', 'b']
        """
        spec = self._operator(operator, keyed=True)
        return [key for subtask in self._subtasks(spec) for key in subtask.keys(spec, descriptor)]

    def broadcast_state(
        self, descriptor: Any, *, subtask: int = 0, operator: str | None = None
    ) -> dict[Any, Any]:
        """Return the content of broadcast state in one subtask.

        Args:
            descriptor: Descriptor of the state.
            subtask: Index of the subtask, from 0.
            operator: Name or uid of the operator, if several have broadcast state.

        Raises:
            ArgumentError: It is no map state descriptor, or several operators have broadcast state.
            StateMigrationError: The state has other types.

        Example:
            >>> LIMITS = MapStateDescriptor("limits")
            >>> class Limited(BroadcastProcessFunction):
            ...     def process_element(self, value, ctx):
            ...         pass
            ...     def process_broadcast_element(self, value, ctx):
            ...         ctx.get_broadcast_state(LIMITS).put(*value)
            >>> with OperatorHarness.of(Limited(), broadcast_states=[LIMITS]) as harness:
            ...     emitted = harness.push(("max", 3), input=1)
            >>> harness.broadcast_state(LIMITS)
            {'max': 3}
        """
        spec = self._operator(operator, keyed=False)
        return self._subtasks(spec)[subtask].read_broadcast_state(spec, descriptor)

    def timers(self, key: Any = _ANY_KEY, *, operator: str | None = None) -> list[PendingTimer]:
        """Return the pending timers in order of their timestamps.

        Args:
            key: Only the timers of this key; all keys if it is left out.
            operator: Name or uid of the operator, if several have keys.

        Raises:
            ArgumentError: Several operators have keys.

        Example:
            >>> class Quiet(KeyedProcessFunction):
            ...     def process_element(self, value, ctx):
            ...         ctx.timer_service().register_event_time_timer(ctx.timestamp() + 5_000)
            >>> with OperatorHarness.of(Quiet(), key_selector=lambda word: word) as harness:
            ...     emitted = harness.push("a", timestamp=1_000)
            >>> [(timer.timestamp, timer.key) for timer in harness.timers()]
            [(6000, 'a')]
        """
        spec = self._operator(operator, keyed=True)
        pending = [timer for subtask in self._subtasks(spec) for timer in subtask.timers(spec)]
        timers = [timer for timer in pending if key is _ANY_KEY or timer.key == key]
        return sorted(timers, key=lambda timer: timer.timestamp)

    def metrics(self) -> dict[str, Any]:
        """Return the results of all metrics by full name, of every push that did not fail.

        Example:
            >>> with OperatorHarness.of(lambda stream: stream.map(str).name("text")) as harness:
            ...     emitted = harness.push_all([1, 2])
            >>> any(name.endswith("numRecordsIn") for name in harness.metrics())
            True
        """
        return self._run.metrics.results()

    def metric(self, name: str) -> Any:
        """Return the result of one metric.

        Args:
            name: Full name, or the end of it if no other metric has the same.

        Raises:
            ArgumentError: There is no such metric, or more than one.

        Example:
            >>> class Text(MapFunction):
            ...     def map(self, value):
            ...         return str(value)
            >>> with OperatorHarness.of(Text()) as harness:
            ...     emitted = harness.push_all([1, 2])
            >>> harness.metric("numRecordsIn")
            2
        """
        return result_named(self.metrics(), name)

    def _operator(self, named: str | None, *, keyed: bool) -> OperatorSpec:
        """Return the operator whose state a test reads."""
        specs = [
            spec
            for spec in self._program.operators()
            if (spec.key_selectors if keyed else spec.broadcast_states)
        ]
        matching = [spec for spec in specs if named is None or named in {spec.uid, spec.name}]
        if len(matching) != 1:
            kind = "a key" if keyed else "broadcast state"
            raise ArgumentError.here(
                f"{len(matching)} operators could be meant by {named!r}; those with {kind} are "
                f"{[spec.uid for spec in specs]}",
                hint="Pass operator=… with the name or uid of one of them.",
            )
        return matching[0]

    def _subtasks(self, spec: OperatorSpec) -> list[HarnessSubtask]:
        return next(
            subtasks for _, subtasks in self._run.levels if spec.id in _ids(subtasks[0].operators)
        )


def _ids(specs: Iterable[OperatorSpec]) -> set[int]:
    return {spec.id for spec in specs}
