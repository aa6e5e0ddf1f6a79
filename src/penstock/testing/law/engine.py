"""Runs a program in many ways and compares their answers."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, islice, takewhile
from typing import Any

from penstock.api.environment.environment import StreamExecutionEnvironment
from penstock.errors import ArgumentError, LawError, PenstockError, SourceError
from penstock.testing.causes import find_causes
from penstock.testing.law.exceptions import LawException, explanation
from penstock.testing.law.generated import variants
from penstock.testing.law.outcomes import CheckedProgram
from penstock.testing.law.own_samples import MOST_RECORDS, Samples, samples_of
from penstock.testing.law.samples import Inputs, Sample
from penstock.testing.law.shrinking import Deadline, shrink
from penstock.testing.law.verdict import (
    FAILURE,
    Dependence,
    Disagreement,
    LawVerdict,
    Trial,
    WayRun,
    differences,
    parting_sinks,
)
from penstock.testing.law.ways import Way, WayMode
from penstock.testing.law.ways import ways as generated_ways

WAYS = 200
"""Number of ways in which a program runs if nothing else is set."""

SHRINKING_SECONDS = 20.0
"""Time for shrinking a difference."""

_SMALL = 40
"""Records of each source of the input that is read one by one."""

_INPUTS = 3
"""Two of three ways read a small input: a part of the sample, or records made from it. They are faster, and have more kinds of
records."""

_COLLECTIONS = (50_000, 10, 10)
"""Thresholds of the garbage collector during a check."""

WaysSoFar = Callable[[int], object]
"""Takes the number of ways so far."""


def check(
    program: StreamExecutionEnvironment | Callable[[StreamExecutionEnvironment], object],
    *,
    inputs: Mapping[str, Iterable[Any]] | None = None,
    ways: int | Sequence[Way] = WAYS,
    seed: int = 0,
    records: int = MOST_RECORDS,
    seconds: float | None = None,
) -> LawVerdict:
    """Run a program in many ways, and require one answer.

    The program runs in this process over a sample of its own inputs. Its sinks only collect. A way has a mode,
    a cut between history and live, a parallelism, sizes of micro-batches, lost workers and failed attempts, a
    state backend and other settings that must not change an answer.

    Args:
        program: An environment whose streams were built but not executed, or a function that builds them in the
            environment that it gets.
        inputs: Name of a source to its records; a list of lists has one list per split, and `SampleRecord`s have
            splits and timestamps. Sources without an entry
            are read, the first records of them. Records of a topic or table are generated if its type is declared.
        ways: Number of ways, or the ways themselves.
        seed: Seed of the ways and of records that are made from the sample.
        records: Records that are read of each source, at most.
        seconds: Time after which no further way begins; None is no limit.

    Returns:
        The verdict: the number of ways, and notes about what is not compared.

    Raises:
        LawError: Two ways give two answers. The message has the smallest input, and the two ways.
        SourceError: A source cannot be read in this process, `inputs` has no records of it, and its type describes
            none.
        PenstockError: The program fails in every way.

    Example:
        >>> sink = numbers.key_by(lambda n: n % 2).sum().sink_to(DiscardingSink())
        >>> check(env, ways=40).is_same
        True
    """
    __tracebackhide__ = True
    if not isinstance(program, StreamExecutionEnvironment):
        env = StreamExecutionEnvironment.get_execution_environment()
        program(env)
        program = env
    checked = CheckedProgram(program.graph.logical_graph(), program.get_configuration())
    samples = samples_of(checked.graph, inputs or {}, records, seed)
    verdict = judge(checked, samples, ways, seed=seed, seconds=seconds)
    if not verdict.is_same:
        raise law_error(verdict)
    return verdict


def law_error(verdict: LawVerdict) -> LawError:
    """Return the error for two answers; its text is the verdict."""
    assert verdict.disagreement is not None, "there are two answers"
    return LawError(
        str(verdict),
        hint="Make the function depend on nothing but its records and state; docs/causes.md lists the usual causes.",
        origin=verdict.disagreement.origin,
    )


def judge(
    program: CheckedProgram,
    samples: Samples,
    ways: int | Sequence[Way] = WAYS,
    *,
    seed: int = 0,
    seconds: float | None = None,
    progress: WaysSoFar = lambda _: None,
    more: Sequence[Way] = (),
) -> LawVerdict:
    """Run a program in many ways over samples and return the verdict; `more` follow when the time is over, too."""
    comparison = _Comparison(program, samples, seed)
    deadline = Deadline(float("inf") if seconds is None else seconds)
    trials = _trials(program, samples.inputs, ways, seed)
    in_time = takewhile(lambda _: not (deadline.is_over and comparison.ways > 1), trials)
    with _rare_collections():
        for inputs, way in chain(in_time, ((samples.inputs, way) for way in more)):
            parted = comparison.add(inputs, way)
            progress(comparison.ways)
            if parted is not None:
                return comparison.verdict(parted)
    return comparison.verdict(None)


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Look for garbage in cycles less often: a way makes many objects, few of which are in cycles."""
    before = gc.get_threshold()
    gc.set_threshold(*_COLLECTIONS)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _trials(
    program: CheckedProgram, samples: Inputs, ways: int | Sequence[Way], seed: int
) -> Iterator[tuple[Inputs, Way]]:
    if not isinstance(ways, int):
        if not ways or not all(isinstance(way, Way) for way in ways):
            raise ArgumentError.here(
                f"check got ways={ways!r}", hint="Pass a number of ways, or a list of `Way`."
            )
        # Twice the first one: a program that does not repeat its answer differs in no setting.
        yield from ((samples, way) for way in (ways[0], *ways))
        return
    if ways < 1:
        raise ArgumentError.here(f"check got ways={ways}", hint="Pass a number from 1.")
    large = generated_ways(seed, _largest(samples))
    small = _small_trials(program, samples, seed)
    twice = chain([Way()], large)
    has_small = _largest(samples) > 0
    for number in range(ways):
        if has_small and number % _INPUTS:
            yield next(small)
        else:
            yield samples, next(twice)


