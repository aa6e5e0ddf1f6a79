"""Twenty DataStream programs whose fingerprints and uids never change.

A checkpoint directory and a savepoint find their state by these, so a program that runs today must have the
same tomorrow, wherever its operators are written then. To add a program, append it and run

    python -m tests.golden.programs

which refuses to change what is recorded.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from penstock.common import Configuration, Time, Types, WatermarkStrategy
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import (
    AsyncDataStream,
    AsyncFunction,
    CoMapFunction,
    DataStream,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapStateDescriptor,
    OutputTag,
    ProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
    col,
)
from penstock.datastream.window import (
    EndOfStreamWindows,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.plan.compat.fingerprint import fingerprint
from tests.runtime.jobs import by_time, history_then_live

RECORDED = Path(__file__).parent / "programs.json"
MODES = ("BATCH", "STREAMING", "MIXED")
RECORDS = [("a", 1, 10), ("b", 2, 20), ("a", 3, 30)]
TYPE = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])
ROW = Types.ROW_NAMED(["key", "n", "at"], [Types.STRING(), Types.LONG(), Types.LONG()])
SECOND = Time.seconds(1)
LATE = OutputTag("late", TYPE)
RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


def key(record: Any) -> Any:
    """Return the first field."""
    return record[0]


def later(_: Any, second: Any) -> Any:
    """Return the second record."""
    return second


class Count(KeyedProcessFunction):
    """Counts with a timer."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value


class Both(KeyedCoProcessFunction):
    """Passes both inputs."""

    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value

    def process_element2(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value


class Ruled(KeyedBroadcastProcessFunction):
    """Passes records beside rules."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put(value[0], value[1])


class Aside(ProcessFunction):
    """Emits to a side output."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield LATE, value


class Numbered(ProcessWindowFunction):
    """Counts a window."""

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        yield key, len(list(elements))


class Pair(ProcessJoinFunction):
    """Pairs two records."""

    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterator[Any]:
        yield left, right


class Swap(CoMapFunction):
    """Passes both inputs."""

    def map1(self, value: Any) -> Any:
        return value

    def map2(self, value: Any) -> Any:
        return value


class Ask(AsyncFunction):
    """Answers at once."""

    async def async_invoke(self, value: Any) -> list[Any]:
        return [value]


class World:
    """The sources of a program."""

    def __init__(self, env: StreamExecutionEnvironment) -> None:
        self.env = env

    def records(self, name: str = "records") -> DataStream[Any]:
        """Return history, then live records, with timestamps."""
        made = history_then_live(RECORDS, RECORDS)
        return (
            self.env.from_source(made, by_time(), name).map(tuple, output_type=TYPE).name("typed")
        )

    def keyed(self, name: str = "records") -> Any:
        """Return these by key."""
        return self.records(name).key_by(key)

    def rows(self, name: str = "rows") -> DataStream[Any]:
        """Return these as rows."""
        none = WatermarkStrategy.no_watermarks()
        stream = self.env.from_source(history_then_live(RECORDS, RECORDS), none, name)
        return stream.map(lambda r: r, output_type=ROW).name("rows of")


def _side_output(world: World) -> Any:
    main = world.keyed().process(Count(), TYPE).process(Aside(), TYPE)
    return main.union(main.get_side_output(LATE))


def _own_uids(world: World) -> Any:
    counted = world.keyed().process(Count()).uid("count").name("counted")
    return counted.key_by(key).sum(1).uid("total")


def _branches(world: World) -> Any:
    records = world.keyed()
    return records.sum(1).union(records.max(1), records.reduce(later))


def _broadcast(world: World) -> Any:
    rules = world.records("rules").broadcast(RULES)
    return world.keyed().connect(rules).process(Ruled())


def _joined(world: World) -> Any:
    made = world.records("left").join(world.records("right")).where(key).equal_to(key)
    return made.window(TumblingEventTimeWindows.of(SECOND)).apply(lambda a, b: (a, b))


def _co_grouped(world: World) -> Any:
    made = world.records("left").co_group(world.records("right")).where(key).equal_to(key)
    return made.window(EndOfStreamWindows.get()).apply(lambda a, b: [(list(a), list(b))])


def _interval_join(world: World) -> Any:
    made = world.keyed("left").interval_join(world.keyed("right"))
    return made.between(Time.seconds(-1), SECOND).process(Pair())


def _unchained(world: World) -> Any:
    made = world.records().map(lambda r: r).disable_chaining().rebalance().filter(bool)
    return made.set_parallelism(3).start_new_chain().shuffle().map(lambda r: r)


def _windows(world: World) -> Any:
    sliding = SlidingEventTimeWindows.of(Time.seconds(10), SECOND)
    session = EventTimeSessionWindows.with_gap(SECOND)
    return (
        world.keyed()
        .window(sliding)
        .side_output_late_data(LATE)
        .process(Numbered())
        .union(world.keyed("others").window(session).process(Numbered()))
    )


PROGRAMS: dict[str, Callable[[World], Any]] = {
    "map-filter": lambda w: w.records().map(lambda r: r).filter(bool).flat_map(lambda r: [r]),
    "sum": lambda w: w.keyed().sum(1),
    "reduce": lambda w: w.keyed().reduce(later),
    "max-by": lambda w: w.keyed().max_by(1),
    "process": lambda w: w.keyed().process(Count()),
    "own-uids": _own_uids,
    "branches": _branches,
    "side-output": _side_output,
    "tumbling": lambda w: w.keyed().window(TumblingEventTimeWindows.of(SECOND)).reduce(later),
    "windows": _windows,
    "count-window": lambda w: w.keyed().count_window(3).reduce(later),
    "end-of-stream": lambda w: w.keyed().window(EndOfStreamWindows.get()).process(Numbered()),
    "connect": lambda w: w.keyed("a").connect(w.keyed("b")).process(Both()),
    "co-map": lambda w: w.records("a").connect(w.records("b")).map(Swap()),
    "broadcast": _broadcast,
    "window-join": _joined,
    "co-group": _co_grouped,
    "interval-join": _interval_join,
    "async": lambda w: AsyncDataStream.unordered_wait(w.records(), Ask(), SECOND),
    "unchained": _unchained,
    "columns": lambda w: w.rows().where(col.n > 1).key_by(col.key).sum("n"),
}


def identity(name: str, mode: str) -> dict[str, Any]:
    """Return what state of a program is found by."""
    settings = {"execution.runtime-mode": mode, "parallelism.default": "2"}
    if mode == "MIXED":
        settings |= {
            "execution.runtime-mode": "STREAMING",
            "execution.checkpointing.interval-during-backlog": "0",
        }
    if mode == "BATCH":
        settings |= {"execution.batch.combine": "false"}
    configuration = Configuration.from_dict(settings)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    PROGRAMS[name](World(env)).sink_to(DiscardingSink()).name("out")
    plan = env.plan()
    uids = [operator.uid for level in plan.levels for operator in level.operators]
    return {"fingerprint": fingerprint(plan), "uids": uids}


def identities() -> dict[str, Any]:
    """Return those of all programs, in all modes that they allow."""
    return {f"{name} {mode}": identity(name, mode) for name in PROGRAMS for mode in MODES}


def main() -> None:
    """Add what is not recorded yet."""
    known = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    RECORDED.write_text(json.dumps({**identities(), **known}, indent=1) + "\n")


if __name__ == "__main__":
    main()
