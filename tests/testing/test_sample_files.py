"""Samples as files: what is read again is what was written, and masks keep which values are equal."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal

import pytest

from penstock.common import Row, RowKind, Types, WatermarkStrategy
from penstock.connectors.kafka.values import KafkaRecord
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DiscardingSink, IteratorSource
from penstock.datastream.connectors.postgres import PostgresSource
from penstock.errors import ArgumentError, SourceError
from penstock.testing import SampleRecord, check
from penstock.testing.law.input_directory import samples_in
from penstock.testing.law.record_texts import RecordTexts
from penstock.testing.law.sample_files import Mask, write_samples
from penstock.wire.text import TextError

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
        KafkaRecord(b"k", None, "orders", 0, 7, 1000, (("h", b"1"),)),
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
        "a record has no JSON: a complex has no JSON",
    ]
    with pytest.raises(ArgumentError, match="not empty"):
        write_samples(graph, tmp_path / "a", 10, ())
    with pytest.raises(ArgumentError, match="no record has the column 'customer'"):
        write_samples(graph, tmp_path / "b", 10, ("customer",))
    assert not (tmp_path / "b").exists()
    with pytest.raises(SourceError, match="no source can be sampled"):
        write_samples(graph_of(program(("n", [1j], None))), tmp_path / "c", 10, ())


def test_a_source_with_a_snapshot_is_not_read(tmp_path):
    env = program(("m", [1], None))
    source = (
        PostgresSource.builder()
        .set_dsn("host=localhost")
        .set_tables("orders")
        .set_slot("s")
        .build()
    )
    env.from_source(source, WatermarkStrategy.no_watermarks(), "orders").sink_to(DiscardingSink())
    files = write_samples(graph_of(env), tmp_path, 10, ())
    assert "cannot be read outside of a job" in (files.sources[1].problem or "")
