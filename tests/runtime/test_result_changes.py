"""Changes of results whose rows may be taken back: by parts before and after, as columns and as records."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from penstock.expressions.keyed_aggregate import ChangelogOutput, KeyedAggregate
from penstock.expressions.steps import ExpressionChain, SelectStep
from penstock.expressions.tree import Field
from penstock.runtime.operators.keyed_aggregate import ResultChanges
from penstock.runtime.operators.parts_state import StoredParts, Update
from penstock.state.backends.hash.parts import HashSinglePart
from penstock.types import Row, Types

PARTS = Types.ROW_NAMED(["k", "count()", "sum(n)"], [Types.STRING(), Types.LONG(), Types.LONG()])
RESULT = SelectStep((("k", Field("k", Types.STRING())), ("s", Field("sum(n)", Types.LONG()))))
GROUPS = KeyedAggregate(
    PARTS, (None, "sum", "sum"), ExpressionChain(PARTS, (RESULT,)), ChangelogOutput(rows=1)
)
BEFORE = [None, ("b", 1, 5), ("c", 1, 5), ("d", 2, 5), ("e", 0, 0), ("f", -1, -5), None]
AFTER = [
    ("a", 1, 5),
    ("b", 0, 0),
    ("c", 2, 7),
    ("d", 1, 5),
    ("e", 1, 3),
    ("f", 0, 0),
    ("g", -1, -2),
]
CHANGES = [
    *(("+I", "a", 5), ("-D", "b", 5), ("-U", "c", 5), ("+U", "c", 7), ("+I", "e", 3)),
]


def shown(rows: list[Row]) -> list[tuple[Any, ...]]:
    return [(str(row.get_row_kind()), *row) for row in rows]


def test_changes_of_records() -> None:
    before = [None if each is None else Row(*each) for each in BEFORE]
    made = ResultChanges(GROUPS, "groups", None).of_records(before, [Row(*each) for each in AFTER])
    assert shown(made) == CHANGES


@pytest.mark.parametrize("at", range(len(AFTER)))
def test_changes_of_columns(at: int) -> None:
    def columns(rows: list[Any]) -> pa.RecordBatch:
        lists = map(list, zip(*rows, strict=True))
        kinds = (pa.string(), pa.int64(), pa.int64())
        arrays = [pa.array(values, kind) for values, kind in zip(lists, kinds, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, names=list(PARTS.field_names))

    known = [each is not None for each in BEFORE]
    before = [each or (after[0], None, None) for each, after in zip(BEFORE, AFTER, strict=True)]
    update = Update(columns(before), known, columns(AFTER))
    changes = ResultChanges(GROUPS, "groups", None)
    parts = (update.slice(0, at), update.slice(at, len(AFTER)))
    assert [each for part in parts for each in shown(changes.of_columns(part))] == CHANGES


def test_a_key_without_rows_has_no_state() -> None:
    part = HashSinglePart()
    scope = SimpleNamespace(table=lambda *_: {3: part})
    stored = StoredParts("groups", GROUPS, scope)  # type: ignore[arg-type]
    stored.put_all(3, ["a", "b"], [("a", 1, 2), ("b", -1, -2)])
    assert part.keys() == ["a", "b"]
    stored.put_all(3, ["a", "c"], [("a", 0, 0), ("c", 1, 1)])
    assert sorted(part.keys()) == ["b", "c"]
