"""Savepoints of running jobs: taken, stopped with, and started from with another shape.

What every test compares with is one uninterrupted replay of the input, so a record that is lost,
counted twice or meets the wrong state shows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from penstock import failpoint
from penstock.api.environment.job import JobClient, JobStatus
from penstock.cli.main import command_line
from penstock.common import Duration, Types, WatermarkStrategy
from penstock.datastream import (
    KeyedProcessFunction,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
)
from penstock.datastream.connectors import (
    DataGeneratorSource,
    FileSink,
    FileSource,
    HybridSource,
    SparkSource,
)
from penstock.errors import (
    JobFailedError,
    SavepointError,
    SavepointMismatchError,
    StateMigrationError,
)
from penstock.state.log.epoch_log import read_settled
from penstock.state.log.epoch_record import EPOCHS, RECORDS
from penstock.state.savepoint import MANIFEST, read_savepoint
from penstock.wire.atomic_file import read_verified
from tests.spark.conftest import Environment
from tests.spark.test_clients import written
from tests.spark.waiting import wait_for

COUNT = 320
RECOVERY = "execution.state-recovery.path"
UNCLAIMED = "execution.state-recovery.ignore-unclaimed-state"
ROW = Types.ROW_NAMED(["what", "key", "n"], [Types.STRING(), Types.LONG(), Types.LONG()])
NO_TIME = WatermarkStrategy.no_watermarks()
STRATEGY = WatermarkStrategy.for_bounded_out_of_orderness(
    Duration.of_millis(50)
).with_timestamp_assigner(lambda value, _: value[1])


class Buckets(KeyedProcessFunction):
    """Per key, the number of records of each 500 ms, once the watermark has passed them."""

    def open(self, runtime_context: Any) -> None:
        self.buckets = runtime_context.get_state(ValueStateDescriptor("buckets"))

    def process_element(self, value: Any, ctx: Any) -> None:
        end = value[1] - value[1] % 500 + 500
        buckets = dict(self.buckets.value() or {})
        buckets[end] = buckets.get(end, 0) + 1
        self.buckets.update(buckets)
        ctx.timer_service().register_event_time_timer(end - 1)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        buckets = dict(self.buckets.value())
        yield "bucket", timestamp + 1, buckets.pop(timestamp + 1)
        self.buckets.update(buckets)


def number_job(
    env: StreamExecutionEnvironment, out: Path, *parts: str, count: int | None = COUNT
) -> JobClient:
    """Start a job with the named parts: rolling counts, and buckets of time."""
    source = DataGeneratorSource(lambda i: (i % 6, i * 10), count=count)
    numbers = env.from_source(source, STRATEGY, "numbers")
    results = []
    if "counts" in parts:
        counts = numbers.map(lambda t: (t[0], 1)).key_by(lambda t: t[0]).sum(1).uid("counts")
        results.append(counts.map(lambda t: ("count", *t)).uid("show counts"))
    if "buckets" in parts:
        results.append(numbers.key_by(lambda t: t[0]).process(Buckets()).uid("buckets"))
    if "totals" in parts:
        totals = numbers.map(partial(_pair, 0)).key_by(lambda t: t[0]).sum(1).uid("totals")
        results.append(totals.map(lambda t: ("total", *t)).uid("show totals"))
    union = results[0].union(*results[1:]) if len(results) > 1 else results[0]
    union.map(lambda t: t, ROW).uid("form").sink_to(FileSink.parquet(out)).uid("out")
    return env.execute_async("numbers")


def expected_counts(count: int = COUNT) -> Counter[tuple[Any, ...]]:
    return Counter(("count", i % 6, i // 6 + 1) for i in range(count))


def expected_buckets(count: int = COUNT) -> Counter[tuple[Any, ...]]:
    of_key = Counter((i % 6, i * 10 - i * 10 % 500 + 500) for i in range(count))
    return Counter(("bucket", end, n) for (_, end), n in of_key.items())


@pytest.fixture
def job(environment: Environment, tmp_path: Path) -> Callable[..., StreamExecutionEnvironment]:
    """Return a maker of environments with a checkpoint directory each, and small micro-batches."""

    def make(name: str, parallelism: int = 2, **settings: Any) -> StreamExecutionEnvironment:
        keys = {
            "execution.checkpointing.dir": str(tmp_path / name),
            "parallelism.default": parallelism,
            "execution.live.max-records-per-batch": 40,
        }
        mode = settings.pop("mode", "streaming")
        return environment(mode, **keys | settings)

    return make


def savepoint_by_command(job_directory: Path, *arguments: str) -> str:
    result = CliRunner().invoke(command_line(), ["savepoint", str(job_directory), *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout.strip()


def read_so_far(savepoint: str) -> int:
    """Return the number of records of the first source that the savepoint covers."""
    splits = read_savepoint(Path(savepoint)).sources[0].position["splits"]
    return COUNT - sum(int(end) - int(at) for at, end in splits)


def test_a_job_goes_on_from_savepoints_at_other_parallelisms(job, tmp_path):
    out = tmp_path / "out"
    client = number_job(job("first"), out, "counts", "buckets")
    wait_for(client, lambda: bool(written(out)))
    first = client.stop_with_savepoint().result()
    client.get_job_execution_result().result()
    assert client.get_job_status().result() is JobStatus.FINISHED
    covered = read_so_far(first)
    assert 0 < covered < COUNT
    counts = Counter({row: n for row, n in written(out).items() if row[0] == "count"})
    assert counts.total() == covered, "something was processed after the savepoint"

    client = number_job(job("second", 3, **{RECOVERY: first}), out, "counts", "buckets")
    wait_for(client, lambda: written(out).total() > covered + 40)
    second = client.stop_with_savepoint(savepoint_directory=str(tmp_path / "kept")).result()
    client.get_job_execution_result().result()
    assert Path(second).parent == tmp_path / "kept"
    assert read_so_far(second) > covered

    again = number_job(job("first"), out, "counts", "buckets").get_job_execution_result().result()
    assert again.runs == (), "a job stopped with a savepoint must not go on"

    third = number_job(job("third", 1, **{RECOVERY: second}), out, "counts", "buckets")
    third.get_job_execution_result().result()
    assert written(out) == expected_counts() + expected_buckets()


def test_operators_come_and_go(job, tmp_path):
    client = number_job(job("first"), tmp_path / "out", "counts", "buckets")
    wait_for(client, lambda: bool(written(tmp_path / "out")))
    savepoint = client.stop_with_savepoint().result()
    client.get_job_execution_result().result()
    covered = read_so_far(savepoint)

    with pytest.raises(SavepointMismatchError, match="'buckets'"):
        number_job(job("new", **{RECOVERY: savepoint}), tmp_path / "new", "counts")
    # The refused start leaves the directory free for a program with another graph.
    settings = {RECOVERY: savepoint, UNCLAIMED: True}
    client = number_job(job("new", **settings), tmp_path / "new", "counts", "totals")
    client.get_job_execution_result().result()
    new = written(tmp_path / "new")
    before = Counter({r: n for r, n in written(tmp_path / "out").items() if r[0] == "count"})
    totals = Counter(("total", 0, n + 1) for n in range(COUNT - covered))
    assert before + new == expected_counts() + totals

    with pytest.raises(SavepointMismatchError, match=r"128 key groups.*64"):
        number_job(
            job("groups", **{RECOVERY: savepoint, "pipeline.max-parallelism": 64}),
            tmp_path / "x",
            "counts",
            "buckets",
        )
    damaged = max((Path(savepoint) / "state").glob("*.parquet"))
    data = bytearray(damaged.read_bytes())
    data[len(data) // 2] ^= 1
    damaged.write_bytes(data)
    with pytest.raises(SavepointError, match=damaged.name):
        number_job(job("damaged", **{RECOVERY: savepoint}), tmp_path / "x", "counts", "buckets")


def test_a_savepoint_does_not_disturb_the_job_and_a_restart_resumes_its_own(job, tmp_path):
    first, second = tmp_path / "first-out", tmp_path / "second-out"
    slow = {"execution.checkpointing.interval": "1 s"}  # records are left behind two savepoints
    client = number_job(job("first", **slow), first, "counts")
    wait_for(client, lambda: bool(written(first)))
    (tmp_path / "a file").touch()
    failed = client.trigger_savepoint(str(tmp_path / "a file")).exception()
    assert isinstance(failed, SavepointError)
    assert "a file" in failed.problem
    savepoint = savepoint_by_command(tmp_path / "first", str(tmp_path / "to"))
    assert Path(savepoint).parent == tmp_path / "to"
    client.get_job_execution_result().result()
    assert written(first) == expected_counts()
    late = client.trigger_savepoint().exception()
    assert isinstance(late, SavepointError)
    assert "FINISHED" in late.problem

    covered = read_so_far(savepoint)
    assert covered < COUNT, "the savepoint must be taken before the end for this test"
    client = number_job(job("second", **{RECOVERY: savepoint} | slow), second, "counts")
    wait_for(client, lambda: bool(written(second)))
    client.cancel()
    some = written(second)
    assert some.total() < COUNT - covered, "the job must be interrupted for this test"
    (Path(savepoint) / MANIFEST).unlink()  # needed no more
    client = number_job(job("second", **{RECOVERY: savepoint}), second, "counts")
    client.get_job_execution_result().result()
    missing = expected_counts() - written(second)
    assert (written(second).total(), missing.total()) == (COUNT - covered, covered)


def write_file(directory: Path, name: str, numbers: Iterable[int]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"n": pa.array(numbers, pa.int64())}), tmp := directory / f".{name}")
    tmp.rename(directory / f"{name}.parquet")


def file_job(env: StreamExecutionEnvironment, data: Path, out: Path) -> JobClient:
    live = FileSource.parquet(data / "live").monitor_continuously()
    source = HybridSource.builder(FileSource.parquet(data / "history")).add_source(live).build()
    rows = env.from_source(source, NO_TIME, "files")
    counts = rows.map(lambda row: (row["n"] % 3, 1)).key_by(lambda t: t[0]).sum(1).uid("counts")
    counts.map(lambda t: ("count", *t), ROW).sink_to(FileSink.parquet(out))
    return env.execute_async("files")


def stands_still(run: Path) -> bool:
    """Return whether the last micro-batch of a run is complete."""
    records = sorted((run / EPOCHS / RECORDS).glob("[0-9]*"))
    return bool(records) and read_settled(run / EPOCHS) == int(records[-1].name)


def test_files_are_read_once_and_history_not_again(job, tmp_path):
    data, out = tmp_path / "data", tmp_path / "out"
    write_file(data / "history", "0", range(30))
    write_file(data / "live", "0", range(30, 60))
    client = file_job(job("first", mode="mixed"), data, out)
    wait_for(client, lambda: written(out).total() == 60)
    savepoint = client.stop_with_savepoint().result()
    client.get_job_execution_result().result()
    write_file(data / "live", "new one", range(60, 90))
    client = file_job(job("second", 3, mode="mixed", **{RECOVERY: savepoint}), data, out)
    wait_for(client, lambda: written(out).total() >= 90)
    wait_for(client, lambda: stands_still(tmp_path / "second" / "run-1"))
    client.cancel()
    # Nobody runs the job now, and it stands between two micro-batches.
    savepoint = savepoint_by_command(tmp_path / "second", "--stop")
    refused = CliRunner().invoke(command_line(), ["savepoint", str(tmp_path / "second")])
    assert (refused.exit_code, refused.stdout) == (1, "")
    manifest = read_savepoint(Path(savepoint))
    read = {part: len(files["files"]) for part, files in manifest.sources[0].read.items()}
    assert (manifest.parallelism, read) == (3, {"0": 1, "1": 2})
    write_file(data / "live", "newer", range(90, 120))
    client = file_job(job("third", 1, mode="mixed", **{RECOVERY: savepoint}), data, out)
    wait_for(client, lambda: written(out).total() >= 120)
    savepoint_by_command(tmp_path / "third", "--stop")
    assert [run.name for run in client.get_job_execution_result().result().runs] == ["live"]
    assert written(out) == Counter(("count", n % 3, n // 3 + 1) for n in range(120))


def test_a_loop_of_epochs_gives_a_savepoint_when_its_newest_record_is_settled(
    job, tmp_path, monkeypatch
):
    out = tmp_path / "out"

    def fail_at(place: str) -> None:
        with monkeypatch.context() as armed:
            failpoint.count_anew()
            armed.setenv("PENSTOCK_FAILPOINT", f"{place}:raise")
            client = number_job(job("first"), out, "counts", "buckets")
            with pytest.raises(JobFailedError):
                client.get_job_execution_result().result()

    fail_at("live.recorded:2")
    assert written(out).total() == 40, "the sinks have not committed the second epoch"
    refused = CliRunner().invoke(command_line(), ["savepoint", str(tmp_path / "first")])
    assert refused.exit_code == 1
    assert "interrupted in epoch 1" in refused.stderr

    fail_at("live.staged:2")  # the epoch before has a record; this one never happened
    savepoint = savepoint_by_command(tmp_path / "first", "--stop")
    assert read_so_far(savepoint) == 3 * 40
    counts = Counter({row: n for row, n in written(out).items() if row[0] == "count"})
    assert counts.total() == 3 * 40
    client = number_job(job("second", 3, **{RECOVERY: savepoint}), out, "counts", "buckets")
    client.get_job_execution_result().result()
    assert written(out) == expected_counts() + expected_buckets()


def test_draining_fires_every_timer(job, tmp_path):
    out = tmp_path / "out"
    first = job("first")
    client = number_job(first, out, "counts", "buckets", count=None)
    wait_for(client, lambda: bool(written(out)))
    savepoint = client.stop_with_savepoint(advance_to_end_of_event_time=True).result()
    client.get_job_execution_result().result()
    ((covered, _),) = read_savepoint(Path(savepoint)).sources[0].position["splits"]
    assert written(out) == expected_counts(covered) + expected_buckets(covered)
    assert read_verified(Path(savepoint) / MANIFEST)["watermarks"] == []


def test_a_foreign_stream_is_refused_with_its_offsets(job, session: SparkSession, tmp_path):
    out = tmp_path / "out"

    def foreign_job(env: StreamExecutionEnvironment) -> JobClient:
        endless = session.readStream.format("rate-micro-batch").option("rowsPerBatch", 5).load()
        frames = {0: endless.select("value"), 1: session.range(7).toDF("value")}
        first, second = (
            env.from_source(SparkSource(frame), NO_TIME, f"frame {key}").map(partial(_pair, key))
            for key, frame in frames.items()
        )
        counts = first.union(second).key_by(lambda t: t[0]).sum(1).uid("counts")
        counts.map(lambda t: ("count", *t), ROW).sink_to(FileSink.parquet(out))
        return env.execute_async("frames")

    def read_of(key: int) -> int:
        return sum(n for row, n in written(out).items() if row[1] == key)

    client = foreign_job(job("first"))
    wait_for(client, lambda: read_of(0) > 0 and read_of(1) == 7)
    savepoint = client.stop_with_savepoint().result()
    client.get_job_execution_result().result()
    source = read_savepoint(Path(savepoint)).sources[0]
    with pytest.raises(SavepointMismatchError) as refused:
        foreign_job(job("second", **{RECOVERY: savepoint}))
    assert source.position["offsets"][0] in refused.value.problem
    ignoring = "execution.state-recovery.ignore-source-positions"
    before = read_of(0)
    client = foreign_job(job("second", **{RECOVERY: savepoint, ignoring: True}))
    wait_for(client, lambda: read_of(0) > before)
    client.cancel()
    assert ("count", 0, before + 1) in written(out)
    assert read_of(1) == 7, "a DataFrame that was read is not read again"


def _pair(key: int, _row: Any) -> tuple[int, int]:
    return key, 1


def typed_job(env: StreamExecutionEnvironment, out: Path, amount: Any) -> JobClient:
    """Start a job whose state has a declared type."""

    class Latest(KeyedProcessFunction):
        def open(self, runtime_context: Any) -> None:
            self.latest = runtime_context.get_state(ValueStateDescriptor("latest", amount))

        def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
            made = type(1.0 if amount == Types.DOUBLE() else "")(value[1])
            self.latest.update(made)
            yield str(made)

    source = DataGeneratorSource(lambda i: (i % 6, i * 10), count=COUNT)
    numbers = env.from_source(source, STRATEGY, "numbers")
    latest = numbers.key_by(lambda t: t[0]).process(Latest(), Types.STRING()).uid("latest")
    latest.sink_to(FileSink.text(out)).uid("out")
    return env.execute_async("numbers")


@pytest.mark.parametrize("exists", [False, True])
def test_a_start_that_is_refused_leaves_the_directory_as_it_was(job, tmp_path, exists):
    client = typed_job(job("one"), tmp_path / "out", Types.DOUBLE())
    wait_for(client, lambda: any(path.is_file() for path in (tmp_path / "out").rglob("[!._]*")))
    savepoint = client.stop_with_savepoint(False, str(tmp_path / "saved")).result()
    recovery = {"execution.state-recovery.path": savepoint}
    if exists:
        (tmp_path / "two").mkdir()
    refused = typed_job(job("two", **recovery), tmp_path / "out2", Types.STRING())
    with pytest.raises(StateMigrationError, match=r"read history again in a new directory"):
        refused.get_job_execution_result().result()
    assert (tmp_path / "two").exists() is exists
    assert not list((tmp_path / "two").glob("**/*"))
    with pytest.raises(SavepointMismatchError):
        number_job(job("two", **recovery), tmp_path / "out3", "counts")
    assert (tmp_path / "two").exists() is exists
    assert not list((tmp_path / "two").glob("**/*"))
    corrected = typed_job(job("two", **recovery), tmp_path / "out4", Types.DOUBLE())
    corrected.get_job_execution_result().result()


class RunningTotal(KeyedProcessFunction):
    """Emits the sum per key, which is the last field of a declared row."""

    def __init__(self, row: Any) -> None:
        self.row = row

    def open(self, runtime_context: Any) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("sum", self.row))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        name = self.row.field_names[-1]
        stored = self.state.value()
        total = value[1] + (0 if stored is None else stored.as_dict()[name] or 0)
        self.state.update(self.row.coerce({name: total}))
        yield f"{value[0]} {total}"


def total_job(env: StreamExecutionEnvironment, out: Path, *row: Any) -> JobClient:
    source = DataGeneratorSource(lambda i: (i % 6, i * 10), count=COUNT)
    numbers = env.from_source(source, STRATEGY, "numbers")
    kept = RunningTotal(Types.ROW_NAMED(*row))
    totals = numbers.key_by(lambda t: t[0]).process(kept, Types.STRING()).uid("totals")
    totals.sink_to(FileSink.text(out)).uid("out")
    return env.execute_async("totals")


def test_a_field_that_was_renamed_keeps_its_values(job, tmp_path, caplog):
    def lines() -> list[str]:
        files = (path for path in tmp_path.glob("out?/[!._]*") if path.is_file())
        return [line for path in files for line in path.read_text().splitlines()]

    two = [Types.STRING(), Types.LONG()]
    client = total_job(job("one"), tmp_path / "out1", ["note", "total"], two)
    wait_for(client, lambda: bool(lines()))
    savepoint = client.stop_with_savepoint(False, str(tmp_path / "saved")).result()
    assert 0 < len(lines()) < COUNT
    silent = total_job(job("two", **{RECOVERY: savepoint}), tmp_path / "out2", ["note", "sum"], two)
    with pytest.raises(StateMigrationError, match="no longer has 'total', and has 'sum'"):
        silent.get_job_execution_result().result()
    renamed = {"total": "sum", "note": None}
    declared = job("two", **{RECOVERY: savepoint})
    caplog.clear()
    client = total_job(declared, tmp_path / "out2", ["new", "sum"], two, renamed)
    client.get_job_execution_result().result()
    told = [
        record.getMessage() for record in caplog.records if "differs from" in record.getMessage()
    ]
    (line,) = told  # its type is a part of the function
    assert f"(uid totals) differs from that in savepoint {savepoint}" in line
    reached: Counter[int] = Counter()
    for line in lines():
        key, total = map(int, line.split())
        reached[key] = max(reached[key], total)
    assert len(lines()) == COUNT
    # The order of a key's records is that of its splits, but not the last sum.
    assert reached == {key: sum(i * 10 for i in range(key, COUNT, 6)) for key in range(6)}
