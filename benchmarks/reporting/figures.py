"""The figures to reach, as a table; a figure with several parts has several rows."""

from __future__ import annotations

from benchmarks.reporting.judging import (
    Cores,
    Figure,
    Growth,
    Latency,
    MemoryGrowth,
    Reported,
    Seconds,
    Throughput,
)
from penstock.config.options import STATE_BACKEND

_PYFLINK = ("pyflink-process", "pyflink-thread")
_MIXED, _BATCH, _STREAMING = "penstock mixed", "penstock batch", "penstock streaming"
_SQL_MIXED, _COLUMNS_MIXED = "penstock mixed sql", "penstock mixed columns"
_LATEST = f"{_MIXED} latest"
"""As many results of history as BATCH gives, and as the runs of FLIP-327's own benchmark."""
_UNCUT = f"{_STREAMING} uncut"
_WORKERS = "workers"
_ROCKSDB, _JAVA_BATCH = "flink-java-rocksdb", "flink-java-batch"
_JAVA = ("flink-java-heap", _JAVA_BATCH)
_COLUMNS = f"penstock {STATE_BACKEND.default} expressions"


def _over(
    id: str,  # noqa: A002 - as in the list of figures
    program: str,
    goal: float,
    *against: str,
    of: str | None = None,
    keys: int | None = None,
    records: int | None = None,
) -> Throughput:
    return Throughput(
        id=id, program=program, goal=goal, against=against, of=of, keys=keys, records=records
    )


FIGURES: tuple[Figure, ...] = (
    _over("R1", "reduce", 0.9, _BATCH, of=_LATEST),
    _over("R1", "reduce", 3.0, _STREAMING, of=_LATEST),
    _over("R1", "reduce", 3.0, _STREAMING, of=_MIXED),
    _over("R1", "reduce", 50.0, "tws-row", of=_MIXED, keys=1_000_000),
    _over("R1", "reduce", 10.0, "tws-row", of=_MIXED, keys=1_000),
    _over("R1", "reduce", 20.0, *_PYFLINK, of=_MIXED),
    _over("R1", "reduce", 1.5, _ROCKSDB, of=_MIXED),
    _over("R1", "reduce", 1.0, "rdd", of=_BATCH),
    _over("R1", "reduce", 1.0, _JAVA_BATCH, of=_BATCH),
    _over("R2", "co-group", 5.0, _ROCKSDB, of=_BATCH),
    _over("R2", "co-group", 1.0, _JAVA_BATCH, of=_BATCH),
    _over("R2", "co-group", 3.0, "rdd", of=_BATCH),
    _over("R2", "co-group", 5.0, _STREAMING, of=_BATCH),
    _over("R3", "aggregate", 5.0, _ROCKSDB, of=_BATCH),
    _over("R3", "aggregate", 1.0, _JAVA_BATCH, of=_BATCH),
    _over("R3", "aggregate", 1.0, "map-in-arrow", of=_BATCH),
    _over("R4", "live-state", 20.0, "tws-row", keys=200_000),
    _over("R4", "live-state", 1.0, "sql", "sql-memory", keys=200_000),
    _over("R5", "booleans", 1.2, f"{_STREAMING} on", of=f"{_STREAMING} off", records=10**6),
    _over("R5", "booleans", 1.2, f"{_STREAMING} on", of=f"{_STREAMING} off", records=10**7),
    _over("R5", "word-count", 1.02, f"{_STREAMING} on", of=f"{_STREAMING} off"),
    _over("R5", "word-count", 1.0, f"{_STREAMING} on reuse", of=f"{_STREAMING} off reuse"),
    _over("R6", "object-reuse", 0.95, f"{_STREAMING} reuse", of=f"{_STREAMING} default"),
    _over("R6", "object-reuse", 3.0, f"{_STREAMING} conservative", of=f"{_STREAMING} default"),
    Reported(
        id="R7",
        program="coded-join",
        goal=0.7,
        name="state_over_slots",
        what="log and snapshot / the same with rows in slots of 8 bytes",
    ),
    _over("R7", "coded-join", 1.0, "penstock off lmdb", of="penstock on lmdb"),
    Latency(id="R8", program="latency", goal=0.4, against=("spark-empty",)),
    Latency(id="R8", program="latency", goal=1.0, against=_PYFLINK),
    Latency(id="R15", program="isolation", goal=2.0, against=("penstock alone",)),
    Latency(id="R15", program="isolation", goal=2.0, against=("penstock alone",), quantile="p99"),
    Seconds(id="R16", program="cold", goal=5.0, of="penstock batch"),
    Seconds(id="R16", program="cold", goal=7.0, of="penstock live"),
    Growth(id="R9", program="scale", goal=0.9),
    MemoryGrowth(id="R9", program="scale", goal=1.2),
    Cores(id="R9", program="scale", goal=1.7),
    MemoryGrowth(id="R17", program="delayed-deploy", goal=1.3, role=_WORKERS),
    MemoryGrowth(
        id="R17", program="delayed-deploy", goal=2.0, of=_UNCUT, role=_WORKERS, at_most=False
    ),
    _over("R10", "reduce", 0.5, "loop", of=_BATCH, keys=1_000),
    _over("R10", "reduce", 0.25, "loop", of=_BATCH, keys=1_000_000),
    _over("R11", "expressions", 0.7, "sql-files", of=_BATCH),
    _over("R11", "expressions", 0.7, "sql", of=f"{_BATCH} frame"),
    # Flink computes its records, as `sql` does, and reads no files.
    _over("R11", "expressions", 1.5, *_JAVA, of=f"{_BATCH} frame"),
    _over("R11", "expressions", 0.8, _BATCH, of=_LATEST),
    _over("R12", "live-state", 2.0, "sql", "sql-memory", of=_COLUMNS),
    _over("R12", "live-state", 1.0, _ROCKSDB, of=_COLUMNS),
    _over("R13", "map-batches", 0.9, "map-in-arrow", of=_BATCH),
    _over("R13", "window-expressions", 0.7, "sql-files", of=_BATCH),
    _over("R13", "dataframe", 0.9, "sql-files"),
    *(
        figure
        for name in ("sql-group-by", "sql-tumble", "sql-hop", "sql-top-n")
        for figure in (
            _over("R19", name, 0.9, _COLUMNS_MIXED, of=_SQL_MIXED),
            _over("R19", name, 0.6, "sql-files", of=_SQL_MIXED),
        )
    ),
    _over("R14", "kafka", 2.0, *_PYFLINK, of=_STREAMING),
    _over("R14", "kafka-sink", 1.0, *(f"{each} exactly-once" for each in _PYFLINK)),
)
