"""The state of one key and window, for triggers and process window functions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

from penstock.errors import StateError
from penstock.program.level import OperatorSpec
from penstock.runtime.functions.state_handles import KeyedScope, KeyedStates, StateHandles
from penstock.state.backends.base import ABSENT, KeyedStateBackend, Table
from penstock.state.schema.entry_schema import StateKind, StateSchema


class _PrefixedStore:
    """A state backend that adds a prefix to the names of states."""

    def __init__(self, store: KeyedStateBackend, prefix: str) -> None:
        self._store = store
        self._prefix = prefix

    def table(self, operator: str, state: str, schema: StateSchema) -> Table:
        return self._store.table(operator, self._prefix + state, schema)


class ScopedStates(KeyedStates):
    """Implements `KeyedStateStore` of the API for the current key and window."""

    def __init__(self, spec: OperatorSpec, scope: KeyedScope, prefix: str) -> None:
        self._store = _PrefixedStore(scope.store, prefix)
        self._space = scope.context
        self._uid = spec.uid
        prefixed = replace(scope, store=cast("KeyedStateBackend", self._store))
        super().__init__(StateHandles(spec, prefixed))
        self._handles: dict[str, tuple[Any, Any]] = {}

    def of(self, descriptor: Any) -> Any:
        """Return the state of a descriptor of any kind."""
        known = self._handles.get(getattr(descriptor, "get_name", str)())
        if known is not None and known[0] is descriptor:
            return known[1]
        kind = getattr(descriptor, "kind", StateKind.VALUE)
        handle = self._states.keyed(kind.getter, descriptor)
        self._handles[descriptor.get_name()] = (descriptor, handle)
        return handle

    def merge(self, descriptor: Any, sources: Iterable[Any]) -> None:
        """Merge the state of other windows into that of the current one."""
        handle, kind = self.of(descriptor), descriptor.kind
        if kind not in _MERGEABLE:
            raise StateError(
                f"a trigger merges {descriptor!r}, which is {kind.value} state",
                hint="Use reducing, list or aggregating state in triggers of merging windows.",
            )
        target = self._space.key
        for source in sources:
            if kind is StateKind.AGGREGATING:
                self._merge_accumulators(descriptor, source)
                continue
            self._space.key = source
            content = handle.get()
            handle.clear()
            self._space.key = target
            if kind is StateKind.LIST:
                handle.add_all(content)
            elif content is not None:
                handle.add(content)

    def _merge_accumulators(self, descriptor: Any, source: Any) -> None:
        table = self._store.table(self._uid, descriptor.get_name(), descriptor.schema())
        part = table[self._space.group]
        accumulator = part.get(source, ABSENT)
        if accumulator is ABSENT:
            return
        part.remove(source)
        own = part.get(self._space.key, ABSENT)
        merged = (
            accumulator if own is ABSENT else descriptor.get_agg_function().merge(own, accumulator)
        )
        part.put(self._space.key, merged)


_MERGEABLE = frozenset({StateKind.REDUCING, StateKind.LIST, StateKind.AGGREGATING})
