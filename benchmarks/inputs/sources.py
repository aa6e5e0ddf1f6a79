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
class From:
    """A generator whose index 0 is index `first` of another one."""

    make: Callable[[int], Any]
    first: int

    def __call__(self, index: int) -> Any:
        """Return the record of an index."""
        return self.make(self.first + index)

    def is_output_value_stored(self) -> bool:
        """Return False, as of `make`."""
        return False


def storing_nothing(make: Callable[[int], Any]) -> Callable[[int], Any]:
    """Return a function of an index with the promise that it stores no record it made.

    A promise of a plain function is an attribute: a class with a method is called more slowly, and
    without one every record is looked at to see whether it has to be copied.
    """
    make.is_output_value_stored = _never  # type: ignore[attr-defined]
    return make


def _never() -> bool:
    return False


def generated(
    env: StreamExecutionEnvironment,
    shape: Shape,
    make: Callable[[int], Any],
    strategy: WatermarkStrategy | None = None,
    name: str = "records",
) -> DataStream[Any]:
    """Return the stream of `make(0)`, `make(1)`, …, which make every record anew.

    In the mode MIXED the first `shape.records` of them are history and the others follow as live
    records of a hybrid source; otherwise there is one source that ends.
    """
    source: Source = DataGeneratorSource(storing_nothing(make), shape.records)
    if shape.mode == MIXED:
        live = DataGeneratorSource(From(make, shape.records), shape.live)
        source = HybridSource.builder(source).add_source(live).build()
    return env.from_source(source, strategy or WatermarkStrategy.no_watermarks(), name)
