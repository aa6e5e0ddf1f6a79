"""Bringing one value to its type gives what `coerce` gives, however often it is asked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Row, Types
from penstock.errors import TypeMismatchError
from penstock.state.schema.declared_form import declared_form
from tests.types.type_strategies import ALL, ANYTHING, CLASSES

RECORDS = [
    Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.STRING()]),
    Types.ROW_NAMED(["a", "b"], [Types.FLOAT(), Types.SQL_TIMESTAMP()]),
    Types.TUPLE([Types.INT(), Types.CHAR()]),
    Types.TUPLE([Types.BIG_DEC(), Types.DOUBLE()]),
]
fields = st.one_of(*CLASSES)
records = st.one_of(
    st.tuples(fields, fields),
    st.tuples(fields, fields).map(list),
    st.tuples(fields, fields).map(lambda pair: Row(a=pair[0], b=pair[1])),
    st.tuples(st.integers(-(2**70), 2**70), st.text(max_size=2)),
    st.tuples(st.integers(-(2**70), 2**70), st.none() | st.text(max_size=2)).map(
        lambda pair: Row(a=pair[0], b=pair[1])
    ),
)


def outcome(convert, value):
    try:
        converted = convert(value)
    except (ValueError, TypeMismatchError) as refused:
        return str(refused).splitlines()[0].rpartition(": ")[2]
    return converted is value, repr(converted), type(converted)


@given(type_info=st.sampled_from(RECORDS), values=st.lists(records, max_size=8))
def test_records_get_the_form_coerce_gives_them(type_info, values):
    form = declared_form(type_info, "state 's'")
    for value in values:
        assert outcome(form, value) == outcome(type_info.coerce, value)


@pytest.mark.parametrize("name", sorted(set(ALL) - {"pickled"}))
@given(data=st.data())
def test_any_value_gets_the_form_coerce_gives_it(name, data):
    type_info, of_type = ALL[name]
    form = declared_form(type_info, "state 's'")
    for value in (data.draw(of_type), data.draw(ANYTHING)):
        assert outcome(form, value) == outcome(type_info.coerce, value)


def test_any_object_needs_no_form():
    assert declared_form(Types.PICKLED_BYTE_ARRAY(), "state 's'") is None
