"""`scale`: `reduce` at 10^6, 10^7 and 10^8 records with a tenth as many keys, on one core and two."""

from __future__ import annotations

from benchmarks.answers.reduce_records import expected, is_output
from benchmarks.model.program import Point
from benchmarks.model.shape import BATCH, MIXED
from benchmarks.programs.pipeline import Pipeline, only_if_named, ours
from benchmarks.programs.reduce import build

RECORDS_PER_KEY = 10
CORES = 2
SIZES = (1_000_000, 10_000_000, 100_000_000)

PROGRAM = Pipeline(
    name="scale",
    summary="reduce with N = 10^6, 10^7, 10^8 and K = N/10: throughput and memory, 1 and 2 cores",
    build=build,
    expected=expected,
    is_output=is_output,
    systems=(
        ours(BATCH, note="As in reduce; a point at a time, each in processes of its own."),
        *only_if_named(ours(MIXED)),
    ),
    reference="penstock batch",
    records=SIZES[1],
    keys=lambda records: max(1, records // RECORDS_PER_KEY),
    points=(
        *(Point(records, None, CORES) for records in SIZES),
        Point(SIZES[1], None, 1),
    ),
).program()
