"""A test harness for functions: push records, advance time, read the output.

It needs neither Spark nor a Java runtime. The function runs in the operator of a job, with its state
backend, change log and timers. Opening a harness and pushing a record takes milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any, Self

from penstock.api.state.descriptors import MapStateDescriptor
from penstock.config.configuration import Configuration
from penstock.config.options import MAX_PARALLELISM, PARALLELISM
from penstock.errors import ArgumentError
from penstock.runtime.task.level_zero import LevelZero
from penstock.testing.harness_program import (
    MAIN_OUTPUT,
    HarnessProgram,
    builder_of,
    program_of,
)
from penstock.testing.harness_readings import HarnessReadings
from penstock.testing.harness_run import HAND_OVER, HarnessRun
from penstock.testing.harness_values import HarnessSnapshot
from penstock.types import TypeInformation
from penstock.types.output_tag import OutputTag
from penstock.wire.elements import MAX_WATERMARK, MIN_TIMESTAMP

_BACKENDS = ("hashmap", "lmdb")


class OperatorHarness(HarnessReadings):
    """Runs a function, or a stream made of several, under the control of a test.

    Make one with `of`, and close it: it is a context manager. Every push is a micro-batch of a
    live run. A push that fails raises the error of the job, and changes nothing: the function is
    closed, and the next push opens it again with the state of before.

    Example:
        >>> from penstock.datastream import KeyedProcessFunction, ValueStateDescriptor
        >>> COUNT = ValueStateDescriptor("count")
        >>> class CountPerKey(KeyedProcessFunction):
        ...     def open(self, runtime_context):
        ...         self.count = runtime_context.get_state(COUNT)
        ...     def process_element(self, value, ctx):
        ...         self.count.update((self.count.value() or 0) + 1)
        ...         yield (value, self.count.value())
        >>> with OperatorHarness.of(CountPerKey(), key_selector=lambda word: word) as harness:
        ...     harness.push("a")
        ...     harness.push("a")
        ...     harness.state(COUNT, key="a")
        [('a', 1)]
        [('a', 2)]
        2
    """

    def __init__(self, program: HarnessProgram, run: HarnessRun) -> None:
        """For `of`.

        Args:
            program: The program under test.
            run: Its run.
        """
        super().__init__(program, run)
        self._marks = dict.fromkeys(program.inputs, MIN_TIMESTAMP)
        self._is_closed = False

    @staticmethod
    def of(  # noqa: PLR0913 - the settings of a test, each by its name
        operator: Any,
        *,
        key_selector: Any = None,
        broadcast_states: Sequence[MapStateDescriptor] = (),
        side_outputs: Sequence[OutputTag] = (),
        input_types: Sequence[TypeInformation | None] = (),
        parallelism: int = 1,
        backend: str = "hashmap",
        configuration: Configuration | None = None,
        processing_time: int | None = None,
        snapshot: HarnessSnapshot | None = None,
    ) -> OperatorHarness:
        """Open a harness.

        Args:
            operator: Operator to run: a function object; or a function that makes the stream under
                test from one stream per input, as in
                `lambda words: words.key_by(first).reduce(longer)`; or a stream of a program,
                whose last operator is run alone, with its keys and its name.
            key_selector: With a function object: selects the key of a record. A pair of them for
                two inputs with different keys.
            broadcast_states: With the function of a broadcast connected stream: its states. The
                broadcast elements are input 1.
            side_outputs: Tags of the side outputs to read.
            input_types: Declared type per input, to which records are converted. None and missing
                ones leave records as they are.
            parallelism: Number of subtasks. A single one runs the very function objects of the
                test; several have copies, as in a job. Records without a key go to the first
                subtask, unless the stream is built with `rebalance()` or the like.
            backend: `hashmap` or `lmdb`.
            configuration: Settings for the job, such as global job parameters.
            processing_time: Time of the clock at first, in epoch milliseconds. None is 0, or
                the time of the snapshot.
            snapshot: Snapshot of another harness, whose state this one continues.

        Returns:
            The harness, whose functions are open.

        Raises:
            ArgumentError: An argument cannot be used.
            PenstockError: The program is wrong, or a function could not be opened.

        Example:
            >>> total = lambda stream: stream.key_by(lambda n: "all").sum()
            >>> with OperatorHarness.of(total, input_types=[Types.INT()]) as harness:
            ...     harness.push_all([1, 2, 3])
            [1, 3, 6]
        """
        build, types = builder_of(operator, key_selector, broadcast_states)
        types = [*input_types, *types[len(input_types) :]]
        if backend not in _BACKENDS:
            raise ArgumentError.here(
                f"a harness cannot have backend={backend!r}", hint="Use 'hashmap' or 'lmdb'."
            )
        program = program_of(build, types, side_outputs, _job(configuration, parallelism, snapshot))
        now_ms = _first_time(snapshot) if processing_time is None else processing_time
        run = HarnessRun(program, backend=backend, now_ms=now_ms, snapshot=snapshot)
        return OperatorHarness(program, run)

    def push(self, value: Any, timestamp: int | None = None, *, input: int = 0) -> list[Any]:  # noqa: A002 - the name in all other methods
        """Push a record and return the values that are emitted for it.

        Args:
            value: The record.
            timestamp: Epoch milliseconds; None is a record without.
            input: Which input it arrives at: 1 is the second, or the broadcast one.

        Returns:
            The values of the main output, in order.

        Raises:
            ArgumentError: There is no such input, it has ended, or the harness is closed.
            PenstockError: A function failed, or the record does not have the declared type.

        Example:
            >>> with OperatorHarness.of(lambda stream: stream.flat_map(range)) as harness:
            ...     harness.push(3)
            [0, 1, 2]
        """
        stamps = None if timestamp is None else [timestamp]
        return self.push_all([value], stamps, input=input)

    def push_all(
        self,
        values: Iterable[Any],
        timestamps: Iterable[int] | None = None,
        *,
        input: int = 0,  # noqa: A002 - the name in all other methods
    ) -> list[Any]:
        """Push records that arrive together, and return the values that are emitted.

        Args:
            values: The records.
            timestamps: As many epoch milliseconds; None is records without.
            input: Which input they arrive at.

        Raises:
            ArgumentError: There are more or fewer timestamps; else as `push`.
            PenstockError: As `push`.

        Example:
            >>> with OperatorHarness.of(lambda stream: stream.map(str)) as harness:
            ...     harness.push_all([1, 2])
            ['1', '2']
        """
        source = self._source(input)
        records = list(values)
        stamps = None if timestamps is None else list(timestamps)
        if stamps is not None and len(stamps) != len(records):
            raise ArgumentError.here(
                f"{len(records)} records were pushed with {len(stamps)} timestamps",
                hint="Pass one timestamp per record, or none.",
            )

        def feed(zero: LevelZero) -> None:
            if records:
                zero.collect(source, records, stamps)
            zero.finish_split(source, 0, finished=False)

        return self._step(feed)

    def advance_watermark(self, timestamp: int, *, input: int | None = None) -> list[Any]:  # noqa: A002
        """Advance the watermark, fire the timers due by it, and return the values emitted.

        Args:
            timestamp: Epoch milliseconds.
            input: Number of the input; None is all that have not ended.

        Raises:
            ArgumentError: The watermark would go back; else as `push`.
            PenstockError: A function failed.

        Example:
            >>> windows = TumblingEventTimeWindows.of(Time.seconds(10))
            >>> largest = lambda stream: stream.window_all(windows).reduce(max)
            >>> with OperatorHarness.of(largest) as harness:
            ...     harness.push_all([1, 2], timestamps=[1_000, 2_000])
            ...     harness.advance_watermark(9_999)
            []
            [2]
        """
        inputs = self._open_inputs() if input is None else [input]
        sources = [self._source(number) for number in inputs]
        current = {number: self._marks[number] for number in inputs}
        if any(mark > timestamp for mark in current.values()):
            raise ArgumentError.here(
                f"the watermark cannot go back to {timestamp}; it is {max(current.values())}",
                hint="Advance it in order of time.",
            )

        def feed(zero: LevelZero) -> None:
            for source in sources:
                zero.advance_watermark(source, timestamp)

        emitted = self._step(feed)
        self._marks |= dict.fromkeys(inputs, timestamp)
        return emitted

    def advance_processing_time(self, timestamp: int) -> list[Any]:
        """Advance the clock, fire the timers due by it, and return the values emitted.

        State with a time-to-live expires by the same clock.

        Args:
            timestamp: Epoch milliseconds.

        Raises:
            ArgumentError: The clock would go back, or the harness is closed.
            PenstockError: A function failed.

        Example:
            >>> windows = TumblingProcessingTimeWindows.of(Time.seconds(10))
            >>> largest = lambda stream: stream.window_all(windows).reduce(max)
            >>> with OperatorHarness.of(largest, processing_time=1_000) as harness:
            ...     harness.push_all([1, 2])
            ...     harness.advance_processing_time(10_000)
            []
            [2]
        """
        self._check_open()
        before = self._run.now_ms
        if timestamp < before:
            raise ArgumentError.here(
                f"the clock cannot go back from {before} to {timestamp}",
                hint="Advance it, or start another harness with processing_time=….",
            )
        self._run.now_ms = timestamp
        try:
            return self._step(everywhere=True)
        except BaseException:
            self._run.now_ms = before
            raise

    def end_input(self, *, input: int | None = None) -> list[Any]:  # noqa: A002
        """End an input and return the values emitted; its watermark becomes Long.MAX.

        Args:
            input: Which input; None is all that have not ended.

        Raises:
            ArgumentError: There is no such input, it has ended, or the harness is closed.
            PenstockError: A function failed.

        Example:
            >>> total = lambda stream: stream.window_all(EndOfStreamWindows.get()).reduce(max)
            >>> with OperatorHarness.of(total) as harness:
            ...     emitted = harness.push_all([1, 2])
            ...     harness.end_input()
            [2]
        """
        inputs = self._open_inputs() if input is None else [input]
        sources = [self._source(number) for number in inputs]

        def feed(zero: LevelZero) -> None:
            for source in sources:
                zero.end_source(source)

        emitted = self._step(feed)
        self._marks |= dict.fromkeys(inputs, MAX_WATERMARK)
        return emitted

    def snapshot(self) -> HarnessSnapshot:
        """Return all state, timers and watermarks, for `of(…, snapshot=…)`.

        Raises:
            ArgumentError: The harness is closed.

        Example:
            >>> total = lambda stream: stream.key_by(lambda n: "all").sum()
            >>> with OperatorHarness.of(total) as harness:
            ...     emitted = harness.push_all([1, 2])
            ...     snapshot = harness.snapshot()
            >>> with OperatorHarness.of(total, parallelism=2, snapshot=snapshot) as harness:
            ...     harness.push(3)
            [6]
        """
        self._check_open()
        taken = self._run.run(everywhere=True, snapshots=(HAND_OVER,))
        return HarnessSnapshot(
            state=tuple(taken.state),
            watermarks=taken.report.watermarks,
            memory=taken.report.memory,
            processing_time=self._run.now_ms,
            max_parallelism=self._program.plan.options.max_parallelism,
        )

    def close(self) -> None:
        """Close the functions; the output can still be read. A second call does nothing.

        Raises:
            PenstockError: A function's `close` failed; the others are closed all the same.

        Example:
            >>> harness = OperatorHarness.of(lambda stream: stream.map(str))
            >>> harness.push(1)
            ['1']
            >>> harness.close()
        """
        if not self._is_closed:
            self._is_closed = True
            self._run.close()

    def __enter__(self) -> Self:
        """Return the harness."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def _step(self, feed: Any = None, *, everywhere: bool = False) -> list[Any]:
        outputs = self._run.run(feed, everywhere=everywhere)
        return [emitted.value for emitted in outputs.records.get(MAIN_OUTPUT, ())]

    def _check_open(self) -> None:
        if self._is_closed:
            raise ArgumentError.here(
                "the harness is closed",
                hint="Open another one; a snapshot taken before takes its state along.",
            )

    def _open_inputs(self) -> list[int]:
        return [n for n, mark in self._marks.items() if mark != MAX_WATERMARK]

    def _source(self, number: int) -> int:
        """Return the source an input is to the program."""
        self._check_open()
        source = self._program.inputs.get(number)
        if source is None or self._marks[number] == MAX_WATERMARK:
            wrong = "has no input" if source is None else "has seen the end of input"
            raise ArgumentError.here(
                f"the harness {wrong} {number}; its inputs are {sorted(self._program.inputs)}",
                hint="Push to an input that exists and has not ended; the first one is 0.",
            )
        return source


def _job(
    configuration: Configuration | None, parallelism: int, snapshot: HarnessSnapshot | None
) -> Configuration:
    """Return the settings of the job: as many key groups as the snapshot has."""
    settings = Configuration(configuration)
    settings.set(PARALLELISM, parallelism)
    if snapshot is not None:
        settings.set(MAX_PARALLELISM, snapshot.max_parallelism)
    return settings


def _first_time(snapshot: HarnessSnapshot | None) -> int:
    return 0 if snapshot is None else snapshot.processing_time
