"""A window operator alone: records, watermarks and a clock by hand, firings to look at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import DataStream, KeyedStream, StreamExecutionEnvironment
from penstock.program.fold import Place
from penstock.program.operators import KEYED_WINDOW
from penstock.program.run_settings import RunKind, RunSettings
from penstock.runtime.flow.output import TaggedOutput
from penstock.runtime.operators import make_operator
from penstock.runtime.operators.windows.keyed_window import KeyedWindowOperator
from penstock.runtime.spill.spill_space import SpillSpace
from penstock.state.backends.base import KeyedStateBackend
from penstock.state.backends.hash.backend import HashBackend
from penstock.state.level_state import LevelState
from penstock.wire.canonical.key_groups import KeyGroups

MAX = 2**63 - 1


class Capture:
    """Takes records and watermarks."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.stamps: list[int | None] = []

    def collect(self, values: list[Any], timestamps: list[int] | None) -> None:
        self.values += values
        self.stamps += timestamps if timestamps is not None else [None] * len(values)

    def advance_watermark(self, watermark: int) -> None:
        pass

    def restore_watermark(self, watermark: int) -> None:
        pass

    def set_idle(self, idle: bool) -> None:
        pass

    def separate(self) -> None:
        pass

    def set_backlog(self, backlog: bool) -> None:
        pass


class WindowHarness:
    """Drives the window operator of a program, which has one.

    Attributes:
        now_ms: The clock.
        backend: State of the operator.
    """

    def __init__(
        self,
        build: Callable[[KeyedStream], DataStream],
        backend: KeyedStateBackend | None = None,
        late_tag: str = "late",
        places: frozenset[Place] = frozenset({Place.STATE}),
    ) -> None:
        env = StreamExecutionEnvironment.get_execution_environment()
        stream = env.from_collection([(0, 0, 0)]).key_by(lambda record: record[0])
        build(stream).sink_to(DiscardingSink())
        plan = env.plan()
        specs = [spec for level in plan.levels for spec in level.operators]
        spec = next(spec for spec in specs if spec.kind == KEYED_WINDOW)
        (fold,) = plan.folds
        spec = replace(spec, folding=replace(fold.plan, places=places))
        self.now_ms = 0
        self.backend = backend or HashBackend()
        self._main, self._late = Capture(), Capture()
        settings = RunSettings(RunKind.LIVE, parallelism=1, max_parallelism=4)
        groups = KeyGroups(4)
        operator = make_operator(
            spec,
            TaggedOutput(self._main, {late_tag: self._late}),
            settings,
            0,
            LevelState(self.backend, groups.__getitem__, lambda: self.now_ms),
        )
        assert isinstance(operator, KeyedWindowOperator)
        self.operator = operator
        operator.open()

    def add(self, *records: Any, stamps: list[int] | None = None) -> None:
        """Add records; the second field is the timestamp."""
        found = [record[1] for record in records] if stamps is None else stamps
        self.operator.collect(list(records), found)
        self.operator.end_group()

    def add_unstamped(self, *records: Any) -> None:
        """Add records without timestamps."""
        self.operator.collect(list(records), None)

    def watermark(self, time: int) -> None:
        """Advance the watermark."""
        self.operator.advance_watermark(time)

    def clock(self, time: int) -> None:
        """Set the clock, as at the begin of a micro-batch."""
        self.now_ms = time
        self.operator.on_processing_time(time)

    def batch(self, final_watermark: int = MAX, *, is_last_run: bool = True) -> None:
        """Process keys as a batch run does."""
        self.operator.spill_space = SpillSpace(1 << 28)
        self.operator.use_batch_order(final_watermark, is_last_run=is_last_run)

    def fired(self) -> list[Any]:
        """Return the results since the last call."""
        found, self._main.values = self._main.values, []
        self._main.stamps = []
        return found

    def stamped(self) -> list[tuple[Any, int | None]]:
        """Return (result, timestamp) since the last call."""
        stamps = list(self._main.stamps)
        return list(zip(self.fired(), stamps, strict=True))

    def late(self) -> list[Any]:
        """Return the late records since the last call."""
        found, self._late.values = self._late.values, []
        return found

    def entries(self) -> int:
        """Return the number of entries of all tables, timers included."""
        assert isinstance(self.backend, HashBackend)
        return sum(
            len(part.entries)
            for table in self.backend._tables.values()
            for _, part in table.parts()
        )
