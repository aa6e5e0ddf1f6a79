"""The pieces of spilling: keys whole and in order, one large key in parts, sizes, failures."""

from __future__ import annotations

import errno
import gc
import os
import stat
from collections import deque
from dataclasses import dataclass
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream.connectors import CollectionSource
from penstock.errors import PenstockError, SpillError
from penstock.program.operators import CATALOGUE
from penstock.runtime.operators import operator_class
from penstock.runtime.operators.keyed import KeyedOperator
from penstock.runtime.spill import spill_space
from penstock.runtime.spill.record_size import bytes_per_record
from penstock.runtime.spill.spill_space import SpillSpace
from penstock.runtime.task.spilled_group import KeyPortions, RunWriter
from penstock.testing import run_in_process
from penstock.types import Row
from penstock.wire.elements import MIN_TIMESTAMP
from penstock.wire.frame import FrameHeader, FrameKind, encode_records, read_header
from tests.runtime.jobs import BATCH, by_time, environment

EQUAL_KEYS = [1, 1.0, True, Decimal(1), 2, "a", "b", "ab", ("a", 1), ("a", True), None, -1, -2]
"""Some are equal, some have one hash in Python, some begin alike."""


class Operator:
    """What spilling asks of an operator; records are (key, time or None, input, number)."""

    def __init__(self, *, in_parts: bool = True, by_time: bool = True) -> None:
        self.takes_keys_in_parts = in_parts
        self.has_parts_by_time = by_time
        self.spec = SimpleNamespace(id=3, input_type=lambda _: None)

    def keys_of(self, number, values):
        assert all(record[2] == number for record in values)
        return [record[0] for record in values]


def swept(operator, records, memory, per_frame, per_run, space):
    """Spill records, run by run; return the portions and how many records fit in memory."""
    store = space.new_store()
    store.put([(bytes((0, 0, 0, n)) + b"other", b"") for n in (2, 4)])  # of other operators
    writer = RunWriter(operator, store, memory)
    of_input = [[r for r in records if r[2] == n] for n in (0, 1)]
    frames = [
        (number, some[at : at + per_frame])
        for number, some in enumerate(of_input)
        for at in range(0, len(some), per_frame)
    ]
    frames.sort(key=lambda frame: frame[1][0][3])
    for n, (number, some) in enumerate(frames):
        stamps = [record[1] for record in some]
        frame = encode_records(HEADER, some, None if None in stamps else stamps)
        writer.add(number, read_header(frame), frame)
        if n % per_run == 0:
            writer.write_run()
    writer.write_run()
    return [
        (portion.in_parts, list(portion.batches))
        for portion in KeyPortions(writer, store).portions()
    ], writer


def operator() -> Any:
    """Return an operator that takes keys in parts, by time."""
    return Operator()


HEADER = FrameHeader(5, 9, 40, 1, FrameKind.RECORDS, 0)


@settings(max_examples=300)
@given(
    found=st.lists(
        st.tuples(st.sampled_from(EQUAL_KEYS), st.integers(-3, 3), st.integers(0, 1)), max_size=60
    ),
    unstamped=st.sets(st.integers(0, 1)),
    memory=st.sampled_from([1, 3_000, 10_000, 1 << 30]),
    per_frame=st.integers(1, 30),
    per_run=st.integers(1, 5),
    in_parts=st.booleans(),
    by_time=st.booleans(),
)
def test_keys_come_whole_and_in_order(
    *, found, unstamped, memory, per_frame, per_run, in_parts, by_time
):
    records = [
        (key, None if number in unstamped else time, number, at)
        for at, (key, time, number) in enumerate(found)
    ]
    space = SpillSpace(memory)
    operator = Operator(in_parts=in_parts, by_time=by_time)
    portions, writer = swept(operator, records, memory, per_frame, per_run, space)
    space.close()
    seen: list[Any] = []
    for is_large, batches in portions:
        rows = [row for _, values, _ in batches for row in values]
        keys = {row[0] for row in rows}
        assert not keys & set(seen)
        seen += keys
        if is_large:
            assert in_parts
            assert len(keys) == 1
        for number, values, stamps in batches:
            assert {row[2] for row in values} == {number}
            assert stamps == (None if number in unstamped else [row[1] for row in values])
        sort = by_time and (is_large or in_parts)
        for key in keys:
            wanted = [r for n in (0, 1) for r in records if r[2] == n and r[0] == key]
            got = [row for row in rows if row[0] == key]
            if sort:  # what is not in parts is put in order by its operator
                wanted.sort(key=_time)
                got.sort(key=_time)
            assert got == wanted
        if is_large and sort:
            assert rows == sorted(rows, key=_time)
    assert set(seen) == {record[0] for record in records}
    if memory == 1 << 30:
        assert len(portions) <= 1
    assert writer.records == len(records)


def _time(record):
    return MIN_TIMESTAMP if record[1] is None else record[1]


@pytest.mark.parametrize("times", [1, 50, 5000])
def test_parts_of_a_key_are_few_and_memory_is_bounded(times, tmp_path):
    space = SpillSpace(1 << 20, tmp_path)
    records = [("key", n * 7919 % times, 0, n) for n in range(20_000)]
    portions, writer = swept(Operator(), records, 1 << 20, 500, 1000, space)
    ((is_large, batches),) = portions
    assert is_large
    assert [row for _, rows, _ in batches for row in rows] == sorted(records, key=_time)
    assert max(len(rows) for _, rows, _ in batches) <= writer.memory_records
    assert len(batches) < 100
    space.close()


