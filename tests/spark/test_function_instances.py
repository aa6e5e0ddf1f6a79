"""Function objects live as long as their worker process, which outlives micro-batches."""

from __future__ import annotations

import os
from typing import Any

from penstock.common import WatermarkStrategy
from penstock.datastream import MapFunction, RuntimeContext
from penstock.datastream.connectors import NumberSequenceSource
from tests.spark.conftest import Environment


class Numbered(MapFunction):
    """Emits which process it runs in, and how many records this object has seen."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = 0

    def map(self, value: Any) -> Any:
        self.seen += 1
        return value, os.getpid(), self.seen


def test_attributes_beside_the_source_survive_micro_batches(environment: Environment) -> None:
    env = environment("streaming", **{"execution.live.max-records-per-batch": 50})
    numbers = env.from_source(
        NumberSequenceSource(0, 499), WatermarkStrategy.no_watermarks(), "numbers"
    )
    with numbers.map(Numbered()).execute_and_collect() as results:
        found = list(results)
    assert sorted(value for value, _, _ in found) == list(range(500))
    # Ten micro-batches of 50 records over two splits: 25 is the most one of them can reach.
    assert max(seen for _, _, seen in found) > 50
