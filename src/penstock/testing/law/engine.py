"""Runs a program in many ways and compares their answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any

from penstock.api.environment.environment import StreamExecutionEnvironment
from penstock.errors import ArgumentError, LawError, PenstockError, SourceError
from penstock.testing.causes import find_causes
from penstock.testing.law.comparison import Difference, compare
from penstock.testing.law.exceptions import without_exceptions
from penstock.testing.law.generated import variants
from penstock.testing.law.outcomes import CheckedProgram, WayOutcome
from penstock.testing.law.own_samples import MOST_RECORDS, Samples, samples_of
from penstock.testing.law.samples import Inputs, Sample
from penstock.testing.law.shrinking import Deadline, shrink
from penstock.testing.law.verdict import Disagreement, LawVerdict
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
) -> LawVerdict:
    """Run a program in many ways over samples and return the verdict.

    Raises:
        PenstockError: The program fails in every way.
    """
    court = _Court(program, samples, seed)
    deadline = Deadline(float("inf") if seconds is None else seconds)
    for inputs, way in _trials(program, samples.inputs, ways, seed):
        if deadline.is_over and court.ways > 1:
            break
        parted = court.hear(inputs, way)
        progress(court.ways)
        if parted is not None:
            return court.verdict(parted)
    return court.verdict(None)


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


_Heard = tuple[Way, WayOutcome]

_FAILURE = -1
"""Stands for a sink: one of two ways fails."""


@dataclass(frozen=True, slots=True)
class _Parted:
    """Two ways that part on an input."""

    inputs: Inputs
    one: _Heard
    other: _Heard


class _Court:
    """Hears ways and compares each with the first one, and with the first live one."""

    def __init__(self, program: CheckedProgram, samples: Samples, seed: int) -> None:
        self.ways = 0
        self._program = program
        self._samples = samples
        self._seed = seed
        self._heard: dict[int, list[_Heard]] = {}
        self._inputs: dict[int, Inputs] = {}
        self._rounding: float | None = None
        self._refusal: PenstockError | None = None
        self._notes: dict[str, None] = {}
        for name in samples.made:
            self._notes[f"records of source {name!r} are generated from its type"] = None
        for sink in program.sinks:
            if sink.rule.because is not None:
                self._notes[f"sink {sink.name!r} is not compared: {sink.rule.because}"] = None

    def hear(self, inputs: Inputs, way: Way) -> _Parted | None:
        """Run a way, and return it with an earlier one if they part."""
        outcome = self._program.run(inputs, way)
        if outcome.is_refused:
            assert outcome.failure is not None, "it is the reason"
            self._notes[f"{way.describe()} is refused: {outcome.failure.problem}"] = None
            self._refusal = self._refusal or outcome.failure
            return None
        self.ways += 1
        self._inputs[id(inputs)] = inputs
        heard = self._heard.setdefault(id(inputs), [])
        for known in heard:
            if self._differs(known, (way, outcome)):
                parted = self._unexplained(_Parted(inputs, known, (way, outcome)))
                if parted is not None:
                    return parted
        is_batch = way.mode is WayMode.BATCH
        if not any((known.mode is WayMode.BATCH) is is_batch for known, _ in heard):
            heard.append((way, outcome))
        return None

    def _unexplained(self, parted: _Parted) -> _Parted | None:
        """Return two ways that part on records without exceptions of the law; None, and a note, if they do not."""
        plain, exceptions = without_exceptions(self._program.graph, parted.inputs)
        if not exceptions:
            return parted
        one, other = self._outcomes(parted.one[0], parted.other[0], plain)
        if self._differs(one, other):
            return _Parted(plain, one, other)
        for sink in self._parting(parted.one, parted.other):
            name = "a failure" if sink == _FAILURE else f"sink {self._program.sinks[sink].name!r}"
            for exception in exceptions:
                self._notes[f"{name} depends on {exception}"] = None
        return None

    def _differs(self, one: _Heard, other: _Heard) -> bool:
        """Return whether outcomes break the law, and note what the semantics explain."""
        if one[1].failure is not None or other[1].failure is not None:
            return bool(self._parting(one, other))
        for at, difference in enumerate(self._differences(one, other)):
            if difference is None:
                continue
            if difference.breaks_law:
                return True
            if difference.rounding is not None:
                self._rounding = max(self._rounding or 0.0, difference.rounding)
            else:
                name = self._program.sinks[at].name
                self._notes[f"sink {name!r} gets equal numbers in several forms, as 1 and 1.0"] = (
                    None
                )
        return False

    def _differences(self, one: _Heard, other: _Heard) -> Iterator[Difference | None]:
        for at, sink in enumerate(self._program.sinks):
            yield compare(sink.rule, one[1].received[at], other[1].received[at])

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
        )

    def _require_an_answer(self) -> None:
        """Raise the error of a program that fails in every way, or cannot be planned in any."""
        if not self._heard and self._refusal is not None:
            raise self._refusal
        for _, outcome in self._heard.get(id(self._samples.inputs), ()):
            if outcome.failure is None:
                continue
            if not self._samples.made:
                raise outcome.failure
            names = ", ".join(map(repr, self._samples.made))
            raise SourceError(
                f"the program fails in every way on records that are generated for source {names}: "
                f"{outcome.failure.problem}",
                hint="Pass a sample: inputs={name: records}, or --input DIR with the file NAME.jsonl.",
                origin=outcome.failure.origin,
            ) from outcome.failure

    def _smallest(self, parted: _Parted) -> Disagreement:
        what = self._parting_sink(parted.one, parted.other)

        def part(first: Way, second: Way, inputs: Inputs) -> bool:
            return what in self._parting(*self._outcomes(first, second, inputs))

        deadline = Deadline(SHRINKING_SECONDS)
        first, second, inputs = shrink(
            parted.one[0], parted.other[0], parted.inputs, part, deadline
        )
        one, other = self._outcomes(first, second, inputs)
        if what not in self._parting(one, other):  # a program that gives another answer each time
            inputs, one, other = parted.inputs, parted.one, parted.other
        return self._disagreement(_Parted(inputs, one, other), what)

    def _disagreement(self, parted: _Parted, what: int) -> Disagreement:
        names = {node.id: node.name for node in self._program.sources}
        (first, of_first), (second, of_second) = parted.one, parted.other
        shown: dict[str, Sample] = {names[key]: sample for key, sample in parted.inputs.items()}
        failures = (of_first.failure, of_second.failure)
        if what == _FAILURE:
            return Disagreement(None, "failures", first, second, shown, None, failures)
        sink = self._program.sinks[what]
        difference = list(self._differences(parted.one, parted.other))[what]
        made = Disagreement(sink.name, sink.rule.answer.value, first, second, shown, difference)
        return self._with_operator(made, what, parted.inputs)

    def _outcomes(self, first: Way, second: Way, inputs: Inputs) -> tuple[_Heard, _Heard]:
        one, other = (self._program.run(inputs, way) for way in (first, second))
        return (first, one), (second, other)

    def _parting_sink(self, one: _Heard, other: _Heard) -> int:
        return next(iter(self._parting(one, other)))

    def _parting(self, one: _Heard, other: _Heard) -> list[int]:
        """Return the indexes of the sinks whose answers break the law; `_FAILURE` if one way fails."""
        if one[1].is_refused or other[1].is_refused:
            return []
        codes = [None if of.failure is None else of.failure.code for _, of in (one, other)]
        if any(codes):
            return [_FAILURE] if codes[0] != codes[1] else []
        differences = enumerate(self._differences(one, other))
        return [at for at, each in differences if each is not None and each.breaks_law]

    def _with_operator(self, made: Disagreement, sink: int, inputs: Inputs) -> Disagreement:
        """Return the disagreement with the first operator whose results differ."""
        tapped = self._program.tapped(sink)
        court = _Court(tapped, Samples(inputs), self._seed)
        parting = court._parting(*court._outcomes(made.first, made.second, inputs))
        if not parting or parting[0] == _FAILURE:
            return made
        tap = tapped.sinks[parting[0]]
        return replace(made, operator=tap.name, origin=tap.origin)
