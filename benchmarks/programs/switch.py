"""`switch`: from the last record of history to the first live output, by the size of the state.

The history has every key once, so a switch hands over as many entries as there are records; the
live part is a micro-batch. `records/ms` are therefore entries per millisecond of the switch.
"""

from __future__ import annotations

from benchmarks.answers.reduce_records import expected, is_output
from benchmarks.model.program import Point
from benchmarks.model.shape import MIXED
from benchmarks.programs.pipeline import Pipeline, ours
from benchmarks.programs.reduce import build
from benchmarks.systems.pipeline_job import FIRST_OUTPUT
from penstock.config.options import STATE_BACKEND

NOTE = (
    "Seconds are from the end of the batch run to the first committed live records; the time of "
    "the whole job is in the details."
)

PROGRAM = Pipeline(
    name="switch",
    summary="from the last record of history to the first live output, at 10^5 to 10^7 keys",
    build=build,
    expected=expected,
    is_output=is_output,
    systems=(
        ours(MIXED, "hashmap", note=NOTE, by_default=True, **{STATE_BACKEND.key: "hashmap"}),
        ours(MIXED, "lmdb", note=NOTE, by_default=True, **{STATE_BACKEND.key: "lmdb"}),
    ),
    reference=f"penstock mixed {STATE_BACKEND.default}",
    records=1_000_000,
    keys=lambda records: records,
    points=tuple(Point(keys, keys) for keys in (100_000, 1_000_000, 10_000_000)),
    measured=FIRST_OUTPUT,
).program()
