"""The pieces of spilling: portions by key, one large key in order, sizes, failures."""

from __future__ import annotations

import gc
import os
import stat
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.connectors.python.discard import DiscardingSink
from penstock.datastream.connectors import CollectionSource
from penstock.errors import PenstockError, SpillError
from penstock.program.operators import CATALOGUE
from penstock.runtime.operators import operator_class
from penstock.runtime.operators.keyed import KeyedOperator
from penstock.runtime.spill.record_size import bytes_per_record
from penstock.runtime.spill.spill_space import SpillCounts, SpillSpace
from penstock.runtime.task.spilling.key_portions import FAN_OUT, KeyPortions
from penstock.runtime.task.spilling.large_key import FAN_IN, LargeKey
from penstock.runtime.task.spilling.spilled_portions import Input, Portion, numbered
from penstock.testing import run_in_process
from penstock.types import Row
from penstock.wire.frame import FrameHeader, FrameKind
from penstock.wire.frame_file import FrameFile
from tests.runtime.jobs import BATCH, by_time, environment

keys = st.one_of(st.integers(), st.text(max_size=3), st.tuples(st.integers(0, 3), st.booleans()))


@given(found=st.lists(keys, max_size=80), depth=st.integers(1, 10))
def test_equal_keys_have_one_portion_and_others_are_known(found, depth):
    portions = KeyPortions(depth, found)
    of_key = {key: portions[key] for key in found}
    assert all(portions[key] == number for key, number in of_key.items())
    in_portion = Counter(of_key.values())
    assert portions.several == {number for number, keys in in_portion.items() if keys > 1}


def test_equal_numbers_are_one_key():
    portions = KeyPortions(1)
    assert portions[1] == portions[1.0] == portions[True] == portions[Decimal(1)]
    assert not portions.several


def test_depths_are_independent():
    # Keys that meet at one depth are spread evenly over the portions of the next.
    first = KeyPortions(1)
    together = [key for key in range(40_000) if first[key] == 3]
    spread = Counter(map(KeyPortions(2).__getitem__, together))
    assert len(spread) == FAN_OUT
    assert max(spread.values()) < 1.4 * min(spread.values())


def test_forgotten_keys_keep_their_portion():
    portions = KeyPortions(1)
    before = [portions[key] for key in range(50_000)]
    assert [portions[key] for key in range(50_000)] == before
    assert len(portions) <= 20_000


def test_a_key_with_many_records_has_a_portion_of_its_own():
    found = ["often"] * 100 + [str(n) for n in range(300)]
    portions = KeyPortions(1, found)
    others = {portions[str(n)] for n in range(300)}
    assert portions["often"] not in others
    assert portions["often"] not in portions.several


def source_header(channel: int) -> FrameHeader:
    return FrameHeader(5, 9, channel, 1, FrameKind.RECORDS, 0)


def portion_of(space: SpillSpace, inputs, per_frame: int) -> Portion:
    """Return a portion of one key: `inputs` has a list of (time or None, record) per input."""
    portion = Portion(space.new_file(), 1, {}, set(), is_one_key=True)
    for number, records in enumerate(inputs):
        target, header = (0, True, number), source_header(number + 40)
        for at in range(0, len(records), per_frame):
            times, values = zip(*records[at : at + per_frame], strict=True)
            portion.inputs[header.channel] = Input(target, header)
            stamps = None if None in times else list(times)
            if stamps is not None:
                portion.stamped.add(target)
            portion.file.add(numbered(header, portion.file.frames, list(values), stamps))
            portion.records += len(values)
    portion.memory_bytes = 400 * portion.records
    return portion


@settings(max_examples=60)
@given(
    times=st.lists(st.lists(st.integers(-5, 5), max_size=60), min_size=1, max_size=2),
    unstamped=st.sampled_from([set(), {0}, {1}, {0, 1}]),
    memory=st.sampled_from([1, 5_000, 1 << 30]),
    per_frame=st.integers(1, 30),
)
def test_one_key_comes_in_order(times, unstamped, memory, per_frame):
    space = SpillSpace(memory)
    inputs = [
        [(None if n in unstamped else time, (n, at)) for at, time in enumerate(of_input)]
        for n, of_input in enumerate(times)
    ]
    if not any(inputs):
        return
    counts = SpillCounts()
    large = LargeKey(portion_of(space, inputs, per_frame), space, counts)
    first = next(n for n, of_input in enumerate(inputs) if of_input)
    assert large.first_record() == (first, (first, 0))
    got = [
        (number, stamps[at] if stamps is not None else None, value)
        for number, values, stamps in large.batches(by_time=True)
        for at, value in enumerate(values)
    ]
    entries = [(n, time, value) for n, of in enumerate(inputs) for time, value in of]
    wanted = sorted(entries, key=lambda entry: -(2**63) if entry[1] is None else entry[1])
    assert got == wanted
    arrived = [value for _, values, _ in large.batches(by_time=False) for value in values]
    assert arrived == [value for _, _, value in entries]
    space.close()


def test_many_runs_are_merged_in_passes(tmp_path, monkeypatch):
    # Time goes back, so each run has the records of one time; these keep their order.
    open_files = []
    add = FrameFile.add

    def counting(self, frame):
        add(self, frame)
        open_files.append(len(list(Path("/proc/self/fd").iterdir())))

    monkeypatch.setattr(FrameFile, "add", counting)
    space = SpillSpace(1, tmp_path)
    inputs = [[(1000 - n // 3, n) for n in range(3000)]]
    counts = SpillCounts()
    large = LargeKey(portion_of(space, inputs, 100), space, counts)
    got = [value for _, values, _ in large.batches(by_time=True) for value in values]
    assert got == [value for _, value in sorted(inputs[0], key=lambda record: record[0])]
    assert counts.files == 1000 + 32  # runs, and runs of runs
    assert max(open_files) - open_files[0] <= FAN_IN
    space.close()


def test_records_in_order_of_time_are_one_run(tmp_path):
    space = SpillSpace(1, tmp_path)
    counts = SpillCounts()
    large = LargeKey(portion_of(space, [[(n, n) for n in range(500)]], 50), space, counts)
    assert sum(len(values) for _, values, _ in large.batches(by_time=True)) == 500
    assert counts.files == 1
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
        return [stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob("penstock-*/*.frames")]

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
        for path in tmp_path.glob("penstock-spill-*/*.frames"):
            os.truncate(path, path.stat().st_size - 1)
        return record

    with pytest.raises(SpillError) as caught:
        run_in_process(spilling(lambda keyed: keyed.map(cutting)))
    assert caught.value.code == "SPILL"
    assert f"the spill file {tmp_path}/penstock-spill-" in caught.value.problem
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_fails_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    add = FrameFile.add

    def full(self, frame):
        if self.frames == 1:
            raise self._failed("written", OSError(28, "No space left on device"))
        add(self, frame)

    monkeypatch.setattr(FrameFile, "add", full)
    with pytest.raises(SpillError, match="No space left on device") as caught:
        run_in_process(spilling(lambda keyed: keyed.map(lambda r: r)))
    assert "Free space there" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_no_local_directory(tmp_path):
    (tmp_path / "file").write_text("")
    space = SpillSpace(1, tmp_path / "file" / "below")
    with pytest.raises(SpillError, match="no directory for spill files"):
        space.new_file()


def test_large_keys_need_a_space():
    assert KeyedOperator.spill_space is None
