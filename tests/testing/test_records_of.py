"""`records_of`: values of declared types, their ends, and what it refuses. `tests/types` has its laws for every type."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

import pytest
from hypothesis import find, given

from penstock.common import Row, RowKind, Types
from penstock.errors import ArgumentError, EnvironmentSetupError
from penstock.testing import records_of
from penstock.types import InferredTypeInfo, TypeInformation
from penstock.types.scalars import decimals_of

ORDER = Types.ROW_NAMED(["name", "prices"], [Types.STRING(), Types.LIST(Types.DOUBLE())])


@pytest.mark.parametrize(
    ("type_info", "value"),
    [
        (Types.LONG(), 2**63 - 1),
        (Types.SHORT(), -(2**15)),
        (Types.BIG_INT(), 10**38 - 1),
        (Types.SQL_DATE(), date.max),
        (Types.SQL_TIMESTAMP(), datetime(1, 1, 1)),  # noqa: DTZ001
        (Types.DOUBLE(), math.inf),
        (decimals_of(5, 2), Decimal("-999.99")),
        (InferredTypeInfo(Types.BOOLEAN()), True),
    ],
)
def test_ends_of_ranges_are_among_the_values(type_info, value):
    assert find(records_of(type_info), lambda drawn: drawn == value) == value


def test_special_floats_and_nulls_are_among_the_values():
    zero = find(records_of(Types.FLOAT()), lambda drawn: math.copysign(1, drawn) < 0 and drawn == 0)
    assert str(zero) == "-0.0"
    assert math.isnan(find(records_of(Types.DOUBLE()), math.isnan))
    row = find(records_of(ORDER), lambda drawn: drawn.name is None and drawn.prices == [None])
    assert row == Row(name=None, prices=[None])


@given(records_of(decimals_of(5, 2)))
def test_decimals_have_the_precision_and_scale_of_their_type(value):
    exponent = value.as_tuple().exponent
    assert abs(value) < 1000
    assert isinstance(exponent, int)
    assert -2 <= exponent <= 0


@given(records_of(ORDER, nulls=False, nan=False, row_kinds=(RowKind.DELETE,)))
def test_options_leave_values_out(row):
    assert row.get_row_kind() is RowKind.DELETE
    assert row.name is not None
    assert not any(price is None or math.isnan(price) for price in row.prices)


@dataclass(frozen=True)
class MoneyType(TypeInformation):
    def coerce(self, value):
        return value


def test_a_type_of_the_program_is_refused_where_the_strategy_is_made():
    with pytest.raises(ArgumentError, match=r"MoneyType\(\) cannot be generated") as raised:
        records_of(Types.ROW([MoneyType()]))
    assert "builds" in raised.value.hint


def test_without_hypothesis_the_error_names_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "hypothesis.strategies", None)
    with pytest.raises(
        EnvironmentSetupError, match="records_of needs the package hypothesis"
    ) as raised:
        records_of(ORDER)
    assert "pip install 'hypothesis>=6.100'" in raised.value.hint
