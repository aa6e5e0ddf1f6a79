"""Totals of a field by columns are what the functions of `sum`, `min` and `max` give, record by record.

The oracle calls the function for every record, as a worker does. Finds: a NULL that is left out, a key whose only value is
NULL and that is lost, a sum that is rounded or leaves 64 bits, an error that has become a value, and the reverse.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.api.functions.aggregations import Aggregation, FieldAggregate
from penstock.common import Row, Types
from penstock.expressions.arrow.records import ChainEvaluation
from penstock.expressions.field_totals import FieldTotal, records_of_totals

FAR = 2**63
WHOLE = st.one_of(
    st.integers(-FAR, FAR - 1), st.sampled_from([-FAR, 1 - FAR, FAR - 1, -1, 2**21, 2**42 - 1])
)
KINDS = {
    "LONG": (Types.LONG(), WHOLE, ("sum", "min", "max")),
    "BYTE": (Types.BYTE(), st.integers(-128, 127), ("sum", "min", "max")),
    "STRING": (Types.STRING(), st.text(max_size=3), ("min", "max")),
}
CASES = [(kind, how) for kind, (_, _, hows) in KINDS.items() for how in hows]


def folded(how: str, records: list[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return key to what the function gives for its records, or the class of its error."""
    function = FieldAggregate(Aggregation[how.upper()], "v")
    groups: dict[Any, list[Row]] = {}
    for key, value in records:
        groups.setdefault(key, []).append(Row(v=value, k=key))
    found: dict[Any, Any] = {}
    for key, rows in groups.items():
        try:
            found[key] = reduce(function, rows).v
        except TypeError as refused:
            found[key] = type(refused)
    return found


@pytest.mark.parametrize(("kind", "how"), CASES)
@given(data=st.data())
def test_totals_are_what_the_function_gives(kind: str, how: str, data: Any) -> None:
    declared, values, _ = KINDS[kind]
    keys = st.none() | st.sampled_from("abc")
    records = data.draw(st.lists(st.tuples(keys, st.none() | values), min_size=1))
    total = FieldTotal(Types.ROW_NAMED(["v", "k"], [declared, Types.STRING()]), "k", "v", how)
    rows = [Row(v=value, k=key) for key, value in records]
    made, _ = ChainEvaluation(total.chain, "test", None).of_records(rows, None)
    assert total.are_parts(list(made[0].as_dict()))
    merge = total.aggregate
    groups: dict[Any, Row] = {}
    for row in made:
        groups[row[0]] = merge(groups[row[0]], row) if row[0] in groups else row
    found, counts, known, *parts = (list(column) for column in zip(*groups.values(), strict=True))
    assert sum(counts) == len(records)
    standing = list(zip(*records_of_totals(found, counts, known, parts), strict=True))
    assert folded(how, standing) == folded(how, records)
    assert len(standing) <= len(records)


@pytest.mark.parametrize(
    ("records", "standing"),
    [
        (("a", 3, 3, 6), [("a", 6)]),
        (("a", 1, 0, None), [("a", None)]),
        (("a", 2, 0, None), [("a", None), ("a", None)]),
        (("a", 9, 0, None), [("a", None), ("a", None)]),
        (("a", 9, 8, 6), [("a", 6), ("a", None)]),
    ],
)
def test_a_function_gets_a_null_where_it_would_have(records: Any, standing: Any) -> None:
    key, rows, values, part = records
    found = records_of_totals([key], [rows], [values], [[part]])
    assert list(zip(*found, strict=True)) == standing
