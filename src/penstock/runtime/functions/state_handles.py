"""Makes state handles of descriptors, for `RuntimeContext.get_state` and its siblings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from penstock.errors import ArgumentError, UnkeyedStateError
from penstock.program.level import OperatorSpec
from penstock.runtime.time.timers import PROCESSING_TABLE
from penstock.runtime.time.timers import TABLE as TIMERS_STATE
from penstock.state.backends.base import KeyedStateBackend, Table
from penstock.state.backends.hash.parts import HashTable
from penstock.state.handles.aggregating_state import TableAggregatingState, TableReducingState
from penstock.state.handles.broadcast_state import broadcast_state
from penstock.state.handles.key_context import KeyContext
from penstock.state.handles.list_state import TableListState, TtlListState, TypedListState
from penstock.state.handles.map_state import TableMapState, TypedMapState
from penstock.state.handles.ttl import Expiry, TimeToLive, TtlTable
from penstock.state.handles.ttl_sweeper import TtlSweeper
from penstock.state.handles.value_state import HashValueState, TableValueState, TypedValueState
from penstock.state.schema.declared_form import Form, declared_form
from penstock.state.schema.entry_schema import StateKind, StateSchema
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
        store: State backend of the subtask.
        context: The current key of the operator.
        group_of: Key to key group.
        now_ms: Clock of the time-to-live, in milliseconds since 1970.
        sweeper: Removes expired values of the operator.
    """

    store: KeyedStateBackend
    context: KeyContext
    group_of: Callable[[Any], int]
    now_ms: Callable[[], int] = wall_clock_ms
    sweeper: TtlSweeper = field(default_factory=TtlSweeper)


@dataclass(frozen=True, slots=True)
class _RegisteredState:
    """A registered state of an operator.

    Attributes:
        schema: Its schema.
        time_to_live: The time-to-live of its values.
        handle: Its handle.
    """

    schema: StateSchema
    time_to_live: TimeToLive | None
    handle: Any


@dataclass(frozen=True, slots=True)
class _HandleParameters:
    """The parameters of a handle.

    Attributes:
        table: The entries.
        context: The current key.
        descriptor: The user's descriptor.
        form: Coerces values to their declared type; None if any object is allowed.
        key_form: Coerces the keys of a map; None if any object is allowed.
        expiry: Expires values; None if they do not expire.
    """

    table: Table
    context: KeyContext
    descriptor: Any
    form: Form | None
    key_form: Form | None
    expiry: Expiry | None

    def ageless_table(self) -> Table:
        """Return a table that hides expiry, for handles that do not support it."""
        return self.table if self.expiry is None else TtlTable(self.table, self.expiry)


class StateHandles:
    """Makes the state handles of one operator, and checks that names are unique."""

    def __init__(self, spec: OperatorSpec, scope: KeyedScope | None) -> None:
        self._spec = spec
        self._scope = scope
        self._known: dict[str, _RegisteredState] = {}

    def keyed(self, kind: StateKind, descriptor: Descriptor) -> Any:
        """Return the keyed state of `descriptor`.

        Raises:
            ArgumentError: It is no descriptor of such a state, or its name is taken.
            UnkeyedStateError: The operator has no key.
            StateMigrationError: Stored values cannot be read with the declared type.
        """
        self._check(kind, descriptor)
        if self._scope is None:
            raise UnkeyedStateError(
                f"{self._spec.name!r} asked for state {descriptor.get_name()!r}, but its stream "
                "has no key",
                hint="Call key_by before this operator.",
                origin=self._spec.origin,
            )
        return self._handle(descriptor, descriptor.schema(), self._scope)

    def broadcast(self, descriptor: Descriptor) -> TableMapState:
        """Return the broadcast state of a map state descriptor.

        Raises:
            ArgumentError: It is no such descriptor, has a time-to-live, its name is taken, or
                the operator has no broadcast input.
            StateMigrationError: Stored values cannot be read with the declared types.
        """
        self._check(StateKind.MAP, descriptor)
        if self._scope is None or descriptor.time_to_live is not None:
            expires = "does not expire" if self._scope else "needs a broadcast stream"
            raise ArgumentError(
                f"{self._spec.name!r} asked for {descriptor!r}, but broadcast state {expires}",
                hint="Use a MapStateDescriptor without time-to-live, on a stream connected with "
                "a broadcast one.",
                origin=self._spec.origin,
            )
        declared = descriptor.schema()
        schema = StateSchema(StateKind.BROADCAST, declared.value_type, declared.subkey_type)
        handle: TableMapState = self._handle(descriptor, schema, self._scope)
        return handle

    def _check(self, kind: StateKind, descriptor: Any) -> None:
        if getattr(descriptor, "kind", None) is not kind or isinstance(descriptor, type):
            wanted = f"{kind.value.capitalize()}StateDescriptor"
            raise ArgumentError(
                f"{self._spec.name!r} asked for {kind.value} state with {descriptor!r}",
                hint=f"Pass a {wanted}, or call the method for the kind of state it describes.",
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
        parameters = _HandleParameters(
            table,
            scope.context,
            descriptor,
            declared_form(schema.value_type, subject),
            key_form,
            None if rule is None else Expiry(rule, scope.now_ms),
        )
        handle = _MAKERS[schema.kind](parameters)
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


def _value_state(parameters: _HandleParameters) -> TableValueState:
    table = parameters.ageless_table()
    if parameters.form is None:
        is_hash = isinstance(table, HashTable)
        return (HashValueState if is_hash else TableValueState)(table, parameters.context)
    return TypedValueState(table, parameters.context, parameters.form)


def _list_state(parameters: _HandleParameters) -> TableListState:
    if parameters.expiry is not None:
        return TtlListState(
            parameters.table, parameters.context, parameters.expiry, parameters.form
        )
    if parameters.form is None:
        return TableListState(parameters.table, parameters.context)
    return TypedListState(parameters.table, parameters.context, parameters.form)


def _map_state(parameters: _HandleParameters) -> TableMapState:
    table = parameters.ageless_table()
    if parameters.form is None and parameters.key_form is None:
        return TableMapState(table, parameters.context)
    return TypedMapState(table, parameters.context, parameters.key_form, parameters.form)


def _reducing_state(parameters: _HandleParameters) -> TableReducingState:
    function = parameters.descriptor.get_reduce_function().reduce
    return TableReducingState(
        parameters.ageless_table(), parameters.context, function, parameters.form
    )


def _aggregating_state(parameters: _HandleParameters) -> TableAggregatingState:
    function = parameters.descriptor.get_agg_function()
    return TableAggregatingState(
        parameters.ageless_table(), parameters.context, function, parameters.form
    )


def _broadcast_state(parameters: _HandleParameters) -> TableMapState:
    return broadcast_state(parameters.table, parameters.key_form, parameters.form)


_MAKERS: dict[StateKind, Callable[[_HandleParameters], Any]] = {
    StateKind.VALUE: _value_state,
    StateKind.LIST: _list_state,
    StateKind.MAP: _map_state,
    StateKind.REDUCING: _reducing_state,
    StateKind.AGGREGATING: _aggregating_state,
    StateKind.BROADCAST: _broadcast_state,
}
"""Kind of state to the function that makes its handle."""
