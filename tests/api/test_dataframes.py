"""Which columns of a DataFrame become which fields, and what cannot become a DataFrame.

Whether Spark agrees is tested in `tests/spark/test_dataframes.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from penstock.api.environment.job import PlanReady
from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment, col
from penstock.datastream.connectors import FileSource
from penstock.errors import ArgumentError, GraphError


@dataclass(frozen=True)
class Schema:
    columns: tuple[str, ...]

    def jsonValue(self):  # noqa: N802 - Spark's name
        return {"fields": [{"name": name, "type": "long"} for name in self.columns]}


@dataclass(frozen=True)
class Frame:
    """As much of Spark's DataFrame as a source looks at."""

    columns: tuple[str, ...]
    isStreaming: bool = False  # noqa: N815 - Spark's name

    @property
    def schema(self):
        return Schema(self.columns)

    def mapInArrow(self):  # noqa: N802 - Spark's name
        raise AssertionError("the frame is not read")

    def select(self, *names):
        return replace(self, columns=tuple(name.strip("`") for name in names))

    def toDF(self, *names):  # noqa: N802 - Spark's name
        return replace(self, columns=names)


@pytest.fixture
def env():
    return StreamExecutionEnvironment.get_execution_environment()


def columns_read(stream):
    return stream.get_execution_environment().graph.node(stream.node_id).source.dataframe.columns


LONG = Types.LONG()


@pytest.mark.parametrize(
    ("type_info", "columns"),
    [
        (None, ("a", "b", "c d")),
        (Types.PICKLED_BYTE_ARRAY(), ("a", "b", "c d")),
        (Types.ROW_NAMED(["a", "b", "c d"], [LONG] * 3), ("a", "b", "c d")),
        (Types.ROW_NAMED(["c d", "a"], [LONG] * 2), ("c d", "a")),
        (Types.ROW([LONG] * 3), ("f0", "f1", "f2")),
    ],
    ids=["undeclared", "any", "all", "some", "by position"],
)
def test_the_declared_fields_choose_the_columns(env, type_info, columns):
    stream = env.from_dataframe(Frame(("a", "b", "c d")), type_info=type_info)
    assert columns_read(stream) == columns


def test_the_type_is_that_of_the_columns(env):
    stream = env.from_dataframe(Frame(("a", "b")))
    assert stream.get_type() == Types.ROW_NAMED(["a", "b"], [LONG, LONG])
    assert stream.get_name() == "DataFrame"


@pytest.mark.parametrize(
    "type_info", [Types.ROW_NAMED(["a", "z"], [LONG] * 2), Types.ROW([LONG] * 3)]
)
def test_a_field_without_a_column_is_refused(env, type_info):
    with pytest.raises(ArgumentError, match="columns a, b") as caught:
        env.from_dataframe(Frame(("a", "b")), type_info=type_info)
    assert caught.value.origin is not None
    assert caught.value.origin.filename == __file__


def test_what_is_no_dataframe_is_refused(env):
    with pytest.raises(ArgumentError, match="not a Spark DataFrame"):
        env.from_dataframe([1])


def test_a_stream_that_never_ends_has_no_dataframe(env):
    endless = env.from_dataframe(
        Frame(("a",), isStreaming=True), WatermarkStrategy.no_watermarks(), "endless"
    )
    with pytest.raises(GraphError, match="'endless', which never ends") as caught:
        endless.map(lambda row: row, Types.ROW([LONG])).to_dataframe()
    assert caught.value.origin is not None
    assert caught.value.origin.filename == __file__


def test_a_stream_without_columns_has_no_dataframe(env):
    with pytest.raises(GraphError, match="columns"):
        env.from_collection([1], LONG).to_dataframe()


def test_a_directory_in_use_is_refused(env, tmp_path):
    (tmp_path / "something").touch()
    rows = env.from_collection([(1,)], Types.ROW([LONG]))
    with pytest.raises(ArgumentError, match="not empty"):
        rows.to_dataframe(directory=str(tmp_path))


def of_columns(rows):
    return rows.where(col.a > 1).select(x=col.a * 2)


PROGRAMS = {
    "expressions": (of_columns, {}, None),
    "aggregates": (lambda rows: of_columns(rows).key_by(col.x).aggregate(n=col.count()), {}, None),
    "a function": (
        lambda rows: of_columns(
            rows.map(lambda row: row, Types.ROW_NAMED(["a"], [LONG])).name("f")
        ),
        {},
        "workers compute 'f', 'where, select'",
    ),
    "nothing": (lambda rows: rows, {}, "the plan has no expressions of columns"),
    "two": (lambda rows: of_columns(rows.union(rows)), {}, "workers compute 'where, select'"),
    "a directory": (of_columns, {"directory": "somewhere"}, "it was given a directory"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_plan_says_what_a_dataframe_is_made_of(name):
    program, options, reason = PROGRAMS[name]
    settings = Configuration().set("execution.target", "plan")
    settings.set("execution.runtime-mode", "BATCH")
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    with pytest.raises(PlanReady) as planned:
        program(env.from_dataframe(Frame(("a", "b")))).to_dataframe(**options)
    found = planned.value.plan.decisions[-1]
    assert (found.subject, found.choice.startswith("one plan of Spark")) == (
        "to_dataframe",
        reason is None,
    )
    assert found.reason == (reason or "expressions of one DataFrame are all it has to compute")
    assert planned.value.plan.sinks[0].name == "to_dataframe"


def test_files_are_no_dataframe_and_a_second_sink_needs_a_job():
    for has_other, reason in (
        (False, "'rows' is not a DataFrame"),
        (True, "the program has 2 sinks"),
    ):
        settings = Configuration().set("execution.target", "plan")
        settings.set("execution.runtime-mode", "BATCH")
        env = StreamExecutionEnvironment.get_execution_environment(settings)
        source = FileSource.parquet("nowhere", Types.ROW_NAMED(["a"], [LONG]))
        rows = env.from_source(source, WatermarkStrategy.no_watermarks(), "rows")
        if has_other:
            rows.print()
        with pytest.raises(PlanReady) as planned:
            of_columns(rows).to_dataframe()
        assert planned.value.plan.decisions[-1].reason == reason
