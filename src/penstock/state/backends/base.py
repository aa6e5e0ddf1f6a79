"""The interface of state backends: tables of entries, a local copy of the log, and changes.

A backend stores the keyed state of one subtask (live run) or of one key group at a time (batch run).
A table is one named state of one operator. It has a state map per key group, as Flink's `StateTable`.
The handles of users (`value_state`, `list_state`, …) use state maps, and do not depend on the backend.

    single kinds   one entry per key                     value, reducing, aggregating
    nested kinds   entries per key, found by a subkey    list (chunk number), map, timers,
                                                         broadcast

A micro-batch calls:

    catch_up(log)      updates the copy to the head of the log; it builds stale, foreign and
                       incomplete copies again
    get, put, …        by handles
    drain()            returns the changes as blobs, for the log
    written(position)  sets where they were written; it is valid only if a later log confirms it
    discard()          instead, if the attempt failed

Reading returns the stored object itself, not a copy. Changing it in place without writing it back is
not recorded and is lost, as in PyFlink.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum, auto
from typing import Any, Protocol

from penstock.state.log.blob import StateFormat
from penstock.state.log.change_log import ChangeLog, Position
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.types import TypeInformation, Types

ABSENT = object()
"""No value; distinct from None."""


TIMERS_SCHEMA = StateSchema(StateKind.TIMERS, Types.BOOLEAN(), Types.LONG())
"""Schema of timers: key, timestamp, True."""


class CopyUse(Enum):
    """The use of a local copy at the beginning of a micro-batch."""

    HIT = auto()
    """It lacked at most the changes of the previous micro-batch."""

    CATCH_UP = auto()
    """It lacked the changes of several micro-batches."""

    REBUILD = auto()
    """There was no usable copy: the whole state was read from the log."""


class NestedPart(Protocol):
    """Entries of one state in one key group, found by key and subkey."""

    def get(self, key: Any, subkey: Any, default: Any = None) -> Any:
        """Return one value."""

    def put(self, key: Any, subkey: Any, value: Any, coded: bytes | None = None) -> None:
        """Set one value."""

    def remove(self, key: Any, subkey: Any) -> None:
        """Remove one value, if it is there."""

    def clear(self, key: Any) -> None:
        """Remove all entries of `key`."""

    def items(self, key: Any) -> list[tuple[Any, Any]]:
        """Return (subkey, value) of all entries of `key`, in no defined order."""

    def subkeys(self, key: Any) -> list[Any]:
        """Return the subkeys of `key`, in no defined order."""

    def is_empty(self, key: Any) -> bool:
        """Return whether `key` has no entries."""

    def keys(self) -> list[Any]:
        """Return all keys that have entries; the cost is proportional to the number of entries."""


class Table(Protocol):
    """One state of one operator.

    Attributes:
        schema: Current schema; stored entries may have an older one.
    """

    schema: StateSchema

    def __getitem__(self, key_group: int) -> Any:
        """Return the state map of a key group, the same object for the life of the table."""

    def groups(self) -> list[int]:
        """Return the key groups that may have entries, ascending."""


class TimerTable(Protocol):
    """Timers of one operator in one time domain: entries (key, timestamp), ordered by time."""

    def add(self, key_group: int, key: Any, timestamp: int) -> None:
        """Add a timer; nothing changes if it is there."""

    def remove(self, key_group: int, key: Any, timestamp: int) -> None:
        """Remove a timer, if it is there."""

    def of_key(self, key_group: int, key: Any) -> list[int]:
        """Return the timestamps of one key, ascending."""

    def pop_due(self, until: int) -> tuple[int, int, Any] | None:
        """Remove and return (timestamp, key group, key) of the earliest timer up to `until`.

        It sees timers that were added after the last call. It returns None if there is none.
        """

    def next_due(self) -> int | None:
        """Return the timestamp of the earliest timer, None if there is none."""


class KeyedStateBackend(Protocol):
    """The keyed state of one subtask, and its local copy between micro-batches.

    Attributes:
        format: Format of entries; set it before the first table.
    """

    format: StateFormat

    def table(self, operator: str, state: str, schema: StateSchema) -> Table:
        """Return the table of one state; it is empty at its first use."""

    def declare_keys(self, operator: str, key_type: TypeInformation) -> None:
        """Declare the type of an operator's keys; optional, before its first table.

        It does not change results: keys in declared form may take less space.
        """

    def timers(self, operator: str, state: str) -> TimerTable:
        """Return the timers of an operator under a name."""

    def catch_up(self, log: ChangeLog) -> CopyUse:
        """Update the copy to the head of the log."""

    def load(self, blobs: Iterable[bytes]) -> None:
        """Load entries from outside of the log, such as those of a hand-over."""

    def drain(self) -> list[bytes]:
        """Return the changes of this micro-batch, blobs of each touched key group in order."""

    def written(self, position: Position) -> None:
        """Set where the drained changes were written; they are not committed yet."""

    def discard(self) -> None:
        """Discard all changes of this micro-batch: the attempt failed."""

    def snapshot_group(self, key_group: int) -> Iterator[bytes]:
        """Yield the blobs of one key group, for the log.

        It may contain the changes of this micro-batch or not: they follow it in the log.
        """

    def snapshot(self) -> Iterator[bytes]:
        """Yield all entries, those of this micro-batch included; after `drain`."""

    def groups(self) -> list[int]:
        """Return the key groups that have entries, ascending."""

    def key_counts(self) -> dict[str, int | None]:
        """Return uid to keys of its state with most keys; None while a key group of it is deferred.

        The cost is proportional to the number of states: `drain` counts the keys of what changed. A backend that has to look for
        each of them in a file returns nothing.
        """

    def close(self) -> None:
        """Close files; the object is not used again."""
