"""The Delta source against tables that the library writes, without Spark: positions, versions, changes, what is gone.

The library's own readers are the oracle: `to_pyarrow_table` for what a table has, `load_cdf` for what changed.
Finds: a row lost or doubled at a cut or a version, a file that is rewritten and read again, a jump over versions
that are gone, a table that was made anew. Cannot find what the live loop does with it: see `tests/spark`.
"""

from __future__ import annotations

import datetime as dt
import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from examples.delta.totals import build
from penstock.common import Types, WatermarkStrategy
from penstock.connectors.delta import delta_source
from penstock.connectors.delta.table_log import log_of
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DiscardingSink, HybridSource
from penstock.datastream.connectors.delta import DeltaSource
from penstock.errors import ArgumentError, PenstockError, SourceError
from penstock.testing import check_log_source, run_in_process

deltalake = pytest.importorskip("deltalake")

FEED = {"delta.enableChangeDataFeed": "true"}


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    delta_source.close_files()
    log_of.cache_clear()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a table"


def add(path: Path, first: int, last: int, **how: Any) -> None:
    """Append rows as one version."""
    numbers = range(first, last)
    rows = {"n": list(numbers), "part": [f"p{n % 3}" for n in numbers]}
    deltalake.write_deltalake(path, pa.table(rows), mode="append", **how)


def read(source: DeltaSource, split: str, start: int, end: int) -> list[Any]:
    batches = source.exact_batches(split, start, end, 8192)
    return [record for records, _ in batches for record in records]


def values(source: DeltaSource, split: str, start: int, end: int) -> list[int]:
    return [row.n for row in read(source, split, start, end)]


def start_of(source: DeltaSource) -> tuple[str, int, int]:
    (split,) = source.exact_discover({})
    assert split.start is not None
    return split.id, split.start, split.head


def head_of(source: DeltaSource, split: str, at: int) -> int:
    (found,) = source.exact_discover({split: at})
    return found.head


def test_a_table_keeps_the_promises_of_a_log(path: Path) -> None:
    for first in (0, 30, 45):
        add(path, first, first + 15, partition_by=["part"])
    check_log_source(DeltaSource.table(path))
    check_log_source(DeltaSource.table(path).from_version(1))
    check_log_source(DeltaSource.table(path).at_version(0))


def test_a_snapshot_is_read_and_then_each_version_once(path: Path) -> None:
    add(path, 0, 20_000)
    add(path, 20_000, 30_000)
    source = DeltaSource.table(path)
    split, start, head = start_of(source)
    assert source.exact_cost(split, start, head) == 30_000
    assert sorted(values(source, split, start, head)) == list(range(30_000))
    assert values(source, split, head, head_of(source, split, head)) == []
    at = head
    for first in range(30_000, 30_030, 10):
        add(path, first, first + 10)
        following = head_of(source, split, at)
        assert source.exact_cost(split, at, following) == 10
        assert values(source, split, at, following) == list(range(first, first + 10))
        at = following
    assert sorted(values(source, split, start, at)) == list(range(30_030))
    chance = random.Random(3)  # noqa: S311
    whole = values(source, split, start, at)
    for _ in range(10):
        bounds = [start, *sorted(chance.sample(range(start, at), 3)), at]
        parts = [values(source, split, *each) for each in itertools.pairwise(bounds)]
        assert [n for part in parts for n in part] == whole


def test_files_that_were_rewritten_are_not_read_again(path: Path) -> None:
    for first in range(0, 40, 10):
        add(path, first, first + 10)
    source = DeltaSource.table(path).from_version(0)
    split, start, head = start_of(source)
    deltalake.DeltaTable(path).optimize.compact()
    add(path, 40, 50)
    following = head_of(source, split, head)
    assert values(source, split, start, following) == list(range(50))
    fresh = DeltaSource.table(path)
    split, start, head = start_of(fresh)
    assert sorted(values(fresh, split, start, head)) == list(range(50))


def test_versions_and_ends_are_those_that_were_named(path: Path) -> None:
    for first in range(0, 40, 10):
        add(path, first, first + 10)
    table = DeltaSource.table(path)
    expected = {
        table.at_version(1): range(40),
        table.at_version(1).bounded(2): range(30),
        table.bounded(1): range(20),
        table.from_version(2): range(20, 40),
        table.from_version(1).bounded(1): range(10, 20),
        table.from_version(4): range(0),
    }
    for source, numbers in expected.items():
        split, start, head = start_of(source)
        assert values(source, split, start, head) == list(numbers), source
        assert source.exact_cost(split, start, head) == len(numbers)
    for source in (table.at_version(4), table.from_version(5), table.bounded(4)):
        with pytest.raises(SourceError, match="its newest one is"):
            start_of(source)


