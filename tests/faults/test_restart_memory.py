"""Ten restarts in one process: the workers live through all of them, and hold what one needs.

Can find: an attempt whose state, functions or subtasks a worker keeps when the next one has begun.
Cannot find: what grows by less than the states of a whole attempt; see `test_plateau.py`.
"""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from penstock.common import Types, WatermarkStrategy
from penstock.datastream import MapFunction, RuntimeContext
from penstock.datastream.connectors import Committer, DataGeneratorSource, Sink, SinkWriter
from penstock.datastream.state import ValueStateDescriptor
from penstock.runtime.task.live_subtask import LiveSubtask
from tests.spark.conftest import Environment

Sample = tuple[int, int, int, int]
"""Of a worker: process, subtasks that live in it, functions, bytes of resident memory."""

RESTARTS = 10
PER_BATCH = 8
COUNT = PER_BATCH * (RESTARTS + 2)
KEYS = 8
VALUE_BYTES = 1 << 20
MAY_GROW_BYTES = 3 * KEYS * VALUE_BYTES
"""From the third attempt to the last. What keeps every attempt's state grows by more than twice that."""

SETTINGS = {
    "parallelism.default": 1,
    "execution.live.max-records-per-batch": PER_BATCH,
    "execution.live.catch-up-factor": 1,
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": RESTARTS,
    "restart-strategy.fixed-delay.delay": "1 ms",
}


class Hold(MapFunction):
    """Holds a large value per key and counts; says once per micro-batch what its worker holds."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._held = runtime_context.get_state(ValueStateDescriptor("held"))
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def map(self, value: int) -> tuple[int, Sample | None]:
        if self._held.value() is None:
            self._held.update(b"x" * VALUE_BYTES)
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        return count, measured() if value % PER_BATCH == PER_BATCH - 1 else None


def measured() -> Sample:
    gc.unfreeze()  # a worker freezes what it keeps, and what is frozen is not listed
    gc.collect()
    found = gc.get_objects()
    subtasks = sum(isinstance(each, LiveSubtask) for each in found)
    functions = sum(type(each).__name__ == Hold.__name__ for each in found)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return os.getpid(), subtasks, functions, pages * os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Measuring(Sink):
    """Writes a file per micro-batch. The first ten commits fail, in the driver: the workers live on."""

    folder: Path

    kind: ClassVar[str] = "measuring"

    def create_writer(self, context: Any) -> SinkWriter:
        return Collected()

    def create_committer(self, context: Any) -> Committer:
        return FailsAtFirst(self.folder)


class Collected(SinkWriter):
    def __init__(self) -> None:
        self._values: list[Any] = []

    def write(self, values: list[Any]) -> None:
        self._values += values

    def prepare_commit(self) -> list[Any]:
        return self._values

    def abort(self) -> None:
        self._values = []


class FailsAtFirst(Committer):
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def recover(self) -> None:
        pass

    def commit(self, epoch: str, committables: Sequence[Any]) -> None:
        path = self._folder / f"{epoch}.json"
        if not committables or path.exists():
            return
        number = len(list(self._folder.iterdir()))
        path.write_text(json.dumps([number, list(committables)]), encoding="utf-8")
        if number < RESTARTS:
            raise ConnectionError("not yet")


def test_ten_restarts_hold_what_one_attempt_needs(environment: Environment, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    env = environment("streaming", **SETTINGS)
    source = DataGeneratorSource(lambda i: i, count=COUNT)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    numbers.key_by(lambda i: i % KEYS).map(Hold()).sink_to(Measuring(folder))
    env.execute("restarts")

    batches = sorted(json.loads(path.read_text(encoding="utf-8")) for path in folder.iterdir())
    assert len(batches) > RESTARTS
    found = [pair for _, batch in batches for pair in batch]
    assert sorted(count for count, _ in found) == sorted([*range(1, COUNT // KEYS + 1)] * KEYS)
    samples = [sample for _, sample in found if sample is not None]
    assert {tuple(living) for _, *living, _ in samples} == {(1, 1)}, samples
    resident: dict[int, list[int]] = {}
    for pid, _, _, size in samples:
        resident.setdefault(pid, []).append(size)
    assert max(map(len, resident.values())) > RESTARTS // 2, "no worker lived through restarts"
    for pid, sizes in resident.items():
        assert max(sizes) - max(sizes[:3]) <= MAY_GROW_BYTES, f"worker {pid}: {sizes}"
