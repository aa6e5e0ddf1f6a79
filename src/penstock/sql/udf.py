"""Functions of the user for SQL, by PyFlink's names: `udf`, `udtf`, `udaf` and their classes.

@udf(result_type="BIGINT")
def plus_one(n): return n + 1

env.create_function("plus_one", plus_one)        CREATE FUNCTION plus_one AS 'my_module.plus_one' LANGUAGE PYTHON
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.errors import ArgumentError
from penstock.sql.catalogue import FunctionKind
from penstock.sql.grammar import parse_type
from penstock.types import TypeInformation
from penstock.types.row import Row
from penstock.types.sql_types import SqlType, of_type_info, row

ResultType = str | TypeInformation | SqlType
"""A type of SQL as text, such as `DECIMAL(10, 2)`, or one of `Types`."""

_NULLABLE = {
    pa.int8(): "Int8",
    pa.int16(): "Int16",
    pa.int32(): "Int32",
    pa.int64(): "Int64",
    pa.bool_(): "boolean",
}
"""Type of Arrow to the dtype of pandas that has its values and NULL."""

_FUNC_TYPES = ("general", "arrow", "pandas")


class _OpenedFunction:
    """Shared parts of all functions."""

    def open(self, function_context: Any) -> None:
        """Prepare, once in every worker before the first call."""

    def close(self) -> None:
        """End; called when the worker does."""

    def is_deterministic(self) -> bool:
        """Return whether equal arguments have equal results."""
        return True


class UserScalarFunction(_OpenedFunction, ABC):
    """A value per row. Pass an instance to `udf`.

    Example:
        >>> class Half(ScalarFunction):
        ...     def eval(self, n):
        ...         return n / 2
        >>> udf(Half(), result_type="DOUBLE").kind.name
        'SCALAR'
    """

    @abstractmethod
    def eval(self, *args: Any) -> Any:
        """Return the value for the arguments; None is NULL."""


class UserTableFunction(_OpenedFunction, ABC):
    """Any number of rows per row. Pass an instance to `udtf`."""

    @abstractmethod
    def eval(self, *args: Any) -> Iterable[Any]:
        """Return or yield rows for the arguments: tuples or `Row`s, or values if a row has one column."""


class UserAggregateFunction(_OpenedFunction, ABC):
    """A value per group. Pass an instance to `udaf`.

    A worker calls `create_accumulator` once per group, `accumulate` for each row, `retract` for each row that is taken
    back, and `get_value` for the value so far. An accumulator is stored, so it must be picklable.
    """

    @abstractmethod
    def create_accumulator(self) -> Any:
        """Return the initial accumulator of a group: a list, a dict or a `Row`."""

    @abstractmethod
    def accumulate(self, accumulator: Any, *args: Any) -> None:
        """Change the accumulator by a row."""

    def retract(self, accumulator: Any, *args: Any) -> None:
        """Change the accumulator back by a row that was taken back.

        Raises:
            ArgumentError: The class has no such method of its own.
        """
        raise ArgumentError.here(
            f"{type(self).__name__} cannot take rows back",
            hint="Write its method retract, or aggregate rows that do not change.",
        )

    @abstractmethod
    def get_value(self, accumulator: Any) -> Any:
        """Return the value of the group."""


# PyFlink's names, which `penstock.datastream` has for other classes, too.
ScalarFunction = UserScalarFunction
TableFunction = UserTableFunction
AggregateFunction = UserAggregateFunction


@dataclass(frozen=True, slots=True)
class UserDefinedFunction:
    """A function with its types and properties in SQL, created by `udf`, `udtf` and `udaf`.

    Attributes:
        result_type: Type of its values; a ROW for a table function.
        is_deterministic: True if equal arguments have equal results.
        takes_batches: True if it takes columns of many rows.
        func_type: `general`, `arrow` or `pandas`.
    """

    kind: FunctionKind
    function: Any
    result_type: SqlType
    is_deterministic: bool = True
    takes_batches: bool = False
    func_type: str = "general"

    def __call__(self, *args: Any) -> Any:
        """Call what the user wrote, as a program does."""
        called = self.function if callable(self.function) else self.function.eval
        return called(*args)

    @property
    def called(self) -> Any:
        """The function that SQL calls."""
        if self.kind is FunctionKind.AGGREGATE:
            return self.function
        if self.kind is FunctionKind.TABLE:
            return _RowsOf(self.function, self.result_type)
        if self.takes_batches:
            return _OfColumns(self.function, self.func_type == "pandas")
        return _Opened(self.function)


def udf(
    f: Callable[..., Any] | UserScalarFunction | type | None = None,
    input_types: Any = None,
    result_type: ResultType | None = None,
    deterministic: bool | None = None,  # noqa: FBT001 - PyFlink's
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """Return a scalar function for SQL; without `f` a decorator.

    Args:
        f: A function, or an instance or class of `ScalarFunction`.
        input_types: Accepted; arguments have the types of the query.
        result_type: Type of its values.
        deterministic: True if equal arguments have equal results; None takes the value of the function.
        name: Accepted; SQL names it.
        func_type: `general` is called per row with values, `arrow` with arrays of Arrow and `pandas` with Series of
            many rows, whole numbers and booleans in dtypes that have NULL. It returns as many values; how rows are cut is not
            defined.

    Raises:
        ArgumentError: There is no result type, or an argument is wrong.

    Example:
        >>> @udf(result_type="BIGINT")
        ... def plus_one(n):
        ...     return n + 1
        >>> plus_one(2), plus_one.result_type.name
        (3, 'BIGINT')
    """
    del input_types, name
    if f is None:
        return lambda function: udf(
            function, result_type=result_type, deterministic=deterministic, func_type=func_type
        )
    if func_type not in _FUNC_TYPES:
        raise ArgumentError.here(
            f"udf got func_type={func_type!r}", hint=f"Pass one of {', '.join(_FUNC_TYPES)}."
        )
    function = _made(f, ScalarFunction, "udf")
    return UserDefinedFunction(
        FunctionKind.SCALAR,
        function,
        _type(result_type, "udf"),
        _is_deterministic(function, deterministic),
        func_type != "general",
        func_type,
    )


def udtf(
    f: Callable[..., Any] | UserTableFunction | type | None = None,
    input_types: Any = None,
    result_types: ResultType | Sequence[ResultType] | None = None,
    deterministic: bool | None = None,  # noqa: FBT001 - PyFlink's
    name: str | None = None,
) -> Any:
    """Return a table function for SQL, for LATERAL TABLE; without `f` a decorator.

    Args:
        f: A function, or an instance or class of `TableFunction`, that returns or yields rows.
        input_types: Accepted; arguments have the types of the query.
        result_types: Types of the columns, or one ROW that names them.
        deterministic: True if equal arguments have equal results; None takes the value of the function.
        name: Accepted; SQL names it.

    Raises:
        ArgumentError: There are no result types, or an argument is wrong.

    Example:
        >>> @udtf(result_types="ROW<word STRING, length INT>")
        ... def words(text):
        ...     for word in text.split():
        ...         yield word, len(word)
        >>> words.result_type.fields
        ('word', 'length')
    """
    del input_types, name
    if f is None:
        return lambda function: udtf(
            function, result_types=result_types, deterministic=deterministic
        )
    function = _made(f, TableFunction, "udtf")
    given = [result_types] if isinstance(result_types, ResultType) else result_types
    types = [_type(result_type, "udtf") for result_type in given or (None,)]
    rows = types[0] if len(types) == 1 and types[0].name == "ROW" else None
    if rows is None:
        rows = row(tuple(f"f{i}" for i in range(len(types))), tuple(types))
    return UserDefinedFunction(
        FunctionKind.TABLE, function, rows, _is_deterministic(function, deterministic)
    )


def udaf(
    f: UserAggregateFunction | type | None = None,
    input_types: Any = None,
    result_type: ResultType | None = None,
    accumulator_type: Any = None,
    deterministic: bool | None = None,  # noqa: FBT001 - PyFlink's
    name: str | None = None,
) -> UserDefinedFunction:
    """Return an aggregate function for SQL.

    Args:
        f: An instance or class of `AggregateFunction`.
        input_types: Accepted; arguments have the types of the query.
        result_type: Type of its values.
        accumulator_type: Accepted; accumulators are stored as they are.
        deterministic: True if equal arguments have equal results; None takes the value of the function.
        name: Accepted; SQL names it.

    Raises:
        ArgumentError: There is no result type, or it is no aggregate function.
    """
    del input_types, name, accumulator_type
    function = _made(f, AggregateFunction, "udaf")
    if not isinstance(function, AggregateFunction):
        raise ArgumentError.here(
            f"udaf got {f!r}", hint="Pass an instance of a class derived from AggregateFunction."
        )
    return UserDefinedFunction(
        FunctionKind.AGGREGATE,
        function,
        _type(result_type, "udaf"),
        _is_deterministic(function, deterministic),
    )


def _made(f: Any, base: type, what: str) -> Any:
    function = f() if isinstance(f, type) and issubclass(f, base) else f
    if not (isinstance(function, base) or (callable(function) and not isinstance(function, type))):
        raise ArgumentError.here(
            f"{what} got {f!r}", hint=f"Pass a function, or an instance of {base.__name__}."
        )
    return function


def _type(given: ResultType | None, what: str) -> SqlType:
    if isinstance(given, SqlType):
        return given
    if isinstance(given, str):
        return parse_type(given)
    if isinstance(given, TypeInformation):
        return of_type_info(given)
    raise ArgumentError.here(
        f"{what} got the result type {given!r}", hint="Pass a type of SQL, such as 'BIGINT'."
    )


def _is_deterministic(function: Any, given: bool | None) -> bool:  # noqa: FBT001 - a value
    if given is not None:
        return given
    is_deterministic = getattr(function, "is_deterministic", None)
    return True if is_deterministic is None else bool(is_deterministic())


class _Opened:
    """Calls a function or `eval`, which is opened in the worker before its first call."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._call: Callable[..., Any] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._function,)

    def __call__(self, *args: Any) -> Any:
        """Return the value for the arguments."""
        call = self._call
        if call is None:
            call = self._call = _opened(self._function)
        return call(*args)