def _small_trials(
    program: CheckedProgram, samples: Inputs, seed: int
) -> Iterator[tuple[Inputs, Way]]:
    """Yield ways of one small input after the other, for ever, beginning with a part of the sample."""
    part = {source: sample[:_SMALL] for source, sample in samples.items()}
    ways = generated_ways(seed + 1, _SMALL)
    first = list(islice(ways, 24))
    for inputs in chain([part], variants(program.graph, part, seed)):
        # Each input has the first way of each mode, as what the others are compared with.
        others = first[3:] if inputs is part else list(islice(ways, 5))
        for way in [*first[:3], *others]:
            yield inputs, way


def _largest(samples: Inputs) -> int:
    return max(map(len, samples.values()), default=0)


def _explanation(trial: Trial) -> tuple[LawException, ...]:
    """Return the exceptions that explain a difference; none to DuckDB, which computes on the rows of a batch run."""
    return () if trial.first.on_duckdb or trial.second.on_duckdb else explanation(trial)


@dataclass(frozen=True, slots=True)
class _Parted:
    """Two ways that part on an input."""

    inputs: Inputs
    one: WayRun
    other: WayRun


class _Comparison:
    """Runs ways and compares each with the first one, and with the first live one."""

    def __init__(self, program: CheckedProgram, samples: Samples, seed: int) -> None:
        self.ways = 0
        self._program = program
        self._samples = samples
        self._seed = seed
        self._runs: dict[int, list[WayRun]] = {}
        self._inputs: dict[int, Inputs] = {}
        self._rounding: float | None = None
        self._refusal: PenstockError | None = None
        self._dependences: dict[Dependence, None] = {}
        self._notes: dict[str, None] = {}
        for name in samples.generated:
            self._notes[f"records of source {name!r} are generated from its type"] = None
        for sink in program.sinks:
            if sink.rule.because is not None:
                self._notes[f"sink {sink.name!r} is not compared: {sink.rule.because}"] = None

    def add(self, inputs: Inputs, way: Way) -> _Parted | None:
        """Run a way, and return it with an earlier one if they part."""
        outcome = self._program.run(inputs, way)
        if outcome.is_refused:
            assert outcome.failure is not None, "it is the reason"
            self._notes[f"{way.describe()} is refused: {outcome.failure.problem}"] = None
            self._refusal = self._refusal or outcome.failure
            return None
        self.ways += 1
        if outcome.note is not None:
            self._notes[outcome.note] = None
        self._inputs[id(inputs)] = inputs
        latest = WayRun(way, outcome)
        runs = self._runs.setdefault(id(inputs), [])
        for known in runs:
            sinks = parting_sinks(self._program, known, latest)
            if not sinks:
                self._note_differences(known, latest)
            elif not self._is_explained(self._trial(known.way, way, inputs), sinks):
                return _Parted(inputs, known, latest)
        is_batch = way.mode is WayMode.BATCH
        if not any((known.way.mode is WayMode.BATCH) is is_batch for known in runs):
            runs.append(latest)
        return None

    def _trial(self, first: Way, second: Way, inputs: Inputs) -> Trial:
        return Trial(self._program, inputs, first, second)

    def _is_explained(self, trial: Trial, sinks: Sequence[int]) -> bool:
        """Return whether an exception of the law explains why two ways part, and keep it."""
        exceptions = _explanation(trial)
        for sink in sinks:
            name = None if sink == FAILURE else self._program.sinks[sink].name
            for exception in exceptions:
                self._dependences[Dependence(name, exception.cause, exception.page)] = None
        return bool(exceptions)

    def _note_differences(self, one: WayRun, other: WayRun) -> None:
        """Note what the semantics explain."""
        if one.outcome.failure is not None:
            return
        for index, difference in enumerate(differences(self._program, one, other)):
            if difference is None:
                continue
            if difference.rounding is not None:
                self._rounding = max(self._rounding or 0.0, difference.rounding)
            else:
                name = self._program.sinks[index].name
                self._notes[f"sink {name!r} gets equal numbers in several forms, as 1 and 1.0"] = (
                    None
                )

    def verdict(self, parted: _Parted | None) -> LawVerdict:
        """Return the verdict, with the smallest difference."""
        names = {node.id: node.name for node in self._program.sources}
        if parted is None:
            self._require_an_answer()
        return LawVerdict(
            self.ways,
            {names[source]: len(sample) for source, sample in self._samples.inputs.items()},
            None if parted is None else self._smallest(parted),
            self._rounding,
            tuple(self._notes),
            self._seed,
            tuple(
                cause
                for cause in find_causes(self._program.graph)
                if parted is not None or not cause.is_possible
            ),
            tuple(self._dependences),
        )

    def _require_an_answer(self) -> None:
        """Raise the error of a program that fails in every way, or cannot be planned in any."""
        if not self._runs and self._refusal is not None:
            raise self._refusal
        for run in self._runs.get(id(self._samples.inputs), ()):
            failure = run.outcome.failure
            if failure is None:
                continue
            if not self._samples.generated:
                raise failure
            names = ", ".join(map(repr, self._samples.generated))
            raise SourceError(
                f"the program fails in every way on records that are generated for source {names}: "
                f"{failure.problem}",
                hint="Pass a sample: inputs={name: records}, or --input DIR with the file NAME.jsonl.",
                origin=failure.origin,
            ) from failure

    def _smallest(self, parted: _Parted) -> Disagreement:
        what = parting_sinks(self._program, parted.one, parted.other)[0]

        def part(first: Way, second: Way, inputs: Inputs) -> bool:
            trial = self._trial(first, second, inputs)
            return what in parting_sinks(self._program, *trial.run()) and not _explanation(trial)

        # A try on Spark takes many seconds, one in this process a millisecond.
        here = parted.one.way.in_process(), parted.other.way.in_process()
        if here != (parted.one.way, parted.other.way) and not part(*here, parted.inputs):
            return self._disagreement(parted, what)
        deadline = Deadline(SHRINKING_SECONDS)
        first, second, inputs = shrink(*here, parted.inputs, part, deadline)
        one, other = self._trial(first, second, inputs).run()
        if what not in parting_sinks(self._program, one, other):
            # A program that gives another answer each time.
            inputs, one, other = parted.inputs, parted.one, parted.other
        return self._disagreement(_Parted(inputs, one, other), what)

    def _disagreement(self, parted: _Parted, what: int) -> Disagreement:
        names = {node.id: node.name for node in self._program.sources}
        one, other = parted.one, parted.other
        shown: dict[str, Sample] = {names[key]: sample for key, sample in parted.inputs.items()}
        failures = (one.outcome.failure, other.outcome.failure)
        if what == FAILURE:
            return Disagreement(None, "failures", one.way, other.way, shown, None, failures)
        sink = self._program.sinks[what]
        difference = list(differences(self._program, one, other))[what]
        disagreement = Disagreement(
            sink.name, sink.rule.answer.value, one.way, other.way, shown, difference
        )
        if one.way.on_spark or other.way.on_spark:
            return disagreement
        return self._with_operator(disagreement, what, parted.inputs)

    def _with_operator(self, disagreement: Disagreement, sink: int, inputs: Inputs) -> Disagreement:
        """Return the disagreement with the first operator whose results differ."""
        tapped = self._program.tapped(self._program.operators_above(sink))
        parting = parting_sinks(
            tapped, *Trial(tapped, inputs, disagreement.first, disagreement.second).run()
        )
        if not parting or parting[0] == FAILURE:
            return disagreement
        tap = tapped.sinks[parting[0]]
        return replace(disagreement, operator=tap.name, origin=tap.origin)
