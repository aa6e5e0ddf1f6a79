"""Makes state handles of descriptors, for `RuntimeContext.get_state` and its siblings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import Any, Protocol

from penstock.errors import ArgumentError, UnkeyedStateError
from penstock.program.level import OperatorSpec
from penstock.runtime.time.timers import PROCESSING_TABLE
from penstock.runtime.time.timers import TABLE as TIMERS_STATE
from penstock.state.backends.base import KeyedStateBackend, Table
from penstock.state.handles.key_context import HandleParameters, KeyContext
from penstock.state.handles.list_state import TtlListState
from penstock.state.handles.map_state import TableMapState
from penstock.state.handles.ttl import Expiry, TimeToLive, TtlTable
from penstock.state.handles.ttl_sweeper import TtlSweeper
from penstock.state.schema.declared_form import declared_form
from penstock.state.schema.entry_schema import KINDS, StateKind, StateSchema
from penstock.state.schema.evolution import wall_clock_ms

_TIMERS = (TIMERS_STATE, PROCESSING_TABLE)


class Descriptor(Protocol):
    """The methods of a state descriptor of the API that the runtime calls."""

    @property
    def kind(self) -> StateKind:
        """The kind of its state."""

    @property
    def time_to_live(self) -> TimeToLive | None:
        """The time-to-live of values; None if they do not expire."""

    def get_name(self) -> str:
        """Return the name of the state."""

    def schema(self) -> StateSchema:
        """Return the schema of the state."""


@dataclass(frozen=True, slots=True)
class KeyedScope:
    """The keyed state of an operator.

    Attributes:
        now_ms: Clock of the time-to-live, in milliseconds since 1970.
    """

    store: KeyedStateBackend
    context: KeyContext
    group_of: Callable[[Any], int]
    now_ms: Callable[[], int] = wall_clock_ms
    sweeper: TtlSweeper = field(default_factory=TtlSweeper)

    def table(self, uid: str, state: str, schema: StateSchema, ttl_ms: int | None) -> Table:
        """Open a table of an operator, whose values expire if there is a time-to-live."""
        table: Table = self.store.table(uid, state, schema)
        if ttl_ms is not None:
            expiry = Expiry(TimeToLive(ttl_ms), self.now_ms)
            self.sweeper.add(table, expiry)
            return TtlTable(table, expiry)
        return table


@dataclass(frozen=True, slots=True)
class _RegisteredState:
    """A registered state of an operator."""

    schema: StateSchema
    time_to_live: TimeToLive | None
    handle: Any


class StateHandles:
    """Makes the state handles of one operator, and checks that names are unique."""

    def __init__(self, spec: OperatorSpec, scope: KeyedScope | None) -> None:
        self._spec = spec
        self._scope = scope
        self._known: dict[str, _RegisteredState] = {}

    def keyed(self, getter: str, descriptor: Descriptor) -> Any:
        """Return the keyed state of a descriptor, as the method of that name of a context."""
        self._check(getter, descriptor)
        if self._scope is None:
            raise UnkeyedStateError(
                f"{self._spec.name!r} requested state {descriptor.get_name()!r}, but its stream "
                "has no key",
                hint="Call key_by before this operator.",
                origin=self._spec.origin,
            )
        return self._handle(descriptor, descriptor.schema(), self._scope)

    def broadcast(self, descriptor: Descriptor) -> TableMapState:
        """Return the broadcast state of a map state descriptor."""
        self._check(StateKind.MAP.getter, descriptor)
        if self._scope is None or descriptor.time_to_live is not None:
            expires = "does not expire" if self._scope else "needs a broadcast stream"
            raise ArgumentError(
                f"{self._spec.name!r} requested {descriptor!r}, but broadcast state {expires}",
                hint="Use a MapStateDescriptor without time-to-live, on a stream connected with "
                "a broadcast one.",
                origin=self._spec.origin,
            )
        declared = descriptor.schema()
        schema = StateSchema(StateKind.BROADCAST, declared.value_type, declared.subkey_type)
        handle: TableMapState = self._handle(descriptor, schema, self._scope)
        return handle

    def _check(self, getter: str, descriptor: Any) -> None:
        given_kind = getattr(descriptor, "kind", None)
        if getattr(given_kind, "getter", None) != getter or isinstance(descriptor, type):
            kind = next(kind for kind in KINDS.values() if kind.getter == getter)
            descriptors = f"{kind.value.capitalize()}StateDescriptor"
            raise ArgumentError(
                f"{self._spec.name!r} requested {kind.value} state with {descriptor!r}",
                hint=f"Pass a {descriptors}, or call the method for the kind of state it describes.",
                origin=self._spec.origin,
            )

        name = descriptor.get_name()
        if name in _TIMERS or self._spec.kind.reserves(name):
            raise ArgumentError(
                f"{self._spec.name!r} calls a state {name!r}, a name that Penstock uses itself",
                hint="Give the state another name.",
                origin=self._spec.origin,
            )

    def _handle(self, descriptor: Descriptor, schema: StateSchema, scope: KeyedScope) -> Any:
        name, rule = descriptor.get_name(), descriptor.time_to_live
        known = self._known.get(name)
        if known is not None:
            self._check_same(name, known, schema, rule)
            return known.handle
        table = scope.store.table(self._spec.uid, name, schema)
        subject = f"state {name!r} of operator {self._spec.name!r}"
        subkey_type = schema.subkey_type
        key_form = None
        if subkey_type is not None:
            key_form = declared_form(subkey_type, f"a key of {subject}")
        parameters = HandleParameters(
            table,
            scope.context,
            descriptor,
            declared_form(schema.value_type, subject),
            key_form,
            None if rule is None else Expiry(rule, scope.now_ms),
        )
        handle = resolve_name(schema.kind.handle)(parameters)
        if parameters.expiry is not None:
            lists = handle if isinstance(handle, TtlListState) else None
            scope.sweeper.add(table, parameters.expiry, lists)
        self._known[name] = _RegisteredState(schema, rule, handle)
        return handle

    def _check_same(
        self, name: str, known: _RegisteredState, schema: StateSchema, rule: TimeToLive | None
    ) -> None:
        if known.schema != schema or known.time_to_live != rule:
            before = _described(known.schema, known.time_to_live)
            raise ArgumentError(
                f"{self._spec.name!r} uses the name {name!r} for two states: {before} and "
                f"{_described(schema, rule)}",
                hint="Give each state of an operator its own name.",
                origin=self._spec.origin,
            )


def _described(schema: StateSchema, rule: TimeToLive | None) -> str:
    keys = "" if schema.subkey_type is None else f"{schema.subkey_type!r} to "
    expires = "" if rule is None else f", {rule!r}"
    return f"{schema.kind.value} state of {keys}{schema.value_type!r}{expires}"


class KeyedStates:
    """The methods of `KeyedStateStore` of the API, each for the kinds of state that name it as their getter."""

    def __init__(self, handles: StateHandles) -> None:
        self._states = handles

    def get_state(self, state_descriptor: Descriptor) -> Any:
        """Return value state, or state of a kind without a method of its own."""
        return self._states.keyed("get_state", state_descriptor)

    def get_list_state(self, state_descriptor: Descriptor) -> Any:
        """Return list state."""
        return self._states.keyed("get_list_state", state_descriptor)

    def get_map_state(self, state_descriptor: Descriptor) -> Any:
        """Return map state."""
        return self._states.keyed("get_map_state", state_descriptor)

    def get_reducing_state(self, state_descriptor: Descriptor) -> Any:
        """Return reducing state."""
        return self._states.keyed("get_reducing_state", state_descriptor)

    def get_aggregating_state(self, state_descriptor: Descriptor) -> Any:
        """Return aggregating state."""
        return self._states.keyed("get_aggregating_state", state_descriptor)
