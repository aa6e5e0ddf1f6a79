"""Latency markers: they measure the time of records from their source to each operator and sink.

FLIP-330 §1.5. In a live run every subtask of a source emits a marker at intervals. The marker follows
the records: through chained operators at once, after the records of its micro-batch; and through an
exchange as a `LatencyMarkerEvent` to one random subtask. If several operators or channels follow, it
takes a random one. Every operator and sink that it reaches records the latency. It is not counted
as a record, and functions do not get it.

The time of a marker is that of the first record that its task read in the micro-batch. So a latency
is that of the oldest record: it includes reading, waiting for the micro-batch and all steps before.
"""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from penstock.metrics.histogram import HistogramValue, LatestValues
from penstock.metrics.values import MetricValue
from penstock.program.level import LevelProgram, OperatorSpec
from penstock.program.run_settings import LatencyGranularity, LatencyMarker, LatencyMarkerEvent
from penstock.runtime.exchange.channel_writer import ChannelWriter
from penstock.wire.frame import load_payload

LATENCY = "latency"


@dataclass(frozen=True, slots=True)
class SourceMarker:
    """A marker, and how it is measured.

    Attributes:
        source: Suffix of the metric, by `metrics.latency.granularity`: uid of the source, with the
            subtask or without; empty for none.
        history_size: Number of latencies in the metric; None is all.
    """

    source: str
    marker: LatencyMarker
    history_size: int | None = None

    def to_bytes(self) -> bytes:
        """Return the bytes of the event for an exchange."""
        marker = self.marker
        event = LatencyMarkerEvent(marker.marked_time, marker.operator_id, marker.subtask_index)
        history = () if self.history_size is None else (self.history_size,)
        return pickle.dumps((self.source, event, *history), 5)

    @classmethod
    def of_frame(cls, frame: bytes) -> SourceMarker:
        """Return the marker of an event of an exchange."""
        source, event, *history = load_payload(frame)
        marker = LatencyMarker(event.marked_time, event.operator_id, event.subtask_index)
        return cls(source, marker, *history)

    def measured(self, uid: str, now_ms: int) -> dict[str, MetricValue]:
        """Return the latency metric of an operator or sink, by full name.

        The clocks of two machines differ, so a marker from the future has a latency of 0.
        """
        took = max(now_ms - self.marker.marked_time, 0)
        most = self.history_size
        value = HistogramValue.of(took) if most is None else LatestValues.of_latest((took,), most)
        return {f"{uid}.{LATENCY}{self.source and '.'}{self.source}": value}


# FLIP-330, rule 3.
class SourceLatency:
    """Emits the markers of a subtask of a source."""

    def __init__(
        self, source: int, program: LevelProgram, subtask: int, now_ms: Callable[[], int]
    ) -> None:
        spec = program.settings.latency
        self._is_on = spec is not None
        if spec is not None:
            self._interval_ms = spec.interval_ms
            uid, self._operator_id = spec.sources[source]
            self._suffix = {
                LatencyGranularity.SINGLE: "",
                LatencyGranularity.OPERATOR: uid,
                LatencyGranularity.SUBTASK: f"{uid}.{subtask}",
            }[spec.granularity]
            self._history_size = spec.history_size
        self._subtask = subtask
        self._now_ms = now_ms
        self._began_ms: int | None = None
        self._marked_ms: int | None = None

    def record(self) -> None:
        """Record that the subtask has read records."""
        if self._is_on and self._began_ms is None:
            self._began_ms = self._now_ms()

    def take(self) -> SourceMarker | None:
        """Return the marker at the end of a micro-batch, None if none is due."""
        began, self._began_ms = self._began_ms, None
        last = self._marked_ms
        if began is None or (last is not None and began - last < self._interval_ms):
            return None
        self._marked_ms = began
        marker = LatencyMarker(began, self._operator_id, self._subtask)
        return SourceMarker(self._suffix, marker, self._history_size)


class LatencyTracker:
    """Forwards markers through the operators of one chain, and records their latencies."""

    def __init__(
        self,
        operators: Mapping[int, OperatorSpec],
        writers: Mapping[int, ChannelWriter],
        local: Mapping[int, int],
        subtask: int,
    ) -> None:
        """Bind."""
        self._operators = operators
        self._writers = writers
        self._local = local
        self._chance = random.Random(subtask)  # noqa: S311 - to spread markers, not to hide them
        self._metrics: dict[str, MetricValue] = {}

    def pass_on(
        self,
        marker: SourceMarker,
        chained_to: tuple[int, ...],
        channels: tuple[int, ...],
        now_ms: int,
    ) -> None:
        """Forward a marker to one random reader, if there are any."""
        ways = [*((target, True) for target in chained_to)]
        ways += [(self._local.get(c, c), c in self._local) for c in channels]
        if not ways:
            return
        way, is_chained = self._chance.choice(ways)
        if is_chained:
            self.arrive(way, marker, now_ms)
        else:
            self._writers[way].send_latency(marker.to_bytes(), self._chance)

    def arrive(self, operator: int, marker: SourceMarker, now_ms: int) -> None:
        """Record a marker at an operator, and forward it."""
        spec = self._operators[operator]
        for name, value in marker.measured(spec.uid, now_ms).items():
            known = self._metrics.get(name)
            self._metrics[name] = value if known is None else known.merged(value)  # type: ignore[arg-type]
        self.pass_on(marker, spec.fed_operators, spec.fed_channels, now_ms)

    def take(self) -> dict[str, MetricValue]:
        """Return the latency metrics since the last call, by full name."""
        metrics, self._metrics = self._metrics, {}
        return metrics
