"""Methods that take columns: a wrong argument is an error of ours, with the user's line and what to write.

Catches: a TypeError or AttributeError of Python from within the package, a mistake that is taken for something else.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from penstock.api.streams.columns.column_operations import ColumnOperations
from penstock.api.streams.columns.keyed_columns import KeyedColumns
from penstock.common import Row, Time, Types
from penstock.datastream import StreamExecutionEnvironment, col
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import ArgumentError, UnknownFieldError

LEFT = Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.LONG()])
RIGHT = Types.ROW_NAMED(["k", "price"], [Types.STRING(), Types.LONG()])


@cache
def sides() -> tuple[Any, Any]:
    env = StreamExecutionEnvironment.get_execution_environment()
    return env.from_collection([Row("a", 1)], LEFT), env.from_collection([Row("a", 1)], RIGHT)


def rows() -> Any:
    return sides()[0]


def keyed() -> Any:
    return rows().key_by(col.k)


def windows(*, of_all: bool = False) -> Any:
    assigner = TumblingEventTimeWindows.of(Time.seconds(1))
    return rows().window_all(assigner) if of_all else keyed().window(assigner)


def as_of(*given: Any, **named: Any) -> Any:
    left, right = sides()
    return left.as_of_join(right, *given, **named)


def joined(*given: Any, **named: Any) -> Any:
    left, right = sides()
    return left.join(right, *given, **named)


PLACES: dict[str, Callable[[Any], Any]] = {
    "where": lambda v: rows().where(v),
    "where, the second": lambda v: rows().where(col.n > 1, v),
    "where, by name": lambda v: rows().where(n=v),
    "select": lambda v: rows().select(v),
    "select, by name": lambda v: rows().select(x=v),
    "with_columns": lambda v: rows().with_columns(v),
    "with_columns, by name": lambda v: rows().with_columns(n=v),
    "key_by": lambda v: rows().key_by(v),
    "key_by, the second": lambda v: rows().key_by(col.k, v),
    "key_by, the third": lambda v: rows().key_by(col.k, col.n, v),
    "key_by, by name": lambda v: rows().key_by(k=v),
    "aggregate": lambda v: keyed().aggregate(v),
    "aggregate, by name": lambda v: keyed().aggregate(x=v),
    "aggregate of windows": lambda v: windows().aggregate(v),
    "aggregate of windows, the second": lambda v: windows().aggregate(
        col.window_start, v, n=col.count()
    ),
    "aggregate of windows, the fifth": lambda v: windows().aggregate(*[col.window_end] * 4, v),
    "aggregate of windows, by name": lambda v: windows().aggregate(x=v),
    "aggregate of all windows": lambda v: windows(of_all=True).aggregate(v, n=col.count()),
    "top_n": lambda v: keyed().top_n(v, by=col.n),
    "top_n, the second": lambda v: keyed().top_n(2, v),
    "top_n, by": lambda v: keyed().top_n(2, by=v),
    "top_n, key": lambda v: keyed().top_n(2, by=col.n, key=v),
    "top_n, descending": lambda v: keyed().top_n(2, by=col.n, descending=v),
    "top_n, another name": lambda v: keyed().top_n(2, by=col.n, descendin=v),
    "last_value": lambda v: keyed().last_value(v),
    "last_value, by": lambda v: keyed().last_value(by=v),
    "as_of_join": lambda v: rows().as_of_join(v, by=col.k),
    "as_of_join, the second": as_of,
    "as_of_join, by": lambda v: as_of(by=v),
    "as_of_join, tolerance": lambda v: as_of(by=col.k, tolerance=v),
    "as_of_join, direction": lambda v: as_of(by=col.k, direction=v),
    "as_of_join, another name": lambda v: as_of(by=col.k, on=v),
    "join": lambda v: rows().join(v, on=col.k),
    "join, the second": joined,
    "join, on": lambda v: joined(on=v),
    "join, how": lambda v: joined(on=col.k, how=v),
    "join, between": lambda v: joined(on=col.k, between=v),
    "join, another name": lambda v: joined(by=v),
}
"""Method and argument to a call of it with a value there."""


def same(value: Any) -> Any:
    return value


VALUES: dict[str, Any] = {
    "nothing": None,
    "number": 5,
    "name": "n",
    "function": same,
    "class": int,
    "column": col.n,
    "unknown column": col.nope,
    "expression": col.n + 1,
    "aggregate": col.n.sum(),
    "columns": [col.n],
    "names": ["n"],
    "no columns": (),
    "mapping": {"n": col.n},
    "maker of columns": col,
}

NUMBER, COLUMN, COLUMNS, NONE = "number", "column", "columns", "no columns"
TAKEN: dict[str, set[str]] = {
    "select": {COLUMN},
    "select, by name": {NUMBER, "name", COLUMN, "expression"},
    "with_columns": {COLUMN},
    "with_columns, by name": {NUMBER, "name", COLUMN, "expression"},
    "key_by": {"function", "class", COLUMN},
    "key_by, the second": {"nothing", COLUMN},
    "key_by, the third": {COLUMN},
    "aggregate, by name": {"aggregate"},
    "aggregate of windows, the second": {"nothing"},
    "aggregate of windows, by name": {"aggregate"},
    "aggregate of all windows": {"nothing"},
    "top_n": {NUMBER},
    "top_n, by": {COLUMN, COLUMNS},
    "top_n, key": {COLUMN, COLUMNS, NONE},
    "last_value, by": {COLUMN, COLUMNS},
    "as_of_join, tolerance": {"nothing", NUMBER},
    "join, on": {"nothing"},
    "join, between": {"nothing"},
}
"""Method and argument to the values that are right there."""


@pytest.mark.parametrize("place", PLACES)
def test_wrong_arguments_are_refused(place: str) -> None:
    taken = TAKEN.get(place, set())
    for name in taken:
        PLACES[place](VALUES[name])
    for name in VALUES.keys() - taken:
        with pytest.raises((ArgumentError, UnknownFieldError)) as refused:
            PLACES[place](VALUES[name])
        assert refused.value.hint, name
        assert refused.value.origin is not None, name
        assert refused.value.origin.filename == __file__, name


EMPTY: dict[str, Callable[[], Any]] = {
    "where": lambda: rows().where(),
    "select": lambda: rows().select(),
    "key_by": lambda: rows().key_by(),
    "aggregate": lambda: keyed().aggregate(),
    "top_n": lambda: keyed().top_n(),
    "top_n without by": lambda: keyed().top_n(1),
    "last_value": lambda: keyed().last_value(),
    "as_of_join": lambda: rows().as_of_join(),
    "as_of_join without by": as_of,
    "join": lambda: rows().join(),
}


@pytest.mark.parametrize("place", EMPTY)
def test_a_missing_argument_is_refused(place: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        EMPTY[place]()
    assert "col." in refused.value.hint or refused.value.hint == "Pass an expression."
    assert refused.value.origin is not None
    assert refused.value.origin.filename == __file__


def test_every_method_of_columns_is_called() -> None:
    methods = {
        name
        for base in (ColumnOperations, KeyedColumns)
        for name, _ in inspect.getmembers(base, inspect.isfunction)
        if name in vars(base) and not name.startswith("_")
    }
    assert methods <= {place.split(",")[0] for place in PLACES}


@pytest.mark.parametrize(
    ("call", "problem", "hint"),
    [
        (lambda: keyed().aggregate(col.n.sum()), "sum(n)", "every result has a name"),
        (lambda: keyed().top_n(2, by=col.n, descendin=True), "'descending'?", "top_n(3, by="),
        (lambda: keyed().top_n(2, by="n"), "'n'", "Write col.n."),
        (lambda: keyed().last_value(by=["my n"]), "'my n'", "Write col['my n']."),
        (lambda: as_of(by=()), "as_of_join got no columns", "by=col.name"),
        (lambda: as_of(by=col.n + 1), "as_of_join got add(n, 1)", "with_columns"),
    ],
)
def test_the_mistake_is_named(call: Callable[[], Any], problem: str, hint: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        call()
    assert problem in refused.value.problem
    assert hint in refused.value.hint
