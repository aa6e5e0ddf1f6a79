"""Samples as files: what is read again is what was written, and masks keep which values are equal."""

from __future__ import annotations

import datetime as dt
import json
import runpy
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.common import Row, RowKind, Types, WatermarkStrategy
from penstock.connectors.kafka.values import KafkaRecord
from penstock.connectors.spark_source import SparkSource
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DiscardingSink, IteratorSource, LogSnapshot
from penstock.datastream.connectors.postgres import Change
from penstock.datastream.connectors.redis import RedisEntry
from penstock.errors import ArgumentError, SourceError
from penstock.testing import SampleRecord, Way, check
from penstock.testing.law.input_directory import samples_in
from penstock.testing.law.record_texts import RecordTexts
from penstock.testing.law.sample_files import Mask, write_samples
from penstock.testing.law.verdict import Disagreement
from penstock.testing.law.written_test import text_of_test
from penstock.testing.results import same_answer
from penstock.wire.text import TextError
from tests.log_world import CapturedLog

ORDER = Types.ROW_NAMED(["name", "amount"], [Types.STRING(), Types.LONG()])
ANY = Types.PICKLED_BYTE_ARRAY()


def graph_of(env):
    graph = env.plan().program
    assert graph is not None
    return graph


def program(*sources):
    env = StreamExecutionEnvironment.get_execution_environment()
    for name, records, kind in sources:
        env.from_collection(records, kind).name(name).sink_to(DiscardingSink())
    return env


@pytest.mark.parametrize(
    "value",
    [
        ("ann", 5),
        {"n": [1.5, None], "@x": 1},
        {1: "one"},
        b"\x00\xff",
        "line\nend\u2028",
        Row(name="ann", amount=Decimal("1.10")),
        Row(1, 2),
        dt.datetime(2024, 1, 2, 3, 4, 5, 6, tzinfo=dt.UTC),
        (dt.date(2024, 1, 2), dt.time(3, 4)),
        dt.datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Rome")),
        KafkaRecord(b"k", None, "orders", 0, 7, 1000, (("h", b"1"),)),
        Change(RowKind.DELETE, (UUID(int=7),), {"n": dt.timedelta(1, 2, 3)}, None, 1, 2, "t"),
        RedisEntry("orders", "7-0", {b"customer": b"ann"}),
    ],
)
def test_values_without_a_type_are_read_as_they_were(value):
    texts = RecordTexts(ANY)
    line = texts.write(SampleRecord(0, value))
    assert "\n" not in line
    assert texts.read(line) == value
    assert type(texts.read(line)) is type(value)
    assert texts.read(texts.write(SampleRecord(0, value, 9))) == SampleRecord(0, value, 9)


def test_a_value_without_a_text_is_refused():
    with pytest.raises(TextError, match="complex has no JSON"):
        RecordTexts(ANY).write(SampleRecord(0, (1j,)))


def test_times_and_kinds_of_rows_are_kept():
    row = Row(name="ann", amount=5)
    row.set_row_kind(RowKind.DELETE)
    texts = RecordTexts(ORDER)
    found = texts.read(texts.write(SampleRecord(3, row, 1_700_000_000_000)))
    assert (found.value, found.timestamp) == (row, 1_700_000_000_000)
    assert found.value.get_row_kind() is RowKind.DELETE
    assert texts.read('{"name": "ann", "amount": 5}') == Row(name="ann", amount=5)


def test_what_is_written_is_what_a_check_reads(tmp_path):
    rows = [Row(name="ann", amount=n) for n in range(30)]
    env = program(("rows", rows, ORDER), ("tuples", [("a", 1), ("b", 2)], None))
    graph = graph_of(env)
    files = write_samples(graph, tmp_path / "out", 10, ())
    assert [(each.path, each.records) for each in files.sources] == [
        (tmp_path / "out" / "rows.jsonl", 10),
        (tmp_path / "out" / "tuples.jsonl", 2),
    ]
    found = samples_in(tmp_path / "out", graph, 100)
    assert found == {"rows": [rows[:10]], "tuples": [[("a", 1), ("b", 2)]]}
    assert check(env, inputs=found, ways=6).records == {"rows": 10, "tuples": 2}


