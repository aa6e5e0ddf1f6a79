"""Removal of expired values which are not read.

The sweeper of an operator checks the entries of its states with a time-to-live, a few at a time, in
rounds. It removes a value through the table, so that the change log contains the removal. It lists the
keys of a key group when it begins with the group. So its cost is proportional to its budget, except
for the listing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.state.backends.base import Table
from penstock.state.handles.list_state import TtlListState
from penstock.state.handles.ttl import Expiry


class TtlSweeper:
    """Sweeps the states of one operator. Each method returns the number of removed values."""

    def __init__(self) -> None:
        self._rounds: list[_Round] = []

    def add(self, table: Table, expiry: Expiry, lists: TtlListState | None = None) -> None:
        """Add a state to sweep."""
        self._rounds.append(_Round(table, expiry, lists))

    def sweep(self, records: int) -> int:
        """Check the configured number of entries; called once at the end of each micro-batch."""
        return sum(state.sweep(records) for state in self._rounds)

    def sweep_all(self) -> int:
        """Check all entries of states with `cleans_snapshots`; called before a snapshot of all state."""
        return sum(state.sweep_all() for state in self._rounds)

    def sweep_group(self, key_group: int) -> int:
        """Check all entries of a key group; before its log is compacted."""
        return sum(state.sweep_group(key_group) for state in self._rounds)


class _Round:
    """A round over the entries of one state, and the position of the sweeper."""

    def __init__(self, table: Table, expiry: Expiry, lists: TtlListState | None) -> None:
        self._table = table
        self._expiry = expiry
        self._lists = lists
        kind = table.schema.kind
        self._look: Callable[[Any, Any, int], tuple[int, int]]
        if lists is not None:
            self._look = lists.remove_expired
        elif kind.is_nested:
            self._look = self._look_at_subkeys
        else:
            self._look = self._look_at_value
        self._is_map = kind.is_map
        # The rest of this round, in reverse order, because items are popped from the end.
        self._groups: list[int] = []
        self._keys: list[Any] = []
        self._subkeys: list[tuple[Any, Any]] = []
        self._part: Any = None

    def sweep(self, records: int) -> int:
        rule, expiry = self._expiry.rule, self._expiry
        per_size = expiry.accesses + (records if rule.sweeps_per_record else 0)
        expiry.accesses = 0
        return self._advance(rule.sweep_size * per_size)

    def sweep_all(self) -> int:
        if not self._expiry.rule.cleans_snapshots:
            return 0
        return sum(self._clean(group) for group in self._table.groups())

    def sweep_group(self, key_group: int) -> int:
        return self._clean(key_group) if self._expiry.rule.cleans_rewrites else 0

    def _clean(self, key_group: int) -> int:
        part, clock_entries = self._table[key_group], self._expiry.rule.clock_entries
        now, seen, removed = self._expiry.now_ms(), 0, 0
        keys: list[Any] = part.keys()
        for key in keys:
            before, after = self._look(part, key, now)
            removed += before - after
            seen += before
            if seen >= clock_entries:
                now, seen = self._expiry.now_ms(), 0
        return removed

    def _advance(self, budget: int) -> int:
        now, removed, is_new_round = self._expiry.now_ms(), 0, False
        while budget > 0:
            if self._subkeys:
                before, after = self._look_at_subkey(self._part, *self._subkeys.pop(), now)
            elif self._keys:
                key = self._keys.pop()
                if self._is_map:
                    self._subkeys = [(key, subkey) for subkey in self._part.subkeys(key)]
                    continue
                before, after = self._look(self._part, key, now)
            elif self._groups:
                self._part = self._table[self._groups.pop()]
                self._keys = self._part.keys()
                before = after = 0
            elif is_new_round:
                break  # this call has checked all of them
            else:
                self._groups, is_new_round = self._table.groups()[::-1], True
                continue
            removed += before - after
            budget -= max(before, 1)
        return removed

    def _look_at_value(self, part: Any, key: Any, now: int) -> tuple[int, int]:
        stored = part.get(key)
        if stored is None:
            return 0, 0
        if stored[0] + self._expiry.ttl_ms > now:
            return 1, 1
        part.remove(key)
        return 1, 0

    def _look_at_subkey(self, part: Any, key: Any, subkey: Any, now: int) -> tuple[int, int]:
        stored = part.get(key, subkey)
        if stored is None:
            return 0, 0
        if stored[0] + self._expiry.ttl_ms > now:
            return 1, 1
        part.remove(key, subkey)
        return 1, 0

    def _look_at_subkeys(self, part: Any, key: Any, now: int) -> tuple[int, int]:
        looks = [self._look_at_subkey(part, key, subkey, now) for subkey in part.subkeys(key)]
        return sum(before for before, _ in looks), sum(after for _, after in looks)
