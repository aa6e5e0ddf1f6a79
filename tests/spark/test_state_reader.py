"""State read from outside a job: what a checkpoint and a savepoint hold, and damage of either."""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock import failpoint
from penstock.common import Row, Types, WatermarkStrategy
from penstock.datastream import (
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
)
from penstock.datastream.connectors import (
    DataGeneratorSource,
    FileSink,
    HybridSource,
    NumberSequenceSource,
)
from penstock.errors import JobFailedError, PenstockError, StateError
from penstock.inspection import read_state, read_state_names
from penstock.spark.inspect.small_state import in_order, small_state
from penstock.spark.inspect.state_diff import EntryChange, StateChange, state_differences
from penstock.spark.inspect.state_location import locate_state, reading, state_rows
from penstock.spark.worker.state_tasks import ReadFiles, split_log
from penstock.state.log.blob import encode_blob
from penstock.state.log.change_log import ChangeLog
from penstock.state.replay import replay
from penstock.state.schema.entry_schema import BROADCAST_GROUP, StateKind
from penstock.testing.live_run import MemoryLog
from tests.spark.conftest import Environment
from tests.spark.made_state import make_savepoint, of, section, write_state
from tests.spark.waiting import committed, wait_for

NO_TIME = WatermarkStrategy.no_watermarks()
SEEN = Types.ROW_NAMED(["count", "last"], [Types.LONG(), Types.STRING()])


