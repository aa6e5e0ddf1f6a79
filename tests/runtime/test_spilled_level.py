"""A batch run that spills gives what one that does not gives, key by key and in order.

Differential: each job runs with all memory it wants and with almost none. That both are right is
for the law tests, which compare with an oracle and spill as well (`tests/testing/test_spill_law`).
What spilled is proved by the metrics.
"""

from __future__ import annotations

from typing import Any
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream.connectors import CollectionSource
from penstock.runtime.spill.spill_space import SPILL_DEPTH, SPILLED_BYTES, SPILLED_FILES
from penstock.testing import Schedule, run_in_process
from tests.runtime.jobs import BATCH, MIXED, by_time, environment, history_then_live
from tests.runtime.spill_jobs import JOBS, per_key

PLENTY = 1 << 30

records = st.lists(
    st.tuples(st.integers(0, 9), st.integers(-20, 60), st.integers(1, 20)), max_size=60
).map(lambda found: [(*record, number) for number, record in enumerate(found)])


def run(name: str, found: list[Any], memory: int, *, mode: Any = BATCH, frames: int = 4096):
    settings = {
        **mode,
        "execution.sorted-inputs.memory": str(memory),
        "pipeline.max-parallelism": "3",
    }
    env = environment(settings, parallelism=2)
    # Two thirds are history of a mixed run.
    cut = len(found) * 2 // 3
    source = (
        CollectionSource.of(found) if mode is BATCH else history_then_live(found[:cut], found[cut:])
    )
    stream = env.from_source(source, by_time(100), "records")
    JOBS[name](stream).sink_to(DiscardingSink()).name("out")
    return run_in_process(env, Schedule(frame_records=frames, batch_sizes=(7,)))


def spilled(results: Any, metric: str) -> Any:
    found = [value for name, value in results.report.metrics.items() if name.endswith(metric)]
    if metric == SPILL_DEPTH:
        return max((value.max for value in found), default=0)
    return sum(value.result for value in found)


@pytest.mark.parametrize("name", sorted(JOBS))
@settings(max_examples=7)
@given(
    found=records,
    memory=st.sampled_from([1, 1500, 4000]),
    mode=st.sampled_from([BATCH, MIXED]),
    frames=st.sampled_from([1, 5, 4096]),
)
def test_each_key_gives_the_same_in_the_same_order(name, found, memory, mode, frames):
    wanted = run(name, found, PLENTY, mode=mode, frames=frames)
    got = run(name, found, memory, mode=mode, frames=frames)
    assert per_key(got.of()) == per_key(wanted.of())
    assert got.report.operator_records == wanted.report.operator_records
    assert not spilled(wanted, SPILLED_FILES)
    if found and memory == 1 and mode is BATCH:
        assert spilled(got, SPILLED_FILES) > 0
        assert spilled(got, SPILLED_BYTES) > 0


@pytest.mark.parametrize("name", ["reduce", "process", "co_process", "whole", "co_group"])
def test_many_runs(name):
    # 300 keys in 3 key groups, each with 300 records in 7 frames at least: a run per frame.
    found = [(n * 7 % 300, n * 13 % 1000, n % 20, n) for n in range(900)]
    wanted, got = run(name, found, PLENTY), run(name, found, 1, frames=50)
    assert per_key(got.of()) == per_key(wanted.of())
    assert spilled(got, SPILL_DEPTH) >= 7


@pytest.mark.parametrize("name", sorted(JOBS))
def test_one_large_key_beside_small_ones(name):
    found = [(n % 9 if n % 10 == 0 else 4, n * 13 % 100, n % 20, n) for n in range(1200)]
    wanted, got = run(name, found, PLENTY), run(name, found, 40_000, frames=50)
    assert per_key(got.of()) == per_key(wanted.of())
    assert spilled(got, SPILL_DEPTH) > 3


def test_keys_of_one_hash_are_told_apart():
    # Strings are hashed by their CRC-32: these have the same.
    same = colliding_strings(6)
    found = [(same[n % 6], n * 13 % 100, n % 20, n) for n in range(120)]
    wanted, got = run("process", found, PLENTY), run("process", found, 1)
    assert per_key(got.of()) == per_key(wanted.of())
    assert spilled(got, SPILLED_FILES) > 0


def colliding_strings(count: int) -> list[str]:
    """Return strings of one CRC-32: it is linear, so equal differences cancel."""
    a, b = "plumless", "buckeroo"
    assert crc32(a.encode()) == crc32(b.encode())
    return [x + y + z for x in (a, b) for y in (a, b) for z in (a, b)][:count]
