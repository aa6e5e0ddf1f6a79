"""The root of all types: what it means to bring values to a declared form.

`coerce` gives a value its declared form: `int` for Long, `Row` with the declared names for
Row, `tuple` for Tuple, and so on. It is idempotent, and a value that has its form already is
returned itself. Nothing is lost in silence: a number out of range, a bool for a number, a
fraction for an integer are errors. Float is the one exception, as its name says: values are
rounded to 32 bits, once.

`coerce_batch` is the same for many values. It looks at columns, not at records: the set of
classes that occur, the minimum, the maximum. Only a batch with something unusual in it is
walked value by value.

Types are values: frozen, comparable, hashable, picklable, and impossible to build wrong.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from operator import is_
from types import NoneType
from typing import Any, Generic

from penstock.types.type_parameters import T_co
from penstock.types.value_serializer import StoredForm, ValueSerializer


class TypeInformation(ABC, Generic[T_co]):
    """The declared type of a stream, a key or a piece of state, whose values are `T_co`."""

    __slots__ = ()

    @abstractmethod
    def coerce(self, value: Any) -> Any:
        """Return `value` in the declared form, the same object if it has it already.

        Raises:
            ValueError: The value cannot be brought there; the text says why.
        """

    @abstractmethod
    def fit(self, values: Sequence[Any], kinds: set[type]) -> Sequence[Any]:
        """Coerce a batch; for use by `coerce_batch` and by types that contain this one.

        Args:
            values: The batch, which is not changed.
            kinds: The exact classes that occur in it.

        Returns:
            `values` itself if every value has its form already, else a new sequence.

        Raises:
            ValueError: Some value cannot be coerced; which one is not said.
        """

    def has_form(self, value: Any) -> bool:
        """Return whether `value` is known at a glance to have the outward declared form.

        The outward form is the class and, of a row, the names. False is always safe: then
        `coerce` decides.
        """
        del value
        return False

    def coerce_batch(self, values: list[Any]) -> list[Any]:
        """Return the declared forms of `values`; the same list if nothing changes.

        Raises:
            ValueError: As `coerce` for the first value it refuses.
        """
        try:
            fitted = self.fit(values, set(map(type, values)))
        except ValueError:
            return [self.coerce(value) for value in values]
        return fitted if isinstance(fitted, list) else list(fitted)

    def create_serializer(self, config: Any = None) -> ValueSerializer:
        """Return how values are stored.

        Args:
            config: The job's execution configuration; no type here depends on it.
        """
        return ValueSerializer(self, StoredForm.PLAIN)

    def create_var_len_serializer(self, config: Any = None) -> ValueSerializer:
        """Return how values are stored if `table.exec.enable-coded-rowdata` is on.

        It is `create_serializer` unless a type has a form of variable length: rows, tuples and
        maps do (CodedRowData 4.2), and lists and arrays of them.

        Args:
            config: As in `create_serializer`.
        """
        return self.create_serializer(config)

    def need_conversion(self) -> bool:
        """Return whether values can differ from their declared form."""
        return True

    def to_internal_type(self, obj: Any) -> Any:
        """Return the declared form of `obj`; None stays None.

        Raises:
            ValueError: The value cannot be coerced.
        """
        return None if obj is None else self.coerce(obj)

    def from_internal_type(self, obj: Any) -> Any:
        """Return `obj`: the declared form is what user functions see."""
        return obj


def find_mismatch(type_info: TypeInformation, values: Iterable[Any]) -> tuple[int, str] | None:
    """Return index and reason of the first value that `type_info` refuses, or None."""
    for index, value in enumerate(values):
        try:
            type_info.coerce(value)
        except ValueError as refused:
            return index, str(refused)
    return None


def fit_column(
    type_info: TypeInformation, column: Sequence[Any], *, nullable: bool
) -> Sequence[Any]:
    """Coerce one column of records; None stays None where `nullable`.

    Returns:
        `column` itself if nothing changes.

    Raises:
        ValueError: Some value cannot be coerced.
    """
    kinds = set(map(type, column))
    if not nullable or NoneType not in kinds:
        return type_info.fit(column, kinds)
    present = [value for value in column if value is not None]
    fitted = type_info.fit(present, kinds - {NoneType})
    if fitted is present:
        return column
    rest = iter(fitted)
    return [None if value is None else next(rest) for value in column]


def same_objects(left: Sequence[Any], right: Sequence[Any]) -> bool:
    """Return whether two sequences of one length hold the same objects."""
    return all(map(is_, left, right))


def coerce_one_by_one(type_info: TypeInformation, values: Sequence[Any]) -> Sequence[Any]:
    """Coerce a batch without any shortcut; `values` itself if nothing changes.

    Raises:
        ValueError: Some value cannot be coerced.
    """
    coerced = [type_info.coerce(value) for value in values]
    return values if same_objects(coerced, values) else coerced