def test_columns_have_the_values_that_the_library_reads(path: Path) -> None:
    moment = dt.datetime(2026, 1, 2, 3, 4, 5, 6, dt.UTC)
    columns = {
        "n": pa.array([1, None], pa.int16()),
        "text": ["a/b=c%20", None],
        "flag": [True, None],
        "day": [dt.date(2020, 1, 2), None],
        "at": pa.array([moment, None], pa.timestamp("us", "UTC")),
        "plain": pa.array([moment.replace(tzinfo=None), None], pa.timestamp("us")),
        "price": pa.array([1, None], pa.decimal128(10, 2)),
        "data": [b"\xff", None],
        "list": [[1, 2], None],
        "struct": [{"x": 1, "y": "z"}, None],
        "map": pa.array([[("k", 1.5)], None], pa.map_(pa.string(), pa.float64())),
    }
    rows = pa.table(columns)
    by = ["n", "text", "flag", "day", "at", "plain"]
    for version in range(2):
        deltalake.write_deltalake(path, rows, mode="append", partition_by=by)
        source = DeltaSource.table(path).columns("n", *(name for name in columns if name != "n"))
        wanted = deltalake.DeltaTable(path).to_pyarrow_table().select(source.schema.names)
        for each in (source, source.from_version(0)):
            split, start, head = start_of(each)
            found = [row.as_dict(recursive=True) for row in read(each, split, start, head)]
            assert len(found) == 2 * (version + 1)
            for one in wanted.to_pylist():
                one["map"] = None if one["map"] is None else dict(one["map"])
                assert one in found
    assert DeltaSource.table(path).columns("day").get_produced_type() == Types.ROW_NAMED(
        ["day"], [Types.SQL_DATE()]
    )
    only = DeltaSource.table(path).columns("text")
    split, start, head = start_of(only)
    texts = {row.text for row in read(only, split, start, head)}
    assert texts == {"a/b=c%20", None}


def test_columns_that_are_added_are_null_before_and_left_out_behind(path: Path) -> None:
    add(path, 0, 2)
    old = DeltaSource.table(path)
    more = pa.table({"n": [2], "part": ["x"], "new": [7]})
    deltalake.write_deltalake(path, more, mode="append", schema_mode="merge")
    split, start, head = start_of(old)
    assert [row.as_dict() for row in read(old, split, start, head)][-1] == {"n": 2, "part": "x"}
    new = DeltaSource.table(path)
    split, start, head = start_of(new)
    assert [row.new for row in read(new, split, start, head)] == [None, None, 7]


def test_the_change_feed_is_what_the_library_reads(path: Path) -> None:
    add(path, 0, 6, configuration=FEED, partition_by=["part"])
    table = deltalake.DeltaTable(path)
    table.update({"n": "n + 100"}, predicate="n < 2")
    table.delete("n = 3")
    add(path, 6, 8)
    table.update_incremental()
    table.delete("part = 'p2'")
    source = DeltaSource.table(path).from_version(0).change_feed()
    check_log_source(source)
    split, start, head = start_of(source)
    names = {"+I": "insert", "-U": "update_preimage", "+U": "update_postimage", "-D": "delete"}
    found = [
        (names[str(row.get_row_kind())], row.n, row.part)
        for row in read(source, split, start, head)
    ]
    feed = pa.table(deltalake.DeltaTable(path).load_cdf(starting_version=0)).to_pylist()
    assert sorted(found) == sorted((row["_change_type"], row["n"], row["part"]) for row in feed)
    assert len(found) == 6 + 4 + 1 + 2 + 2


def test_changes_that_were_not_asked_for_are_told(path: Path) -> None:
    add(path, 0, 6)
    source = DeltaSource.table(path)
    split, _, head = start_of(source)
    deltalake.DeltaTable(path).delete("n = 3")
    following = head_of(source, split, head)
    with pytest.raises(SourceError) as error:
        source.exact_cost(split, head, following)
    assert "version 1 of" in error.value.problem
    assert "(DELETE)" in error.value.problem
    assert "delta.enableChangeDataFeed" in error.value.hint
    with pytest.raises(SourceError, match="had no change data feed"):
        source.change_feed().exact_cost(split, head, following)


def test_time_is_that_of_versions(path: Path) -> None:
    for first in range(0, 30, 10):
        add(path, first, first + 10)
    source = DeltaSource.table(path).from_version(0)
    split, start, head = start_of(source)
    stamps = [each["timestamp"] for each in reversed(deltalake.DeltaTable(path).history())]
    batches = list(source.batches(split, start, head))
    assert [batch.timestamps for _, batch in batches] == [[stamp] * 10 for stamp in stamps]
    at = source.exact_position_at(split, stamps[1], start, head)
    assert at in {
        DeltaSource.position_of_version(n) for n in range(2)
    }  # clocks may tell both alike
    assert source.exact_position_at(split, stamps[2] + 1, start, head) == head


