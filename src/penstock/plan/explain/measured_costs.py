"""Measured costs: the table of `penstock plan --estimate`.

Memory of things is what `python -m benchmarks.memory_cost --count 400000` printed, with the change log that a
harness keeps. The other sizes and all times are read off the newest results of the benchmarks, whose memory and time
`python -m benchmarks.estimate_check` compares with estimates.
"""

from __future__ import annotations

from dataclasses import dataclass

_MIB = 1 << 20

MEASURED_BYTES: dict[str, int] = {
    "value state of a key": 249,
    "entry of a map state": 120,
    "entry of a list state": 54,
    "timer": 352,
    "open window of a key": 802,
    "open Parquet file": 45_763,
}
"""Thing to its bytes in a worker with the `hashmap` backend: keys are integers, values two of them."""


@dataclass(frozen=True, slots=True)
class ProcessBytes:
    """Memory of processes, and of what passes through them.

    Attributes:
        driver: The driver.
        jvm: The JVM of a local session, before records.
        heap: What it may come to have beside that.
        worker: A Python worker, before records.
        workers_per_slot: Workers alive per slot of a batch run: of the level at work, of the one before, and of sinks.
        live_workers_per_slot: The same of a live run, whose levels are in one worker.
        exchanged: A record that is sorted by the JVM.
        buffered: A record of a micro-batch, in the workers that have it.
        combining: The most that a task takes for combining records before an exchange.
    """

    driver: int = 137 * _MIB
    jvm: int = 560 * _MIB
    heap: int = 1500 * _MIB
    worker: int = 150 * _MIB
    workers_per_slot: int = 3
    live_workers_per_slot: int = 1
    exchanged: int = 130
    buffered: int = 300
    combining: int = 256 * _MIB


@dataclass(frozen=True, slots=True)
class RecordMicroseconds:
    """Time of a slot that a record takes, Spark's share included.

    Attributes:
        read: Being read from a source.
        call: A call of a user's function that is chained, which itself does next to nothing.
        combine: Being combined with others of its key before the exchange.
        exchange: Being sent by key, and read again.
        fold_batch: A keyed fold, such as a sum, in a batch run.
        window_batch: A keyed window in a batch run.
        function_batch: A function that is called per record with state, in a batch run.
        fold_live: A keyed fold or window in a live run.
        function_live: A function that is called per record with state, in a live run.
        many_keys: What comes to a keyed operator whose keys do not fit in the cache of the processor, at a million: in a batch run.
        more_keys: What comes to that with ten times as many keys, and again: they are spilled, and merged.
        many_keys_live: The same in a live run, where what changed is logged.
        many: From so many keys on.
        start_seconds: What a warm job needs beside its records.
    """

    read: float = 0.1
    call: float = 0.1
    combine: float = 0.25
    exchange: float = 0.8
    fold_batch: float = 0.6
    window_batch: float = 2.5
    function_batch: float = 2.0
    fold_live: float = 0.4
    function_live: float = 2.5
    many_keys: float = 0.9
    more_keys: float = 0.5
    many_keys_live: float = 3.0
    many: int = 300_000
    start_seconds: float = 0.4


PROCESS_BYTES = ProcessBytes()
RECORD_MICROSECONDS = RecordMicroseconds()
