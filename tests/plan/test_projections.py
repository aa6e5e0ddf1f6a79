"""Which aggregates of columns Spark SQL finishes, and what is left of the programs of the levels then.

Catches: state that a later run needs and nobody writes, parts of a key that are not all there, windows of several panes, keys that
only workers refuse, results that skip an operator, a level without work that still has its exchange.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.common import Configuration, Time, Types, WatermarkStrategy
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import StreamExecutionEnvironment, col
from penstock.datastream.connectors import FileSource, HybridSource
from penstock.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows
from penstock.plan.physical import HandOver, PhysicalPlan
from penstock.plan.placement.expressions import with_projections
from penstock.plan.programs import programs_of
from penstock.program.channel import SINK_LEVEL
from penstock.program.level import LevelProgram
from penstock.types import RowTypeInfo

BATCH = {"execution.runtime-mode": "BATCH"}
MIXED = {
    "execution.runtime-mode": "STREAMING",
    "execution.checkpointing.interval-during-backlog": "0",
}
RECORD = Types.ROW_NAMED(
    ["k", "x", "at", "real"], [Types.STRING(), Types.LONG(), Types.LONG(), Types.DOUBLE()]
)
TIMED = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(col.at)


def files(env: Any, parts: int = 1, strategy: Any = None) -> Any:
    source: Any = FileSource.parquet("rows", RECORD)
    for number in range(1, parts):
        source = (
            HybridSource.builder(source)
            .add_source(FileSource.parquet(f"rows-{number}", RECORD))
            .build()
        )
    return env.from_source(source, strategy or WatermarkStrategy.no_watermarks(), "rows")


def counted(env: Any, parts: int = 1, key: str = "k") -> Any:
    return (
        files(env, parts)
        .where(col.x > 0)
        .key_by(col[key])
        .aggregate(n=col.count(), mean=col.x.mean())
    )


def windowed(env: Any, windows: Any) -> Any:
    return (
        files(env, strategy=TIMED)
        .key_by(col.k)
        .window(windows)
        .aggregate(col.window_end, n=col.count())
    )


def to_a_sink(env: Any) -> None:
    counted(env).sink_to(DiscardingSink())


def to_two_sinks(env: Any) -> None:
    made = counted(env)
    made.sink_to(DiscardingSink())
    made.sink_to(DiscardingSink())


def to_a_function(env: Any) -> None:
    counted(env).map(lambda row: row).sink_to(DiscardingSink())


def to_a_key(env: Any) -> None:
    counted(env).key_by(col.n).aggregate(keys=col.count()).sink_to(DiscardingSink())


def of_two_parts(env: Any) -> None:
    counted(env, parts=2).sink_to(DiscardingSink())


def by_a_float(env: Any) -> None:
    counted(env, key="real").sink_to(DiscardingSink())


def of_tumbling_windows(env: Any) -> None:
    windowed(env, TumblingEventTimeWindows.of(Time.seconds(1))).sink_to(DiscardingSink())


def of_sliding_windows(env: Any) -> None:
    windows = SlidingEventTimeWindows.of(Time.seconds(2), Time.seconds(1))
    windowed(env, windows).sink_to(DiscardingSink())


def planned(program: Callable[[Any], None], settings: dict[str, str]) -> PhysicalPlan:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    program(env)
    return env.plan()


def programs(plan: PhysicalPlan) -> tuple[LevelProgram, ...]:
    run = plan.runs[0]
    made = programs_of(
        plan, run, tasks=2, max_frame_records=100, handed=HandOver(), job_parameters={}
    )
    return with_projections(plan, run, made)


@pytest.mark.parametrize(
    ("program", "is_finished"),
    [
        (to_a_sink, True),
        (to_two_sinks, True),
        (to_a_function, False),
        (to_a_key, False),
        (of_two_parts, False),
        (by_a_float, False),
        (of_tumbling_windows, True),
        (of_sliding_windows, False),
    ],
)
def test_results_are_those_of_spark_sql_if_nothing_else_needs_parts(
    program: Callable[[Any], None], *, is_finished: bool
) -> None:
    plan = planned(program, BATCH)
    (first, *_) = plan.projections
    assert first.merged_for is not None
    assert first.is_finished is is_finished
    assert ("with the results" in str(plan.decisions)) is is_finished


def test_state_of_a_later_run_is_made_by_workers() -> None:
    def hybrid(env: Any) -> None:
        of_two_parts(env)

    plan = planned(hybrid, MIXED)
    assert [each.is_finished for each in plan.projections] == [False]


@pytest.mark.parametrize("program", [to_a_sink, to_two_sinks, of_tumbling_windows])
def test_what_spark_sql_finishes_is_one_level_from_columns_to_sinks(
    program: Callable[[Any], None],
) -> None:
    plan = planned(program, BATCH)
    (level,) = programs(plan)
    (source,) = plan.sources
    assert level.operators == ()
    assert level.source_copies == {}
    assert "copy" not in str(plan.decisions)
    assert [c.target_level for c in level.outputs] == [SINK_LEVEL] * len(plan.sinks)
    assert level.source_channels[source.id] == tuple(c.id for c in level.outputs)
    assert level.source_operators[source.id] == ()
    computed = level.computed_sources[source.id]
    names = ["k", "n", "mean"] if program is not of_tumbling_windows else ["k", "window_end", "n"]
    assert isinstance(computed.type_info, RowTypeInfo)
    assert sorted(computed.type_info.field_names) == sorted(names)
    assert (computed.timestamps is not None) is (program is of_tumbling_windows)


def test_other_levels_stay() -> None:
    assert [level.level for level in programs(planned(to_a_function, BATCH))] == [0, 1]


def test_what_spark_sql_has_merged_is_not_merged_again() -> None:
    for program, is_merged in (
        (to_a_function, True),
        (of_sliding_windows, True),
        (of_two_parts, False),
    ):
        first, second = programs(planned(program, BATCH))
        folds = [c.fold for c in (*first.outputs, *second.inputs) if c.fold is not None]
        assert [fold.is_merged for fold in folds] == [is_merged] * 2
        (reader,) = (op for op in second.operators if op.folding is not None)
        assert reader.folding is not None
        assert reader.folding.is_merged is is_merged


def with_a_function(env: Any) -> None:
    counted(env, parts=2).map(lambda row: row).sink_to(DiscardingSink())


def by_the_count(env: Any) -> None:
    counted(env, parts=2).key_by(col.n).aggregate(keys=col.count()).sink_to(DiscardingSink())


def of_windows(env: Any) -> None:
    windows = TumblingEventTimeWindows.of(Time.seconds(1))
    stream = files(env, 2, TIMED).key_by(col.k).window(windows)
    stream.aggregate(n=col.count()).sink_to(DiscardingSink())


@pytest.mark.parametrize(
    ("program", "is_local"),
    [(of_two_parts, True), (with_a_function, False), (by_the_count, False), (of_windows, False)],
)
def test_state_is_made_where_spark_sql_has_merged_if_only_sinks_follow(
    program: Callable[[Any], None], *, is_local: bool
) -> None:
    assert [level.is_local for level in programs(planned(program, MIXED))][:2] == [False, is_local]
