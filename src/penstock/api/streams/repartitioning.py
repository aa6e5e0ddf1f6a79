"""Partitioning: which subtask of the next operator each record is sent to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, overload

from penstock.api.functions.callables import ToKey, ToSubtask
from penstock.api.functions.function_classes import KeySelector, Partitioner
from penstock.api.state.descriptors import MapStateDescriptor
from penstock.api.streams.connected.broadcast_streams import BroadcastStream
from penstock.api.streams.stream_base import StreamBase
from penstock.api.streams.stream_checks import check_broadcast_states
from penstock.api.user_code import bound_method
from penstock.graph.logical import Partitioning
from penstock.program.operators import PARTITION
from penstock.program.partitioning import StreamPartitioner
from penstock.types.type_parameters import K, T

if TYPE_CHECKING:
    from penstock.api.streams.data_stream import DataStream


class Repartitioning(StreamBase[T], Generic[T]):
    """Base of `DataStream`: every method returns the same records, partitioned anew."""

    def rebalance(self) -> DataStream[T]:
        """Send records to all subtasks of the next operator in turns.

        Returns:
            The same records. Those of different subtasks have no order.

        Example:
            >>> sorted(collect(numbers.rebalance().map(lambda n: n + 1).set_parallelism(2)))
            [2, 3, 4, 5]
        """
        return self._partitioned("rebalance", Partitioning(StreamPartitioner.REBALANCE))

    def rescale(self) -> DataStream[T]:
        """Send records to a few subtasks of the next operator in turns.

        Each sending subtask has its share of the receiving subtasks, as in Flink.

        Returns:
            The same records. Those of different subtasks have no order.

        Example:
            >>> sorted(collect(numbers.rescale().map(lambda n: n + 1).set_parallelism(2)))
            [2, 3, 4, 5]
        """
        return self._partitioned("rescale", Partitioning(StreamPartitioner.RESCALE))

    def shuffle(self) -> DataStream[T]:
        """Send each record to a random subtask of the next operator.

        Returns:
            The same records. Those of different subtasks have no order.

        Example:
            >>> sorted(collect(numbers.shuffle().map(lambda n: n + 1).set_parallelism(2)))
            [2, 3, 4, 5]
        """
        return self._partitioned("shuffle", Partitioning(StreamPartitioner.SHUFFLE))

    def forward(self) -> DataStream[T]:
        """Send records to the subtask of the same index, which is the default.

        Returns:
            The same records, in the same order.

        Example:
            >>> collect(numbers.forward().map(lambda n: n + 1))
            [2, 3, 4, 5]
        """
        return self._partitioned("forward", Partitioning(StreamPartitioner.FORWARD))

    def partition_custom(
        self, partitioner: ToSubtask[K], key_selector: ToKey[T, K]
    ) -> DataStream[T]:
        """Send each record to the subtask whose index a function returns.

        Args:
            partitioner: A callable of (key, number of subtasks) or a `Partitioner`; returns the
                index of a subtask, from 0.
            key_selector: A callable or `KeySelector`; returns the key passed to `partitioner`.

        Returns:
            The same records, without a key: the next operator has no keyed state.

        Raises:
            ArgumentError: One of them is neither.

        Example:
            >>> to_subtask = lambda key, subtasks: key % subtasks
            >>> partitioned = numbers.partition_custom(to_subtask, lambda n: n)
            >>> sorted(collect(partitioned.map(lambda n: n + 1).set_parallelism(2)))
            [2, 3, 4, 5]
        """
        choose = bound_method(partitioner, Partitioner, "partition", "partition_custom")
        select = bound_method(key_selector, KeySelector, "get_key", "partition_custom")
        return self._partitioned(
            "partition_custom", Partitioning(StreamPartitioner.CUSTOM, choose, select)
        )

    @overload
    def broadcast(self) -> DataStream[T]: ...

    @overload
    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> BroadcastStream[T]: ...

    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor | None = None,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> DataStream[T] | BroadcastStream[T]:
        """Send every record to every subtask of the next operator.

        Args:
            broadcast_state_descriptor: Describes the map state that stores the elements. With it
                the result is to be passed to `connect`; without it any operator may follow.
            other_broadcast_state_descriptors: Descriptors of more such states.

        Returns:
            A `BroadcastStream`; without a descriptor a `DataStream` that has each record once per
            subtask of the operator that reads it.

        Raises:
            ArgumentError: A descriptor is not one of a map state.

        Example:
            >>> twice = numbers.broadcast().map(lambda n: n).set_parallelism(2)
            >>> sorted(collect(twice))
            [1, 1, 2, 2, 3, 3, 4, 4]
        """
        everywhere = self._partitioned("broadcast", Partitioning(StreamPartitioner.BROADCAST))
        if broadcast_state_descriptor is None:
            return everywhere
        descriptors = (broadcast_state_descriptor, *other_broadcast_state_descriptors)
        check_broadcast_states(descriptors)
        return BroadcastStream(everywhere, descriptors)

    def _partitioned(self, name: str, partitioning: Partitioning) -> DataStream:
        inputs = (self._unkeyed_id(),)
        return self._add(PARTITION, name, inputs, self.get_type(), partitioning=partitioning)
