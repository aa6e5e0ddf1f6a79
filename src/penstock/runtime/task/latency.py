"""Latency markers: how long records take from their source to each operator and sink.

FLIP-330 §1.5. In a live run every subtask of a source sends a marker now and then. It takes the
way of the records: through chained operators at once, behind the records of its micro-batch, and
through an exchange as a `LatencyMarkerEvent` to one subtask at random. Where several operators or
channels follow, it takes one of them at random. Every operator and sink it meets notes how long it
took; nobody counts it as a record, and no function sees it.

The time of a marker is that of the first record its task read in the micro-batch. So a latency is
that of the oldest record: reading, waiting for the micro-batch and all steps before are in it.
"""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from penstock.metrics.histogram import HistogramValue
from penstock.metrics.values import MetricValue
from penstock.program.latency_marker import LatencyMarkerEvent
from penstock.program.level import LevelProgram
from penstock.program.operator_spec import OperatorSpec
from penstock.program.stream_element_serializer import LatencyMarker
from penstock.runtime.exchange.channel_writer import ChannelWriter
from penstock.wire.frame import load_payload

LATENCY = "latency"


@dataclass(frozen=True, slots=True)
class SourceMarker:
    """A marker, and what its source is called in metrics.

    Attributes:
        source: uid of the source.
        marker: The marker.
    """

    source: str
    marker: LatencyMarker

    def to_bytes(self) -> bytes:
        """Return the event that goes through an exchange."""
        made = self.marker
        event = LatencyMarkerEvent(made.marked_time, made.operator_id, made.subtask_index)
        return pickle.dumps((self.source, event), 5)

    @classmethod
    def of_frame(cls, frame: bytes) -> SourceMarker:
        """Return the marker of an event that came through an exchange."""
        source, event = load_payload(frame)
        made = LatencyMarker(event.marked_time, event.operator_id, event.subtask_index)
        return cls(source, made)

    def measured(self, uid: str, now_ms: int) -> dict[str, MetricValue]:
        """Return what an operator or sink notes of it, by full name.

        The clocks of two machines differ; a marker from the future took no time.
        """
        took = max(now_ms - self.marker.marked_time, 0)
        return {f"{uid}.{LATENCY}.{self.source}": HistogramValue.of(took)}


class SourceLatency:
    """When a subtask of a source sends its markers."""

    def __init__(
        self, source: int, program: LevelProgram, subtask: int, now_ms: Callable[[], int]
    ) -> None:
        spec = program.settings.latency
        self._is_on = spec is not None
        if spec is not None:
            self._interval_ms = spec.interval_ms
            self._source = spec.sources[source]
        self._subtask = subtask
        self._now_ms = now_ms
        self._began_ms: int | None = None
        self._marked_ms: int | None = None

    def record(self) -> None:
        """Note that records were read."""
        if self._is_on and self._began_ms is None:
            self._began_ms = self._now_ms()

    def take(self) -> SourceMarker | None:
        """Return the marker that is due at the end of a micro-batch, None if none is."""
        began, self._began_ms = self._began_ms, None
        last = self._marked_ms
        if began is None or (last is not None and began - last < self._interval_ms):
            return None
        self._marked_ms = began
        uid, operator_id = self._source
        return SourceMarker(uid, LatencyMarker(began, operator_id, self._subtask))


class LatencyTracker:
    """Leads markers through the operators of one chain, and notes what they took."""

    def __init__(
        self,
        operators: Mapping[int, OperatorSpec],
        writers: Mapping[int, ChannelWriter],
        local: Mapping[int, int],
        subtask: int,
    ) -> None:
        """Bind.

        Args:
            operators: Id to operator of the chain.
            writers: Channel to writer, where somebody else reads it.
            local: Channel to the operator that reads it, where that is in the chain.
            subtask: Index.
        """
        self._operators = operators
        self._writers = writers
        self._local = local
        self._chance = random.Random(subtask)  # noqa: S311 - to spread markers, not to hide them
        self._found: dict[str, MetricValue] = {}

    def pass_on(
        self,
        marker: SourceMarker,
        chained_to: tuple[int, ...],
        channels: tuple[int, ...],
        now_ms: int,
    ) -> None:
        """Give a marker to one of those that follow, if any do."""
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
        """Take a marker at an operator, and pass it on."""
        spec = self._operators[operator]
        for name, value in marker.measured(spec.uid, now_ms).items():
            known = self._found.get(name)
            self._found[name] = value if known is None else known.merged(value)  # type: ignore[arg-type]
        self.pass_on(marker, spec.fed_operators, spec.fed_channels, now_ms)

    def take(self) -> dict[str, MetricValue]:
        """Return what was noted since the last call, by full name."""
        found, self._found = self._found, {}
        return found