class Remember(KeyedProcessFunction):
    """Keeps something in every kind of keyed state."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", SEEN))
        self.halves = runtime_context.get_map_state(MapStateDescriptor("halves"))
        self.all = runtime_context.get_list_state(ListStateDescriptor("all", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        before = self.seen.value()
        count = 1 if before is None else before.count + 1
        self.seen.update(Row(count=count, last=f"n{value}"))
        self.halves.put("even" if value % 2 == 0 else "odd", {"at": value})
        self.all.add(value)
        yield (f"k{value % 2}", 1)


def build(env: StreamExecutionEnvironment, source: Any, out: Path) -> None:
    numbers = env.from_source(source, NO_TIME, "numbers")
    seen = numbers.key_by(lambda n: n % 5).process(
        Remember(), Types.TUPLE([Types.STRING(), Types.LONG()])
    )
    totals = seen.uid("remember").key_by(lambda t: t[0]).sum(1).uid("totals")
    row = Types.ROW_NAMED(["key", "count"], [Types.STRING(), Types.LONG()])
    totals.map(lambda t: t, row).sink_to(FileSink.parquet(out))


def numbers_of(path: Path) -> Counter[int]:
    """Return all numbers a checkpoint of `build` has seen."""
    return Counter(row.value for row in read_state(path, "remember", "all").collect())


def check_state_of(path: Path, count: int) -> None:
    """Compare what is read with what `build` keeps of the numbers below `count`."""
    of_key = {key: [n for n in range(count) if n % 5 == key] for key in range(5)}
    seen = read_state(path, "remember", "seen")
    assert seen.schema.simpleString() == (
        "struct<key:bigint,value:struct<count:bigint,last:string>,key_group:int>"
    )
    assert {row.key: row.value["count"] for row in seen.collect()} == {
        key: len(numbers) for key, numbers in of_key.items()
    }
    everything = read_state(path, "remember", "all")
    assert everything.columns == ["key", "list_index", "value", "key_group"]
    rows = everything.orderBy("key", "list_index").collect()
    for key, numbers in of_key.items():
        of_this = [row for row in rows if row.key == key]
        assert [row.list_index for row in of_this] == list(range(len(numbers)))
        assert sorted(row.value for row in of_this) == numbers
    halves = read_state(path, "remember", "halves").collect()
    assert Counter((row.key, row.map_key) for row in halves) == Counter(
        {(n % 5, "odd" if n % 2 else "even") for n in range(count)}
    )
    assert all(json.loads(row.value)["at"] % 5 == row.key for row in halves)
    totals = read_state(path, "totals", "reduce").collect()
    assert {row.key: row.value.f1 for row in totals} == Counter(f"k{n % 2}" for n in range(count))
    check_small_state(path)


def check_small_state(path: Path) -> None:
    """Compare what this process reads itself with what Spark reads."""
    small = small_state(path)
    assert small is not None
    assert small.names() == [tuple(row) for row in read_state_names(path).collect()]
    for uid, name in (("remember", "seen"), ("remember", "all"), ("remember", "halves")):
        columns, rows = small.entries(uid, name)
        frame = read_state(path, uid, name, as_text=True)
        assert list(columns) == frame.columns
        order = [each for each in columns if each not in {"value", "key_group"}]
        ordered = in_order(rows, map(columns.index, order))
        assert ordered == [tuple(row) for row in frame.orderBy(*order).collect()]


def test_the_logs_of_a_live_run(
    environment: Environment, session: SparkSession, tmp_path: Path
) -> None:
    env = environment("streaming", **{"execution.live.max-records-per-batch": 50})
    build(env, NumberSequenceSource(0, 99), tmp_path / "out")
    env.execute("live")
    check_state_of(tmp_path / "job", 100)
    names = [tuple(row)[:7] for row in read_state_names(tmp_path / "job").collect()]
    assert names == [
        ("remember", "all", "list", "Long", False, 100, 5),
        ("remember", "halves", "map", "any object -> any object", False, 10, 5),
        ("remember", "seen", "value", repr(SEEN), False, 5, 5),
        ("totals", "reduce", "reducing", "Tuple(String, Long)", False, 2, 2),
    ]
    rows = state_rows(session, locate_state(tmp_path / "job")).collect()
    assert {row.operator for row in rows} == {"remember", "totals"}
    blobs = [("here", bytes(row.blob)) for row in rows if row.operator == "totals"]
    totals = {
        key: value[1]
        for each in blobs
        for section in replay([each]).sections()
        for key, value in zip(section.keys, section.values, strict=True)
    }
    assert totals == {"k0": 50, "k1": 50}


def test_a_running_job_is_read_as_of_one_micro_batch(
    environment: Environment, tmp_path: Path
) -> None:
    env = environment("streaming", **{"execution.live.max-records-per-batch": 20})
    build(env, DataGeneratorSource(lambda n: n, count=None), tmp_path / "out")
    client = env.execute_async("endless")
    run = tmp_path / "job" / "run-0"
    try:
        wait_for(client, lambda: committed(run) > 2)
        everything = read_state(tmp_path / "job", "remember", "all")
        at_least = committed(run) + 3
        wait_for(client, lambda: committed(run) > at_least)
        once, again = (Counter(row.value for row in everything.collect()) for _ in range(2))
    finally:
        client.cancel()
    assert once == again == Counter(range(once.total()))
    assert once.total() % 20 == 0
    after = numbers_of(tmp_path / "job")
    assert after == Counter(range(after.total()))
    assert after.total() > once.total()


@pytest.fixture(scope="module")
def switched(
    session: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """Return the directory of a job with a batch run over 0..59 and a live run over 60..79.

    Beside it, `history` is the directory as it was after the batch run.
    """
    root = tmp_path_factory.mktemp("switched")

    def execute() -> None:
        env = StreamExecutionEnvironment.get_execution_environment()
        for key, value in {
            "parallelism.default": "2",
            "execution.checkpointing.dir": str(root / "job"),
            "execution.checkpointing.interval-during-backlog": "0",
        }.items():
            env.get_configuration().set_string(key, value)
        source = HybridSource.builder(NumberSequenceSource(0, 59))
        build(env, source.add_source(NumberSequenceSource(60, 79)).build(), root / "out")
        env.execute("switched")

    with pytest.MonkeyPatch.context() as patch:
        failpoint.count_anew()
        patch.setenv("PENSTOCK_FAILPOINT", "live.started:1:raise")
        with pytest.raises(JobFailedError):
            execute()
    shutil.copytree(root / "job", root / "history")
    execute()
    assert list((root / "history" / "run-0").glob("snapshot/*.parquet"))
    assert not (root / "job" / "run-0" / "snapshot").exists(), "the live run has the state"
    return root / "job"


@pytest.fixture
def history(switched: Path, tmp_path: Path) -> Path:
    """Return a copy of the directory as it was after its batch run."""
    job = tmp_path / "history"
    shutil.copytree(switched.parent / "history", job)
    shutil.rmtree(job / "run-1")
    return job


def test_the_snapshot_of_a_batch_run_and_the_live_run_after_it(
    switched: Path, history: Path
) -> None:
    check_state_of(history, 60)
    assert numbers_of(switched) == Counter(range(80))
    changes, entries = state_differences(history, switched, "totals")
    assert changes == [StateChange("totals", "reduce", 2, 2, 0, 0, 2)]
    assert entries[0] == EntryChange("totals", "reduce", '"k0"', None, '["k0",30]', '["k0",40]')


@pytest.mark.parametrize("spoil", ["flip", "cut", "remove"])
def test_a_damaged_snapshot_file_is_named(history: Path, spoil: str) -> None:
    path = next((history / "run-0" / "snapshot").glob("*.parquet"))
    data = bytearray(path.read_bytes())
    data[data.index(b"PSS3") + 5] ^= 4  # in the checksum of a blob
    if spoil == "remove":
        path.unlink()
    else:
        path.write_bytes(data if spoil == "flip" else data[: len(data) // 2])
    with pytest.raises(StateError) as caught:
        read_state_names(history)
    assert str(path) in caught.value.problem


def test_a_damaged_record_is_named(history: Path) -> None:
    for name in ("job.json", "run-0.done.json"):
        data = (history / name).read_bytes()
        for at in range(0, len(data) * 8, 97):
            damaged = bytearray(data)
            damaged[at // 8] ^= 1 << at % 8
            (history / name).write_bytes(damaged)
            with pytest.raises(PenstockError, match=name) as caught:
                read_state_names(history)
            assert caught.value.code == "JOB_DIRECTORY"
        (history / name).write_bytes(data)


def test_damage_in_the_state_store_is_an_error_of_ours(
    switched: Path, session: SparkSession
) -> None:
    with pytest.raises(StateError, match="reading the state of"), reading(switched):
        session.read.format("statestore").option("batchId", 1000).load(str(switched)).collect()


@pytest.mark.parametrize(
    ("uid", "name", "hint"),
    [("remembr", "seen", "remember, totals"), ("remember", "sen", "all, halves, seen")],
)
def test_a_state_there_is_not(history: Path, uid: str, name: str, hint: str) -> None:
    with pytest.raises(StateError) as caught:
        read_state(history, uid, name)
    assert hint in caught.value.hint


def test_what_is_no_checkpoint(tmp_path: Path, session: SparkSession) -> None:
    with pytest.raises(PenstockError, match="neither a checkpoint") as caught:
        read_state_names(tmp_path)
    assert caught.value.code == "JOB_DIRECTORY"


def test_a_job_without_state_yet(history: Path) -> None:
    (history / "run-0.done.json").unlink()
    with pytest.raises(StateError, match="no state yet"):
        read_state_names(history)


# --- savepoints made by hand: every kind of state ---------------------------------------------


PICKLED, LONG, STRING = Types.PICKLED_BYTE_ARRAY(), Types.LONG(), Types.STRING()


def test_every_kind_of_state_has_its_columns(session: SparkSession, tmp_path: Path) -> None:
    point = make_savepoint(
        tmp_path / "point",
        (
            "op",
            1,
            [
                section("value", of(StateKind.VALUE, PICKLED), ((1, "a"), {1}), (2, None)),
                section("ttl", of(StateKind.REDUCING, LONG, ttl=True), ("a", (5, 7))),
                section("list", of(StateKind.LIST, LONG, ttl=True), ("a", 1, [(3, 9)]),
                        ("a", 0, [(1, 7), (2, 8)])),
                section("map", of(StateKind.MAP, Types.SQL_TIME(), LONG), ("a", 5, None)),
                section("timers", of(StateKind.TIMERS, Types.BOOLEAN(), LONG), ("a", 99, True)),
            ],
        ),
        (
            "op",
            BROADCAST_GROUP,
            [section("rules", of(StateKind.BROADCAST, STRING, PICKLED), (None, "r", "x"))],
        ),
    )  # fmt: skip

    def rows(name: str, *, as_text: bool = False) -> list[dict[str, Any]]:
        return [row.asDict() for row in read_state(point, "op", name, as_text=as_text).collect()]

    assert rows("value") == [
        {"key": '[1,"a"]', "value": "{1}", "key_group": 1},
        {"key": "2", "value": "null", "key_group": 1},
    ]
    assert rows("ttl") == [{"key": "a", "value": 7, "last_access_ms": 5, "key_group": 1}]
    assert rows("ttl", as_text=True)[0]["key"] == '"a"'
    assert [(row["list_index"], row["value"], row["last_access_ms"]) for row in rows("list")] == [
        (0, 7, 1),
        (1, 8, 2),
        (2, 9, 3),
    ]
    assert rows("map") == [{"key": "a", "map_key": 5, "value": "null", "key_group": 1}]
    assert rows("timers") == [{"key": "a", "timestamp_ms": 99, "key_group": 1}]
    assert rows("rules") == [{"map_key": "r", "value": "x"}]
    kinds = {
        row.name: (row.kind, row.ttl, row.entries) for row in read_state_names(point).collect()
    }
    assert kinds["list"] == ("list", True, 3)
    assert kinds["rules"] == ("broadcast", False, 1)


def test_entries_of_an_older_schema_are_read_as_the_newest(
    session: SparkSession, tmp_path: Path
) -> None:
    old = of(StateKind.VALUE, Types.ROW_NAMED(["n"], [Types.INT()]))
    new = of(StateKind.VALUE, Types.ROW_NAMED(["name", "n"], [STRING, LONG]))
    point = make_savepoint(
        tmp_path / "point",
        ("op", 1, [section("s", new, ("b", ("x", 2)))]),
        ("op", 1, [section("s", old, ("a", (1,)))]),
    )
    rows = read_state(point, "op", "s").orderBy("key").collect()
    assert [tuple(row.value) for row in rows] == [(None, 1), ("x", 2)]


def test_a_difference_is_that_of_values(session: SparkSession, tmp_path: Path) -> None:
    schema = of(StateKind.MAP, PICKLED, STRING, ttl=True)

    def point(name: str, *entries: tuple[Any, ...]) -> Path:
        return make_savepoint(tmp_path / name, ("op", 1, [section("m", schema, *entries)]))

    first = point(
        "a", ("k", "same", (1, {3, 4})), ("k", "new value", (1, {3})), ("k", "old", (1, 0))
    )
    second = point(
        "b", ("k", "same", (2, {4, 3})), ("k", "new value", (1, {5})), ("k", "new", (1, 0))
    )
    changes, entries = state_differences(first, second)
    assert changes == [StateChange("op", "m", 3, 3, 1, 1, 1)]
    assert entries == [
        EntryChange("op", "m", '"k"', '"new value"', "{3}", "{5}"),
        EntryChange("op", "m", '"k"', '"new"', None, "0"),
        EntryChange("op", "m", '"k"', '"old"', "0", None),
    ]
    with pytest.raises(StateError, match="neither"):
        state_differences(first, second, "op", "unknown")


@pytest.fixture
def vanishing_class(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return an object whose class workers cannot import."""
    module = type(sys)("modules_of_a_job")
    exec("class Basket:\n    pass", module.__dict__)  # noqa: S102
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module.Basket()


