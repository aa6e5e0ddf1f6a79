"""The sorter for operators of your own: records by key and time, more of them than fit in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol


# FLIP-327, rule 13.
class ExternalSorter(Protocol):
    """Sorts records by key, and those of a key by time; what does not fit in memory is on disk.

    An operator of your own gets one in `open`, from `RuntimeContext.create_external_sorter`, to group
    backlog itself (FLIP-327, `internal_sorter_supported`). First it adds records, then it reads them, as
    often as wanted, then it clears the sorter and may add again.

    Equal keys, by the rules for keys of streams, are adjacent. Whole numbers are in their order, other keys
    in an order that is the same in every run. Records of a key without a timestamp come first. The sort
    is stable: records of equal key and time stay in the order in which they were added.

    A checkpoint does not contain the records. In a live run they must be read before it: emit them, or write
    them to keyed state, in `prepare_snapshot_pre_barrier` at the latest. In a batch run they must be read in
    `end_input`, and when record attributes say that backlog ends. Unread records are an error
    (`USER_FUNCTION`). A sorter is closed with its operator, and its files are removed.

    Example:
        >>> class Sorted(OneInputStreamOperator):
        ...     def open(self, runtime_context):
        ...         self.sorter = runtime_context.create_external_sorter()
        ...     def process_element(self, value, ctx):
        ...         self.sorter.add(value[0], value, ctx.timestamp())
        ...     def prepare_snapshot_pre_barrier(self):
        ...         self.give()
        ...     def end_input(self):
        ...         self.give()
        ...     def give(self):
        ...         for customer, timestamp, order in self.sorter:
        ...             self.output.collect((customer, order[1]), timestamp)
        ...         self.sorter.clear()
        >>> collect(orders.transform("sorted", None, Sorted()))
        [('ann', 5), ('ann', 7), ('bob', 3)]
    """

    def add(self, key: Any, value: Any, timestamp: int | None = None) -> None:
        """Add a record.

        Args:
            key: Its key.
            value: The record. It is pickled if it does not fit in memory, so a value that is read
                may be a copy.
            timestamp: Epoch milliseconds; None is a record without time.

        Raises:
            KeyTypeError: The key cannot be a key of a stream.
            SpillError: A file cannot be written, or the sorter has been read or closed.
        """

    def __iter__(self) -> Iterator[tuple[Any, int | None, Any]]:
        """Yield (key, timestamp, value) in order. Records are read from disk as they are asked for.

        Raises:
            SpillError: A file cannot be read, or the sorter is closed.
        """

    def __len__(self) -> int:
        """Return the number of records."""

    def clear(self) -> None:
        """Remove all records; others may be added."""

    def close(self) -> None:
        """Remove all records and files for good. The runtime does so when the operator is closed."""
