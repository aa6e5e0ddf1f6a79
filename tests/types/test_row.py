"""Rows: PyFlink's semantics, pickles, and the bulk paths."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import ArgumentError, UnknownFieldError
from penstock.types.row import Row, RowKind, row_factory, rows_to_values, schemas_of

_NAMES = st.lists(st.text("abcdef", min_size=1, max_size=3), min_size=1, max_size=4, unique=True)
_VALUES = st.none() | st.integers() | st.text(max_size=3) | st.tuples(st.booleans())


@st.composite
def _any_row(draw: st.DrawFn) -> Row:
    kind = draw(st.sampled_from(RowKind))
    if draw(st.booleans()):
        return Row.of_kind(kind, *draw(st.lists(_VALUES, max_size=4)))
    return Row.of_kind(kind, **{name: draw(_VALUES) for name in draw(_NAMES)})


@given(st.lists(_any_row(), max_size=5), st.integers(2, pickle.HIGHEST_PROTOCOL))
def test_pickle_round_trip(rows: list[Row], protocol: int) -> None:
    back = pickle.loads(pickle.dumps(rows, protocol))
    assert back == rows
    assert list(map(repr, back)) == list(map(repr, rows))
    assert [row.get_row_kind() for row in back] == [row.get_row_kind() for row in rows]


@given(_any_row(), _any_row())
def test_equal_rows_have_equal_hashes(left: Row, right: Row) -> None:
    assert left != right or hash(left) == hash(right)
    assert hash(left) == hash(copy.copy(left))


@pytest.mark.parametrize("make", [lambda i: Row(user=i, amount=i + 1), None])
def test_names_are_pickled_once_per_batch(make: Any) -> None:
    make = make or (lambda i: row_factory(["user", "amount"])([[i, i + 1]])[0])
    per_row = (
        len(pickle.dumps([make(i) for i in range(1100, 2100)], 5))
        - len(pickle.dumps([make(i) for i in range(1100, 1200)], 5))
    ) / 900
    lists = (
        len(pickle.dumps([[i, i + 1] for i in range(1100, 2100)], 5))
        - len(pickle.dumps([[i, i + 1] for i in range(1100, 1200)], 5))
    ) / 900
    assert per_row <= lists + 9


def test_keyword_rows_keep_the_order_of_the_names() -> None:
    row = Row(name="Alice", age=11)
    assert repr(row) == str(row) == "Row(name='Alice', age=11)"
    assert (row.name, row["age"], row[0], row[-1]) == ("Alice", 11, "Alice", 11)
    assert (list(row), len(row), row[0:1]) == (["Alice", 11], 2, ["Alice"])


def test_in_looks_at_names_or_else_at_values() -> None:
    assert "name" in Row(name="Alice")
    assert "Alice" not in Row(name="Alice")
    assert "Alice" in Row("Alice")


def test_a_row_of_names_makes_rows() -> None:
    person = Row("name", "age")
    assert repr(person) == "<Row('name', 'age')>"
    assert person("Alice", 11) == Row(name="Alice", age=11)
    with pytest.raises(ArgumentError) as raised:
        person("Alice")
    assert raised.value.code == "GRAPH_ARGUMENT"


def test_equality_ignores_the_order_of_names_but_not_names_or_kind() -> None:
    assert Row(a=1, b=2) == Row(b=2, a=1)
    assert hash(Row(a=1, b=2)) == hash(Row(b=2, a=1))
    assert Row(a=1, b=2) != Row(a=2, b=1)
    assert Row(a=1) != Row(b=1)
    assert Row(a=1) != Row(1)
    assert Row(1) != (1,)
    assert Row(1) != Row.of_kind(RowKind.DELETE, 1)


def test_values_can_be_replaced_but_attributes_cannot_be_added() -> None:
    row = Row(a=1, b=2)
    row[0], row["b"] = 10, 20
    assert row == Row(a=10, b=20)
    with pytest.raises(AttributeError):
        row.a = 5  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="'c'"):
        _ = row.c


@pytest.mark.parametrize("row", [Row(a=1), Row(1)])
@pytest.mark.parametrize("error", [UnknownFieldError, KeyError, ValueError])
def test_unknown_field_names_are_refused(row: Row, error: type[Exception]) -> None:
    with pytest.raises(error) as raised:
        _ = row["b"]
    assert isinstance(raised.value, UnknownFieldError)
    assert raised.value.code == "UNKNOWN_FIELD"
    assert "'b'" in str(raised.value)
    with pytest.raises(error):
        row["b"] = 1


def test_as_dict_descends_only_when_asked() -> None:
    row = Row(key=1, value=[Row(a=1)], by_name={"x": Row(b=2)})
    assert row.as_dict()["value"] == [Row(a=1)]
    assert row.as_dict(recursive=True) == {
        "key": 1,
        "value": [{"a": 1}],
        "by_name": {"x": {"b": 2}},
    }
    with pytest.raises(ArgumentError):
        Row(1).as_dict()


def test_field_names_can_be_set_and_selected() -> None:
    row = Row(1, 2)
    assert row.get_fields_by_names(["b"]) == [1, 2]
    row.set_field_names(["a", "b"])
    assert row.get_fields_by_names(["b", "a"]) == [2, 1]
    with pytest.raises(UnknownFieldError):
        row.get_fields_by_names(["c"])
    with pytest.raises(ArgumentError):
        row.set_field_names(["a"])


def test_positional_and_keyword_arguments_do_not_mix() -> None:
    with pytest.raises(ArgumentError) as raised:
        Row(1, a=2)
    assert raised.value.code == "GRAPH_ARGUMENT"


def test_row_kinds_have_short_strings() -> None:
    assert [kind.short_string for kind in RowKind] == ["+I", "-U", "+U", "-D"]
    row = Row(1)
    assert row.get_row_kind() is RowKind.INSERT
    row.set_row_kind(RowKind.UPDATE_AFTER)
    assert row.get_row_kind() is RowKind.UPDATE_AFTER


@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy])
def test_copies_do_not_share_values(copier: Any) -> None:
    row = Row.of_kind(RowKind.DELETE, a=1)
    other = copier(row)
    assert other == row
    other["a"] = 2
    assert row.a == 1


def test_factory_and_values_are_inverse() -> None:
    lists = [[1, "x"], [2, "y"]]
    rows = row_factory(["id", "name"])(iter(lists))
    assert rows == [Row(id=1, name="x"), Row(id=2, name="y")]
    assert rows_to_values(rows) == lists
    assert schemas_of(rows) == {("id", "name")}
    assert row_factory(None)([[1]]) == [Row(1)]


def test_fields_named_like_methods_are_reached_by_index_and_hide_nothing():
    row = Row(as_dict=1, _private=2, b=3)
    assert row.as_dict() == {"as_dict": 1, "_private": 2, "b": 3}
    assert (row["as_dict"], row["_private"], row.b) == (1, 2, 3)


def test_new_field_names_replace_the_old_ones():
    row = Row(a=1, b=2)
    row.set_field_names(["b", "c"])
    assert (row.b, row.c) == (1, 2)
    with pytest.raises(AttributeError):
        _ = row.a
    assert pickle.loads(pickle.dumps(row)) == row


def test_beyond_the_bound_of_schemas_rows_answer_the_same(monkeypatch):
    monkeypatch.setattr("penstock.types.row._MAX_SCHEMAS", 0)
    row = Row(never_seen_before=1, nor_this=2)
    assert type(row) is Row
    assert (row.never_seen_before, row["nor_this"]) == (1, 2)
    assert pickle.loads(pickle.dumps(row)) == row


def test_rows_of_all_schemas_have_the_class_name_row():
    assert type(Row(a=1)).__name__ == "Row"
    assert isinstance(Row(a=1), Row)
    assert Row(a=1) != Row(b=1)
