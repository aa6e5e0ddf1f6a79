"""Where records go next: the partitioning verbs of a stream without a key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic

from penstock.api.functions.callables import ToKey, ToSubtask
from penstock.api.functions.function_classes import KeySelector
from penstock.api.functions.function_classes import Partitioner as PartitionerFunction
from penstock.api.user_code import bound_method
from penstock.graph.logical import Partitioning
from penstock.program.partitioning import Partitioner
from penstock.types.type_parameters import K, T

if TYPE_CHECKING:
    from penstock.api.streams.data_stream import DataStream


class Repartitioning(Generic[T]):
    """Base of `DataStream`: every verb returns the same records, elsewhere."""

    def rebalance(self) -> DataStream[T]:
        """Send records to the subtasks of the next operator in turns."""
        return self._partitioned("rebalance", Partitioning(Partitioner.REBALANCE))

    def rescale(self) -> DataStream[T]:
        """Send records to a few subtasks of the next operator in turns."""
        return self._partitioned("rescale", Partitioning(Partitioner.RESCALE))

    def shuffle(self) -> DataStream[T]:
        """Send each record to a random subtask of the next operator."""
        return self._partitioned("shuffle", Partitioning(Partitioner.SHUFFLE))

    def forward(self) -> DataStream[T]:
        """Keep records in the subtask they are in, which is what happens anyway."""
        return self._partitioned("forward", Partitioning(Partitioner.FORWARD))

    def partition_custom(
        self, partitioner: ToSubtask[K], key_selector: ToKey[T, K]
    ) -> DataStream[T]:
        """Send each record to the subtask a function names.

        Args:
            partitioner: A callable of (key, number of subtasks) or a `Partitioner`; returns the
                index of a subtask.
            key_selector: A callable or `KeySelector`.

        Raises:
            ArgumentError: One of them is neither.
        """
        choose = bound_method(partitioner, PartitionerFunction, "partition", "partition_custom")
        select = bound_method(key_selector, KeySelector, "get_key", "partition_custom")
        return self._partitioned(
            "partition_custom", Partitioning(Partitioner.CUSTOM, choose, select)
        )

    def _partitioned(self, name: str, partitioning: Partitioning) -> DataStream[T]:
        raise AssertionError((name, partitioning))  # DataStream adds the node
