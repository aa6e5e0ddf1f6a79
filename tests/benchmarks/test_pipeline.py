"""Programs over an input that ends: every one in every mode gives the outputs that are expected.

Expected outputs are computed with NumPy and share no code with the operators; here the programs run in
Penstock's own runner; with Spark, and beside peers, `make bench-smoke` runs them.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.answers import reduce_records
from benchmarks.inputs.record_files import FILES, write_record_files, write_timed_record_files
from benchmarks.model.digest import as_text, digest_of
from benchmarks.model.digest_parts import added_up, digest_rows
from benchmarks.model.errors import SystemMissingError
from benchmarks.model.program import Case, Outputs, Point
from benchmarks.model.shape import BATCH, MIXED, MODES, STREAMING, Shape
from benchmarks.programs import (
    aggregate,
    co_group,
    co_process,
    reduce,
    window_reduce,
)
from benchmarks.programs.columns import (
    expressions,
    map_batches,
    sql_history,
    window_expressions,
)
from benchmarks.programs.pipeline import Pipeline, PipelineWorkload, all_modes, ours, peer
from benchmarks.systems.digest_sink import DigestSink, read_outputs
from benchmarks.systems.flink_peers import (
    DIRECTORY_VARIABLE,
    flink_version,
    java_command,
    pyflink_command,
)
from penstock.common import Configuration, Row, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import CollectionSource, SinkContext
from penstock.testing import run_in_process

CONTEXT = SinkContext("j", "s", 0, Types.LONG(), "sink", None, Path())
PROGRAMS = {
    module.PROGRAM.name: module
    for module in (reduce, aggregate, window_reduce, co_group, co_process)
}
OF_FILES = {
    "expressions": (expressions, expressions.build),
    "expressions in Python": (expressions, expressions.build_in_python),
    "map-batches": (map_batches, map_batches.build),
    "window-expressions": (window_expressions, window_expressions.build),
}
"""Modules and streams of the records in files."""


class InProcess:
    """Reads in process what the program reads with Spark."""

    @staticmethod
    def parquet(path, type_info):
        rows = pq.read_table(path).to_pylist()
        return CollectionSource.of([Row(**row) for row in rows], type_info)


def outputs_of(rows, keep=None):
    if not rows:
        return Outputs(0, as_text(0))
    columns = np.array(rows, dtype=np.int64).reshape(len(rows), -1).T
    if keep is not None:
        columns = columns[:, keep(columns)]
    return Outputs(columns.shape[1], as_text(digest_of(*columns)))


def run(module, shape, build=None):
    conf = Configuration.from_dict(MODES[shape.mode]).set("parallelism.default", shape.parallelism)
    env = StreamExecutionEnvironment.get_execution_environment(conf)
    (build or module.build)(env, shape).sink_to(DigestSink("flag", "results")).name("out")
    is_output = getattr(module, "is_output", None)
    keep = None if is_output is None else lambda columns: is_output(shape, columns)
    return outputs_of(run_in_process(env).of("out"), keep)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PROGRAMS)
@settings(max_examples=5, deadline=None)
@given(
    records=st.integers(1, 60),
    live=st.integers(1, 20),
    keys=st.integers(1, 12),
    parallelism=st.integers(1, 3),
)
def test_outputs_are_those_expected(name, mode, records, live, keys, parallelism):
    live = live if mode == MIXED else 0
    shape = Shape(records, live, keys, parallelism, mode)
    assert run(PROGRAMS[name], shape) == PROGRAMS[name].expected(shape)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", OF_FILES)
@pytest.mark.parametrize("keys", [1, 7])
def test_outputs_of_records_in_files(name, mode, keys, tmp_path, monkeypatch):
    monkeypatch.setenv(FILES, "unset")  # so that what the next line sets is taken back
    module, build = OF_FILES[name]
    if module is not expressions and mode == MIXED:
        pytest.skip("it has no system of this mode")
    write_record_files(Case(50, keys, 2, 1, {}), tmp_path)
    monkeypatch.setattr(expressions, "FileSource", InProcess)
    shape = Shape(50, 10 if mode == MIXED else 0, keys, 2, mode)
    assert run(module, shape, build) == module.expected(shape)


@pytest.mark.parametrize("is_sql", [True, False], ids=["sql", "columns"])
@pytest.mark.parametrize("name", sql_history.RELATIONS)
def test_outputs_of_sql_and_of_columns(name, is_sql, tmp_path, monkeypatch):
    monkeypatch.setenv(FILES, "unset")  # so that what the next line sets is taken back
    in_columns, in_sql, expected, is_output = sql_history.RELATIONS[name]
    write_timed_record_files(Case(50, 7, 2, 1, {}), tmp_path)
    monkeypatch.setattr(sql_history, "FileSource", InProcess)
    shape = Shape(50, 10, 7, 2, MIXED)
    program = SimpleNamespace(is_output=is_output) if is_output else SimpleNamespace()
    assert run(program, shape, in_sql if is_sql else in_columns) == expected(shape)


@pytest.mark.parametrize("name", PROGRAMS)
def test_expected_outputs_depend_on_every_record(name):
    few, more = (Shape(records, 0, 5, 2, BATCH) for records in (50, 51))
    assert PROGRAMS[name].expected(few) != PROGRAMS[name].expected(more)


def test_a_doubled_record_is_seen_in_rolling_results():
    shape = Shape(10, 0, 2, 1, STREAMING)
    rows = [(0, 8, 5), (1, 9, 5), (0, 8, 6)]  # key 0 has five records
    keep = lambda columns: reduce_records.is_output(shape, columns)  # noqa: E731
    assert outputs_of(rows[:2], keep) == reduce_records.expected(shape)
    assert outputs_of(rows, keep) != reduce_records.expected(shape)


def test_the_sink_keeps_rows_and_takes_single_numbers(tmp_path):
    def sink(keep):
        return DigestSink(str(tmp_path / "flag"), str(tmp_path / "results"), keep)

    def write(keep, values):
        writer = sink(keep).create_writer(CONTEXT)
        writer.write(values)
        committables = writer.prepare_commit()
        sink(keep).create_committer(CONTEXT).commit("0-0", committables)

    write(None, [(1, 2)])
    assert not (tmp_path / "results").exists()
    (tmp_path / "flag").touch()
    write(lambda columns: columns[0] > 1, [(1, 2), (3, 4)])
    assert read_outputs(tmp_path / "results") == outputs_of([(3, 4)])
    (tmp_path / "results").unlink()
    write(None, [1, 1, 2])
    assert read_outputs(tmp_path / "results") == outputs_of([1, 1, 2])


def test_digests_of_parts_add_up():
    rows = [(v, 2 * v) for v in range(10)]
    parts = [part for cut in (rows[:3], [], rows[3:]) for part in digest_rows(iter(cut))]
    assert len(parts) == 2
    assert added_up(parts) == outputs_of(rows)


@pytest.fixture
def pipeline():
    return Pipeline(
        name="fake",
        summary="",
        build=reduce.build,
        expected=reduce_records.expected,
        is_output=reduce_records.is_output,
        systems=(*all_modes(), peer("slow", "no.py", is_slow=True, mode=STREAMING)),
        reference="penstock batch",
        records=2_000_000,
        keys=lambda records: records // 10,
        options={"size": 3},
        points=(Point(10, None, 1), Point(20, 4)),
        measured="x",
    )


def test_only_mixed_has_live_records_and_slow_peers_have_fewer(pipeline):
    program = pipeline.program()
    assert program.options == {"size": 3, "live-records": 10_000, "slow-records": 1_000_000}
    case = Case(2_000_000, 5, 2, 1, {"size": 4, "live-records": 7, "slow-records": 100})
    workload = PipelineWorkload(pipeline, case)
    shapes = {system.name: workload.shape(system) for system in program.systems}
    assert {name: (s.records, s.live) for name, s in shapes.items()} == {
        "penstock batch": (2_000_000, 0),
        "penstock streaming": (2_000_000, 0),
        "penstock mixed": (2_000_000, 7),
        "slow": (100, 0),
    }
    assert shapes["slow"].parameters == {"size": 4}


def test_functions_travel_by_name(pipeline, tmp_path):
    workload = PipelineWorkload(pipeline, Case(10, 5, 2, 1, {}, {"a": "b"}))
    told = workload.specification(pipeline.systems[0], tmp_path)
    assert told["functions"] == {
        "build": "benchmarks.programs.reduce:build",
        "is_output": "benchmarks.answers.reduce_records:is_output",
    }
    assert (told["settings"], told["measured"]) == ({"a": "b"}, "x")
    assert workload.specification(pipeline.systems[3], tmp_path)["settings"] == {}


def test_points_are_used_unless_something_is_asked(pipeline):
    program = pipeline.program()
    assert program.cases_at(Point(), ()) == [Point(10, 1, 1), Point(20, 4, None)]
    assert program.cases_at(Point(records=50), ()) == [Point(50, 5, None)]
    assert program.cases_at(Point(), (8, 9)) == [Point(2_000_000, 8), Point(2_000_000, 9)]


def test_names_of_ours_say_mode_and_variant():
    system = ours(BATCH, "unchained", by_default=True, **{"a.b": "c"})
    assert (system.name, system.options, system.is_peer) == (
        "penstock batch unchained",
        {"a.b": "c"},
        False,
    )


@pytest.mark.parametrize("command", [pyflink_command, java_command])
def test_without_the_flink_environment_its_peers_are_missing(command, tmp_path, monkeypatch):
    monkeypatch.setenv(DIRECTORY_VARIABLE, str(tmp_path / "none"))
    with pytest.raises(SystemMissingError) as caught:
        command()
    assert caught.value.code == "BENCH_SYSTEM_MISSING"
    assert "make_environment.sh" in caught.value.hint
    assert flink_version() is None


def test_the_version_of_flink_is_that_of_its_environment(tmp_path, monkeypatch):
    monkeypatch.setenv(DIRECTORY_VARIABLE, str(tmp_path))
    packages = tmp_path / "lib" / "python3.11" / "site-packages"
    (packages / "apache_flink-2.3.0.dist-info").mkdir(parents=True)
    (packages / "apache_flink_libraries-9.dist-info").mkdir()
    assert flink_version() == "2.3.0"
