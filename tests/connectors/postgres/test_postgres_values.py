"""Every type: what the sink writes the source reads, in the declared form; and values that Python has not."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Row, Types, WatermarkStrategy
from penstock.datastream.connectors.postgres import PostgresSink, PostgresSource
from penstock.errors import PenstockError, SourceError
from penstock.testing import Schedule, run_in_process
from penstock.types import Instant
from tests.connectors.conftest import MakeContext
from tests.connectors.postgres.test_postgres_source import Taken
from tests.postgres_server import Database
from tests.runtime.jobs import BATCH, STREAMING, job

NO_TIME = WatermarkStrategy.no_watermarks()
UTC = dt.UTC
NOON = dt.datetime(2026, 1, 31, 12, 0, 0, 123_456)  # noqa: DTZ001 - its type has no zone
FIRST, LAST = dt.datetime.min, dt.datetime.max  # noqa: DTZ901

VALUES: dict[str, tuple[Any, str, list[Any]]] = {
    "string": (Types.STRING(), "text", ["", " ", "a\r\nb", '"', "'", "\\N", "\t", "NULL", "é\U0001f600"]),
    "char": (Types.CHAR(), "text", ["x", " ", "é"]),
    "boolean": (Types.BOOLEAN(), "boolean", [True, False]),
    "byte": (Types.BYTE(), "smallint", [-128, 127]),
    "short": (Types.SHORT(), "smallint", [-(1 << 15), (1 << 15) - 1]),
    "int": (Types.INT(), "integer", [-(1 << 31), (1 << 31) - 1]),
    "long": (Types.LONG(), "bigint", [-(1 << 63), (1 << 63) - 1]),
    "big_int": (Types.BIG_INT(), "numeric", [-(10**50), 0, 10**50]),
    "big_dec": (Types.BIG_DEC(), "numeric", [Decimal("0.1234567890123456789"), Decimal("1.50"), Decimal(-3)]),
    "float": (Types.FLOAT(), "real", [0.0, -0.0, 0.10000000149011612, 3.4028234663852886e38, math.inf, -math.inf, math.nan]),
    "double": (Types.DOUBLE(), "double precision", [-0.0, 0.1, 1.7976931348623157e308, 5e-324, math.inf, -math.inf, math.nan]),
    "date": (Types.SQL_DATE(), "date", [dt.date.min, dt.date.max]),
    "time": (Types.SQL_TIME(), "time", [dt.time.min, dt.time.max]),
    "timestamp": (Types.SQL_TIMESTAMP(), "timestamp", [FIRST, LAST, NOON]),
    "ltz": (Types.TIMESTAMP_LTZ(), "timestamptz", [FIRST.replace(tzinfo=UTC), LAST.replace(tzinfo=UTC), NOON.replace(tzinfo=UTC)]),
    "bytes": (Types.PRIMITIVE_ARRAY(Types.BYTE()), "bytea", [b"", b"\x00\xff\\"]),
    "list": (Types.LIST(Types.INT()), "integer[]", [[], [1, None, 3]]),
    "texts": (Types.LIST(Types.STRING()), "text[]", [["", 'a"b,{}', None, "NULL"]]),
    "map": (Types.MAP(Types.STRING(), Types.INT()), "jsonb", [{}, {"": None}, {"a": 1}]),
}  # fmt: skip


def read(source: Any, mode: Any) -> list[Any]:
    env = job(mode, source, lambda stream: stream, strategy=NO_TIME)
    return list(run_in_process(env, Schedule(batch_sizes=(7,))).of("out"))


@pytest.mark.parametrize("mode", [BATCH, STREAMING], ids=["batch", "streaming"])
def test_what_the_sink_writes_the_source_reads(
    postgres: Database, make_context: MakeContext, mode: Any
) -> None:
    columns = ", ".join(f'"{name}" {kind}' for name, (_, kind, _) in VALUES.items())
    postgres.run(f"create table t (k int primary key, {columns})")
    count = max(len(values) for _, _, values in VALUES.values())
    rows = [
        (k, *[values[k] if k < len(values) else None for _, _, values in VALUES.values()])
        for k in range(count)
    ]
    sink = PostgresSink.builder().set_dsn(postgres.dsn).set_table("t").set_columns("k", *VALUES)
    made = sink.build()
    committer = made.create_committer(make_context())
    try:
        committer.recover()
        writer = made.create_writer(make_context())
        writer.write(rows)
        committer.commit("e1", writer.prepare_commit())
    finally:
        committer.close()
    row_type = Types.ROW_NAMED(
        ["k", *VALUES], [Types.INT(), *[kind for kind, _, _ in VALUES.values()]]
    )
    source = PostgresSource.builder().set_dsn(postgres.dsn).set_tables("t").set_bounded()
    found = read(source.set_upserts(row_type).build(), mode)
    assert sorted(map(repr, map(tuple, found))) == sorted(map(repr, rows))


@pytest.mark.parametrize(
    ("kind", "column", "text", "told"),
    [
        (Types.BYTE(), "smallint", "200", "out of range"),
        (Types.SHORT(), "integer", "40000", "out of range"),
        (Types.BIG_INT(), "numeric", "1.5", "1.5"),
        (Types.BIG_DEC(), "numeric", "NaN", "NaN"),
        (Types.CHAR(), "text", "ab", "ab"),
        (Types.INT(), "text", "1", "'1'"),
        (Types.STRING(), "integer", "1", "1"),
        (Types.INSTANT(), "timestamp", "2026-01-31 12:00", "datetime"),
        (Types.SQL_TIMESTAMP(), "timestamptz", "2026-01-31 12:00Z", "datetime"),
    ],
)
def test_a_value_that_is_none_of_the_declared_type_is_an_error(
    postgres: Database, kind: Any, column: str, text: str, told: str
) -> None:
    postgres.run(f"create table t (k int primary key, v {column})")
    postgres.run(f"insert into t values (1, '{text}')")
    row_type = Types.ROW_NAMED(["k", "v"], [Types.INT(), kind])
    source = PostgresSource.builder().set_dsn(postgres.dsn).set_tables("t").set_bounded()
    with pytest.raises(PenstockError) as caught:
        read(source.set_upserts(row_type).build(), BATCH)
    assert "field 'v'" in caught.value.problem
    assert told in caught.value.problem


def test_an_instant_is_one_in_the_declared_form(postgres: Database) -> None:
    postgres.run("create table t (k int primary key, v timestamptz)")
    postgres.run("insert into t values (1, '1970-01-01 00:00:00.000001Z')")
    row_type = Types.ROW_NAMED(["k", "v"], [Types.INT(), Types.INSTANT()])
    source = PostgresSource.builder().set_dsn(postgres.dsn).set_tables("t").set_bounded()
    assert read(source.set_upserts(row_type).build(), BATCH) == [Row(k=1, v=Instant(0, 1000))]


BEYOND = {
    "d": ("date", "infinity", dt.date.max),
    "e": ("date", "0044-03-15 BC", dt.date.min),
    "f": ("timestamp", "-infinity", FIRST),
    "g": ("timestamp", "20000-01-01", LAST),
    "h": ("timestamptz", "infinity", LAST.replace(tzinfo=UTC)),
    "i": ("time", "24:00:00", dt.time.max),
    "j": ("date[]", "{infinity,2026-01-31}", [dt.date.max, dt.date(2026, 1, 31)]),
    "l": ("interval", "178000000 years", dt.timedelta.max),
    "m": ("interval", "-178000000 years", dt.timedelta.min),
}
MISSING = dict.fromkeys(BEYOND) | {"j": [None, dt.date(2026, 1, 31)]}
TEXTS = {name: text for name, (_, text, _) in BEYOND.items()} | {
    "g": "20000-01-01 00:00:00",
    "j": ["infinity", dt.date(2026, 1, 31)],
}


@pytest.mark.parametrize("is_change", [False, True], ids=["snapshot", "change"])
def test_values_beyond_python_are_read_by_a_policy(
    postgres: Database, tmp_path: Path, *, is_change: bool
) -> None:
    postgres.run(f"create table t (k int primary key, {', '.join(f'{n} {t}' for n, (t, _, _) in BEYOND.items())})")  # fmt: skip
    insert = f"insert into t values (1, {', '.join(repr(text) for _, text, _ in BEYOND.values())})"
    clamped = {name: value for name, (_, _, value) in BEYOND.items()}
    for policy, wanted in (("none", MISSING), ("clamp", clamped), ("text", TEXTS), ("error", None)):
        builder = PostgresSource.builder().set_dsn(postgres.dsn).set_tables("t")
        source: Any = builder.set_slot(postgres.slot()).set_values_beyond_python(policy).build()
        postgres.run("truncate t", *([] if is_change else [insert]))
        taken = Taken(source, tmp_path / policy)
        if is_change:
            postgres.run(insert)
        get = taken.changes if is_change else taken.rows
        if wanted is not None:
            (change,) = get()
            assert change.after == {"k": 1, **wanted}
            taken.confirm()
        else:
            with pytest.raises(SourceError, match="column 'd' is none in Python") as caught:
                get()
            assert "its row in table public.t has the key k = 1" in caught.value.problem
            assert "set_values_beyond_python" in caught.value.hint
        source.drop()


@pytest.mark.parametrize("is_change", [False, True], ids=["snapshot", "change"])
def test_an_interval_that_python_has_not_is_an_error(
    postgres: Database, tmp_path: Path, *, is_change: bool
) -> None:
    """The loader of psycopg makes 545,490,560 days of the first, and 0 of the second."""
    postgres.run("create table t (k int primary key, v interval)")
    source = PostgresSource.builder().set_dsn(postgres.dsn).set_tables("t")
    has_endless = postgres.value("select current_setting('server_version_num')::int >= 170000")
    for number, text in enumerate(("178000000 years", *(["infinity"] if has_endless else []))):
        made = source.set_slot(postgres.slot()).build()
        insert = f"insert into t values (7, '{text}')"
        postgres.run("truncate t", *([] if is_change else [insert]))
        taken = Taken(made, tmp_path / str(number))
        if is_change:
            postgres.run(insert)
        with pytest.raises(SourceError, match=f"column 'v' is none in Python: .*{text}.*k = 7"):
            (taken.changes if is_change else taken.rows)()
        made.drop()


INTERVALS = {
    "1 year 2 mons -3 days 04:05:06.789": dt.timedelta(422, 14_706, 789_000),
    "-1 years -2 mons +3 days -04:05:06": dt.timedelta(-423, 71_694),
    "999999999 days 23:59:59.999999": dt.timedelta.max,
    "-999999999 days": dt.timedelta.min,
    "2562047788:00:54.775807": dt.timedelta(106_751_991, 14_454, 775_807),
    "00:00:00": dt.timedelta(0),
    "-00:00:00.000001": dt.timedelta(microseconds=-1),
}


@pytest.mark.parametrize("text", INTERVALS)
def test_an_interval_is_what_psycopg_makes_of_it(postgres: Database, text: str) -> None:
    postgres.run("create table t (k int primary key, v interval)")
    postgres.run(f"insert into t values (1, '{text}')")
    assert postgres.value("select v from t") == INTERVALS[text]
    source = PostgresSource.builder().set_dsn(postgres.dsn).set_tables("t").set_bounded()
    (change,) = read(source.build(), BATCH)
    assert change.after == {"k": 1, "v": INTERVALS[text]}
