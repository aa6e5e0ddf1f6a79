"""`upsert_to`: one record per key and micro-batch, and the same final table in every mode.

The law: what a table by key holds in the end does not depend on the mode, the cuts, failures and restarts. The oracle
adds numbers by itself. Where records are folded is for `test_fold_law`.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Row, Types, Watermark, WatermarkGenerator, WatermarkOutput
from penstock.connectors.python.collection import CollectionSource
from penstock.datastream import DataStream, StreamExecutionEnvironment, WatermarkStrategy
from penstock.datastream.connectors import DiscardingSink, HybridSource
from penstock.errors import ArgumentError
from penstock.testing import Results, Schedule, run_in_process
from tests.runtime.jobs import BATCH, MIXED, MODE_IDS, MODES, STREAMING, by_time, environment

RECORDS = st.lists(st.tuples(st.integers(0, 4), st.integers(1, 9)), max_size=30)
SCHEDULES = st.builds(
    Schedule,
    tasks=st.integers(1, 3),
    frame_records=st.integers(1, 7),
    batch_sizes=st.sampled_from([(1,), (3, 8), (100,)]),
    restart_every=st.sampled_from([None, 1]),
    fail_every=st.sampled_from([None, 2]),
)
NO_TIME = WatermarkStrategy.no_watermarks()


def stamped(records: list[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Return (key, time, number), in order of time."""
    return [(key, at, n) for at, (key, n) in enumerate(records)]


def key_of(record: Any) -> Any:
    return record[0]


def environment_of(
    mode: dict[str, str], history: list[Any], live: list[Any], strategy: WatermarkStrategy
) -> tuple[StreamExecutionEnvironment, DataStream[Any]]:
    env = environment(mode)
    first = CollectionSource.of(history)
    source = HybridSource.builder(first).add_source(CollectionSource.of(live)).build()
    return env, env.from_source(source, strategy, "records")


def commits(results: Results, sink: int = 0) -> list[list[Any]]:
    """Return the records of each batch run and micro-batch."""
    ends = [0, *(counts[sink] for counts in results.commits)]
    return [results.records[sink][start:end] for start, end in pairwise(ends)]


def table(results: Results) -> dict[Any, Any]:
    return {record[0]: record for record in results.records[0]}


@given(history=RECORDS, live=RECORDS, schedule=SCHEDULES, timed=st.booleans())
@settings(max_examples=30, deadline=None)
def test_totals_are_the_same_in_every_mode_and_each_key_is_written_once_at_a_time(
    history: list[Any], live: list[Any], schedule: Schedule, timed: bool
) -> None:
    records = stamped(history + live)
    totals: Counter[int] = Counter()
    for key, _, n in records:
        totals[key] += n
    for mode in MODES:
        strategy = by_time() if timed else NO_TIME
        cut = len(history)
        env, stream = environment_of(mode, records[:cut], records[cut:], strategy)
        stream.key_by(key_of).sum(2).upsert_to(DiscardingSink(), key=key_of)
        results = run_in_process(env, schedule)
        assert {key: record[2] for key, record in table(results).items()} == totals, mode
        for written in commits(results):
            assert max(Counter(map(key_of, written)).values(), default=1) == 1


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_a_stream_with_a_key_needs_no_other_and_the_last_is_by_time_in_history(
    mode: dict[str, str],
) -> None:
    history = [("a", 5, "new"), ("b", 1, "b"), ("a", 3, "late")]
    env, stream = environment_of(mode, history, [("a", 7, "newest")], by_time(10))
    stream.key_by(key_of).upsert_to(DiscardingSink()).name("out").uid("table")
    results = run_in_process(env, Schedule(batch_sizes=(3,)))
    assert table(results) == {"a": ("a", 7, "newest"), "b": ("b", 1, "b")}
    first = {record[0]: record[2] for record in commits(results)[0]}
    assert (
        first
        == {
            "batch": {"a": "newest", "b": "b"},
            "streaming": {"a": "late", "b": "b"},
            "mixed": {"a": "new", "b": "b"},
        }[MODE_IDS[MODES.index(mode)]]
    )


class PerRecord(WatermarkGenerator):
    """The timestamp of every record is a watermark."""

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        output.emit_watermark(Watermark(event_timestamp))

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


def test_watermarks_between_records_do_not_cut_a_micro_batch() -> None:
    strategy = WatermarkStrategy.for_generator(PerRecord)
    strategy = strategy.with_timestamp_assigner(lambda record, _: record[1])
    records = stamped([(0, n) for n in range(6)])
    env, stream = environment_of(STREAMING, records, [], strategy)
    stream.upsert_to(DiscardingSink(), key=key_of)
    found = commits(run_in_process(env, Schedule(batch_sizes=(3,))))
    assert [written for written in found if written] == [[(0, 2, 2)], [(0, 5, 5)]]


def test_history_has_one_record_per_key_whatever_fits_in_memory() -> None:
    records = stamped([(n % 7, n) for n in range(500)])
    for memory in ("600", "256 mb"):
        mode = MIXED | {"execution.sorted-inputs.memory": memory}
        for strategy in (NO_TIME, by_time()):
            env, stream = environment_of(mode, records, [], strategy)
            stream.upsert_to(DiscardingSink(), key=key_of)
            results = run_in_process(env, Schedule(tasks=2))
            assert sorted(results.of(0)) == sorted(records[-7:])


def test_rows_keep_their_type() -> None:
    kind = Types.ROW_NAMED(["id", "n"], [Types.STRING(), Types.LONG()])
    env = environment(BATCH)
    rows = env.from_collection([Row(id="a", n=1), Row(id="a", n=2)], kind)
    rows.upsert_to(DiscardingSink(), key=lambda row: row.id)
    assert run_in_process(env).of(0) == [Row(id="a", n=2)]


def test_records_that_were_changed_behind_it_do_not_change_what_is_written() -> None:
    env = environment(STREAMING)
    lists = env.from_collection([[0, 1], [0, 2], [1, 3]])
    lists.upsert_to(DiscardingSink(), key=lambda pair: pair[0]).name("table")

    def doubled(pair: list[int]) -> list[int]:
        pair[1] *= 2
        return pair

    lists.map(doubled).sink_to(DiscardingSink()).name("doubled")
    results = run_in_process(env)
    assert sorted(results.of("table")) == [[0, 2], [1, 3]]
    assert sorted(results.of("doubled")) == [[0, 2], [0, 4], [1, 6]]


def test_a_plan_has_the_operator_and_says_where_history_is_folded() -> None:
    env, stream = environment_of(MIXED, stamped([(0, 1)]), [], NO_TIME)
    stream.upsert_to(DiscardingSink(), key=key_of)
    plan = env.plan()
    (operator,) = [op for level in plan.levels for op in level.operators if op.name == "upsert"]
    assert operator.kind.name == "KEYED_LATEST"
    chosen = {
        each.choice for each in plan.decisions if each.subject.startswith("records of 'upsert'")
    }
    assert any("before" in choice or "send" in choice for choice in chosen), chosen


def test_a_stream_without_a_key_is_refused() -> None:
    _, stream = environment_of(BATCH, [], [], NO_TIME)
    with pytest.raises(ArgumentError, match="without a key, on a stream that has none"):
        stream.upsert_to(DiscardingSink())
    with pytest.raises(ArgumentError, match="is not a sink"):
        stream.upsert_to(print, key=key_of)  # type: ignore[arg-type]
