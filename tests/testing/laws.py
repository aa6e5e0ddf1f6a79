"""Runs of programs in ways, by the engine of `penstock check`. Here no exception of the law explains a difference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from penstock.datastream import StreamExecutionEnvironment
from penstock.testing import SampleRecord, Way
from penstock.testing.law.comparison import Received, compare
from penstock.testing.law.outcomes import CheckedProgram, WayOutcome
from penstock.testing.law.rules import SinkAnswer, SinkRule
from penstock.testing.law.samples import Inputs, Sample
from penstock.testing.law.verdict import FAILURE, WayRun, differences, parting_sinks

ALL_RESULTS = SinkRule(SinkAnswer.RESULTS)
LAST_OF_KEY = SinkRule(SinkAnswer.LAST_PER_KEY, key=lambda record: record[0])

_REPLAY = Way()


def program_of(
    env: StreamExecutionEnvironment, rules: Mapping[str, SinkRule] | None = None
) -> CheckedProgram:
    """Return the program that was built in an environment."""
    return CheckedProgram(env.graph.logical_graph(), env.get_configuration(), rules)


def sample_of(
    records: Iterable[Any], splits: int = 1, stamps: Sequence[int] | None = None
) -> Sample:
    """Return records that are dealt out to splits."""
    return tuple(
        SampleRecord(number % splits, record, None if stamps is None else stamps[number])
        for number, record in enumerate(records)
    )


def inputs_of(program: CheckedProgram, samples: Mapping[str, Sample]) -> Inputs:
    """Return the inputs of a program by the names of its sources."""
    return {node.id: samples[node.name] for node in program.sources}


def run(program: CheckedProgram, inputs: Inputs, way: Way) -> WayRun:
    """Run a program, and raise its failure."""
    outcome = program.run(inputs, way)
    if outcome.failure is not None:
        raise outcome.failure
    return WayRun(way, outcome)


def replayed(program: CheckedProgram, answers: Mapping[str, Sequence[Any]]) -> WayRun:
    """Return name to answer of a replay as the run of a way."""
    received = (Received(_REPLAY, answers[sink.name], sink.rule) for sink in program.sinks)
    return WayRun(_REPLAY, WayOutcome(tuple(received)))


def require_same(program: CheckedProgram, *runs: WayRun) -> None:
    """Require the same answers of all runs, also in the form of numbers, or the same failure."""
    first = runs[0]
    for other in runs[1:]:
        ways = f"{first.way.describe()} and {other.way.describe()}"
        assert FAILURE not in parting_sinks(program, first, other), ways
        if first.outcome.failure is not None:
            continue
        pairs = zip(program.sinks, differences(program, first, other), strict=True)
        found = {sink.name: difference for sink, difference in pairs if difference is not None}
        assert not found, f"{ways}: {found}"


def require_answer(rule: SinkRule, way: Way, records: Sequence[Any], wanted: Sequence[Any]) -> None:
    """Require that records which a sink got elsewhere are the answer of a replay."""
    difference = compare(rule, Received(way, records, rule), Received(_REPLAY, wanted, rule))
    assert difference is None, f"{way.describe()}: {difference}"
