"""`reduce`: a rolling reduce by key. 10^7 tuples of a generator, results dropped."""

from __future__ import annotations

from typing import Any

from benchmarks.answers.reduce_records import combine, expected, is_output, key_of, record_maker
from benchmarks.inputs.sources import generated
from benchmarks.model.program import Point
from benchmarks.model.shape import BATCH, MIXED, STREAMING, Shape
from benchmarks.programs.pipeline import Pipeline, all_modes, only_if_named, ours, peer
from benchmarks.systems.flink_peers import flink_java, pyflink
from benchmarks.systems.watcher import WATCHED
from penstock.datastream import DataStream, StreamExecutionEnvironment

RECORDS = 10_000_000
MANY_KEYS = 1_000_000
FEW_KEYS = 1000

_LATEST: dict[str, Any] = {"pipeline.backlog.output": "latest"}


def build(env: StreamExecutionEnvironment, shape: Shape) -> DataStream[Any]:
    """Return the rolling results."""
    return (
        generated(env, shape, record_maker(shape.keys))
        .key_by(key_of)
        .reduce(combine, associative=True)
    )


PROGRAM = Pipeline(
    name="reduce",
    summary="keyed rolling reduce: (v % K, v, 1) to (key, greatest v, count), K = 10^3 and 10^6",
    build=build,
    expected=expected,
    is_output=is_output,
    systems=(
        *all_modes("Python lambdas; the generator is one of them. MIXED adds the live records."),
        ours(
            MIXED,
            "latest",
            note="Gives of history the last result of each key, as BATCH does, and as the "
            "operator did that FLIP-327 was measured with; MIXED alone gives all, as STREAMING.",
            **_LATEST,
        ),
        peer(
            "loop",
            "loop.py",
            note="One process per core with a plain dict and the same lambda "
            "over its keys' records, which are in memory already: no engine at all.",
        ),
        peer(
            "rdd",
            "rdd.py",
            note="sc.range(N).map(same lambda).reduceByKey(same lambda): combines "
            "before the shuffle.",
        ),
        peer("sql", "sql.py", note="range(N) and groupBy(key).agg(max, sum): no Python at all."),
        peer(
            "tws-row",
            "tws_row.py",
            mode=STREAMING,
            is_slow=True,
            max_keys=MANY_KEYS,
            note="transformWithState with Rows, one call per key and micro-batch. Micro-batches "
            "of up to 1,000,000 records, as ours; fewer records, see slow-records.",
        ),
        *only_if_named(
            ours(
                BATCH,
                "watched",
                note="With its page open, and its metrics asked for every five seconds.",
                **WATCHED,
            ),
            peer(
                "tws-pandas",
                "tws_pandas.py",
                mode=STREAMING,
                is_slow=True,
                max_keys=MANY_KEYS,
                note="transformWithStateInPandas with the same lambda over the rows of a DataFrame, "
                "one call per key and micro-batch. Records and micro-batches as tws-row.",
            ),
            peer(
                "pandas-with-state",
                "pandas_with_state.py",
                mode=STREAMING,
                is_slow=True,
                max_keys=MANY_KEYS,
                note="applyInPandasWithState with the same lambda over the rows of a DataFrame, "
                "one call per key and micro-batch. Records and micro-batches as tws-row.",
            ),
            peer(
                "map-in-arrow",
                "arrow.py",
                call="map",
                note="mapInArrow with the same lambda: combined before the shuffle, and merged.",
            ),
            peer(
                "apply-in-arrow",
                "arrow.py",
                call="apply",
                max_keys=FEW_KEYS,
                note="groupBy(key).applyInArrow with the same lambda, one call per key.",
            ),
        ),
        *pyflink(),
        *flink_java(),
    ),
    reference="penstock mixed",
    records=RECORDS,
    keys=FEW_KEYS,
    points=(Point(RECORDS, FEW_KEYS), Point(RECORDS, MANY_KEYS)),
).program()
