"""Sources, sinks and watermark generators written in Python, through Spark."""

from __future__ import annotations

import re
import sqlite3
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from penstock.common import (
    Duration,
    Encoder,
    Types,
    Watermark,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)
from penstock.datastream.connectors import DataGeneratorSource, FileSource, SplitSource
from penstock.datastream.connectors.file_system import (
    BucketAssigner,
    FileSink,
    OutputFileConfig,
    StreamFormat,
)
from penstock.datastream.functions import KeyedProcessFunction, ProcessFunction, SinkFunction
from tests.spark.conftest import Environment

PAGE = Path(__file__).parents[2] / "docs" / "connectors" / "python.md"
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
NO_TIME = WatermarkStrategy.no_watermarks()
TWO_MODES = pytest.mark.parametrize("mode", ["batch", "streaming"])


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the names of the example of the connectors page that defines a name."""

    def load(name: str) -> Any:
        (block,) = (b for b in _BLOCK.findall(PAGE.read_text()) if f"class {name}(" in b)
        module = ModuleType("example_page")
        with monkeypatch.context() as patch:
            # Known by name only while it is defined, so that it is shipped by value.
            patch.setitem(sys.modules, module.__name__, module)
            exec(compile(block, PAGE.name, "exec"), vars(module))  # noqa: S102
        return module

    return load


class Stamps(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterable[Any]:
        yield value, ctx.timestamp()


@TWO_MODES
def test_the_source_of_the_page_gives_timestamps(
    environment: Environment, example: Any, mode: str
) -> None:
    source: SplitSource = example("Thermometers").Thermometers(2, readings=3)
    env = environment(mode)
    stream = env.from_source(source, NO_TIME, "thermometers").process(Stamps())
    with stream.execute_and_collect() as results:
        found = sorted(results)
    assert found == [((split, 20 + n), n * 1000) for split in (0, 1) for n in range(3)]


@TWO_MODES
def test_the_sink_of_the_page_writes_each_record_once(
    environment: Environment, example: Any, mode: str, tmp_path: Path
) -> None:
    path = str(tmp_path / "pairs.db")
    for _ in range(2):  # the second job resumes the first and finds nothing to do
        env = environment(mode)
        sink = example("SqliteSink").SqliteSink(path)
        env.from_collection([("a", 1), ("b", 2), ("c", 3)]).sink_to(sink)
        env.execute()
    with sqlite3.connect(path) as db:
        assert sorted(db.execute("select * from pairs")) == [("a", 1), ("b", 2), ("c", 3)]


def test_a_commit_of_the_page_that_is_repeated_changes_nothing(
    example: Any, tmp_path: Path
) -> None:
    committer = example("SqliteSink").Transactions(str(tmp_path / "pairs.db"), "job/sink")
    for _ in range(2):
        committer.recover()
        committer.commit("live-1", [("a", 1)])
    committer.commit("live-2", [("b", 2)])
    with sqlite3.connect(tmp_path / "pairs.db") as db:
        assert sorted(db.execute("select * from pairs")) == [("a", 1), ("b", 2)]


class Lines(SinkFunction):
    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def open(self, runtime_context: Any) -> None:
        name = f"{runtime_context.get_index_of_this_subtask()}.txt"
        self._file = (self._directory / name).open("a")

    def invoke(self, value: Any, context: Any) -> None:
        self._file.write(f"{value}\n")

    def close(self) -> None:
        self._file.close()


@TWO_MODES
def test_a_sink_function_is_called_in_the_workers(
    environment: Environment, mode: str, tmp_path: Path
) -> None:
    out = tmp_path / "lines"
    out.mkdir()
    env = environment(mode)
    env.from_collection(range(10)).rebalance().add_sink(Lines(out))
    env.execute()
    lines = [line for path in out.iterdir() for line in path.read_text().split()]
    assert sorted(map(int, lines)) == list(range(10))


@TWO_MODES
def test_words_are_counted_with_the_builders_of_pyflink(
    environment: Environment, mode: str, tmp_path: Path
) -> None:
    for name, text in {"one/a.txt": "to be or", "two/deep/b.txt": "not to be"}.items():
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True)
        path.write_text(text + "\n")
    paths = [str(tmp_path / "in" / name) for name in ("one", "two")]
    lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), *paths)
    files = OutputFileConfig.builder().with_part_prefix("words").with_part_suffix(".ext").build()
    sink = (
        FileSink.for_row_format(str(tmp_path / "out"), Encoder.simple_string_encoder())
        .with_output_file_config(files)
        .with_bucket_assigner(BucketAssigner.date_time_bucket_assigner("yyyy"))
        .build()
    )
    env = environment(mode)
    env.from_source(lines.process_static_file_set().build(), NO_TIME, "lines").flat_map(
        lambda line: line.split()
    ).map(lambda word: (word, 1), Types.TUPLE([Types.STRING(), Types.INT()])).key_by(
        lambda pair: pair[0]
    ).reduce(lambda a, b: (a[0], a[1] + b[1])).sink_to(sink)
    env.execute()
    found = [
        line
        for path in (tmp_path / "out").glob("2*/words-*.ext")
        for line in path.read_text().split()
    ]
    assert {"(to,2)", "(be,2)", "(or,1)", "(not,1)"} <= set(found)


class PerRecord(WatermarkGenerator):
    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        output.emit_watermark(Watermark(event_timestamp))

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


class Late(KeyedProcessFunction):
    """Tells records that are behind the watermark."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        yield value, ctx.timestamp() <= ctx.timer_service().current_watermark()


def test_watermarks_per_record_decide_what_is_late(environment: Environment) -> None:
    strategy = WatermarkStrategy.for_generator(PerRecord).with_timestamp_assigner(
        lambda value, _: value
    )
    env = environment("streaming")
    stream = env.from_collection([5, 9, 7, 9, 12, 1]).assign_timestamps_and_watermarks(strategy)
    late = stream.key_by(lambda value: value % 2).process(Late())
    with late.execute_and_collect() as results:
        found = sorted(results)
    assert found == [(1, True), (5, False), (7, True), (9, False), (9, True), (12, False)]


class Fires(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(ctx.timestamp())

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[int]:
        yield timestamp


def test_an_idle_source_does_not_stop_the_clock(environment: Environment, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    strategy = (
        WatermarkStrategy.for_monotonous_timestamps()
        .with_idleness(Duration.of_millis(500))
        .with_timestamp_assigner(lambda value, _: int(value))
    )
    env = environment("streaming")
    numbers = DataGeneratorSource(lambda n: n, records_per_second=50)
    busy = env.from_source(numbers, strategy, "busy").map(str)
    idle = env.from_source(FileSource.text(empty).monitor_continuously(), strategy, "idle")
    timers = busy.union(idle.map(str)).key_by(lambda _: 0).process(Fires())
    assert timers.execute_and_collect(limit=3) == [0, 1, 2]
