"""Files of columns are those of the records: `write_columns` and `write` of the rows of the same batches.

The oracle is the other way of writing. Finds: a value with another text, a row in another bucket or order, a number of a
row that is taken twice, a value that records refuse and columns do not. Cannot find what both do wrong; that is what
`test_file_sink` and `test_file_partitions` read back.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.connectors.files import staged_files
from penstock.connectors.files.file_formats import FileFormat
from penstock.connectors.files.file_naming import BucketAssigner, RollingPolicy
from penstock.connectors.files.file_sink import FileSink
from penstock.types import TypeInformation
from penstock.types.arrow import arrow_columns, arrow_schema
from penstock.types.types import Types
from penstock.wire.row_columns import rows_of
from tests.connectors.conftest import MakeContext

ALL: dict[str, tuple[TypeInformation, Any]] = {
    "text": (Types.STRING(), st.text(max_size=5)),
    "flag": (Types.BOOLEAN(), st.booleans()),
    "tiny": (Types.BYTE(), st.integers(-128, 127)),
    "small": (Types.SHORT(), st.integers(-(2**15), 2**15 - 1)),
    "int %s": (Types.INT(), st.integers(-(2**31), 2**31 - 1)),
    'long"': (Types.LONG(), st.integers(-(2**63), 2**63 - 1)),
    "single": (Types.FLOAT(), st.floats(width=32, allow_nan=False, allow_infinity=False)),
    "double": (Types.DOUBLE(), st.floats(allow_nan=False, allow_infinity=False)),
    "day": (Types.SQL_DATE(), st.dates()),
    "local": (Types.SQL_TIMESTAMP(), st.datetimes()),
    "at": (Types.TIMESTAMP_LTZ(), st.datetimes(timezones=st.just(dt.UTC))),
}
WITH_OTHERS: dict[str, tuple[TypeInformation, Any]] = ALL | {
    "exact": (Types.BIG_DEC(), st.decimals(-(10**9), 10**9, places=3)),
    "some": (Types.LIST(Types.LONG()), st.lists(st.integers(0, 3), max_size=2)),
}
COLUMNS = [FileFormat.PARQUET, FileFormat.CSV, FileFormat.JSON]


def row_type(fields: dict[str, tuple[TypeInformation, Any]]) -> Any:
    return Types.ROW_NAMED(list(fields), [kind for kind, _ in fields.values()])


def batches_of(fields: dict[str, tuple[TypeInformation, Any]]) -> Any:
    record = st.tuples(*(st.none() | values for _, values in fields.values()))
    kind = row_type(fields)

    def batch(records: list[Any]) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays(arrow_columns(kind, records), schema=arrow_schema(kind))

    return st.lists(st.lists(record, max_size=6).map(batch), max_size=3)


def read(path: Path) -> Any:
    if path.suffix == ".parquet":
        file = pyarrow.parquet.ParquetFile(path)
        return repr((file.schema_arrow, file.read().to_pylist()))
    return path.read_bytes()


def contents(sink: FileSink, context: Any, write: Any, batches: list[pa.RecordBatch]) -> Any:
    """Write an epoch; return directory to the contents of its files."""
    committer = sink.create_committer(context)
    committer.recover()
    writer = sink.create_writer(context)
    for batch in batches:
        write(writer, batch)
    committer.commit("batch-0", writer.prepare_commit())
    root, found = Path(str(sink.path)), dict[str, list[Any]]()
    for path in sorted(root.rglob("part-*")):
        if path.is_file() and "_penstock" not in path.parts:
            found.setdefault(str(path.parent.relative_to(root)), []).append(read(path))
    return {directory: sorted(files) for directory, files in found.items()}


def as_columns(writer: Any, batch: pa.RecordBatch) -> None:
    assert writer.write_columns(batch)


def as_records(writer: Any, batch: pa.RecordBatch) -> None:
    writer.write(rows_of(batch))


def same_files(
    make: Any, context: Any, batches: list[pa.RecordBatch], directory: Path
) -> dict[str, Any]:
    made = [
        contents(make(directory / name), context, write, batches)
        for name, write in (("columns", as_columns), ("records", as_records))
    ]
    assert made[0] == made[1]
    return made[0]  # type: ignore[no-any-return]


@pytest.mark.parametrize("to", COLUMNS)
@settings(
    max_examples=10,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
@given(data=st.data())
def test_columns_and_records_make_the_same_files(
    to: FileFormat,
    tmp_path_factory: pytest.TempPathFactory,
    make_context: MakeContext,
    data: Any,
) -> None:
    fields = WITH_OTHERS if to is FileFormat.PARQUET else ALL
    batches = data.draw(batches_of(fields))
    same_files(
        lambda path: FileSink.for_bulk_format(path, to).build(),
        make_context(row_type(fields)),
        batches,
        tmp_path_factory.mktemp("out"),
    )


PARTED: dict[str, tuple[TypeInformation, Any]] = {
    "country": (Types.STRING(), st.sampled_from(["DE", "a/b", "__HIVE_DEFAULT_PARTITION__"])),
    "n": (Types.LONG(), st.integers(0, 1)),
    "flag": (Types.BOOLEAN(), st.booleans()),
    "day": (Types.SQL_DATE(), st.dates(dt.date(2026, 1, 1), dt.date(2026, 1, 2))),
    "x": (Types.LONG(), st.integers(0, 99)),
}


@settings(
    max_examples=15,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
@given(batches=batches_of(PARTED), numbered=st.booleans(), most_open=st.integers(1, 3))
def test_rows_are_in_the_same_buckets_with_the_same_numbers(
    tmp_path_factory: pytest.TempPathFactory,
    make_context: MakeContext,
    batches: Any,
    numbered: bool,
    most_open: int,
) -> None:
    assigner = BucketAssigner.by_columns("country", "n", "flag", "day")

    def make(path: Path) -> FileSink:
        builder = FileSink.for_bulk_format(path, FileFormat.JSON).with_bucket_assigner(assigner)
        return builder.build().with_sequence_column("seq") if numbered else builder.build()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(staged_files.MountedFiles, "most_open", most_open)
        directory = tmp_path_factory.mktemp("out")
        found = same_files(make, make_context(row_type(PARTED)), batches, directory)
    lines = [line for files in found.values() for file in files for line in file.splitlines()]
    assert len(lines) == sum(batch.num_rows for batch in batches)


@pytest.mark.parametrize("to", COLUMNS)
def test_files_of_columns_end_at_their_size(
    tmp_path: Path, make_context: MakeContext, to: FileFormat
) -> None:
    kind = row_type({"n": ALL['long"'], "text": ALL["text"]})
    batch = pa.record_batch([range(40_000), ["DE" * 4] * 40_000], schema=arrow_schema(kind))
    policy = RollingPolicy.default_rolling_policy(part_size=200_000)

    def make(path: Path) -> FileSink:
        return FileSink.for_bulk_format(path, to).with_rolling_policy(policy).build()

    found = same_files(make, make_context(kind), [batch], tmp_path)
    assert sum(map(len, found.values())) > 1


@pytest.mark.parametrize("to", [FileFormat.PARQUET])
@pytest.mark.parametrize("digits", [(9, 0), (23, 3), (38, 18)])
def test_decimals_of_other_digits_are_columns(
    tmp_path: Path, make_context: MakeContext, to: FileFormat, digits: tuple[int, int]
) -> None:
    kind = Types.ROW_NAMED(["x"], [Types.BIG_DEC()])
    column = pa.array([Decimal(-7), None, Decimal(0)], pa.decimal128(*digits))
    batch = pa.record_batch([column], ["x"])

    def make(path: Path) -> FileSink:
        return FileSink.for_bulk_format(path, to).build()

    assert same_files(make, make_context(kind), [batch], tmp_path)


LATER = pa.array([0, 400_000_000_000_000_000], pa.timestamp("us"))  # in the year 14645


@pytest.mark.parametrize(
    ("to", "kind", "column"),
    [
        (FileFormat.TEXT, Types.LONG(), pa.array([1])),
        (FileFormat.JSON, Types.LIST(Types.LONG()), pa.array([[1]])),
        (FileFormat.PARQUET, Types.LONG(), pa.array([1], pa.int32())),
        (FileFormat.PARQUET, Types.BIG_DEC(), pa.array([1])),
        (FileFormat.PARQUET, Types.BIG_DEC(), pa.array([Decimal("1e-19")])),
        (FileFormat.PARQUET, Types.BIG_DEC(), pa.array([Decimal(10**20)])),
        (FileFormat.PARQUET, Types.BIG_INT(), pa.array([Decimal("1.5")])),
        (FileFormat.PARQUET, Types.SQL_TIMESTAMP(), LATER),
        (
            FileFormat.PARQUET,
            Types.LIST(Types.SQL_TIMESTAMP()),
            pa.array([[0]]).cast(pa.list_(LATER.type)),
        ),
        (
            FileFormat.PARQUET,
            Types.MAP(Types.STRING(), Types.LONG()),
            pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
        ),
    ],
)
def test_what_is_no_plain_column_is_left_to_records(
    tmp_path: Path, make_context: MakeContext, to: FileFormat, kind: Any, column: Any
) -> None:
    sink = FileSink.for_bulk_format(tmp_path, to).build()
    context = make_context(Types.ROW_NAMED(["x"], [kind]))
    sink.create_committer(context).recover()
    writer = sink.create_writer(context)
    assert not writer.write_columns(pa.record_batch([column], ["x"]))
    assert writer.prepare_commit() == []


@pytest.mark.parametrize("to", [FileFormat.JSON, FileFormat.CSV])
@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_that_is_not_finite_is_written_as_that_of_a_record(
    tmp_path: Path, make_context: MakeContext, to: FileFormat, number: float
) -> None:
    context = make_context(Types.ROW_NAMED(["x"], [Types.DOUBLE()]))
    batch = pa.record_batch([pa.array([1.0, number])], ["x"])
    assert same_files(
        lambda path: FileSink.for_bulk_format(path, to).build(), context, [batch], tmp_path
    )
