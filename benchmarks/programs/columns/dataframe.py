"""`dataframe`: expressions between a DataFrame and a DataFrame, which Spark alone computes too.

Both systems write the rows to Spark's `noop` sink. Ours builds the program and asks for its DataFrame in each round.
"""

from __future__ import annotations

from benchmarks.answers.reduce_records import expected
from benchmarks.inputs.record_files import write_record_files
from benchmarks.model.program import BenchSystem, Point
from benchmarks.model.shape import BATCH
from benchmarks.programs.columns.expressions import build
from benchmarks.programs.pipeline import Pipeline, peer
from benchmarks.systems.launch import peer_script

RECORDS = 10_000_000

PROGRAM = Pipeline(
    name="dataframe",
    summary="from_dataframe, an aggregate of columns, to_dataframe: (key, v) to (key, greatest v, count)",
    build=build,
    expected=expected,
    systems=(
        BenchSystem(
            name="penstock dataframe",
            command=peer_script("dataframe.py"),
            is_peer=False,
            mode=BATCH,
            note="from_dataframe(df).key_by(col.key).aggregate(max, count).to_dataframe(), in the session of sql-files.",
        ),
        peer(
            "sql-files", "sql.py", input="files", note="groupBy(key).agg(max, count) of the files."
        ),
    ),
    reference="penstock dataframe",
    records=RECORDS,
    keys=1000,
    points=(Point(RECORDS, 1000), Point(RECORDS, 1_000_000)),
    write_input=write_record_files,
).program()
