"""A kind of state is a row, a handle and a descriptor: the rest of the engine reads the row."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.common import Time, Types
from penstock.datastream import (
    KeyedProcessFunction,
    RuntimeExecutionMode,
    StateTtlConfig,
    StreamExecutionEnvironment,
)
from penstock.errors import ArgumentError
from penstock.state.schema.entry_schema import KINDS, StateSchema
from penstock.testing import OperatorHarness, Schedule, collect
from tests.house.counter.descriptor import CounterStateDescriptor
from tests.house.counter.kind import COUNTER

RECORDS = [("a", 3), ("b", 4), ("a", 5), ("a", 1), ("b", 2)]
TOTALS = [("a", 3), ("a", 8), ("a", 9), ("b", 4), ("b", 6)]


class Totals(KeyedProcessFunction):
    """Emits the total of a key with each record."""

    def open(self, runtime_context):
        self.total = runtime_context.get_state(CounterStateDescriptor("total"))

    def process_element(self, value, ctx):
        self.total.add(value[1])
        yield value[0], self.total.get()


@pytest.fixture(autouse=True)
def _kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, COUNTER.value, COUNTER)


@pytest.mark.parametrize("backend", ["hashmap", "lmdb"])
@pytest.mark.parametrize("sizes", [(100,), (1,)])
@pytest.mark.parametrize("mode", [RuntimeExecutionMode.BATCH, RuntimeExecutionMode.STREAMING])
def test_a_job_keeps_it_in_every_mode(mode, sizes: tuple[int, ...], backend: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(mode)
    stream = env.from_collection(RECORDS, Types.TUPLE([Types.STRING(), Types.LONG()]))
    totals = stream.key_by(lambda r: r[0]).process(Totals())
    schedule = Schedule(batch_sizes=sizes, restart_every=1, fail_every=2, backend=backend)
    assert sorted(collect(totals, schedule)) == TOTALS


def test_a_harness_reads_and_restores_it() -> None:
    described = CounterStateDescriptor("total")
    with OperatorHarness.of(Totals(), key_selector=lambda r: r[0]) as harness:
        harness.push(("a", 3))
        assert harness.state(described, "a") == 3
        snapshot = harness.snapshot()
    with OperatorHarness.of(
        Totals(), key_selector=lambda r: r[0], snapshot=snapshot, backend="lmdb"
    ) as harness:
        assert harness.push(("a", 4)) == [("a", 7)]


def test_its_values_expire() -> None:
    class Expiring(Totals):
        def open(self, runtime_context):
            described = CounterStateDescriptor("total")
            described.enable_time_to_live(StateTtlConfig.new_builder(Time.seconds(1)).build())
            self.total = runtime_context.get_state(described)

    with OperatorHarness.of(Expiring(), key_selector=lambda r: r[0]) as harness:
        assert harness.push(("a", 3)) == [("a", 3)]
        harness.advance_processing_time(5_000)
        assert harness.push(("a", 4)) == [("a", 4)]


def test_its_schema_is_read_back() -> None:
    schema = CounterStateDescriptor("total").schema()
    assert StateSchema.parse(schema.text()) == schema


def test_another_method_refuses_it() -> None:
    class Wrong(Totals):
        def open(self, runtime_context):
            self.total = runtime_context.get_list_state(CounterStateDescriptor("total"))

    with pytest.raises(ArgumentError, match="requested list state"):
        OperatorHarness.of(Wrong(), key_selector=lambda r: r[0])


def test_it_is_at_most_four_files() -> None:
    files = {path.name for path in (Path(__file__).parent / "counter").glob("*.py")}
    assert files == {"kind.py", "handle.py", "descriptor.py"}