def test_splits_are_files_of_a_directory(tmp_path):
    env = StreamExecutionEnvironment.get_execution_environment()
    source = IteratorSource(lambda split, start: iter(range(10 * split + start, 99)), counts=(3, 4))
    env.from_source(source, WatermarkStrategy.no_watermarks(), "n").sink_to(DiscardingSink())
    graph = graph_of(env)
    write_samples(graph, tmp_path, 6, ())
    assert sorted(path.name for path in (tmp_path / "n").iterdir()) == ["0000.jsonl", "0001.jsonl"]
    assert samples_in(tmp_path, graph, 100) == {"n": [[0, 1, 2], [10, 11, 12]]}


def test_equal_values_have_equal_masks_in_all_sources(tmp_path):
    orders = [("ann", 1, {"password": "x"}), ("bob", 2, None), ("ann", 3, {"password": "x"})]
    people = [{"name": "ann", "0": "kept"}, {"name": "bob", "0": "kept"}]
    env = program(("orders", orders, None), ("people", people, None))
    files = write_samples(graph_of(env), tmp_path, 10, ("0", "name"))
    assert set(files.masked) == {"0", "name", "password"}
    found = samples_in(tmp_path, graph_of(env), 10)
    ((first, one, secret), (other, two, _), (again, three, _)) = found["orders"][0]
    assert first == again != other
    assert (one, two, three) == (1, 2, 3)
    assert [each["name"] for each in found["people"][0]] == [first, other]
    written = (tmp_path / "orders.jsonl").read_text() + (tmp_path / "people.jsonl").read_text()
    assert "ann" not in written
    assert '"x"' not in written
    assert list(secret.values()) != ["x"]


def test_masks_differ_from_run_to_run_and_keep_types():
    values = ("ann", b"ann", 5, 5.5, Decimal("12.50"), dt.date(2024, 1, 1), dt.time(1), [1, "a"])
    kind = Types.PICKLED_BYTE_ARRAY()
    names = list(map(str, range(len(values))))
    one, other = (Mask(names).record(values, kind) for _ in range(2))
    assert one != other
    assert list(map(type, one)) == list(map(type, values))
    small = Types.TUPLE([Types.BYTE()])
    assert 0 <= Mask(["0"]).record((100,), small)[0] < 128


def test_json_inside_of_texts_is_masked():
    mask = Mask(["customer"])
    found = [
        mask.record(json.dumps({"customer": "ann", "n": 1.10}), Types.STRING()) for _ in range(2)
    ]
    assert found[0] == found[1]
    assert json.loads(found[0])["customer"] != "ann"
    assert json.loads(found[0])["n"] == 1.1
    assert mask.record("ann", Types.STRING()) == "ann"


def test_what_cannot_be_sampled_is_named(tmp_path):
    env = program(("n", [1j], None), ("m", [1], None))
    graph = graph_of(env)
    files = write_samples(graph, tmp_path / "a", 10, ())
    assert [each.problem for each in files.sources] == [
        None,
        "a record has no JSON: a complex has no JSON. Declare the type of the records.",
    ]
    with pytest.raises(ArgumentError, match="not empty"):
        write_samples(graph, tmp_path / "a", 10, ())
    with pytest.raises(ArgumentError, match="no record has the column 'customer'"):
        write_samples(graph, tmp_path / "b", 10, ("customer",))
    assert not (tmp_path / "b").exists()
    with pytest.raises(SourceError, match="no source can be sampled"):
        write_samples(graph_of(program(("n", [1j], None))), tmp_path / "c", 10, ())


@dataclass(frozen=True)
class Sampled(CapturedLog):
    def sample_snapshot(self, directory: Path, records: int) -> LogSnapshot:
        lines = Path(self.directory, "a.log").read_text().splitlines(keepends=True)[:records]
        (directory / "a.lines").write_text("".join(lines))
        return LogSnapshot({"a.lines": len(lines)}, {})


def test_a_source_with_a_snapshot_is_read_by_a_method_of_its_own(tmp_path):
    log = CapturedLog(str(tmp_path), bounded=True)
    log.add("a", *[("x", n, n) for n in range(9)])
    env = program(("m", [1], None))
    for name, source in (("log", log), ("sampled", Sampled(log.directory))):
        read = env.from_source(source, WatermarkStrategy.no_watermarks(), name)
        read.sink_to(DiscardingSink())
    found = write_samples(graph_of(env), tmp_path / "out", 3, ()).sources
    problems = {source.name: source.problem for source in found}
    assert problems == {"m": None, "sampled": None, "log": problems["log"]}
    problem = problems["log"] or ""
    assert "cannot be read outside of a job" in problem
    assert "Give the source a method sample_snapshot" in problem
    read = samples_in(tmp_path / "out", graph_of(env), 9)
    assert read["sampled"] == [[("x", n, n) for n in range(3)]]
    assert log.captures() == []


