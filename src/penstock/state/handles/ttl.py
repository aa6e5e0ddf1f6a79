"""Time-to-live: values expire some time after they were last written, or read.

A state with a time-to-live stores `(last access in ms, value)` instead of the value. `TtlTable` hides
this from the handles: for them an expired value is absent. The elements of lists expire one by one, so
lists have their own handle: see `penstock.state.handles.list_state`.

An expired value is removed when the user function reads it, or by
`penstock.state.handles.ttl_sweeper`. Time is processing time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from penstock.errors import ArgumentError
from penstock.state.backends.base import ABSENT, Table
from penstock.state.schema.entry_schema import StateSchema


class UpdateType(Enum):
    """The accesses that restart the time-to-live of a value."""

    Disabled = 0
    """No expiry: values stay."""

    OnCreateAndWrite = 1
    """Writing."""

    OnReadAndWrite = 2
    """Writing and reading."""


class StateVisibility(Enum):
    """Visibility of an expired value."""

    ReturnExpiredIfNotCleanedUp = 0
    """A reader gets it once, if it was not removed before; reading removes it."""

    NeverReturnExpired = 1
    """A reader never gets it."""


@dataclass(frozen=True, slots=True)
class TimeToLive:
    """The rule by which values of one state expire and are removed.

    Attributes:
        ttl_ms: Age at which a value expires, in milliseconds.
        update: The accesses that reset the age.
        visibility: Whether an expired value can be read.
        sweep_size: Entries that the sweeper checks per access; 0 for none.
        sweeps_per_record: Whether it checks as many per record too.
        cleans_snapshots: Expired values are removed before a snapshot of all state.
        cleans_rewrites: Expired values are removed from a key group before its log is
            compacted.
        clock_entries: Number of entries of such a group after which the clock is read again.
    """

    ttl_ms: int
    update: UpdateType = UpdateType.OnCreateAndWrite
    visibility: StateVisibility = StateVisibility.NeverReturnExpired
    sweep_size: int = 5
    sweeps_per_record: bool = False
    cleans_snapshots: bool = False
    cleans_rewrites: bool = True
    clock_entries: int = 1000

    def __post_init__(self) -> None:
        """Check the numbers."""
        sizes = (self.ttl_ms - 1, self.sweep_size, self.clock_entries)
        if min(sizes) < 0 or self.update is UpdateType.Disabled:
            raise ArgumentError(
                f"{self!r} is not a time-to-live",
                hint="Give at least one millisecond, and no negative sizes.",
            )


class Expiry:
    """Applies a `TimeToLive`; shared by the handles and the sweeper of one state.

    Attributes:
        now_ms: The clock: milliseconds since 1970.
        ttl_ms: Age at which a value expires, of the rule.
        shows_expired: Whether a reader gets an expired value, once.
        refreshes: Whether reading resets the age of a value.
        accesses: Calls of the handles since the last sweep.
    """

    __slots__ = ("accesses", "now_ms", "refreshes", "rule", "shows_expired", "ttl_ms")

    def __init__(self, rule: TimeToLive, now_ms: Callable[[], int]) -> None:
        self.rule = rule
        self.now_ms = now_ms
        self.ttl_ms = rule.ttl_ms
        self.shows_expired = rule.visibility is StateVisibility.ReturnExpiredIfNotCleanedUp
        self.refreshes = rule.update is UpdateType.OnReadAndWrite
        self.accesses = 0


class TtlSinglePart:
    """A single state map for handles: it hides ages and expired values."""

    __slots__ = ("_expiry", "_part")

    def __init__(self, part: Any, expiry: Expiry) -> None:
        self._part = part
        self._expiry = expiry

    def get(self, key: Any, default: Any = None) -> Any:
        """Return the value of `key`."""
        expiry = self._expiry
        expiry.accesses += 1
        stored = self._part.get(key)
        if stored is None:
            return default
        last, value = stored
        now = expiry.now_ms()
        if last + expiry.ttl_ms <= now:
            self._part.remove(key)
            return value if expiry.shows_expired else default
        if expiry.refreshes and last != now:
            self._part.put(key, (now, value))
        return value

    def put(self, key: Any, value: Any) -> None:
        """Set the value of `key`."""
        expiry = self._expiry
        expiry.accesses += 1
        self._part.put(key, (expiry.now_ms(), value))

    def put_all(self, keys: Sequence[Any], values: Sequence[Any]) -> None:
        """Set the values of several keys."""
        expiry = self._expiry
        expiry.accesses += len(keys)
        self._part.put_all(keys, [(expiry.now_ms(), value) for value in values])

    def remove(self, key: Any) -> None:
        """Remove the value of `key`, if there is one."""
        self._expiry.accesses += 1
        self._part.remove(key)


class TtlNestedPart:
    """A nested state map for handles: it hides ages and expired values; every entry has its own age."""

    __slots__ = ("_expiry", "_part")

    def __init__(self, part: Any, expiry: Expiry) -> None:
        self._part = part
        self._expiry = expiry

    def get(self, key: Any, subkey: Any, default: Any = None) -> Any:
        """Return one value."""
        self._expiry.accesses += 1
        stored = self._part.get(key, subkey)
        return default if stored is None else self._seen(key, subkey, stored, default)

    def put(self, key: Any, subkey: Any, value: Any) -> None:
        """Set one value."""
        expiry = self._expiry
        expiry.accesses += 1
        self._part.put(key, subkey, (expiry.now_ms(), value))

    def remove(self, key: Any, subkey: Any) -> None:
        """Remove one value, if it is there."""
        self._expiry.accesses += 1
        self._part.remove(key, subkey)

    def clear(self, key: Any) -> None:
        """Remove all values of `key`."""
        self._expiry.accesses += 1
        self._part.clear(key)

    def items(self, key: Any) -> list[tuple[Any, Any]]:
        """Return (subkey, value) of all values of `key`."""
        self._expiry.accesses += 1
        seen = (
            (subkey, self._seen(key, subkey, stored, ABSENT))
            for subkey, stored in self._part.items(key)
        )
        return [pair for pair in seen if pair[1] is not ABSENT]

    def subkeys(self, key: Any) -> list[Any]:
        """Return the subkeys of `key`; it reads the values, which contain the ages."""
        return [subkey for subkey, _ in self.items(key)]

    def is_empty(self, key: Any) -> bool:
        """Return whether `key` has no values; it searches for the first value that has not expired."""
        expiry = self._expiry
        expiry.accesses += 1
        if expiry.shows_expired:
            return bool(self._part.is_empty(key))
        dead_until = expiry.now_ms() - expiry.ttl_ms
        for subkey in self._part.subkeys(key):
            if self._part.get(key, subkey)[0] > dead_until:
                return False
            self._part.remove(key, subkey)
        return True

    def _seen(self, key: Any, subkey: Any, stored: tuple[int, Any], default: Any) -> Any:
        expiry = self._expiry
        last, value = stored
        now = expiry.now_ms()
        if last + expiry.ttl_ms <= now:
            self._part.remove(key, subkey)
            return value if expiry.shows_expired else default
        if expiry.refreshes and last != now:
            self._part.put(key, subkey, (now, value))
        return value


class TtlTable:
    """A table whose state maps hide ages and expired values."""

    def __init__(self, table: Table, expiry: Expiry) -> None:
        self.schema: StateSchema = table.schema
        self._table = table
        self._expiry = expiry
        self._wrap = TtlNestedPart if table.schema.kind.is_nested else TtlSinglePart

    def __getitem__(self, key_group: int) -> Any:
        """Return a new wrapper of the state map of a key group; callers cache it."""
        return self._wrap(self._table[key_group], self._expiry)

    def groups(self) -> list[int]:
        """Return the key groups that may have entries, ascending."""
        return self._table.groups()
