"""Results of a run in this process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import ArgumentError
from penstock.program.channel import SINK_LEVEL
from penstock.runtime.task.latency import SourceMarker
from penstock.runtime.task.report import Report, decode_report
from penstock.state.schema.evolution import wall_clock_ms
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
        found = [i for i, name in enumerate(self.names) if sink in {i, name}]
        if len(found) != 1:
            raise ArgumentError(
                f"{len(found)} sinks are called {sink!r}; the program has {list(self.names)}",
                hint="Name the sink with sink_to(...).name(...), or pass its position.",
            )
        return self.records[found[0]]


class InProcessSinkStage:
    """Receives the output of the last level of one run: records, state and reports.

    Attributes:
        report: Merged report of this run.
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