def test_what_is_gone_is_told(path: Path) -> None:
    for first in range(0, 40, 10):
        add(path, first, first + 10)
    source = DeltaSource.table(path).from_version(1)
    split, start, head = start_of(source)
    log = path / "_delta_log"
    kept = (log / f"{1:020}.json").read_bytes()
    deltalake.DeltaTable(path).create_checkpoint()
    for version in (0, 1):
        (log / f"{version:020}.json").unlink()
    with pytest.raises(
        SourceError, match=r"version 1 of the Delta table .* not in its log any more"
    ):
        source.exact_discover({split: start})
    with pytest.raises(SourceError, match="version 1 of the Delta table"):
        start_of(source)
    assert head_of(source, split, DeltaSource.position_of_version(2)) > head
    log_of.cache_clear()
    with pytest.raises(SourceError) as error:
        values(source, split, start, head)
    assert "delta.logRetentionDuration" in error.value.hint
    (log / f"{1:020}.json").write_bytes(kept)
    for file in path.glob("*.parquet"):
        file.unlink()
    with pytest.raises(SourceError, match="is gone: the table was vacuumed") as error:
        values(source, split, start, head)
    assert "delta.deletedFileRetentionDuration" in error.value.hint


def test_a_table_that_was_made_anew_is_not_taken_for_the_old_one(path: Path) -> None:
    add(path, 0, 10)
    source = DeltaSource.table(path)
    split, _, head = start_of(source)
    path.rename(path.with_name("old"))
    for first in range(0, 30, 10):
        add(path, first, first + 10)
    with pytest.raises(SourceError, match="it was created again"):
        source.exact_discover({split: head})


def append_to_log(path: Path, version: int, *actions: dict[str, Any]) -> None:
    """Add a version as another writer would, with what the library cannot write."""
    lines = "".join(f"{json.dumps(action)}\n" for action in actions)
    (path / "_delta_log" / f"{version:020}.json").write_text(lines)


def test_deletion_vectors_and_column_mapping_are_refused(path: Path) -> None:
    add(path, 0, 10)
    source = DeltaSource.table(path).from_version(0)
    split, start, head = start_of(source)
    file = next(path.glob("*.parquet"))
    vector = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 4}
    vector |= {"sizeInBytes": 40, "cardinality": 6}
    action = {"path": file.name, "size": file.stat().st_size, "partitionValues": {}}
    action |= {"modificationTime": 1, "dataChange": True, "deletionVector": vector}
    append_to_log(path, 1, {"add": action})
    following = head_of(source, split, head)
    with pytest.raises(SourceError, match=r"version 1 of .* has deletion vectors"):
        values(source, split, start, following)
    old = json.loads((path / "_delta_log" / f"{0:020}.json").read_text().splitlines()[2])
    old["metaData"]["configuration"] = {"delta.columnMapping.mode": "name"}
    append_to_log(path, 2, old)
    with pytest.raises(SourceError, match="maps columns to names of their own"):
        source.exact_discover({split: head})


def test_a_program_reads_a_table_up_to_its_head_and_goes_on(path: Path) -> None:
    add(path, 0, 10)
    add(path, 10, 20)
    both = HybridSource.until_head(DeltaSource.table(path).bounded())
    for source in (DeltaSource.table(path).bounded(), both):
        env = StreamExecutionEnvironment.get_execution_environment()
        rows = env.from_source(source, WatermarkStrategy.for_monotonous_timestamps(), "rows")
        rows.map(lambda row: row.n).sink_to(DiscardingSink()).name("out")
        assert sorted(run_in_process(env).of("out")) == list(range(20))


def test_a_column_of_another_type_is_told(path: Path) -> None:
    add(path, 0, 2)
    source = DeltaSource.table(path)
    changed = pa.schema([pa.field("n", pa.date32()), source.schema.field("part")])
    wrong = DeltaSource(path, changed)
    split, start, head = start_of(wrong)
    with pytest.raises(SourceError, match=r"column 'n' of .* is read as date32"):
        values(wrong, split, start, head)


def test_a_wrong_call_is_refused_where_it_is_made(path: Path) -> None:
    add(path, 0, 2)
    table = DeltaSource.table(path)
    for wrong in (
        lambda: table.at_version(-1),
        lambda: table.from_version("1"),  # type: ignore[arg-type]
        lambda: table.bounded(True),
        table.columns,
        lambda: table.columns("n", "n"),
        lambda: table.columns("m"),
        lambda: DeltaSource.table("s3://bucket/table"),
    ):
        with pytest.raises(ArgumentError) as error:
            wrong()
        assert error.value.origin is not None
        assert error.value.origin.filename == __file__
    with pytest.raises(PenstockError, match="cannot open the Delta table"):
        DeltaSource.table(path / "none")


def test_the_program_of_the_demo_reads_a_table_and_merges_totals(path: Path) -> None:
    orders = pa.table({"customer": ["ann"], "amount": [1]})
    deltalake.write_deltalake(path, orders)
    plan = build(str(path), "/data/totals").get_execution_plan()
    assert "orders" in plan
    assert "totals" in plan
