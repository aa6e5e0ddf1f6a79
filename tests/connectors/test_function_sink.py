"""Sinks that are functions: calls, life cycle, failures."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.connectors.python.function_sink import DiscardingSink, FunctionSink
from penstock.datastream.functions import SinkFunction
from penstock.errors import ArgumentError, UserFunctionError
from tests.connectors.conftest import MakeContext
from tests.runtime.jobs import STREAMING, environment


class Log(SinkFunction):
    def __init__(self) -> None:
        self.calls: list[Any] = []

    def open(self, runtime_context: Any) -> None:
        self.calls.append(("open", runtime_context.get_index_of_this_subtask()))

    def invoke(self, value: Any, context: Any) -> None:
        assert context.current_processing_time() > 0
        assert context.timestamp() is None
        self.calls.append(value)

    def close(self) -> None:
        self.calls.append("close")


def test_an_object_is_opened_called_in_order_and_closed(make_context: MakeContext) -> None:
    log = Log()
    writer = FunctionSink(log, is_object=True).create_writer(make_context(subtask=3))
    writer.write([1, 2])
    writer.write([3])
    assert writer.prepare_commit() == []
    assert log.calls == [("open", 3), 1, 2, 3, "close"]


def test_it_is_closed_when_the_task_fails(make_context: MakeContext) -> None:
    log = Log()
    FunctionSink(log, is_object=True).create_writer(make_context()).abort()
    assert log.calls[-1] == "close"


def test_a_failure_names_the_record_and_the_users_line(make_context: MakeContext) -> None:
    context = make_context()
    writer = FunctionSink(lambda value: 1 // value, is_object=False).create_writer(context)
    with pytest.raises(UserFunctionError, match=r"record 0 \(number 3\)") as caught:
        writer.write([1, 2, 0])
    assert caught.value.origin is not None
    assert caught.value.origin.filename == __file__  # the line that raised, not the sink's


def test_a_record_in_the_message_is_cut(make_context: MakeContext) -> None:
    writer = FunctionSink(lambda _: 1 // 0, is_object=False).create_writer(make_context())
    with pytest.raises(UserFunctionError) as caught:
        writer.write(["x" * 10_000])
    assert len(caught.value.problem) < 1000


def test_add_sink_takes_functions_objects_and_sinks() -> None:
    env = environment(STREAMING)
    stream = env.from_collection([1])
    for sink in (print, Log(), DiscardingSink()):
        stream.add_sink(sink)
    kinds = [type(planned.sink) for planned in env.plan().sinks]
    assert kinds == [FunctionSink, FunctionSink, DiscardingSink]


@pytest.mark.parametrize("wrong", [3, Log])
def test_add_sink_refuses_other_things(wrong: Any) -> None:
    with pytest.raises(ArgumentError):
        environment(STREAMING).from_collection([1]).add_sink(wrong)
