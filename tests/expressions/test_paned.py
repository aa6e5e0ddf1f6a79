"""Parts by key and pane are those of the windows, and the records that a condition drops leave their timestamps only.

The oracle groups records by an obvious function. Finds: a dropped record that counts or fails, a greatest timestamp without
it, a record without a timestamp that nobody sees.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Row, Types
from penstock.datastream import col
from penstock.expressions.arrow.records import ChainEvaluation
from penstock.expressions.column import ColumnExpression
from penstock.expressions.keyed_aggregate import keyed_aggregate
from penstock.expressions.paned import FIRST, KEPT, TIME, by_pane, by_piece
from penstock.expressions.steps import ExpressionChain, SelectStep, WhereStep
from penstock.expressions.typing import typed

ROW = Types.ROW_NAMED(["k", "n", "at"], [Types.STRING(), Types.LONG(), Types.LONG()])
WIDTH, OFFSET = 10, 3
RECORDS = st.lists(
    st.builds(
        Row,
        k=st.none() | st.sampled_from("ab"),
        n=st.none() | st.integers(-2, 2),
        at=st.none() | st.integers(-30, 30),
    ),
    min_size=1,
)


def tree(expression: Any) -> Any:
    assert isinstance(expression, ColumnExpression)
    return typed(expression.tree, ROW, "test")


CONDITIONS = [WhereStep(tree(col.n != 0)), WhereStep(tree(col.n != 2))]
"""The second one keeps nothing that the first one drops."""


def parts_of(rows: list[Row], conditions: list[WhereStep]) -> dict[Any, tuple[Any, ...]]:
    """Return key, pane and whether it is kept, to count, sum and greatest timestamp."""
    share = SelectStep((("k", tree(col.k)), ("share", tree(6 % col.n.fill_null(1)))))
    if not conditions:
        share = SelectStep((("k", tree(col.k)), ("share", tree(col.n))))
    before = ExpressionChain(ROW, (*conditions, share))
    aggregates = {
        "rows": col.count(),
        "total": col.share.sum(),
        "different": col.share.count_distinct(),
    }
    chain, aggregate = keyed_aggregate(before.type_info, ("k",), aggregates)
    chain, aggregate = by_pane(
        before.followed_by(chain), aggregate, "at", (WIDTH, OFFSET), keeps_time=True
    )
    assert (KEPT in aggregate.parts.field_names) is bool(conditions)
    made, _ = ChainEvaluation(chain, "test", None).of_records(rows, None)
    groups: dict[Any, Row] = {}
    for row in made:
        key = tuple(row)[: aggregate.keys]
        groups[key] = aggregate(groups[key], row) if key in groups else row
    return {key: tuple(row)[aggregate.keys :] for key, row in groups.items()}


def wanted(rows: list[Row], *, has_conditions: bool) -> dict[Any, tuple[Any, ...]]:
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        pane = None if row.at is None else row.at - (row.at - OFFSET) % WIDTH
        is_kept = row.n not in (None, 0, 2)
        if has_conditions and not is_kept:
            groups.setdefault((None, None if row.at is None else 0, False), []).append(row)
        else:
            mark = (True,) if has_conditions else ()
            groups.setdefault((row.k, pane, *mark), []).append(row)
    found: dict[Any, tuple[Any, ...]] = {}
    for key, some in groups.items():
        stamps = [row.at for row in some if row.at is not None]
        greatest = max(stamps) if stamps else None
        if key[-1] is False:
            found[key] = (greatest,)
            continue
        shares = [6 % row.n if has_conditions else row.n for row in some if row.n is not None]
        found[key] = (len(some), sum(shares) if shares else None, greatest)
    return found


@given(RECORDS)
def test_pieces_have_their_first_and_last_time(rows: list[Row]) -> None:
    chain, aggregate = keyed_aggregate(ROW, ("k",), {"rows": col.count()})
    chain, aggregate = by_piece(chain, aggregate, "at", WIDTH)
    assert aggregate.parts.field_names[-2:] == (TIME, FIRST)
    made, _ = ChainEvaluation(chain, "test", None).of_records(rows, None)
    pieces: dict[Any, Row] = {}
    for row in made:
        key = tuple(row)[: aggregate.keys]
        pieces[key] = aggregate(pieces[key], row) if key in pieces else row
    found = {(piece[0], piece[-1], piece[-2]): piece[2] for piece in pieces.values()}
    stamps: dict[Any, list[Any]] = {}
    for row in rows:
        stamps.setdefault((row.k, None if row.at is None else row.at // WIDTH), []).append(row.at)
    assert found == {
        (k, *((None, None) if piece is None else (min(some), max(some)))): len(some)
        for (k, piece), some in stamps.items()
    }


@given(RECORDS)
def test_parts_by_pane_are_those_of_their_records(rows: list[Row]) -> None:
    found = parts_of(rows, [])
    assert {key: (n, total, last) for key, (n, total, _, last) in found.items()} == wanted(
        rows, has_conditions=False
    )


@given(RECORDS)
def test_dropped_records_leave_their_timestamps_only(rows: list[Row]) -> None:
    found = {
        key: (parts[-1],) if key[-1] is False else (*parts[:2], parts[-1])
        for key, parts in parts_of(rows, CONDITIONS).items()
    }
    assert found == wanted(rows, has_conditions=True)
