"""Sessions that are folded before the exchange: cut as by somebody who sees all records of a key in order."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream.window import EventTimeSessionWindows
from penstock.program.fold import Fold, Place
from penstock.runtime.fold import fold_table
from penstock.runtime.fold.sessions import SessionTable
from penstock.testing import difference, run_in_process
from penstock.types.time import Time
from tests.runtime.jobs import BATCH, Splits, by_time, environment

REDUCE = Fold(None, lambda a, b: a + b, lambda a, b: a + b, None, None)
AGGREGATE = Fold(list, lambda value, some: [*some, value], lambda a, b: a + b, None, None)
GAP = 3
RECORDS = st.lists(st.tuples(st.integers(0, 1), st.integers(-5, 25), st.sampled_from("abcd")))


def sessions(records):
    """Return (key, first, last, letters) of every session."""
    found: list[tuple[int, int, int, str]] = []
    last_of: dict[int, int] = {}
    for key, time, letter in sorted(records, key=lambda record: record[1]):
        if key not in last_of or time > found[last_of[key]][2] + GAP:
            last_of[key] = len(found)
            found.append((key, time, time, letter))
        else:
            _, first, _, letters = found[last_of[key]]
            found[last_of[key]] = (key, first, time, "".join(sorted(letters + letter)))
    return sorted(found)


@given(RECORDS, st.sampled_from([REDUCE, AGGREGATE]), st.integers(1, 9))
def test_pieces_are_the_sessions_of_what_came(records, fold, batch):
    table = SessionTable(fold, 1 << 20, GAP)
    for at in range(0, len(records), batch):
        keys, stamps, values = zip(*records[at : at + batch], strict=True)
        table.add(keys, iter(values), stamps)
    assert table.records == len(records)
    found = [
        (key, first, last, "".join(sorted(kept)))
        for first, of_key in table.take().items()
        for key, (kept, last) in of_key.items()
    ]
    assert sorted(found) == sessions(records)
    assert (table.records, table.take()) == (0, {})


def merged(a, b):
    return a[0], max(a[1], b[1]), "".join(sorted(a[2] + b[2]))


@pytest.mark.parametrize("small", [False, True])
@given(splits=st.lists(RECORDS.map(tuple), min_size=1, max_size=3).map(tuple))
@settings(max_examples=40)
def test_sessions_of_all_tasks_are_those_of_the_stream(splits, small):
    env = environment(BATCH | ({"execution.sorted-inputs.memory": "600"} if small else {}))
    stream = env.from_source(Splits(splits), by_time(3), "records").key_by(lambda r: r[0])
    windows = stream.window(EventTimeSessionWindows.with_gap(Time.milliseconds(GAP)))
    windows.reduce(merged, associative=True, commutative=True).sink_to(DiscardingSink())
    plan = env.plan()
    assert plan.folds[0].plan.places == {Place.SENDER, Place.STATE}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fold_table, "_FIRST_LOOK", 2 if small else 4096)
        found = run_in_process(plan).of()
    wanted = sessions([record for split in splits for record in split])
    assert difference(found, [(key, last, letters) for key, _, last, letters in wanted]) is None


def test_a_full_table_is_full_by_sessions_as_by_keys():
    for keys in (1, 3000):
        table = SessionTable(REDUCE, 200_000, GAP)
        seen = defaultdict(bool)
        for at in range(0, 40_000, 500):
            numbers = range(at, at + 500)
            of_keys = [number % keys for number in numbers]
            table.add(of_keys, iter("a" * 500), [10 * number for number in numbers])
            seen[table.is_full] = True
        assert seen[True]
        assert seen[False]