class Frame:
    """Has the columns of a DataFrame."""

    isStreaming = False  # noqa: N815 - as in Spark
    mapInArrow = None  # noqa: N815
    columns = ("id",)
    schema = SimpleNamespace(
        jsonValue=lambda: {"fields": [{"name": "id", "type": {"type": "array"}}]}
    )


def test_a_dataframe_is_sampled_by_hand(tmp_path):
    env = program(("m", [1], None))
    read = env.from_source(SparkSource(Frame()), WatermarkStrategy.no_watermarks(), "frame")
    read.sink_to(DiscardingSink())
    (_, found) = write_samples(graph_of(env), tmp_path / "out", 3, ()).sources
    assert "pass --input DIR" in (found.problem or "")
    with pytest.raises(SourceError, match="a DataFrame of id") as failed:
        check(env, ways=2)
    assert "penstock sample" not in failed.value.hint
    by_spark = tmp_path / "in" / "frame"
    by_spark.mkdir(parents=True)
    for hidden in ("_SUCCESS", ".part-0.parquet.crc", "../.DS_Store"):
        (by_spark / hidden).touch()
    pq.write_table(pa.table({"id": [[1], [2]]}), by_spark / "part-0.parquet")
    inputs = samples_in(tmp_path / "in", graph_of(env), 9)
    assert check(env, inputs=inputs, ways=4).records == {"m": 1, "frame": 2}


@pytest.mark.parametrize(
    "value",
    [
        RedisEntry("orders", "7-0", {"customer": "ann", "password": "x"}),
        RedisEntry("orders", "7-0", {b"customer": b"ann", b"password": b"x"}),
        KafkaRecord(b"k", b'{"customer": "ann"}', headers=(("password", b"x"), ("h", b"1"))),
    ],
)
def test_records_of_systems_are_masked(value):
    mask = Mask(["customer"])
    found = mask.record(value, ANY)
    assert type(found) is type(value)
    assert not [word for word in ("ann", "'x'") if word in repr(found)]
    assert {*mask.masked} == {"customer", "password"}
    assert RecordTexts(ANY).read(RecordTexts(ANY).write(SampleRecord(0, found))) == found


@pytest.mark.parametrize(
    "value",
    [
        Row(1, ("a",), dt.datetime(2024, 1, 2, tzinfo=ZoneInfo("UTC"))),
        Row.of_kind(RowKind.DELETE, name="ann", at=[dt.date(2024, 1, 2)]),
        Row(**{"a name": {"n": Row(n=Decimal(1))}}),
        KafkaRecord(b"k", None, headers=(("h", b"1"),)),
        Change(RowKind.DELETE, (UUID(int=7),), {"id": UUID(int=7)}, None, 1, 2, "t"),
        RedisEntry("orders", "7-0", {"customer": "ann"}),
    ],
)
@pytest.mark.parametrize("timestamp", [None, 7])
def test_records_are_the_same_in_a_written_test(tmp_path, monkeypatch, value, timestamp):
    sample = (SampleRecord(0, value, timestamp),)
    found = Disagreement("out", "", Way(), Way(), {"orders": sample}, None)
    written = tmp_path / "test_job.py"
    written.write_text(text_of_test(tmp_path / "job.py", written, (), found))
    inputs = []
    monkeypatch.setattr("penstock.testing.check_script", lambda *_, **given: inputs.append(given))
    runpy.run_path(str(written))["test_job_gives_one_answer"]()
    (read,) = inputs[0]["inputs"]["orders"]
    assert same_answer([read], [value if timestamp is None else sample[0]])


class Order(NamedTuple):
    customer: str
    amount: int


def test_fields_of_a_named_tuple_are_masked_by_name():
    mask = Mask(["customer"])
    found = mask.record(Order("ann", 5), ANY)
    assert type(found) is Order
    assert (found.customer != "ann", found.amount) == (True, 5)
    assert list(mask.masked) == ["customer"]


def test_the_key_of_a_change_is_masked_with_its_column():
    after = {"owner": "ann", "n": 5}
    change = Change(
        RowKind.UPDATE_AFTER, ("ann", 5), {"owner": "bob"}, after, 1, 2, "t", ("bob", 5)
    )
    found = Mask(["owner"]).record(change, ANY)
    assert found.key == (found.after["owner"], 5)
    assert found.previous_key == (found.before["owner"], 5)
    assert not {"ann", "bob"} & {*found.key, *found.previous_key}
    assert Mask([]).record(change, ANY) == change
