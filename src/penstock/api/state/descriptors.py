"""State descriptors: the name, the type and the time-to-live of a state, with PyFlink's names.

The runtime context returns the state that a descriptor describes. The same name with the same
kind and type is the same state; a name is unique within an operator. Types default to
`PICKLED_BYTE_ARRAY`: any object.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Generic, Protocol, TypeVar, runtime_checkable

from penstock.api.state.ttl import StateTtlConfig
from penstock.api.user_code import checked_label, checked_type
from penstock.errors import ArgumentError
from penstock.state.handles.ttl import TimeToLive
from penstock.state.schema.entry_schema import StateKind, StateSchema
from penstock.types import ListTypeInfo, MapTypeInfo, Time, TypeInformation
from penstock.types.type_parameters import ACC, IN, OUT, IN_contra, K, OUT_co, T, V


@runtime_checkable
class Reducer(Protocol[T]):
    """The function of a reducing state: a `ReduceFunction`, neither opened nor closed."""

    def reduce(self, value1: T, value2: T) -> T:
        """Return the combination of `value1` and `value2`."""


@runtime_checkable
class Aggregator(Protocol[IN_contra, ACC, OUT_co]):
    """The function of an aggregating state: an `AggregateFunction`, neither opened nor closed."""

    def create_accumulator(self) -> ACC:
        """Return a new accumulator."""

    def add(self, value: IN_contra, accumulator: ACC) -> ACC:
        """Return `accumulator` with `value` added."""

    def get_result(self, accumulator: ACC) -> OUT_co:
        """Return the result of `accumulator`."""

    def merge(self, acc_a: ACC, acc_b: ACC) -> ACC:
        """Return one accumulator for `acc_a` and `acc_b`."""


class StateDescriptor:
    """Base of all descriptors.

    Attributes:
        name: Identity of the state within its operator.
        type_info: Type of what is stored; of a list or map, the type of the whole.
        kind: Kind of the described state.

    Example:
        >>> ValueStateDescriptor("last", Types.INT()).get_name()
        'last'
    """

    kind: ClassVar[StateKind]

    def __init__(self, name: str, type_info: TypeInformation) -> None:
        """Describe a state.

        Raises:
            ArgumentError: The name is no string or blank, or the type is none.
        """
        label = type(self).__name__
        self.name = checked_label(name, label)
        self.type_info = checked_type(type_info, label)
        self._time_to_live: TimeToLive | None = None

    def get_name(self) -> str:
        """Return the name."""
        return self.name

    def enable_time_to_live(self, ttl_config: StateTtlConfig) -> None:
        """Set a time-to-live, after which values expire; call it before the descriptor is used.

        Args:
            ttl_config: Made by `StateTtlConfig.new_builder(ttl).build()`.

        Raises:
            ArgumentError: `ttl_config` is no `StateTtlConfig`.

        Example:
            >>> count = ValueStateDescriptor("count", Types.LONG())
            >>> count.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
            >>> count.time_to_live.ttl_ms
            3600000
        """
        if not isinstance(ttl_config, StateTtlConfig):
            raise ArgumentError.here(
                f"{self!r} got {ttl_config!r} as time-to-live",
                hint="Pass StateTtlConfig.new_builder(Time.hours(1)).build().",
            )
        self._time_to_live = ttl_config.rule()

    @property
    def time_to_live(self) -> TimeToLive | None:
        """The time-to-live; None if values do not expire."""
        return self._time_to_live

    def schema(self) -> StateSchema:
        """Return the schema of the stored state."""
        return StateSchema(
            self.kind, self._value_type(), self._subkey_type(), self._time_to_live is not None
        )

    def _value_type(self) -> TypeInformation:
        return self.type_info

    def _subkey_type(self) -> TypeInformation | None:
        return None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.type_info!r})"


class ValueStateDescriptor(StateDescriptor, Generic[T]):
    """Describes one value per key.

    Example:
        >>> ValueStateDescriptor("count", Types.LONG()).get_name()
        'count'
    """

    kind = StateKind.VALUE

    def __init__(self, name: str, value_type_info: TypeInformation[T] | None = None) -> None:
        """Describe a value state.

        Raises:
            ArgumentError: The name is no string or blank, or the type is none.
        """
        super().__init__(name, checked_type(value_type_info, type(self).__name__))


class ListStateDescriptor(StateDescriptor, Generic[T]):
    """Describes a list per key.

    Example:
        >>> ListStateDescriptor("seen", Types.STRING()).get_name()
        'seen'
    """

    kind = StateKind.LIST

    def __init__(self, name: str, elem_type_info: TypeInformation[T] | None = None) -> None:
        """Describe a list state.

        Raises:
            ArgumentError: The name is no string or blank, or the type is none.
        """
        self._element_type = checked_type(elem_type_info, type(self).__name__)
        super().__init__(name, ListTypeInfo(self._element_type))

    def _value_type(self) -> TypeInformation:
        return self._element_type


class MapStateDescriptor(StateDescriptor, Generic[K, V]):
    """Describes pairs per key, or the pairs of a broadcast state.

    Example:
        >>> MapStateDescriptor("limits", Types.STRING(), Types.INT()).get_name()
        'limits'
    """

    kind = StateKind.MAP

    def __init__(
        self,
        name: str,
        key_type_info: TypeInformation[K] | None = None,
        value_type_info: TypeInformation[V] | None = None,
    ) -> None:
        """Describe a map state.

        Raises:
            ArgumentError: The name is no string or blank, a type is none, or keys of that type
                cannot be looked up.
        """
        label = type(self).__name__
        self._key_type = checked_type(key_type_info, label)
        self._item_type = checked_type(value_type_info, label)
        super().__init__(name, MapTypeInfo(self._key_type, self._item_type))

    def _value_type(self) -> TypeInformation:
        return self._item_type

    def _subkey_type(self) -> TypeInformation | None:
        return self._key_type


class ReducingStateDescriptor(StateDescriptor, Generic[T]):
    """Describes one value per key, combined with each value added.

    Example:
        >>> largest = ReducingStateDescriptor("largest", max, Types.INT())
        >>> largest.get_reduce_function().reduce(2, 3)
        3
    """

    kind = StateKind.REDUCING

    def __init__(
        self,
        name: str,
        reduce_function: Reducer[T] | Callable[[T, T], T],
        type_info: TypeInformation[T] | None = None,
    ) -> None:
        """Describe a reducing state.

        Raises:
            ArgumentError: The name is no string or blank, the type is none, or the function is
                neither a `ReduceFunction` nor a callable.
        """
        super().__init__(name, checked_type(type_info, type(self).__name__))
        _refuse_class(self, reduce_function)
        if isinstance(reduce_function, Reducer):
            self._function: Reducer[T] = reduce_function
        elif callable(reduce_function):
            self._function = _CallableReducer(reduce_function)
        else:
            raise _not_a_function(self, reduce_function, "a ReduceFunction or a callable")

    def get_reduce_function(self) -> Reducer[T]:
        """Return the function; a callable is returned as an object with `reduce`."""
        return self._function


class AggregatingStateDescriptor(StateDescriptor, Generic[IN, ACC, OUT]):
    """Describes an accumulator per key, read by a function.

    Example:
        >>> class Count(AggregateFunction):
        ...     def create_accumulator(self):
        ...         return 0
        ...     def add(self, value, accumulator):
        ...         return accumulator + 1
        ...     def get_result(self, accumulator):
        ...         return accumulator
        ...     def merge(self, acc_a, acc_b):
        ...         return acc_a + acc_b
        >>> AggregatingStateDescriptor("count", Count(), Types.INT()).get_name()
        'count'
        >>> descriptor = AggregatingStateDescriptor("count", Count(), Types.INT())
        >>> descriptor.get_agg_function().create_accumulator()
        0
    """

    kind = StateKind.AGGREGATING

    def __init__(
        self,
        name: str,
        agg_function: Aggregator[IN, ACC, OUT],
        state_type_info: TypeInformation[ACC] | None = None,
    ) -> None:
        """Describe an aggregating state; its type is that of the accumulators.

        Raises:
            ArgumentError: The name is no string or blank, the type is none, or the function is
                no `AggregateFunction`.
        """
        super().__init__(name, checked_type(state_type_info, type(self).__name__))
        _refuse_class(self, agg_function)
        if not isinstance(agg_function, Aggregator):
            raise _not_a_function(self, agg_function, "an AggregateFunction")
        self._function = agg_function

    def get_agg_function(self) -> Aggregator[IN, ACC, OUT]:
        """Return the function."""
        return self._function


class _CallableReducer:
    """A callable in the form of a `ReduceFunction`."""

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self.reduce = function


def _refuse_class(descriptor: StateDescriptor, function: Any) -> None:
    if isinstance(function, type):
        raise ArgumentError.here(
            f"{descriptor!r} got the class {function.__name__}",
            hint=f"Did you forget the parentheses? Pass {function.__name__}() instead.",
        )


def _not_a_function(descriptor: StateDescriptor, function: Any, required: str) -> ArgumentError:
    return ArgumentError.here(
        f"{descriptor!r} takes {required}, got {function!r} of type {type(function).__name__}",
        hint=f"Pass {required}.",
    )


D = TypeVar("D", bound=StateDescriptor)


def expiring(descriptor: D, ttl_ms: int | None) -> D:
    """Return a descriptor whose values expire some milliseconds after they were written; None is never."""
    if ttl_ms is not None:
        descriptor.enable_time_to_live(
            StateTtlConfig.new_builder(Time.milliseconds(ttl_ms)).build()
        )
    return descriptor
