"""Results of a run in this process, and their comparison by strict equality of records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import ArgumentError
from penstock.program.channel import SINK_LEVEL
from penstock.runtime.task.latency import SourceMarker
from penstock.runtime.task.report import Report, decode_report
from penstock.state.schema.evolution import wall_clock_ms
from penstock.types.strict_equality import only_in_one
from penstock.wire.frame import FrameKind, decode_records, payload_of, read_header


@dataclass(slots=True)
class Results:
    """The records that reached each sink, in order of commit.

    Attributes:
        names: Names of the sinks, in order of their creation.
        records: One list per sink.
        report: Counts over all tasks and runs.
        commits: Number of records of each sink after each commit of a batch run or micro-batch.
        micro_batches: Number of micro-batches over all live runs.

    Example:
        >>> sink = numbers.sink_to(DiscardingSink()).name("numbers")
        >>> results = run_in_process(env, Schedule(batch_sizes=(2,)))
        >>> results.names, results.records
        (('numbers',), ([1, 2, 3, 4],))
    """

    names: tuple[str, ...]
    records: tuple[list[Any], ...]
    report: Report = field(default_factory=Report)
    commits: list[tuple[int, ...]] = field(default_factory=list)
    micro_batches: int = 0

    def of(self, sink: int | str = 0) -> list[Any]:
        """Return the records of one sink, in order of commit.

        Args:
            sink: Name of the sink, or its position in order of creation.

        Raises:
            ArgumentError: There is no such sink, or several have that name.

        Example:
            >>> sink = numbers.sink_to(DiscardingSink()).name("numbers")
            >>> run_in_process(env).of("numbers")
            [1, 2, 3, 4]
        """
        indexes = [i for i, name in enumerate(self.names) if sink in {i, name}]
        if len(indexes) != 1:
            raise ArgumentError(
                f"{len(indexes)} sinks are called {sink!r}; the program has {list(self.names)}",
                hint="Name the sink with sink_to(...).name(...), or pass its position.",
            )
        return self.records[indexes[0]]


class InProcessSinkStage:
    """Receives the output of the last level of one run: records, state and reports.

    Attributes:
        state: State blobs for the next run.
    """

    def __init__(self, results: Results, sinks: dict[int, int], uids: Sequence[str]) -> None:
        """Start empty."""
        self._uids = uids
        self._results = results
        self._sinks = sinks
        self.report = Report()
        self.state: list[bytes] = []

    def commit(self, frames: list[bytes]) -> None:
        """Add the frames of a batch run or micro-batch, in order."""
        for frame in frames:
            header = read_header(frame)
            assert header.target_level == SINK_LEVEL, header
            if header.kind is FrameKind.STATE:
                self.state.append(payload_of(frame))
            elif header.kind is FrameKind.REPORT:
                self._take_report(decode_report(frame))
            elif header.kind is FrameKind.LATENCY:
                uid = self._uids[self._sinks[header.channel]]
                measured = SourceMarker.of_frame(frame).measured(uid, wall_clock_ms())
                self._take_report(Report(metrics=measured))
            else:
                self._take_records(header.channel, decode_records(header, frame)[0])

        self._results.commits.append(tuple(map(len, self._results.records)))

    def _take_report(self, report: Report) -> None:
        self.report.merge(report)
        self._results.report.merge(report)

    def _take_records(self, channel: int, values: list[Any]) -> None:
        self._results.records[self._sinks[channel]].extend(values)


def same_answer(one: Iterable[Any], other: Iterable[Any]) -> bool:
    """Return whether both contain the same records, each as often, in any order.

    The comparison is stricter than `==`, at any depth: 1, 1.0 and True are different records, and so
    are a tuple and a list or named tuple, 0.0 and -0.0, `Decimal("1.0")` and `Decimal("1.00")`, times
    with another zone or `fold`, rows of another kind. NaN equals NaN.

    Args:
        one: Records.
        other: Records.

    Example:
        >>> same_answer([1, 2], [2, 1]), same_answer([1], [1.0])
        (True, False)
    """
    return difference(one, other) is None


def difference(one: Iterable[Any], other: Iterable[Any]) -> str | None:
    """Return the records that are only in one of two results, as text; None if there are none.

    Args:
        one: Records.
        other: Records, compared as by `same_answer`.

    Example:
        >>> difference([1, 2, 2], [2, 1, 3])
        'only in the first: [2]; only in the second: [3]'
    """
    left, extra = only_in_one(one, other)
    if not left and not extra:
        return None
    return f"only in the first: {left!r}; only in the second: {extra!r}"


def last_per_key(records: Iterable[Any], key: Callable[[Any], Any]) -> list[Any]:
    """Return the last record of every key: the result of a rolling aggregation.

    Args:
        records: In the order they were committed.
        key: The key selector.

    Example:
        >>> last_per_key([("a", 1), ("b", 1), ("a", 2)], key=lambda record: record[0])
        [('a', 2), ('b', 1)]
    """
    return list({key(record): record for record in records}.values())
