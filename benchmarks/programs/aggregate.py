"""`aggregate`: a sum by key over an end-of-stream window."""

from __future__ import annotations

from typing import Any

from benchmarks.answers.aggregate_records import combine, expected, key_of, record_maker
from benchmarks.inputs.sources import generated
from benchmarks.model.shape import BATCH, STREAMING, Shape
from benchmarks.programs.pipeline import Pipeline, only_if_named, ours, peer
from benchmarks.programs.windows import STREAMING_NOTE, over_everything
from benchmarks.systems.flink_peers import flink_java
from penstock.datastream import DataStream, StreamExecutionEnvironment

RECORDS_PER_KEY = 100


def build(env: StreamExecutionEnvironment, shape: Shape) -> DataStream[Any]:
    """Return the sums."""
    keyed = generated(env, shape, record_maker(shape.keys)).key_by(key_of)
    sums: DataStream[Any] = over_everything(keyed, shape).reduce(combine, associative=True)
    return sums


PROGRAM = Pipeline(
    name="aggregate",
    summary="(i % (N/100), 1.0) summed by key over an end-of-stream window",
    build=build,
    expected=expected,
    systems=(
        ours(BATCH, note="Python lambdas; the generator is one of them."),
        ours(STREAMING, note=STREAMING_NOTE),
        peer(
            "map-in-arrow",
            "arrow.py",
            call="map",
            note="mapInArrow with the same lambda over columns Spark makes: combined before the "
            "shuffle, and merged.",
        ),
        peer("sql", "sql.py", note="groupBy(key).agg(sum): no Python at all."),
        *only_if_named(
            peer("apply-in-arrow", "arrow.py", call="apply", note="applyInArrow, a call per key."),
        ),
        *flink_java(),
    ),
    reference="penstock batch",
    records=10_000_000,
    keys=lambda records: max(1, records // RECORDS_PER_KEY),
).program()
