"""Records that leave level 0 as columns arrive as the rows they would have been."""

from __future__ import annotations

from collections import defaultdict
from operator import attrgetter, itemgetter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Row, Types, WatermarkStrategy
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import col
from penstock.datastream.connectors import FileSource
from penstock.errors import DecodeError, KeyTypeError
from penstock.plan.physical import HandOver
from penstock.plan.programs import programs_of
from penstock.program.selected_field import field_position, getter_of
from penstock.runtime.task.level_zero import LevelZero
from penstock.wire.frame import FrameKind, decode_records, read_header
from penstock.wire.row_columns import rows_of
from tests.runtime.jobs import BATCH, STREAMING, environment

NAMES = ["word", "count", "as_dict", "_hidden", "a.b"]
FRAME_RECORDS = 3


def by_word(row):
    """Return the word."""
    return row["word"]


def with_default(row, field=1):
    return row[field]


POSITIONS = [
    (lambda row: row[0], 0),
    (lambda row: row[-1], 4),
    (lambda row: row[5], None),
    (lambda row: row[True], None),
    (lambda row: row["count"], 1),
    (lambda row: row["_hidden"], 3),
    (lambda row: row["other"], None),
    (lambda row: row.count, 1),
    (lambda row: row.as_dict, None),
    (lambda row: row._hidden, None),
    (lambda row: row[0][0], None),
    (lambda row: row[0] or None, None),
    (lambda row: (row[0],), None),
    (lambda row: row, None),
    (lambda *row: row[0], None),
    (lambda row: (yield row[0]), None),
    (by_word, 0),
    (with_default, None),
    (itemgetter(1), 1),
    (itemgetter("count"), 1),
    (itemgetter("a.b"), 4),
    (itemgetter(0, 1), None),
    (itemgetter(slice(1)), None),
    (attrgetter("count"), 1),
    (attrgetter("a.b"), None),
    (attrgetter("as_dict"), None),
    (len, None),
]


@pytest.mark.parametrize(("selector", "position"), POSITIONS)
def test_a_selector_of_one_field_is_recognised_and_nothing_else_is(selector, position):
    assert field_position(selector, NAMES) == position


@pytest.mark.parametrize("selector", [s for s, position in POSITIONS if position is not None])
def test_the_recognised_position_is_what_the_selector_reads(selector):
    row = Row(**{name: object() for name in NAMES})
    assert selector(row) is row[field_position(selector, NAMES)]


GETTERS = [
    (lambda record: record[0], (7, 8), 7),
    (lambda record: record["a"], {"a": 5}, 5),
    (lambda record: record.word, Row(word="w"), "w"),
    (by_word, Row(word="w"), "w"),
    (itemgetter(1), (7, 8), 8),
]


@pytest.mark.parametrize(("selector", "record", "key"), GETTERS)
def test_a_field_of_any_record_is_read_without_a_call_of_python(selector, record, key):
    getter = getter_of(selector)
    assert type(getter) in {itemgetter, attrgetter}
    assert getter(record) == selector(record) == key


@pytest.mark.parametrize("selector", [with_default, len, lambda record: record[0] % 2])
def test_what_does_more_than_read_a_field_is_called_itself(selector):
    assert getter_of(selector) is selector


TYPE = Types.ROW_NAMED(["key", "other", "word"], [Types.LONG(), Types.DOUBLE(), Types.STRING()])
SCHEMA = pa.schema([("key", pa.int64()), ("other", pa.float64()), ("word", pa.string())])


def level_zero(selector, then=lambda stream: stream):
    env = environment(STREAMING, 3)
    source = FileSource.parquet("nowhere", TYPE).monitor_continuously()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "files")
    then(stream).key_by(selector).reduce(lambda a, _: a).sink_to(DiscardingSink())
    plan = env.plan()
    program = programs_of(
        plan,
        plan.runs[-1],
        tasks=3,
        max_frame_records=FRAME_RECORDS,
        handed=HandOver(),
        job_parameters={},
    )[0]
    return LevelZero(program, 0), plan.sources[0].id


def sent(zero, source):
    """Return what was sent: route to records in order, and the sizes of frames."""
    zero.finish_split(source, 0, finished=False)
    routes: dict[int, list[Any]] = defaultdict(list)
    sizes = []
    for route, frame in zero.take_output():
        header = read_header(frame)
        if header.kind is FrameKind.RECORDS:
            values, stamps = decode_records(header, frame)
            assert stamps is None
            assert header.count == len(values)
            routes[route] += values
            sizes.append(len(values))
    return dict(routes), sizes


batches = st.lists(
    st.lists(
        st.tuples(
            st.none() | st.integers(-(2**63), 2**63 - 1),
            st.none() | st.floats(allow_nan=False),
            st.none() | st.text(max_size=3),
        ),
        min_size=1,
        max_size=30,
    ),
    min_size=1,
    max_size=5,
).map(
    lambda lists: [
        pa.RecordBatch.from_arrays(
            [
                pa.array(column, of.type)
                for column, of in zip(zip(*rows, strict=True), SCHEMA, strict=True)
            ],
            schema=SCHEMA,
        )
        for rows in lists
    ]
)