class Counted(tuple[Any, ...]):  # noqa: SLOT001 - the base has what equality needs
    """A record that is counted as long as there is one."""

    alive = most = 0

    def __new__(cls, fields):
        Counted.alive += 1
        Counted.most = max(Counted.most, Counted.alive)
        return super().__new__(cls, fields)

    def __del__(self):
        Counted.alive -= 1


@pytest.mark.parametrize("keys", [1, 5000])
def test_one_portion_is_in_memory_at_a_time(keys, tmp_path):
    space = SpillSpace(1 << 18, tmp_path)
    store = space.new_store()
    writer = RunWriter(operator(), store, 1 << 18)
    for at in range(0, 10_000, 200):
        some = [Counted((n * 7919 % keys, None, 0, n)) for n in range(at, at + 200)]
        frame = encode_records(HEADER, some, None)
        writer.add(0, read_header(frame), frame)
        writer.write_run()
    del some
    assert not Counted.alive
    Counted.most = Counted.alive
    for portion in KeyPortions(writer, store).portions():
        deque(portion.batches, maxlen=0)
    # The last part of a key is there when the next is read.
    assert Counted.most <= 1.3 * writer.memory_records
    assert writer.memory_records < 1000
    space.close()


def test_missing_rows_are_noticed(tmp_path):
    space = SpillSpace(1, tmp_path)
    writer = RunWriter(operator(), space.new_store(), 1)
    writer.rows = 1
    with pytest.raises(SpillError, match="is damaged: it has 0 rows of 1"):
        list(KeyPortions(writer, space.new_store()).portions())
    space.close()


@dataclass
class Thing:
    """Has a dictionary."""

    name: str
    parts: list[int]


class Slotted:
    __slots__ = ("left", "right")

    def __init__(self, left, right):
        self.left, self.right = left, right


@pytest.mark.parametrize(
    ("make", "least", "most"),
    [
        (lambda n: n % 100, 0, 0),
        (lambda n: 10**9 + n, 28, 32),
        (lambda n: "x" * 1000 + str(n), 1000, 1100),
        (lambda n: (10**9 + n, float(n)), 100, 130),
        (lambda n: Row(10**9 + n, "abcdefgh" + str(n)), 200, 400),
        (lambda n: Thing("x" * 100 + str(n), [10**9 + n] * 5), 300, 800),
        (lambda n: Slotted("x" * 500 + str(n), bytes(500)), 1000, 1300),
        (lambda n: {str(n): list(range(1000, 1100))}, 3000, 5000),
        (lambda n: list(range(n + 10**6, n + 10**6 + 30_000)), 1_000_000, 1_300_000),
    ],
)
def test_size_of_records(make, least, most):
    assert least <= bytes_per_record([make(n) for n in range(100)]) <= most


def test_what_records_share_counts_once():
    shared = "x" * 100_000
    assert bytes_per_record([(n, shared) for n in range(32)]) < 4000


def test_no_records_have_no_size():
    assert bytes_per_record([]) == 0


def test_operators_say_whether_keys_come_in_parts():
    kinds = {kind.name: operator_class(kind) for kind in CATALOGUE if kind.is_operator}
    keyed = {name: made for name, made in kinds.items() if issubclass(made, KeyedOperator)}
    whole = {name for name, made in keyed.items() if not made.takes_keys_in_parts}
    # These look at all records of a key at once; who adds one says so here.
    assert whole == {"KEYED_REGULAR_JOIN"}


def spilling(function):
    one_group = {"execution.sorted-inputs.memory": "1", "pipeline.max-parallelism": "1"}
    env = environment(BATCH | one_group, parallelism=1)
    found = [(n % 50, n, n) for n in range(500)]
    stream = env.from_source(CollectionSource.of(found), by_time(), "records")
    function(stream.key_by(lambda r: r[0])).sink_to(DiscardingSink())
    return env


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def looking(_):
        return [stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob("penstock-*/*.mdb")]

    seen = run_in_process(spilling(lambda keyed: keyed.map(looking))).of()
    assert {mode for modes in seen for mode in modes} == {0o600}
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_behind_after_a_failure(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def failing(record):
        raise ValueError(record)

    with pytest.raises(PenstockError, match="failed on record"):
        run_in_process(spilling(lambda keyed: keyed.map(failing)))
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_a_spill_file_that_lost_its_end_fails_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def cutting(record):
        for path in tmp_path.glob("penstock-spill-*/*.mdb"):
            os.truncate(path, path.stat().st_size - 1)
        return record

    with pytest.raises(SpillError) as caught:
        run_in_process(spilling(lambda keyed: keyed.map(cutting)))
    assert caught.value.code == "SPILL"
    assert f"the spill file {tmp_path}/penstock-spill-" in caught.value.problem
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_fails_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def full(name):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name)

    monkeypatch.setattr(spill_space, "failpoint", full)
    with pytest.raises(SpillError, match="No space left on device") as caught:
        run_in_process(spilling(lambda keyed: keyed.map(lambda r: r)))
    assert "Free space there" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_no_local_directory(tmp_path):
    (tmp_path / "file").write_text("")
    space = SpillSpace(1, tmp_path / "file" / "below")
    with pytest.raises(SpillError, match="no directory for spill files"):
        space.new_store()


def test_large_keys_need_a_space():
    assert KeyedOperator.spill_space is None
