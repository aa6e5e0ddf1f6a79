"""Sources of the programs over an input that ends: record `i` is computed from `i`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.model.shape import MIXED, Shape
from penstock.common import WatermarkStrategy
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.connectors import DataGeneratorSource, HybridSource, Source


@dataclass(frozen=True, slots=True)
class _From:
    """A generator whose index 0 is index `first` of another one."""

    make: Callable[[int], Any]
    first: int

    def __call__(self, index: int) -> Any:
        return self.make(self.first + index)


def generated(
    env: StreamExecutionEnvironment,
    shape: Shape,
    make: Callable[[int], Any],
    strategy: WatermarkStrategy | None = None,
    name: str = "records",
) -> DataStream[Any]:
    """Return the stream of `make(0)`, `make(1)`, ….

    In the mode MIXED the first `shape.records` of them are history and the others follow as live
    records of a hybrid source; otherwise there is one source that ends.
    """
    source: Source = DataGeneratorSource(make, shape.records)
    if shape.mode == MIXED:
        live = DataGeneratorSource(_From(make, shape.records), shape.live)
        source = HybridSource.builder(source).add_source(live).build()
    return env.from_source(source, strategy or WatermarkStrategy.no_watermarks(), name)