def test_a_class_that_cannot_be_imported_is_named(
    session: SparkSession, tmp_path: Path, vanishing_class: Any
) -> None:
    schema = of(StateKind.VALUE, PICKLED)
    point = make_savepoint(
        tmp_path / "point", ("op", 1, [section("s", schema, (1, vanishing_class))])
    )
    with pytest.raises(StateError, match=r"modules_of_a_job\.Basket .*key group 1"):
        read_state(point, "op", "s")


def test_a_savepoint_with_another_byte_is_refused(session: SparkSession, tmp_path: Path) -> None:
    point = make_savepoint(
        tmp_path / "point", ("op", 1, [section("s", of(StateKind.VALUE, LONG), (1, 2))])
    )
    path = next((point / "state").iterdir())
    data = bytearray(path.read_bytes())
    data[-20] ^= 1
    path.write_bytes(data)
    with pytest.raises(StateError, match="SHA-256") as caught:
        read_state_names(point)
    assert str(path) in caught.value.problem
    (point / "savepoint.json").write_bytes(b"{}")
    with pytest.raises(PenstockError) as caught_too:
        read_state_names(point)
    assert caught_too.value.code == "SAVEPOINT"


# --- every bit, without Spark ------------------------------------------------------------------


def test_flipped_bits_and_cuts_of_a_snapshot_file_are_noticed(tmp_path: Path) -> None:
    schema = of(StateKind.VALUE, LONG)
    parts = [("a" if g % 2 else "bb", g, [section("s", schema, (g, g))]) for g in range(5)]
    path = write_state(tmp_path / "snapshot.parquet", *parts)
    data = path.read_bytes()
    whole = list(ReadFiles().read([(str(path), None)]))
    assert len(whole) == 5
    noticed = 0
    for at in range(0, len(data) * 8, 31):  # all bits pass, in twenty seconds
        damaged = bytearray(data)
        damaged[at // 8] ^= 1 << at % 8
        path.write_bytes(damaged)
        try:
            # Bits that nobody reads, such as statistics, may be any.
            assert list(ReadFiles().read([(str(path), None)])) == whole
        except StateError as error:
            assert str(path) in error.problem  # noqa: PT017
            noticed += 1
    assert noticed > len(data) * 8 // 31 // 3
    for size in range(0, len(data), 31):
        path.write_bytes(data[:size])
        with pytest.raises(StateError, match=path.name):
            list(ReadFiles().read([(str(path), None)]))


def test_every_flipped_bit_of_a_change_log_is_noticed() -> None:
    storage = MemoryLog()
    for number in range(2):
        blob = encode_blob("op", number, [section("s", of(StateKind.VALUE, LONG), (1, number))])
        ChangeLog(storage).append([blob], b"")
    rows = [storage.read_head(), *(storage.read_entry(number) for number in range(2))]

    def split(logged: list[bytes | None]) -> list[Any]:
        log = MemoryLog()
        for number, data in enumerate(logged):
            if data is not None:
                log.write_entry(number - 1, data) if number else log.write_head(data)
        return list(split_log("log of subtask 1", log, 1, None))

    assert [(operator, group) for operator, group, *_ in split(rows)] == [("op", 0), ("op", 1)]
    for index, data in enumerate(rows):
        assert data is not None
        for at in range(len(data) * 8):
            damaged = bytearray(data)
            damaged[at // 8] ^= 1 << at % 8
            with pytest.raises(StateError):
                split([*rows[:index], bytes(damaged), *rows[index + 1 :]])
        if index:
            with pytest.raises(StateError):
                split([*rows[:index], None, *rows[index + 1 :]])
