"""Small jobs over (key, time, …) records, for the tests of the runtime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.common import Configuration, Duration, TypeInformation, Types
from penstock.connectors.python.collection import CollectionSource
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import DataStream, StreamExecutionEnvironment, WatermarkStrategy
from penstock.datastream.connectors import HybridSource
from penstock.graph.endpoints import SplitSource

MIN, MAX = -(2**63), 2**63 - 1

BATCH = {"execution.runtime-mode": "BATCH"}
STREAMING = {"execution.runtime-mode": "STREAMING"}
MIXED = STREAMING | {"execution.checkpointing.interval-during-backlog": "0"}
MODES = [BATCH, STREAMING, MIXED]
MODE_IDS = ["batch", "streaming", "mixed"]


def environment(settings: dict[str, str], parallelism: int = 2) -> StreamExecutionEnvironment:
    values: dict[str, object] = {**settings, "parallelism.default": parallelism}
    return StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(values))


def by_time(bound_ms: int = 0) -> WatermarkStrategy:
    return WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(bound_ms)
    ).with_timestamp_assigner(lambda record, _: record[1])


def history_then_live(history: Sequence[Any], live: Sequence[Any]) -> HybridSource:
    return (
        HybridSource.builder(CollectionSource.of(history))
        .add_source(CollectionSource.of(live))
        .build()
    )


def job(
    settings: dict[str, str],
    source: Any,
    then: Callable[[DataStream], DataStream],
    *,
    strategy: WatermarkStrategy | None = None,
    parallelism: int = 2,
) -> StreamExecutionEnvironment:
    env = environment(settings, parallelism)
    stream = env.from_source(source, strategy or by_time(), "records")
    then(stream).sink_to(DiscardingSink()).name("out")
    return env


@dataclass(frozen=True, slots=True)
class Splits(SplitSource):
    """A bounded source with the given splits."""

    kind: ClassVar[str] = "splits"
    values: tuple[tuple[Any, ...], ...]

    @property
    def is_bounded(self) -> bool:
        return True

    def get_produced_type(self) -> TypeInformation:
        return Types.PICKLED_BYTE_ARRAY()

    def splits(self, parallelism: int) -> Sequence[tuple[int, int | None]]:
        return [(0, len(split)) for split in self.values]

    def read(self, split: int, start: int, end: int) -> Sequence[Any]:
        return self.values[split][start:end]
