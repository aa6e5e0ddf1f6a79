"""Exceptions of the law: causes for which two ways may part, and trials in which a cause is gone.

A program keeps the law if its ways part on its own input, and not in the trials without an exception: records in order
of time, equal numbers in one form, sources in turn, results of changes as rows. Such a control needs no rule per program.

Behind an operator that emits changes a live run has rows that are taken back later, which a batch run never has. So the
program is divided there: the first part is compared by the rows that are left, and the second part reads those rows
in both ways.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from numbers import Number
from typing import Any

from penstock.graph.logical import LogicalGraph, Node
from penstock.program.operators import SINK, SOURCE
from penstock.program.traverse import reachable
from penstock.testing.law.event_time import event_time
from penstock.testing.law.record_texts import with_changed_parts
from penstock.testing.law.rules import CHANGES, SinkAnswer
from penstock.testing.law.samples import Inputs, Sample, SampleRecord, SampleSource
from penstock.testing.law.verdict import Trial, parting_sinks
from penstock.testing.law.ways import Way, WayMode
from penstock.types import PickledBytesTypeInfo, TypeInformation
from penstock.types.row import Row


def divided(trial: Trial) -> tuple[Trial, ...]:
    """Return a trial per part of a program; none if it emits no changes, or takes back rows that it never emitted."""
    parts: list[Trial] = []
    behind = trial
    while nodes := list(_first_changes(behind.program.graph)):
        before = behind.program.tapped([node.id for node in nodes])
        outcome = before.run(behind.inputs, behind.first)
        are_changes = all(sink.rule.answer is SinkAnswer.NET_CHANGES for sink in before.sinks)
        if outcome.failure is not None or not are_changes:
            return ()
        samples = {
            node.id: tuple(SampleRecord(0, row) for row in received.answer)
            for node, received in zip(nodes, outcome.received, strict=True)
        }
        if not all(
            isinstance(element.value, Row) for sample in samples.values() for element in sample
        ):
            return ()
        parts.append(replace(behind, program=before))
        behind = _behind(behind, samples)
    return (*parts, behind) if parts else ()


def _first_changes(graph: LogicalGraph) -> Iterator[Node]:
    """Yield operators that emit changes, with none above them."""
    for node in graph.nodes:
        if node.kind not in CHANGES:
            continue
        above = reachable(node.inputs, lambda key: graph.node(key).inputs)
        if not any(graph.node(key).kind in CHANGES for key in above):
            yield node


def _behind(trial: Trial, samples: Mapping[int, Sample]) -> Trial:
    """Return the part of a trial in which some operators are sources of their results."""
    graph = trial.program.graph

    def cut(node: Node) -> Node:
        if node.id not in samples:
            return node
        source = SampleSource((), None, node.type_info)
        return Node(
            id=node.id,
            kind=SOURCE,
            name=node.name,
            uid=node.uid,
            inputs=(),
            type_info=node.type_info,
            origin=node.origin,
            source=source,
        )

    nodes = {node.id: cut(node) for node in graph.nodes}
    kept = reachable([node.id for node in graph.of_kind(SINK)], lambda key: nodes[key].inputs)
    inputs: Inputs = {**trial.inputs, **samples}
    return replace(
        trial,
        program=trial.program.with_graph(LogicalGraph(tuple(nodes[key] for key in sorted(kept)))),
        inputs={key: sample for key, sample in inputs.items() if key in kept},
    )


PAGE = "docs/check.md"

Control = Callable[[Trial], tuple[Trial, ...]]
"""Returns the trials without an exception; none if the exception has no place in a trial."""


@dataclass(frozen=True, slots=True)
class LawException:
    """A cause for which two ways may give two answers.

    Attributes:
        cause: Completes "sink 'totals' depends on …".
        heading: Heading of the page with the way out.
        controls: Takes the cause away.
    """

    cause: str
    heading: str
    controls: Control

    @property
    def page(self) -> str:
        """The page with the way out, with its heading."""
        return f"{PAGE}#{self.heading}"


def explanation(trial: Trial) -> tuple[LawException, ...]:
    """Return the exceptions of the law for which two ways part; none if they break the law.

    One exception is enough if the ways agree without it. Otherwise they have to agree without all of them.
    """
    without = {exception: exception.controls(trial) for exception in EXCEPTIONS}
    present = tuple(exception for exception, trials in without.items() if trials)
    for exception in present:
        if _agree(without[exception]):
            return (exception,)
    trials: tuple[Trial, ...] = (trial,)
    for exception in present if len(present) > 1 else ():
        trials = tuple(other for one in trials for other in (exception.controls(one) or (one,)))
    return present if len(present) > 1 and _agree(trials) else ()


def is_undeclared(type_info: TypeInformation) -> bool:
    """Return whether records may have numbers of any class: neither a type nor an annotation describes them."""
    return type(type_info) is PickledBytesTypeInfo


def _agree(trials: tuple[Trial, ...]) -> bool:
    for trial in trials:
        one, other = trial.run()
        is_refused = one.outcome.is_refused or other.outcome.is_refused
        if is_refused or parting_sinks(trial.program, one, other):
            return False
    return True


def _with_records(change: Callable[[LogicalGraph, Node, Sample], Sample]) -> Control:
    """Return the control that changes the records of each source."""

    def controls(trial: Trial) -> tuple[Trial, ...]:
        graph, inputs = trial.program.graph, trial.inputs
        changed = {node.id: change(graph, node, inputs[node.id]) for node in graph.of_kind(SOURCE)}
        is_same = all(changed[source] is sample for source, sample in inputs.items())
        return () if is_same else (replace(trial, inputs=changed),)

    return controls


def _in_order(graph: LogicalGraph, node: Node, sample: Sample) -> Sample:
    time = event_time(graph, node)
    return sample if time is None else time.in_order(sample)


def _in_one_form(graph: LogicalGraph, node: Node, sample: Sample) -> Sample:
    """Return records in which equal numbers of one place are of the class of the first one."""
    del graph
    if not is_undeclared(node.type_info):
        return sample
    known: dict[tuple[Any, Any], Any] = {}

    def first_forms(parts: dict[Any, Any]) -> dict[Any, Any]:
        numbers = {place: value for place, value in parts.items() if isinstance(value, Number)}
        firsts = {place: known.setdefault((place, n), n) for place, n in numbers.items()}
        return {
            place: first
            for place, first in firsts.items()
            if type(first) is not type(numbers[place])
        }

    return with_changed_parts(sample, first_forms)


def _in_one_split(graph: LogicalGraph, node: Node, sample: Sample) -> Sample:
    del graph, node
    if all(element.split == 0 for element in sample):
        return sample
    return tuple(replace(element, split=0) for element in sample)


def _in_turn(trial: Trial) -> tuple[Trial, ...]:
    """Return trials in which each source has one split, and sources are read one after the other, in both orders.

    A batch run orders its inputs itself, and only its results are final. So for final results each source is alone.
    """
    (merged,) = _with_records(_in_one_split)(trial) or (trial,)
    sources = [source for source, sample in merged.inputs.items() if sample]
    if len(sources) < 2:  # noqa: PLR2004 - two sources have an order
        return () if merged is trial else (merged,)
    are_final = any(sink.rule.answer is SinkAnswer.FINAL for sink in trial.program.sinks)
    if are_final and WayMode.BATCH in (trial.first.mode, trial.second.mode):
        return tuple(
            replace(merged, inputs=dict.fromkeys(merged.inputs, ()) | {key: merged.inputs[key]})
            for key in sources
        )
    return tuple(
        replace(
            merged,
            first=_taking_turns(trial.first, turns),
            second=_taking_turns(trial.second, turns),
        )
        for turns in (1, -1)
    )


def _taking_turns(way: Way, turns: int) -> Way:
    """Return a way that reads sources in turn; of a batch run, history is the first source alone."""
    if way.mode is WayMode.BATCH:
        return replace(way, mode=WayMode.MIXED, cut=1.0, turns=turns)
    return replace(way, turns=turns)


EXCEPTIONS: tuple[LawException, ...] = (
    LawException(
        "records out of order of time: a batch run reads each key in order of time, and in a live run "
        "late records depend on the watermark",
        "records-out-of-order-of-time",
        _with_records(_in_order),
    ),
    LawException(
        "the form of equal numbers, as 1 and 1.0, which a declared type makes one",
        "forms-of-equal-numbers",
        _with_records(_in_one_form),
    ),
    LawException(
        "rows that a result had in between: a live run emits each change of a result, and a batch run the last one",
        "results-in-between",
        divided,
    ),
    LawException(
        "the order in which records of several sources or splits arrive",
        "order-of-arrival",
        _in_turn,
    ),
)
"""The table."""
