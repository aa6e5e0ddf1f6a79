"""State of aggregates of columns under a changed program: it goes on with the right results, or is refused.

Catches: a sum that goes on as a greatest value, a result with another name that begins anew, a new aggregate that
has not seen the records before, a key whose columns are exchanged, names of parts that differ between processes.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest

from penstock.common import Row, Time, Types, WatermarkStrategy
from penstock.datastream import col
from penstock.datastream.window import CountEvictor, TumblingEventTimeWindows
from penstock.errors import StateMigrationError
from penstock.expressions.aggregates import AGGREGATES, AggregateExpression
from penstock.expressions.keyed_aggregate import keyed_aggregate
from penstock.expressions.steps import SelectStep
from penstock.expressions.tree import Call, Expression, Field, Literal, text_of
from penstock.testing import OperatorHarness

COLUMNS = ["k", "j", "n", "m", "text", "sum(n)"]
ROW = Types.ROW_NAMED(
    COLUMNS,
    [Types.LONG(), Types.LONG(), Types.LONG(), Types.LONG(), Types.STRING(), Types.LONG()],
)
BEFORE = [Row(n % 3, n % 2, n, -n, "ab"[n % 2], n) for n in range(12)]
AFTER = [Row(n % 4, n % 2, n, -n, "bc"[n % 2], n) for n in range(12, 20)]

Aggregates = dict[str, AggregateExpression]

GOES_ON: dict[str, tuple[Aggregates, Aggregates]] = {
    "the same": ({"n": col.count(), "all": col.n.sum()}, {"n": col.count(), "all": col.n.sum()}),
    "in another order": (
        {"n": col.count(), "all": col.n.sum()},
        {"all": col.n.sum(), "n": col.count()},
    ),
    "another name": ({"n": col.count(), "a": col.n.max()}, {"m": col.count(), "b": col.n.max()}),
    "names exchanged": (
        {"a": col.n.sum(), "b": col.m.sum()},
        {"b": col.n.sum(), "a": col.m.sum()},
    ),
    "removed": ({"a": col.n.min(), "b": col.text.max()}, {"b": col.text.max()}),
    "of parts that are there": (
        {"mean": col.n.mean()},
        {"total": col.n.sum(), "n": col.n.count(), "mean": col.n.mean()},
    ),
    "another quantile": (
        {"q": col.n.approx_quantile(0.5)},
        {"q": col.n.approx_quantile(0.9)},
    ),
    "spread of a variance": ({"v": col.n.variance()}, {"s": col.n.stddev(), "mean": col.n.mean()}),
}
"""What changes, to the aggregates before and after."""

REFUSED: dict[str, tuple[Aggregates, Aggregates, str]] = {
    "added": ({"n": col.count()}, {"n": col.count(), "most": col.n.max()}, "max(n)"),
    "another aggregate": ({"a": col.n.sum()}, {"a": col.n.max()}, "max(n)"),
    "another column": ({"a": col.n.sum()}, {"a": col.m.sum()}, "sum(m)"),
    "another expression": ({"a": (col.n * 2).sum()}, {"a": (col.n * 3).sum()}, "multiply(n, 3)"),
    "another constant of one text": (
        {"a": (col.text == "1").cast(Types.INT()).sum()},
        {"a": (col.text == "n").cast(Types.INT()).sum()},
        "equal(text, 'n')",
    ),
    "count of values": ({"a": col.count()}, {"a": col.n.count()}, "count(n)"),
    "least of a wider type": (
        {"a": col.n.min()},
        {"a": col.n.cast(Types.DOUBLE()).min()},
        "min(cast(n",
    ),
}
"""What changes, to the aggregates before and after, and what is missing."""

Built = Callable[[Any], Any]


def keyed(aggregates: Aggregates) -> Built:
    return lambda rows: rows.key_by(col.k).aggregate(**aggregates).uid("totals")


def windows_of(rows: Any) -> Any:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda *_: 5)
    timed = rows.assign_timestamps_and_watermarks(strategy)
    return timed.key_by(col.k).window(TumblingEventTimeWindows.of(Time.seconds(1)))


def windowed(aggregates: Aggregates) -> Built:
    return lambda rows: windows_of(rows).aggregate(**aggregates).uid("totals")


def evicted(aggregates: Aggregates) -> Built:
    def build(rows: Any) -> Any:
        return windows_of(rows).evictor(CountEvictor.of(100)).aggregate(**aggregates).uid("totals")

    return build


PLACES = {"keyed": keyed, "windows": windowed, "windows with an evictor": evicted}

CELLS = [((1, "hashmap"), (3, "lmdb")), ((3, "lmdb"), (2, "hashmap"))]


def continued(before: Built, after: Built, cells: Any = CELLS[0]) -> dict[Any, dict[str, Any]]:
    """Return the last results of keys after records of two versions of a program."""
    (parallelism, backend), later = cells
    with OperatorHarness.of(
        before, input_types=[ROW], parallelism=parallelism, backend=backend
    ) as harness:
        harness.push_all(BEFORE)
        snapshot = pickle.loads(pickle.dumps(harness.snapshot()))
    with OperatorHarness.of(
        after, input_types=[ROW], parallelism=later[0], backend=later[1], snapshot=snapshot
    ) as harness:
        found = [*harness.push_all(AFTER), *harness.end_input()]
    return {row.k: row.as_dict() for row in found}


def wanted(aggregates: Aggregates) -> dict[Any, dict[str, Any]]:
    """Return what one version gives of all records."""
    with OperatorHarness.of(keyed(aggregates), input_types=[ROW]) as harness:
        return {row.k: row.as_dict() for row in harness.push_all([*BEFORE, *AFTER])}


@pytest.mark.parametrize("cells", CELLS, ids=["to lmdb", "to hashmap"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("change", GOES_ON)
def test_what_was_computed_goes_on(change: str, place: str, cells: Any) -> None:
    before, after = GOES_ON[change]
    made = PLACES[place]
    assert continued(made(before), made(after), cells) == wanted(after)


@pytest.mark.parametrize("cells", CELLS, ids=["to lmdb", "to hashmap"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("change", REFUSED)
def test_what_was_not_computed_is_refused(change: str, place: str, cells: Any) -> None:
    before, after, missing = REFUSED[change]
    made = PLACES[place]
    with pytest.raises(StateMigrationError, match="totals") as refused:
        continued(made(before), made(after), cells)
    assert missing in refused.value.problem
    assert "ignore-unclaimed-state" in refused.value.hint


KEYS = {
    "another column": (("k",), ("j",)),
    "exchanged": (("k", "j"), ("j", "k")),
    "a column more": (("k", "j"), ("k", "j", "n")),
    "a column less": (("k", "j", "n"), ("k", "j")),
    "named like a part": (("k", "j", "sum(n)"), ("k", "j")),
}


@pytest.mark.parametrize("change", KEYS)
def test_another_key_is_refused(change: str) -> None:
    def by(names: tuple[str, ...]) -> Built:
        columns = [col[name] for name in names]
        return lambda rows: rows.key_by(*columns).aggregate(a=col.n.max()).uid("totals")

    before, after = KEYS[change]
    with pytest.raises(StateMigrationError, match="key"):
        continued(by(before), by(after))


def test_a_column_of_the_key_may_be_named_like_a_part() -> None:
    def build(rows: Any) -> Any:
        return rows.key_by(col["sum(n)"]).aggregate(total=col.n.sum())

    with OperatorHarness.of(build, input_types=[ROW]) as harness:
        found = harness.push_all([*BEFORE, *BEFORE])
    assert [row.as_dict() for row in found] == [
        {"sum(n)": n, "total": 2 * n} for n in sorted(range(12), key=found_order(found))
    ]


def found_order(found: list[Row]) -> Callable[[int], int]:
    order = [row[0] for row in found]
    return order.index


def test_state_of_an_aggregate_that_came_back_is_refused() -> None:
    """Keys that went on without it have lost it."""
    both, one = {"n": col.count(), "most": col.n.max()}, {"n": col.count()}
    with OperatorHarness.of(keyed(both), input_types=[ROW]) as harness:
        harness.push_all(BEFORE)
        first = harness.snapshot()
    with OperatorHarness.of(keyed(one), input_types=[ROW], snapshot=first) as harness:
        harness.push_all(AFTER)
        second = harness.snapshot()
    with pytest.raises(StateMigrationError, match=r"max\(n\)"):
        OperatorHarness.of(keyed(both), input_types=[ROW], snapshot=second).push_all(AFTER)


def test_aggregates_of_one_column_share_their_parts() -> None:
    aggregates = {how: getattr(col.n, how)() for how in ("count", "sum", "mean", "variance")}
    _, function = keyed_aggregate(ROW, ("k",), aggregates)
    assert function.parts.field_names == ("k", "count(n)", "sum(n)", "squares(n)")


def test_every_aggregate_names_its_parts() -> None:
    """Parts of one name are of one expression, and no two aggregates mean other things by one name."""
    made: dict[str, Any] = {}
    given: dict[str, tuple[Any, ...]] = {
        "approx_quantile": (0.5,),
        "exact_variance": (1,),
        "exact_stddev": (1,),
        "user": ("mean", None, Types.LONG()),
        "distinct": ("exact_sum",),
        "of_values": ("min",),
    }
    for how in AGGREGATES:
        each = AggregateExpression(how, Field("n"), given.get(how, ()))
        chain, function = keyed_aggregate(ROW, ("k",), {"a": each})
        (step,) = chain.steps
        assert isinstance(step, SelectStep)
        for (name, tree), merge in zip(step.outputs[1:], function.merges[1:], strict=True):
            assert name.endswith("(n)")
            assert made.setdefault(name, (tree, merge)) == (tree, merge)
    assert len(set(made.values())) == len(made)


TREES: list[Expression] = [
    Field("n"),
    Field("'n'"),
    Field("1"),
    Field("None"),
    Field("`n`"),
    Field("`"),
    Field("f(n)"),
    Literal("n"),
    Literal(1),
    Literal("1"),
    Literal(1.0),
    Literal(True),
    Literal(None),
    Call("f", (Field("n"),)),
    Call("f", (Field("n"), Literal(1))),
    Call("f", (Field("n, 1"),)),
    Call("f", (Literal("n, 1"),)),
]


def test_no_two_expressions_have_one_text() -> None:
    assert len({text_of(each) for each in TREES}) == len(TREES)


def test_long_expressions_have_short_names() -> None:
    names: set[str] = set()
    for order in permutations(["n", "m", "k", "j"]):
        total = col[order[0]]
        for name in order[1:] * 5:
            total = total + col[name]
        _, function = keyed_aggregate(ROW, (), {"a": total.sum()})
        names.update(function.parts.field_names)
    assert len(names) == 24
    assert max(map(len, names)) < 100


def test_names_of_parts_are_the_same_in_every_process() -> None:
    program = (
        "from penstock.datastream import col; from penstock.expressions.tree import text_of;"
        "print(text_of(col.text.isin({'a', 'b', 'c', 'd'}).tree))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert found == {b"isin(text, 'a', 'b', 'c', 'd')\n"}
