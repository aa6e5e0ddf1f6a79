"""A connector as one folder: a source, a sink, and the connector of CREATE TABLE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.common import Types
from penstock.config import parse
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream.connectors import SplitSource
from penstock.graph.dataset import Dataset
from penstock.sql.tables.definition import (
    Connector,
    TableDefinition,
    TableSink,
    TableSource,
    Takes,
)
from penstock.sql.tables.options import TableOption
from penstock.types import Row, TypeInformation

_COUNT = TableOption("count", parse.INTEGER, "Readings.", default=0)


@dataclass(frozen=True)
class ThermometerSource(SplitSource):
    """Readings of one thermometer, as many as it has."""

    count: int
    kind: ClassVar[str] = "thermometers"

    @property
    def is_bounded(self) -> bool:
        return True

    def get_produced_type(self) -> TypeInformation:
        return Types.ROW_NAMED(["reading", "degrees"], [Types.LONG(), Types.LONG()])

    def splits(self, parallelism: int) -> Sequence[tuple[int, int | None]]:
        return [(0, self.count)]

    def read(self, split: int, start: int, end: int) -> Sequence[Any]:
        return [Row(reading=each, degrees=each % 3) for each in range(start, end)]

    def datasets(self) -> Sequence[Dataset]:
        return (Dataset("thermo://roof", "readings"),)


class ThermometerSink(DiscardingSink):
    """Shows nothing."""

    kind: ClassVar[str] = "thermometers"

    def datasets(self) -> Sequence[Dataset]:
        return (Dataset("thermo://roof", "display"),)


def _source(table: TableDefinition) -> TableSource:
    return TableSource(ThermometerSource(table.options.value(_COUNT)))


THERMOMETERS = Connector(
    "thermometers",
    "readings of a thermometer",
    (_COUNT,),
    _source,
    lambda _: TableSink(ThermometerSink(), Takes.INSERTS),
)
