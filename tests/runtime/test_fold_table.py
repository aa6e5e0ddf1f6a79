"""The table that records are folded into: every pane by itself, and no more memory than it may take."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.program.fold import Fold
from penstock.runtime.fold.fold_table import FoldTable
from penstock.runtime.fold.sender_fold import batches_of
from penstock.wire.elements import MIN_TIMESTAMP

REDUCE = Fold(None, lambda a, b: a + b, lambda a, b: a + b, None, None)
AGGREGATE = Fold(list, lambda value, some: [*some, value], lambda a, b: a + b, None, None)
RECORDS = st.lists(st.tuples(st.integers(0, 3), st.integers(-2, 2), st.text("ab", max_size=2)))


def filled(fold, records, memory_bytes=1 << 20):
    table = FoldTable(fold, memory_bytes)
    for at in range(0, len(records), 5):
        keys, panes, values = zip(*records[at : at + 5], strict=True)
        table.add(keys, iter(values), panes)
    return table


@given(RECORDS, st.sampled_from([REDUCE, AGGREGATE]))
def test_records_are_folded_in_order_by_key_and_pane(records, fold):
    wanted = defaultdict(list)
    for key, pane, value in records:
        wanted[pane, key].append(value)
    table = filled(fold, records)
    assert table.records == len(records)
    found = table.take()
    gave = {(pane, key): kept for pane, of_key in found.items() for key, kept in of_key.items()}
    joined = "".join if fold is REDUCE else list
    assert gave == {entry: joined(values) for entry, values in wanted.items()}
    assert (table.records, table.take()) == (0, {})


@given(RECORDS, st.integers(1, 7))
def test_entries_leave_in_batches_with_a_time_of_their_pane(records, size):
    batches = list(batches_of(filled(REDUCE, records).take(), size))
    assert [len(keys) == size for keys, _, _ in batches[:-1]] == [True] * (len(batches) - 1)
    found = [
        entry
        for keys, values, stamps in batches
        for entry in zip(keys, values, stamps or (), strict=True)
    ]
    wanted = filled(REDUCE, records).take()
    assert found == [(k, v, pane) for pane, of_key in wanted.items() for k, v in of_key.items()]


def test_the_first_pane_of_time_leaves_with_a_time_that_there_is():
    table = FoldTable(REDUCE, 1 << 20)
    table.add([1], iter(["a"]), [MIN_TIMESTAMP - 7])
    assert list(batches_of(table.take(), 9)) == [([1], ["a"], [MIN_TIMESTAMP + 1])]


@pytest.mark.parametrize(("keys", "panes"), [(5000, 1), (1, 5000), (70, 70)])
def test_a_table_is_full_whether_keys_or_panes_are_many(keys, panes):
    records = [(i % keys, i // keys % panes, "a") for i in range(5000)]
    assert not filled(REDUCE, records, 8 << 20).is_full
    table = FoldTable(REDUCE, 200_000)
    full_at = None
    for at in range(0, len(records), 100):
        of_keys, of_panes, values = zip(*records[at : at + 100], strict=True)
        table.add(of_keys, iter(values), of_panes)
        if full_at is None and table.is_full:
            full_at = at
    assert full_at is not None
    assert full_at >= 300, "that few do not fill it"
