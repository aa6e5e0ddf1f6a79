"""As many objects of a function are opened as its operator has subtasks, if the program said how many."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import Any

import pytest

from penstock.common import WatermarkStrategy
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import (
    KeyedCoProcessFunction,
    MapFunction,
    OneInputStreamOperator,
    RuntimeContext,
)
from penstock.datastream.connectors import FileSource, NumberSequenceSource, StreamFormat
from tests.spark.conftest import Environment


class Who:
    """Says which object saw a record, and as how many subtasks it is one."""

    def open(self, runtime_context: Any) -> None:
        self.seen = 0
        self.index = runtime_context.get_index_of_this_subtask()
        self.of = runtime_context.get_number_of_parallel_subtasks()

    def map(self, value: Any) -> Any:
        self.seen += 1
        return self.index, self.of, os.getpid(), self.seen

    def process_element1(self, value: Any, ctx: Any) -> Any:
        yield self.map(value)

    process_element2 = process_element1


class Counts(OneInputStreamOperator):
    def open(self, runtime_context: Any) -> None:
        self.records = 0

    def process_element(self, value: Any, ctx: Any) -> None:
        self.records += 1

    def end_input(self) -> None:
        self.output.collect(self.records)


class Mapped(Who, MapFunction):
    pass


class Token(MapFunction):
    """Emits which object it is."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.index = runtime_context.get_index_of_this_subtask()
        self.token = uuid.uuid4().hex

    def map(self, value: Any) -> Any:
        return self.index, self.token, value


class Both(Who, KeyedCoProcessFunction):
    pass


def numbers(env: Any) -> Any:
    return env.from_source(
        NumberSequenceSource(0, 99), WatermarkStrategy.no_watermarks(), "numbers"
    )


def key_of(number: int) -> int:
    return number % 10


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_operators_with_one_subtask_have_one_object(environment: Environment, mode: str) -> None:
    env = environment(mode)
    env.set_parallelism(2)
    stream = numbers(env)
    counted = stream.transform("counts", None, Counts()).set_parallelism(1)
    both = stream.key_by(key_of).connect(stream.key_by(key_of)).process(Both()).set_parallelism(1)
    whole = counted.map(lambda count: ("count", count)).union(both.map(lambda who: ("who", who)))
    with whole.execute_and_collect() as results:
        found = list(results)
    assert [value for kind, value in found if kind == "count"] == [100]
    whos = [value for kind, value in found if kind == "who"]
    assert {who[:2] for who in whos} == {(0, 1)}
    if mode == "batch":  # a subtask of a live run may move to another process
        assert sorted(seen for *_, seen in whos) == list(range(1, 201))


def test_a_batch_run_has_no_more_tasks_than_the_program_said(environment: Environment) -> None:
    env = environment("batch")
    env.set_parallelism(1)
    beside = numbers(env).map(Mapped())
    behind = beside.rebalance().map(Mapped())
    behind.sink_to(DiscardingSink())
    with beside.union(behind).execute_and_collect() as results:
        found = list(results)
    assert {who[:2] for who in found} == {(0, 1)}
    assert sorted(seen for *_, seen in found) == sorted([*range(1, 101), *range(1, 101)])


@pytest.mark.parametrize(("mode", "read"), [("batch", "files and numbers"), ("streaming", "files")])
def test_beside_sources_no_more_objects_than_subtasks(
    environment: Environment, tmp_path: Path, mode: str, read: str
) -> None:
    directory = tmp_path / "read"
    directory.mkdir()
    for number in range(5):
        (directory / f"{number}.txt").write_text(f"{number}\n")
    env = environment(mode)
    env.set_parallelism(2)
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(directory))
    files = env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "files")
    if read == "files and numbers":
        files = files.map(str).union(numbers(env).map(str))
    with files.map(Token()).execute_and_collect() as results:
        found = list(results)
    objects = {(index, token) for index, token, _ in found}
    assert len(found) >= 5
    # In one micro-batch: an object moves to another process only between two of them.
    assert sorted(index for index, _ in objects) == [0, 1]
