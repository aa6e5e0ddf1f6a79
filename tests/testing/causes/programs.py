"""Small programs with one function of the user's, and those of examples and cookbook as graphs."""

from __future__ import annotations

import importlib
import linecache
import re
from collections.abc import Callable, Iterator
from typing import Any

from examples.results import written
from penstock.common import Duration, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DiscardingSink
from penstock.graph.logical import LogicalGraph
from penstock.testing.causes import Cause, find_causes
from tools.site.outputs import COOKBOOK

BY_TIME = WatermarkStrategy.for_bounded_out_of_orderness(
    Duration.of_seconds(1)
).with_timestamp_assigner(lambda record, _: record[1])
ORDERS = [("ann", 1_000, 0.5), ("bob", 2_000, 1.5), ("ann", 3_000, 2.5)]
ORDER = Types.TUPLE([Types.STRING(), Types.LONG(), Types.DOUBLE()])

_RECIPE = re.compile(
    r"^## (?P<title>[^\n]+)\n(?:(?!^## ).)*?^```python\n(?P<program>.*?)^```",
    re.DOTALL | re.MULTILINE,
)


def orders(env: StreamExecutionEnvironment) -> Any:
    """Return a stream of orders: (customer, time, amount)."""
    return env.from_collection(ORDERS, ORDER).assign_timestamps_and_watermarks(BY_TIME)


def keyed(env: StreamExecutionEnvironment) -> Any:
    """Return the orders by customer."""
    return orders(env).key_by(lambda order: order[0])


def causes_of(build: Callable[[StreamExecutionEnvironment], Any]) -> tuple[Cause, ...]:
    """Return the causes of a program with one stream, which goes to a sink."""
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env).sink_to(DiscardingSink())
    return find_causes(env.plan().graph)


def accused(causes: tuple[Cause, ...]) -> set[str]:
    """Return the codes of causes that change answers over any records."""
    return {cause.code for cause in causes if not cause.is_possible}


def possible(causes: tuple[Cause, ...]) -> set[str]:
    """Return the codes of causes that change answers over some records."""
    return {cause.code for cause in causes if cause.is_possible}


class _Built(Exception):  # noqa: N818 - it ends a program
    """The program has built its environment."""


def graph_of_text(program: str, name: str) -> LogicalGraph:
    """Return the graph of the first job of a program, whose lines messages can show."""
    linecache.cache[name] = (len(program), None, program.splitlines(keepends=True), name)
    before = StreamExecutionEnvironment.execute

    def execute(env: StreamExecutionEnvironment, job_name: str | None = None) -> Any:
        raise _Built(env)

    StreamExecutionEnvironment.execute = execute  # type: ignore[method-assign,assignment]
    try:
        exec(compile(program, name, "exec"), {"__name__": "recipe"})  # noqa: S102 - our own documentation
    except _Built as built:
        env: StreamExecutionEnvironment = built.args[0]
        return env.plan().graph
    finally:
        StreamExecutionEnvironment.execute = before  # type: ignore[method-assign]
    raise AssertionError(f"{name} executes no job")


def recipes() -> Iterator[tuple[str, str]]:
    """Yield the programs of the cookbook that execute a job, with their titles."""
    for page in sorted(COOKBOOK.glob("*.md")):
        for found in _RECIPE.finditer(page.read_text(encoding="utf-8")):
            if "env.execute(" in found["program"]:
                yield f"{page.stem}: {found['title']}", found["program"]


def graph_of_example(name: str) -> LogicalGraph:
    """Return the graph of a program of `examples`."""
    env = StreamExecutionEnvironment.get_execution_environment()
    for title, result in importlib.import_module(f"examples.{name}").build(env).items():
        written(title, result, DiscardingSink())
    return env.plan().graph
