"""Two streams and their keys: the first methods of co-groups and joins.

a.join(b).where(key of a).equal_to(key of b)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.api.functions.function_classes import KeySelector, ToKey
from penstock.api.functions.key_selectors import TypedKeySelector, typed_selector
from penstock.api.streams.stream_base import check_one_environment
from penstock.api.user_code import bound_method
from penstock.errors import ArgumentError, GraphError
from penstock.types import TypeInformation
from penstock.types.type_parameters import T1, T2, K

if TYPE_CHECKING:
    from penstock.api.streams.data_stream import DataStream
    from penstock.api.streams.keyed_stream import KeyedStream

E = TypeVar("E")
"""Result of the step behind two known keys."""


@dataclass(frozen=True, slots=True)
class PairedKeys(Generic[T1, T2]):
    """Two streams and how their keys are selected.

    Attributes:
        first_selector: Record of the first stream to key; typed if a type was declared.
        second_selector: The same of the second.
    """

    first: DataStream[T1]
    second: DataStream[T2]
    first_selector: Callable[[Any], Any]
    second_selector: Callable[[Any], Any]

    def keyed(self) -> tuple[KeyedStream[T1, Any], KeyedStream[T2, Any]]:
        """Return both streams with their keys."""
        return self.first.key_by(self.first_selector), self.second.key_by(self.second_selector)


class PairedStreams(Generic[T1, T2]):
    """Two streams without their keys: base of what `co_group` and `join` return."""

    def __init__(self, stream1: DataStream[T1], stream2: DataStream[T2]) -> None:
        """For `DataStream.co_group` and `DataStream.join`."""
        self._first = stream1
        self._second = stream2

    def _where(
        self,
        key_selector: ToKey[T1, K],
        key_type: TypeInformation | None,
        then: Callable[[PairedKeys[T1, T2]], E],
    ) -> Where[E, T1, T2, K]:
        selector = key_of(key_selector, key_type, "where")
        return Where(self._first, self._second, selector, then)


class Where(Generic[E, T1, T2, K]):
    """Two streams, and the key of the first; `equal_to` selects the key of the second."""

    def __init__(
        self,
        first: DataStream[T1],
        second: DataStream[T2],
        selector: Callable[[Any], Any],
        then: Callable[[PairedKeys[T1, T2]], E],
    ) -> None:
        """For `where` of co-groups and joins."""
        self._first = first
        self._second = second
        self._selector = selector
        self._then = then

    def equal_to(self, key_selector: ToKey[T2, K], key_type: TypeInformation | None = None) -> E:
        """Select the key of the second stream.

        Args:
            key_selector: A callable or `KeySelector`.
            key_type: As in `DataStream.key_by`. A type declared for one stream holds for both.

        Returns:
            Both streams and their keys.

        Raises:
            ArgumentError: `key_selector` is neither, or `key_type` is no type.
            KeyTypeError: Values of `key_type` cannot be keys.
            GraphError: Another type was declared for the key of the first stream.

        Example:
            >>> pairs = orders.join(numbers).where(lambda o: o[1]).equal_to(lambda n: n)
            >>> [(row.left[0], row.right) for row in collect(pairs.inner())]
            [('bob', 3)]
        """
        first, second = self._selector, key_of(key_selector, key_type, "equal_to")
        check_key_types(first, second)
        if isinstance(first, TypedKeySelector) and not isinstance(second, TypedKeySelector):
            second = replace(first, select=second)
        elif isinstance(second, TypedKeySelector) and not isinstance(first, TypedKeySelector):
            first = replace(second, select=first)
        return self._then(PairedKeys(self._first, self._second, first, second))


def key_of(
    key_selector: Any, key_type: TypeInformation | None, operation: str
) -> Callable[[Any], Any]:
    """Return the key selector, of the declared type if there is one.

    Raises:
        ArgumentError: It is neither a callable nor a `KeySelector`, or the type is none.
        KeyTypeError: Values of the type cannot be keys.
    """
    select = bound_method(key_selector, KeySelector, "get_key", operation)
    return typed_selector(select, key_type, operation)


def check_key_types(first: Any, second: Any) -> None:
    """Check that two key selectors do not give keys of different types."""
    if not isinstance(first, TypedKeySelector) or not isinstance(second, TypedKeySelector):
        return
    if first.key_type != second.key_type:
        raise GraphError.here(
            f"the keys of the two streams have the types {first.key_type!r} and "
            f"{second.key_type!r}",
            hint="Declare one type for both; keys of different types never meet.",
        )


def check_pair(first: Any, second: Any, operation: str, base: type, required: str) -> None:
    """Check that two streams can be read by one operator."""
    if not isinstance(second, base):
        raise ArgumentError.here(f"{operation} got {second!r}", hint=f"Pass a {required}.")
    check_one_environment(first, second)
