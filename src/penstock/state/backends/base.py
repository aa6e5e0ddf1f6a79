"""What every state backend is: tables of entries, a local copy of the log, changes to write.

A backend holds the keyed state of one subtask (live run) or one key group at a time (batch run).
A table is one named state of one operator; a part is what a table has in one key group. Handles
given to users (`value_state`, `list_state`, …) work on parts and know nothing of backends.

    single kinds   one entry per key                     value, reducing, aggregating
    nested kinds   entries per key, found by a subkey    list (chunk number), map, timers,
                                                         broadcast

The life of a micro-batch:

    catch_up(log)      the copy is brought to the head of the log; stale, foreign and half
                       changed copies are found out here and built again
    get, put, …        by handles
    drain()            changes as blobs, for the log
    written(position)  where they were written; counts only once a later log confirms it
    discard()          instead, if the attempt failed

A value read is the object itself, not a copy. Changing it in place without writing it back is
not recorded and is lost, as in PyFlink.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum, auto
from typing import Any, Protocol

from penstock.state.log.change_log import ChangeLog, Position
from penstock.state.log.state_format import StateFormat
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.types import TypeInformation, Types

ABSENT = object()
"""No value; distinct from None."""


TIMERS_SCHEMA = StateSchema(StateKind.TIMERS, Types.BOOLEAN(), Types.LONG())
"""Of timers: key, timestamp, True."""


class CopyUse(Enum):
    """What a local copy was worth at the beginning of a micro-batch."""

    HIT = auto()
    """It lacked at most the changes of the micro-batch before."""

    CATCH_UP = auto()
    """It lacked the changes of several micro-batches."""

    REBUILD = auto()
    """There was none, or it was of no use: everything was read from the log."""


class NestedPart(Protocol):
    """Entries of one state in one key group, found by key and subkey."""

    def get(self, key: Any, subkey: Any, default: Any = None) -> Any:
        """Return one value."""

    def put(self, key: Any, subkey: Any, value: Any, coded: bytes | None = None) -> None:
        """Set one value.

        Args:
            key: First part of the address.
            subkey: Second part.
            value: Declared form.
            coded: What `value` is stored as, if the schema says coded rows and the caller knows
                it: then the value is not encoded once more.
        """

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
        """Return all keys that have entries; costs in proportion to the part."""


class Table(Protocol):
    """One state of one operator.

    Attributes:
        schema: How its entries are read now; stored ones may be older.
    """

    schema: StateSchema

    def __getitem__(self, key_group: int) -> Any:
        """Return the part of a key group, the same object for the life of the table."""

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

        Timers added meanwhile count. None if there is none.
        """

    def next_due(self) -> int | None:
        """Return the timestamp of the earliest timer, None if there is none."""


class KeyedStateBackend(Protocol):
    """The keyed state of one subtask, and its local copy between micro-batches.

    Attributes:
        format: How entries are written; set it before the first table.
    """

    format: StateFormat

    def table(self, operator: str, state: str, schema: StateSchema) -> Table:
        """Return the table of one state, made empty at first use.

        Raises:
            StateMigrationError: Entries are stored that cannot be read as `schema`.
        """

    def declare_keys(self, operator: str, key_type: TypeInformation) -> None:
        """Say what keys an operator has from now on; before its first table, if at all.

        Never changes an answer: keys in declared form may be written in less space.
        """

    def timers(self, operator: str, state: str) -> TimerTable:
        """Return the timers an operator keeps under a name."""

    def catch_up(self, log: ChangeLog) -> CopyUse:
        """Bring the copy to the head of the log.

        Raises:
            StateError: The log is damaged.
            StateMigrationError: Stored entries cannot be read as a table's schema.
        """

    def load(self, blobs: Iterable[bytes]) -> None:
        """Take entries from outside a log, such as those a run handed over."""

    def drain(self) -> list[bytes]:
        """Return the changes of this micro-batch, blobs of each touched key group in order."""

    def written(self, position: Position) -> None:
        """Remember where the drained changes were written, though not yet committed."""

    def discard(self) -> None:
        """Forget everything this micro-batch did: the attempt failed."""

    def snapshot_group(self, key_group: int) -> Iterator[bytes]:
        """Yield the blobs of one key group, for the log.

        The changes of this micro-batch may or may not be in it: they follow it in the log.
        """

    def snapshot(self) -> Iterator[bytes]:
        """Yield all entries, those of this micro-batch included; after `drain`."""

    def groups(self) -> list[int]:
        """Return the key groups that have entries, ascending."""

    def close(self) -> None:
        """Let go of files; the object is not used again."""
