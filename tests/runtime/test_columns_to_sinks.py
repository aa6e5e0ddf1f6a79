"""Level 0 passes columns of a source to sinks without records, and functions of batches get them as they are.

Catches: rows that are lost, doubled or in another order however columns are cut, a batch that is larger than it may be, columns of
another type that a function or a sink gets unchanged, columns and records that overtake each other, a result whose records had no
timestamp, rows of a query of which records are made though they have the types of the query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from penstock.common import Configuration, Time, Types, WatermarkStrategy
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import StreamExecutionEnvironment, col
from penstock.datastream.connectors import FileSource
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import PenstockError, TypeMismatchError
from penstock.plan.physical import HandOver
from penstock.plan.placement.expressions import with_projections
from penstock.plan.programs import programs_of
from penstock.runtime.task.level_zero import LevelZero
from penstock.types.arrow import arrow_schema
from penstock.wire.frame import FrameKind, decode_columns, decode_records, read_header
from penstock.wire.row_columns import rows_of

RECORD = Types.ROW_NAMED(["k", "x"], [Types.STRING(), Types.LONG()])
DOUBLED = Types.ROW_NAMED(["k", "y"], [Types.STRING(), Types.LONG()])
ROWS: list[dict[str, Any]] = [{"k": "abc"[n % 3], "x": n} for n in range(100)]
CUTS = [[100], [1, 99], [10] * 10, [33, 33, 34], [1] * 100]

sizes: list[int] = []


def doubled(batch: pa.RecordBatch) -> pa.RecordBatch:
    sizes.append(batch.num_rows)
    values = [2 * x for x in batch.column("x").to_pylist()]
    return pa.record_batch([batch.column("k"), pa.array(values, pa.int64())], names=["k", "y"])


def level_zero(program: Callable[[Any], None]) -> tuple[LevelZero, int]:
    settings = {"execution.runtime-mode": "BATCH"}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    program(env)
    plan = env.plan()
    (run,) = plan.runs
    made = programs_of(
        plan, run, tasks=2, max_frame_records=7, handed=HandOver(), job_parameters={}
    )
    (first,) = with_projections(plan, run, made)
    return LevelZero(first, 0), plan.sources[0].id


def files(env: Any, strategy: Any = None) -> Any:
    source = FileSource.parquet("rows", RECORD)
    return env.from_source(source, strategy or WatermarkStrategy.no_watermarks(), "rows")


def sent(level: LevelZero) -> Iterator[tuple[bool, Any]]:
    """Yield the records of frames, each with whether they are columns."""
    for _, frame in level.take_output():
        header = read_header(frame)
        if header.kind is not FrameKind.RECORDS:
            continue
        if header.has_columns:
            yield True, decode_columns(header, frame)[0].to_pylist()
        else:
            yield False, [row.as_dict() for row in decode_records(header, frame)[0]]


def batches(cuts: list[int], schema: pa.Schema | None = None) -> Iterator[pa.RecordBatch]:
    at = 0
    for length in cuts:
        yield pa.RecordBatch.from_pylist(
            ROWS[at : at + length], schema=schema or arrow_schema(RECORD)
        )
        at += length


@pytest.mark.parametrize("cuts", CUTS, ids=len)
@pytest.mark.parametrize("size", [1, 10, 64, 1000])
def test_a_function_of_batches_gets_columns_however_they_are_cut(
    cuts: list[int], size: int
) -> None:
    def program(env: Any) -> None:
        files(env).map_batches(doubled, DOUBLED, batch_size=size).sink_to(DiscardingSink())

    level, source = level_zero(program)
    sizes.clear()
    for batch in batches(cuts):
        level.collect_columns(source, batch)
    level.finish_split(source, 0, finished=True)
    found = list(sent(level))
    assert all(are_columns for are_columns, _ in found)
    rows = [row for _, some in found for row in some]
    assert rows == [{"k": row["k"], "y": 2 * row["x"]} for row in ROWS]
    full, rest = divmod(len(ROWS), size)
    assert sizes == [size] * full + [rest] * bool(rest)


def test_columns_of_another_type_are_records_first() -> None:
    def program(env: Any) -> None:
        files(env).map_batches(doubled, DOUBLED, batch_size=8).sink_to(DiscardingSink())

    level, source = level_zero(program)
    narrow = pa.schema([("k", pa.large_string()), ("x", pa.int16())])
    for number, batch in enumerate(batches([10] * 10, narrow)):
        if number % 2:  # records and columns in turns keep their order
            batch = batch.cast(arrow_schema(RECORD))  # noqa: PLW2901
        level.collect_columns(source, batch)
    level.finish_split(source, 0, finished=True)
    rows = [row for _, some in sent(level) for row in some]
    assert rows == [{"k": row["k"], "y": 2 * row["x"]} for row in ROWS]


def test_results_of_spark_sql_go_to_one_sink_as_columns_and_to_several_as_records() -> None:
    schema = pa.schema([("k", pa.large_string()), ("n", pa.int32())])
    results = pa.RecordBatch.from_pylist([{"k": "a", "n": 3}, {"k": None, "n": 4}], schema=schema)
    for sinks in (1, 2):

        def program(env: Any, sinks: int = sinks) -> None:
            counted = files(env).key_by(col.k).aggregate(n=col.count())
            for _ in range(sinks):
                counted.sink_to(DiscardingSink())

        level, source = level_zero(program)
        level.collect_columns(source, results)
        level.finish_split(source, 0, finished=True)
        found = list(sent(level))
        assert [are_columns for are_columns, _ in found] == (
            [True] if sinks == 1 else [False, False]
        )
        assert all(rows == results.to_pylist() for _, rows in found)


TIMES = pa.timestamp("us")
LATER = pa.array([0, 400_000_000_000_000_000], TIMES)  # in the year 14645


@pytest.mark.parametrize(
    ("column", "are_columns"),
    [
        (pa.array([0, None, 5], TIMES), True),
        (pa.array([None, None], TIMES), True),
        (pa.array([0, 1], pa.timestamp("us", "UTC")), True),
        (pa.array([0, -5], pa.date32()), True),
        (pa.array(["1.50", None]).cast(pa.decimal128(9, 2)), True),
        (pa.array([b"a", None]), True),
        (pa.array([1_000, 2_000], pa.timestamp("ns")), False),
        (pa.array([[0], None]).cast(pa.list_(TIMES)), False),
    ],
    ids=lambda each: str(getattr(each, "type", each)),
)
def test_columns_that_records_can_hold_go_to_a_sink_as_they_are(
    column: pa.Array, are_columns: bool
) -> None:
    level, source = level_zero(lambda env: files(env).sink_to(DiscardingSink()))
    batch = pa.record_batch([column], ["x"])
    level.collect_columns(source, batch)
    level.finish_split(source, 0, finished=True)
    ((as_columns, rows),) = sent(level)
    assert as_columns is are_columns
    assert rows == [row.as_dict() for row in rows_of(batch)]


@pytest.mark.parametrize("kind", [TIMES, pa.timestamp("us", "UTC"), pa.date32()])
def test_times_that_python_has_not_are_errors_before_any_sink(kind: pa.DataType) -> None:
    level, source = level_zero(lambda env: files(env).sink_to(DiscardingSink()))
    later = pa.array([0, 2_932_897], kind) if kind == pa.date32() else LATER.cast(kind)
    with pytest.raises(TypeMismatchError, match="'x'"):
        level.collect_columns(source, pa.record_batch([later], ["x"]))


def test_windows_of_spark_sql_need_a_timestamp_of_every_record() -> None:
    def program(env: Any) -> None:
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(col.x)
        windows = TumblingEventTimeWindows.of(Time.seconds(1))
        counted = files(env, strategy).key_by(col.k).window(windows).aggregate(n=col.count())
        counted.sink_to(DiscardingSink())

    level, source = level_zero(program)
    names = ["k", "n", "$pane"]
    level.collect_columns(source, pa.record_batch([["a"], [3], [1000]], names=names))
    assert list(sent(level)) == [(True, [{"k": "a", "n": 3}])]
    untimed = pa.record_batch([["a"], [3], pa.array([None], pa.int64())], names=names)
    with pytest.raises(PenstockError) as refused:
        level.collect_columns(source, untimed)
    assert refused.value.code == "TYPE_MISMATCH"
    assert "NULL" in refused.value.problem


QUERIED = pa.record_batch(
    {
        "n": pa.array([7, None], pa.int64()),
        "half": pa.array(["3.5", None]).cast(pa.decimal128(21, 1)),
        "at": pa.array([1_000_000, None], TIMES),
    }
)


def queried(env: Any, sinks: int = 1) -> None:
    env.execute_sql(
        "CREATE TABLE t (n BIGINT, at TIMESTAMP(3)) "
        "WITH ('connector' = 'filesystem', 'format' = 'parquet', 'path' = '/in/t')"
    )
    rows = env.sql("SELECT n, 0.5 * n AS half, at FROM t WHERE n > 1")
    for _ in range(sinks):
        rows.sink_to(DiscardingSink())


def test_rows_of_a_query_go_to_a_sink_as_columns() -> None:
    level, source = level_zero(queried)
    level.collect_columns(source, QUERIED)
    level.finish_split(source, 0, finished=True)
    assert list(sent(level)) == [(True, QUERIED.to_pylist())]


def test_several_sinks_get_the_records_of_a_query() -> None:
    level, source = level_zero(lambda env: queried(env, sinks=2))
    level.collect_columns(source, QUERIED)
    level.finish_split(source, 0, finished=True)
    assert list(sent(level)) == [(False, QUERIED.to_pylist())] * 2


def test_a_query_whose_columns_have_other_types_gives_its_declared_ones() -> None:
    level, source = level_zero(queried)
    for number, kind in enumerate((pa.int64(), pa.int32(), pa.int64())):
        decimal = QUERIED.schema.field("half").type if number else pa.int64()
        columns = [pa.array([7], kind), pa.array([3]).cast(decimal), QUERIED.column("at")[:1]]
        level.collect_columns(source, pa.record_batch(columns, QUERIED.schema.names))
    level.finish_split(source, 0, finished=True)
    found = list(sent(level))
    assert [are_columns for are_columns, _ in found] == [False, False, True]
    assert {type(row["half"]) for _, rows in found for row in rows} == {Decimal}
    wrong = pa.record_batch([["7"], [3], QUERIED.column("at")[:1]], QUERIED.schema.names)
    with pytest.raises(TypeMismatchError, match="'n'"):
        level.collect_columns(source, wrong)
