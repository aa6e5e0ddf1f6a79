"""`KeyedStream`: records partitioned by key, with keyed state and timers."""

from __future__ import annotations

from typing import Any, NoReturn

from penstock.api.aggregations import Aggregation, aggregate_function
from penstock.api.data_stream import DataStream
from penstock.api.functions import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
)
from penstock.api.user_code import method_of
from penstock.errors import CallSite, GraphError
from penstock.graph.logical import NodeKind
from penstock.types import TypeInformation


class KeyedStream(DataStream):
    """A stream partitioned by key.

    Rolling operations (`reduce`, `sum`, …) emit the aggregate so far for every record; in BATCH
    mode they emit one final value per key.
    """

    def map(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        """As `DataStream.map`; the function may use keyed state."""
        method = method_of(func, MapFunction, "map", "map")
        return self._apply(NodeKind.KEYED_MAP, "map", func, method, output_type)

    def flat_map(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        """As `DataStream.flat_map`; the function may use keyed state."""
        method = method_of(func, FlatMapFunction, "flat_map", "flat_map")
        return self._apply(NodeKind.KEYED_FLAT_MAP, "flat_map", func, method, output_type)

    def filter(self, func: Any) -> DataStream:
        """As `DataStream.filter`; the function may use keyed state."""
        method = method_of(func, FilterFunction, "filter", "filter")
        return self._apply(NodeKind.KEYED_FILTER, "filter", func, method, self.get_type())

    def process(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        """Process each record with keyed state, timers and access to time.

        Raises:
            ArgumentError: `func` is not a `KeyedProcessFunction`.
        """
        method = method_of(
            func,
            KeyedProcessFunction,
            "process_element",
            "process",
            allow_callable=False,
            hints={ProcessFunction: "Derive it from KeyedProcessFunction: this stream has a key."},
        )
        return self._apply(NodeKind.KEYED_PROCESS, "process", func, method, output_type)

    def reduce(self, func: Any) -> DataStream:
        """Combine the records of each key, two at a time.

        Args:
            func: A callable of (aggregate, record) or a `ReduceFunction`. It must not change
                its arguments.

        Raises:
            ArgumentError: `func` is neither.
        """
        method = method_of(func, ReduceFunction, "reduce", "reduce")
        return self._apply(NodeKind.KEYED_REDUCE, "reduce", func, method, self.get_type())

    def sum(self, position_to_sum: int | str = 0) -> DataStream:
        """Sum a field; the other fields are those of the key's first record.

        Args:
            position_to_sum: Position or name of the field; 0 also for records that are plain
                numbers.
        """
        return self._aggregate(Aggregation.SUM, position_to_sum)

    def min(self, position_to_min: int | str = 0) -> DataStream:
        """Minimum of a field; the other fields are those of the key's first record."""
        return self._aggregate(Aggregation.MIN, position_to_min)

    def max(self, position_to_max: int | str = 0) -> DataStream:
        """Maximum of a field; the other fields are those of the key's first record."""
        return self._aggregate(Aggregation.MAX, position_to_max)

    def min_by(self, position_to_min_by: int | str = 0) -> DataStream:
        """The record with the least value of a field; the first of equal ones."""
        return self._aggregate(Aggregation.MIN_BY, position_to_min_by)

    def max_by(self, position_to_max_by: int | str = 0) -> DataStream:
        """The record with the greatest value of a field; the first of equal ones."""
        return self._aggregate(Aggregation.MAX_BY, position_to_max_by)

    def name(self, name: str) -> NoReturn:
        """Refuse: key_by is not an operator.

        Raises:
            GraphError: Always.
        """
        self._refuse(f"name({name!r})")

    def uid(self, uid: str) -> NoReturn:
        """Refuse: key_by is not an operator.

        Raises:
            GraphError: Always.
        """
        self._refuse(f"uid({uid!r})")

    def get_name(self) -> NoReturn:
        """Refuse: key_by is not an operator.

        Raises:
            GraphError: Always.
        """
        self._refuse("get_name()")

    def _aggregate(self, aggregation: Aggregation, position: int | str) -> DataStream:
        function = aggregate_function(aggregation, position)
        name = aggregation.name.lower()
        return self._apply_named(NodeKind.KEYED_REDUCE, name, function)

    def _apply_named(self, kind: NodeKind, name: str, function: Any) -> DataStream:
        return self._derive(kind, name, self.get_type(), function=function, method=None)

    def _unkeyed_id(self) -> int:
        return self._environment.graph.node(self._node_id).inputs[0]

    def _refuse(self, call: str) -> NoReturn:
        raise GraphError(
            f"{call} was called on the result of key_by, which is not an operator",
            hint="Call it on the stream before key_by or after the keyed operation.",
            origin=CallSite.of_caller(),
        )


DataStream._keyed = KeyedStream  # noqa: SLF001 - see there