def _opened(function: Any) -> Callable[..., Any]:
    if isinstance(function, _OpenedFunction):
        function.open(None)
        evaluate: Callable[..., Any] = function.eval  # type: ignore[attr-defined]
        return evaluate
    called: Callable[..., Any] = function
    return called


class _OfColumns(_Opened):
    """Calls a function of columns, with those of many rows or of one."""

    def __init__(self, function: Any, is_pandas: bool) -> None:  # noqa: FBT001 - of a pickle
        super().__init__(function)
        self._is_pandas = is_pandas

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._function, self._is_pandas)

    def __call__(self, *args: Any) -> Any:
        """Return the value for the arguments of one row."""
        return self.of_columns([pa.array([value]) for value in args], 1)[0]

    def of_columns(self, columns: Sequence[pa.Array], count: int) -> list[Any]:
        """Return a value per row.

        Raises:
            ArgumentError: The function returned more or fewer.
        """
        given = [_series(column) for column in columns] if self._is_pandas else columns
        result = super().__call__(*given)
        array = (
            result
            if isinstance(result, pa.Array | pa.ChunkedArray)
            else pa.array(result, from_pandas=self._is_pandas)
        )
        if len(array) != count:
            raise ArgumentError.here(
                f"a function of columns returned {len(array)} values for {count} rows",
                hint="Return one value per row.",
            )
        values: list[Any] = array.to_pylist()
        return values


def _series(column: pa.Array) -> Any:
    """Return a Series, whose dtype does not depend on which rows have NULL: how rows are cut changes nothing."""
    dtype = _NULLABLE.get(column.type)
    series = column.to_pandas(integer_object_nulls=True)
    return series if dtype is None else series.astype(dtype)


class _RowsOf(_Opened):
    """Calls a table function, and makes rows of what it returns."""

    def __init__(self, function: Any, kind: SqlType) -> None:
        super().__init__(function)
        self._kind = kind
        self._coerce = kind.type_info.coerce

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._function, self._kind)

    def __call__(self, *args: Any) -> Iterator[Row]:
        """Yield the rows for the arguments."""
        for result in super().__call__(*args) or ():
            is_row = isinstance(result, tuple | list | Row)
            yield self._coerce(result if is_row else (result,))
