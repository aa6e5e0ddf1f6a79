"""Expected time and memory of a plan for numbers of records and keys: arithmetic over measured costs.

    time      records x what a record costs at each operator, over the slots
    memory    driver + JVM + workers + state; a worker of a slot comes to have the state of all subtasks

The cost of the user's functions is unknown: they count as next to nothing. It is for "minutes or hours, two gigabytes or
twenty", on a machine like that of the benchmarks; the tests hold it to a factor of two of their runs.

The measured costs are the table of `penstock plan --estimate`. Memory of things is what
`python -m benchmarks.memory_cost --count 400000` printed, with the change log that a harness keeps. The other
sizes and all times are read off the newest results of the benchmarks, whose memory and time
`python -m benchmarks.estimate_check` compares with estimates.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.plan.physical import PhysicalPlan, RunPlan
from penstock.program.fold import FoldPlan, Place
from penstock.program.level import OperatorSpec
from penstock.program.operator_kind import Emit, StateUse
from penstock.program.run_settings import RunKind

MEASURED_BYTES: dict[str, int] = {
    "value state of a key": 249,
    "entry of a map state": 120,
    "entry of a list state": 54,
    "timer": 352,
    "open window of a key": 802,
    "open Parquet file": 45_763,
}
"""Thing to its bytes in a worker with the `hashmap` backend: keys are integers, values two of them."""


_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class ProcessBytes:
    """Memory of processes, and of what passes through them.

    Attributes:
        jvm: The JVM of a local session, before records.
        heap: Further memory that it may take.
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
        many_keys: Additional cost of a keyed operator whose keys do not fit in the cache of the processor, at a million: in a batch run.
        more_keys: Additional cost with ten times as many keys, and again: they are spilled, and merged.
        many_keys_live: The same in a live run, where what changed is logged.
        many: From so many keys on.
        start_seconds: Time of a warm job beside its records.
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


_MICRO_BATCH_RECORDS = 1_000_000
"""The default of `execution.live.max-records-per-batch`."""
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Estimate:
    """Expected time and memory of a job.

    Attributes:
        records: Records of its history, or of its input if it has none.
        slots: Tasks at a time.
        seconds: To read all records, in a warm session.
    """

    records: int
    keys: int
    slots: int
    seconds: float
    driver_bytes: int
    jvm_bytes: int
    worker_bytes: int
    state_bytes: int

    @property
    def memory_bytes(self) -> int:
        """All of it."""
        return self.driver_bytes + self.jvm_bytes + self.worker_bytes + self.state_bytes


def estimate(plan: PhysicalPlan, records: int, keys: int) -> Estimate:
    """Return what a plan is expected to take with the `hashmap` backend in a local session."""
    run = plan.runs[0]
    is_batch = run.kind is RunKind.BATCH
    slots = plan.options.parallelism
    operators = [operator for level in plan.levels for operator in level.operators]
    folds = _folds(plan, run)
    exchanged = _exchanged(plan, records, keys, folds)
    costs = RECORD_MICROSECONDS
    microseconds = records * costs.read
    for operator in operators:
        microseconds += records * _microseconds(
            operator, keys, folds.get(operator.id), is_batch=is_batch
        )
    microseconds += exchanged * costs.exchange
    sizes = PROCESS_BYTES
    sorted_at_once = exchanged
    if is_batch:
        workers = slots * sizes.workers_per_slot * sizes.worker
        workers += slots * min(keys * MEASURED_BYTES["value state of a key"], sizes.combining)
    else:
        workers = slots * sizes.live_workers_per_slot * sizes.worker
        workers += min(records, _MICRO_BATCH_RECORDS) * sizes.buffered
        sorted_at_once = min(exchanged, _MICRO_BATCH_RECORDS)
    lives_on = any(run.kind is RunKind.LIVE for run in plan.runs)
    return Estimate(
        records=records,
        keys=keys,
        slots=slots,
        seconds=costs.start_seconds + microseconds / slots / 1e6,
        driver_bytes=sizes.driver,
        jvm_bytes=sizes.jvm + min(sorted_at_once * sizes.exchanged, sizes.heap),
        worker_bytes=workers,
        state_bytes=slots * keys * sum(map(_state_bytes, operators)) if lives_on else 0,
    )


def _folds(plan: PhysicalPlan, run: RunPlan) -> dict[int, FoldPlan]:
    """Return operator id to how it folds in a run."""
    return {fold.operator: fold.plan for fold in plan.folds if fold.run == run.index}


def _is_combined(fold: FoldPlan | None) -> bool:
    """Return whether records are combined before the exchange."""
    return fold is not None and not fold.places.isdisjoint((Place.SENDER, Place.SOURCE_SQL))


def _exchanged(plan: PhysicalPlan, records: int, keys: int, folds: Mapping[int, FoldPlan]) -> int:
    """Return how many records are sent to keyed operators."""
    sent = 0
    for level in plan.levels:
        for operator in level.operators:
            if operator.kind.is_keyed:
                is_few = _is_combined(folds.get(operator.id))
                sent += min(records, keys * plan.options.parallelism) if is_few else records
    return sent


def _microseconds(
    operator: OperatorSpec, keys: int, fold: FoldPlan | None, *, is_batch: bool
) -> float:
    """Return what a record costs at an operator."""
    costs = RECORD_MICROSECONDS
    if not operator.kind.is_keyed:
        return costs.call
    many = keys >= costs.many
    if not is_batch:
        own = costs.function_live if operator.kind.emit is None else costs.fold_live
        return own + many * costs.many_keys_live
    more = max(0.0, math.log10(keys / _MILLION)) if many else 0.0
    return _batch_microseconds(operator, fold) + many * costs.many_keys + more * costs.more_keys


def _batch_microseconds(operator: OperatorSpec, fold: FoldPlan | None) -> float:
    costs = RECORD_MICROSECONDS
    if operator.kind.emit is None:
        return costs.function_batch
    if fold is not None and fold.panes is not None:
        return costs.window_batch
    return costs.combine if _is_combined(fold) else costs.fold_batch


def _state_bytes(operator: OperatorSpec) -> int:
    """Return the bytes of a key at an operator, one value or one open window each."""
    if not operator.kind.is_keyed or operator.kind.state is StateUse.NEVER:
        return 0
    is_window = operator.kind.emit is Emit.WINDOW_END
    return MEASURED_BYTES["open window of a key" if is_window else "value state of a key"]


def render_estimate(estimate: Estimate) -> str:
    """Return the estimate for people."""
    rows = (
        ("driver", estimate.driver_bytes),
        ("JVM", estimate.jvm_bytes),
        ("workers", estimate.worker_bytes),
        ("state", estimate.state_bytes),
        ("memory", estimate.memory_bytes),
    )
    lines = [
        f"{estimate.records:,} records, {estimate.keys:,} keys, {estimate.slots} tasks at a time",
        "",
        f"  time      {_time(estimate.seconds)}",
        *(f"  {name:<9} {size / _MIB:,.0f} MiB" for name, size in rows),
        "",
        "Your functions count as next to nothing. Within a factor of two for programs of the benchmarks, on their machine:",
        "see docs/scale.md.",
    ]
    return "\n".join(lines) + "\n"


def _time(seconds: float) -> str:
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:.1f} s"
