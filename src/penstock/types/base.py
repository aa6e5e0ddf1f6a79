"""The base class of types, and the coercion of values to their declared form.

`coerce` gives a value its declared form: `int` for Long, `Row` with the declared names for
Row, `tuple` for Tuple, and so on. It is idempotent. A value in the declared form is returned
itself. A number out of range, a bool for a number and a fraction for an integer are errors. Only
Float loses precision: it rounds values to 32 bits, once.

`coerce_batch` coerces many values. It checks columns, not records: the set of classes, the
minimum, the maximum. It walks a batch value by value only if one of these checks fails.

Types are frozen, comparable, hashable and picklable. Constructors refuse invalid types.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from operator import is_
from types import NoneType
from typing import Any, Generic

from penstock.types.type_parameters import T_co
from penstock.types.value_serializer import StoredForm, TypeSerializer, ValueSerializer


class TypeInformation(ABC, Generic[T_co]):
    """The declared type of a stream, a key or a state; its values are `T_co`.

    A program may declare a type of its own: a frozen dataclass that derives from this class, with `coerce`
    and `create_serializer`. Its values are stored in state by its serializer. Snapshots name the type by its `repr` and
    by the version of its serializer.

    Example:
        >>> type_info = Types.TUPLE([Types.STRING(), Types.INT()])
        >>> type_info.to_internal_type(["a", 1]), type_info.from_internal_type(("a", 1))
        (('a', 1), ('a', 1))
        >>> type_info.coerce(("a", 1)), type_info.need_conversion()
        (('a', 1), True)
        >>> type_info.create_serializer().form.name, type_info.create_var_len_serializer().form.name
        ('PLAIN', 'CODED')
    """

    __slots__ = ()

    @abstractmethod
    def coerce(self, value: Any) -> Any:
        """Return `value` in the declared form, the same object if it has that form already.

        Raises:
            ValueError: The value cannot be coerced; the text gives the reason.
        """

    def fit(self, values: Sequence[Any], kinds: set[type]) -> Sequence[Any]:
        """Coerce a batch; `coerce_batch` and the types that contain this one call it.

        The default coerces one value after the other.

        Args:
            values: The batch, which is not changed.
            kinds: The exact classes that occur in it.

        Returns:
            `values` itself if every value has its form already, else a new sequence.

        Raises:
            ValueError: A value cannot be coerced; the error does not name the value.
        """
        del kinds
        return coerce_one_by_one(self, values)

    def has_form(self, value: Any) -> bool:
        """Return whether the class of `value`, and the names of a row, are the declared ones.

        The check does not read the fields. False is always safe: then `coerce` decides.
        """
        del value
        return False

    def coerce_batch(self, values: list[Any]) -> list[Any]:
        """Return the declared forms of `values`; the same list if nothing changes.

        Raises:
            ValueError: `coerce` refuses a value; the error is that of the first.
        """
        try:
            fitted = self.fit(values, set(map(type, values)))
        except ValueError:
            return [self.coerce(value) for value in values]
        return fitted if isinstance(fitted, list) else list(fitted)

    def create_serializer(self, config: Any = None) -> TypeSerializer[Any]:
        """Return the serializer of stored values.

        Args:
            config: The job's execution configuration; no type here depends on it.
        """
        return ValueSerializer(self, StoredForm.PLAIN)

    # CodedRowData, rule 3.
    def create_var_len_serializer(self, config: Any = None) -> TypeSerializer[Any]:
        """Return the serializer of stored values if `table.exec.enable-coded-rowdata` is on.

        Rows, tuples, maps, and lists and arrays of these are coded rows (CodedRowData 4.2). For
        every other type it returns what `create_serializer` returns.

        Args:
            config: The job's execution configuration; no type here depends on it.
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
    """Coerce one column of records; return `column` itself if nothing changes.

    None stays None where `nullable`.
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
    """Coerce a batch without any shortcut; `values` itself if nothing changes."""
    coerced = [type_info.coerce(value) for value in values]
    return values if same_objects(coerced, values) else coerced
