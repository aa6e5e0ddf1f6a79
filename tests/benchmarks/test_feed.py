"""The feed: every system reads the same records, and the right answer is known."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.inputs.feed import CHECK, FILL, LIVE, Delivery, Feed
from benchmarks.inputs.feed_files import write_feed
from benchmarks.model.digest import as_text, digest_of
from benchmarks.model.program import Case
from benchmarks.programs.live_state import PROGRAM, prepare, rhythm
from benchmarks.systems.digest_sink import DigestSink, read_outputs
from benchmarks.systems.file_stream import Commits
from penstock.common import Types
from penstock.datastream.connectors import SinkContext

ROWS = st.lists(st.tuples(*[st.integers(-(2**63), 2**63 - 1)] * 3), min_size=1)


@given(ROWS, st.randoms(use_true_random=False))
def test_digest_does_not_depend_on_order_or_grouping(rows, random):
    shuffled = list(rows)
    random.shuffle(shuffled)
    parts = [digest_of(*zip(*part, strict=True)) for part in (shuffled[:1], shuffled[1:]) if part]
    assert as_text(sum(parts)) == as_text(digest_of(*zip(*rows, strict=True)))


@given(ROWS, st.data())
def test_digest_notices_a_lost_a_doubled_and_a_changed_row(rows, data):
    at = data.draw(st.integers(0, len(rows) - 1))
    key, count, total = rows[at]
    right = digest_of(*zip(*rows, strict=True))
    changed = [*rows[:at], (key, count, total ^ 1), *rows[at + 1 :]]
    for wrong in ([*rows, rows[at]], changed, [*rows[:at], *rows[at + 1 :]]):
        columns = zip(*wrong, strict=True) if wrong else [(), (), ()]
        assert digest_of(*columns) != right


@pytest.fixture
def feed(tmp_path):
    made = Feed(str(tmp_path / "feed"), keys=25, micro_batch=10, live_batches=3, files=2)
    write_feed(made)
    return made


def rows_of(directory):
    return [
        (row["key"], row["value"])
        for path in sorted(Path(directory).rglob("*.parquet"))
        for row in pq.read_table(path).to_pylist()
    ]


def test_outputs_of_check_are_those_of_the_files(feed):
    counts: Counter[int] = Counter()
    sums: Counter[int] = Counter()
    live = [f"{LIVE}/{number:05}" for number in (0, 1)]
    for part in (FILL, *live, CHECK):
        for key, value in rows_of(Path(feed.root, part)):
            counts[key] += 1
            sums[key] += value
    outputs = feed.outputs_of_check(2)
    rows = [(key, counts[key], sums[key]) for key in range(25)]
    assert outputs.count == 25
    assert outputs.digest == as_text(digest_of(*zip(*rows, strict=True)))


def test_fill_and_check_have_every_key_once(feed):
    for part in (FILL, CHECK):
        assert [key for key, _ in rows_of(Path(feed.root, part))] == list(range(25))
    assert feed.records(FILL, range(3)) == 25
    assert feed.records(LIVE, range(3)) == 30


def test_files_are_in_the_order_of_their_times(feed):
    in_order = [*Path(feed.root, FILL).iterdir(), *Path(feed.root, LIVE).iterdir()]
    times = {d: {f.stat().st_mtime for f in d.iterdir()} for d in in_order}
    assert all(len(of_one) == 1 for of_one in times.values())
    fill, live = (max(max(times[d]) for d in in_order if d.parent.name == p) for p in (FILL, LIVE))
    assert fill < live


def test_keys_are_spread_and_repeat(tmp_path):
    feed = Feed(str(tmp_path), keys=1000, micro_batch=10_000, live_batches=1, files=2)
    keys = np.concatenate([keys for keys, _ in feed.live(0)])
    occurrences = np.bincount(keys, minlength=1000)
    assert occurrences.min() > 0
    assert occurrences.max() < 30


def test_a_delivery_appears_whole_and_in_order(feed, tmp_path):
    delivery = Delivery(feed, tmp_path)
    assert delivery.deliver(FILL, range(3)) == 25
    assert delivery.deliver(LIVE, [1]) == 10
    names = [
        [file.name for file in sorted(d.iterdir())] for d in sorted((tmp_path / "in").iterdir())
    ]
    assert names[1] == ["00001-00.parquet", "00001-01.parquet"]
    assert len(names[0]) == 6
    assert list((tmp_path / "arriving").iterdir()) == []


def test_slow_systems_get_fewer_micro_batches():
    case = Case(1000, 10, 2, 3, {"micro-batch": 100, "warm-up-batches": 4, "slow-batches": 2})
    found = {system.name: rhythm(case, system).batches_after(3) for system in PROGRAM.systems}
    assert found["sql"] == 4 + 3 * (1 + 10)
    assert found["tws-row"] == 1 + 3 * (1 + 2)


def test_a_case_smaller_than_a_micro_batch(tmp_path):
    case = Case(7, 10, 2, 1, dict(PROGRAM.options))
    workload = prepare(case, tmp_path / "feed")
    assert workload.feed.micro_batch == 7
    assert workload.expected(PROGRAM.systems[0], 1).count == 10


def test_commits_give_the_times_after_a_total():
    commits = Commits()
    for records in (10, 10, 5):
        commits.add(records)
    assert len(commits.times_from(10, 25, check_alive=lambda: None)) == 2


def test_commits_ask_whether_the_query_lives():
    def dead():
        raise RuntimeError("it ended")

    with pytest.raises(RuntimeError, match="it ended"):
        Commits().times_from(0, 1, dead)


def test_the_sink_digests_only_when_told(tmp_path):
    sink = DigestSink(str(tmp_path / "flag"), str(tmp_path / "results"))
    context = SinkContext("job", "sink", 0, Types.PICKLED_BYTE_ARRAY(), "s", None, tmp_path)
    committer = sink.create_committer(context)

    def epoch(name, *rows):
        writer = sink.create_writer(context)
        writer.write(list(rows))
        committer.commit(name, writer.prepare_commit())

    epoch("0-0", (1, 1, 1))
    (tmp_path / "flag").touch()
    epoch("0-1", (1, 2, 3))
    epoch("0-2", (4, 5, 6), (7, 8, 9))
    epoch("0-2", (4, 5, 6), (7, 8, 9))  # a commit may be repeated
    expected = digest_of([1, 4, 7], [2, 5, 8], [3, 6, 9])
    outputs = read_outputs(tmp_path / "results")
    assert (outputs.count, outputs.digest) == (3, as_text(expected))
