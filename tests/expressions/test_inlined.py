"""A chain as values of all records: those that it keeps have its results, and the others do not fail."""

from __future__ import annotations

from hypothesis import given

from penstock.common import Row
from penstock.datastream import col
from penstock.expressions.arrow.records import ChainEvaluation
from penstock.expressions.steps import ExpressionChain, SelectStep, WhereStep, inlined
from penstock.expressions.typing import typed
from tests.expressions.test_paned import RECORDS, ROW, tree

SHARES = SelectStep((("k", tree(col.k)), ("share", tree(6 % col.n)), ("n", tree(col.n + 1))))
FEW = WhereStep(typed((col.share + col.n > 1).tree, SHARES.type_info, "test"))
LAST = SelectStep((("each", typed((6 % col.n).tree, SHARES.type_info, "test")),))
CHAIN = ExpressionChain(ROW, (WhereStep(tree((col.n != 0) & (col.n != -1))), SHARES, FEW, LAST))


@given(RECORDS)
def test_values_of_kept_records_are_results(rows: list[Row]) -> None:
    kept, (each,) = inlined(CHAIN)
    assert kept is not None
    both = ExpressionChain(ROW, (SelectStep((("kept", kept), ("each", each))),))
    values, _ = ChainEvaluation(both, "test", None).of_records(rows, None)
    wanted, _ = ChainEvaluation(CHAIN, "test", None).of_records(rows, None)
    assert {row.kept for row in values} <= {True, False}
    assert [row.each for row in values if row.kept] == [row.each for row in wanted]