@given(batches, st.sampled_from([itemgetter("key"), itemgetter("word"), lambda row: row.key]))
def test_columns_go_where_their_rows_would_and_arrive_in_order(parts, selector):
    zero, source = level_zero(selector)
    for part in parts:
        zero.collect_columns(source, part)
    columns, sizes = sent(zero, source)
    assert max(sizes) <= FRAME_RECORDS
    zero, source = level_zero(selector)
    for part in parts:
        zero.collect(source, rows_of(part), None)
    rows, _ = sent(zero, source)
    assert columns == rows
    assert all(type(row) is type(rows_of(parts[0])[0]) for some in rows.values() for row in some)


@given(batches)
def test_columns_go_to_a_sink_as_they_are(parts):
    env = environment(BATCH, 3)
    source = FileSource.parquet("nowhere", TYPE)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "files")
    stream.sink_to(DiscardingSink())
    plan = env.plan()
    (program,) = programs_of(
        plan,
        plan.runs[-1],
        tasks=3,
        max_frame_records=FRAME_RECORDS,
        handed=HandOver(),
        job_parameters={},
    )
    zero = LevelZero(program, 0)
    for part in parts:
        zero.collect_columns(plan.sources[0].id, part)
    frames = [frame for _, frame in zero.take_output()]
    headers = [(read_header(frame), frame) for frame in frames]
    sent_columns = [(h, f) for h, f in headers if h.kind is FrameKind.RECORDS]
    assert all(header.has_columns for header, _ in sent_columns)
    found = [row for header, frame in sent_columns for row in decode_records(header, frame)[0]]
    assert found == [row for part in parts for row in rows_of(part)]


def test_rows_before_and_after_columns_keep_their_order():
    zero, source = level_zero(lambda row: row.key)
    part = pa.RecordBatch.from_pydict({"key": [7], "other": [1.0], "word": ["a"]}, schema=SCHEMA)
    rows = [Row(key=7, other=float(n), word="b") for n in range(2)]
    zero.collect(source, rows[:1], None)
    zero.collect_columns(source, part)
    zero.collect(source, rows[1:], None)
    ((found,), _) = (list(sent(zero, source)[0].values()), None)
    assert found == [rows[0], *rows_of(part), rows[1]]


def test_columns_are_rows_for_an_operator_and_for_a_selector_that_computes():
    part = pa.RecordBatch.from_pydict({"key": [7], "other": [1.0], "word": ["a"]}, schema=SCHEMA)
    for selector, then in [
        (lambda row: row.key, lambda stream: stream.map(lambda row: row)),
        (lambda row: row.key % 2, lambda stream: stream),
    ]:
        zero, source = level_zero(selector, then)
        zero.collect_columns(source, part)
        assert list(sent(zero, source)[0].values()) == [rows_of(part)]


@given(batches)
def test_expressions_of_columns_give_what_those_of_rows_give(parts):
    def then(stream):
        return stream.where(col.other.fill_null(1.0) < 100).select(col.key, x=col.word + "!")

    zero, source = level_zero(itemgetter("key"), then)
    for part in parts:
        zero.collect_columns(source, part)
    columns, _ = sent(zero, source)
    zero, source = level_zero(itemgetter("key"), then)
    for part in parts:
        zero.collect(source, rows_of(part), None)
    rows, _ = sent(zero, source)
    assert columns == rows
    expected = [
        Row(key=row.key, x=None if row.word is None else row.word + "!")
        for part in parts
        for row in rows_of(part)
        if row.other is None or row.other < 100
    ]
    assert sorted(map(repr, expected)) == sorted(repr(r) for some in rows.values() for r in some)


def test_a_key_that_is_not_a_number_is_refused_with_its_row():
    zero, source = level_zero(lambda row: row.other)
    part = pa.RecordBatch.from_pydict(
        {"key": [7], "other": [float("nan")], "word": ["a"]}, schema=SCHEMA
    )
    with pytest.raises(KeyTypeError, match="word='a'"):
        zero.collect_columns(source, part)


def test_damaged_columns_are_named():
    zero, source = level_zero(lambda row: row.key)
    part = pa.RecordBatch.from_pydict({"key": [7], "other": [1.0], "word": ["a"]}, schema=SCHEMA)
    zero.collect_columns(source, part)
    zero.finish_split(source, 0, finished=False)
    (frame,) = (f for _, f in zero.take_output() if read_header(f).kind is FrameKind.RECORDS)
    for damaged in (frame[:40], frame[:24], frame[:24] + b"\x00" * 40):
        with pytest.raises(DecodeError):
            decode_records(read_header(damaged), damaged)
