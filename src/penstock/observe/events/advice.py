"""Advice on the parallelism of live runs, out of their last micro-batches.

    arriving     = (records read + growth of pending records) / seconds from the first to the last micro-batch
    capacity     = records read / seconds in micro-batches, with the parallelism of now
    needed       = arriving + pending records / seconds in which they are to be read
    parallelism  = needed / (0.8 * capacity) times that of now, rounded up

The formula takes for granted that a subtask more does as much as each of those there are. Small micro-batches have a fixed
cost, so the capacity is at least the one measured. State per subtask is its size in the checkpoint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any

from penstock.observe.events.job_events import MicroBatch
from penstock.observe.events.job_view import JobView
from penstock.observe.events.run_view import RunView
from penstock.observe.events.status_json import status_json

UTILIZATION = 0.8
"""Share of its capacity that a live run is to use."""

LEAST_MICRO_BATCHES = 3
"""Fewer give no advice. The first one of a driver is left out: it starts workers."""


@dataclass(frozen=True, slots=True)
class Advice:
    """Advice for one live run, with its inputs.

    Attributes:
        pipeline: Its pipeline; None of a job with one.
        parallelism_now: That with which the measurements were made.
        parallelism: The advice, at most the number of key groups.
        micro_batches: Number of micro-batches that were measured.
        span_seconds: Time from the first to the last of them.
        busy_seconds: Time in them.
        pending_records: Pending records; None if no source counts them.
        catch_up_seconds: Time in which these are to be read.
        arriving_per_second: Records that arrive.
        capacity_per_second: Records that the run can read.
        needed_per_second: Records that it has to read.
        state_bytes: Size of the state of the job in the checkpoint; None if it is unknown.
        state_bytes_per_subtask: The same by the advised parallelism.
        hot_operators: uids of operators of which one subtask gets much more than the others: more subtasks do not divide a key.
    """

    run: str
    pipeline: str | None
    parallelism_now: int
    parallelism: int
    micro_batches: int
    span_seconds: float
    busy_seconds: float
    records: int
    pending_records: int | None
    catch_up_seconds: float
    arriving_per_second: float
    capacity_per_second: float
    needed_per_second: float
    key_groups: int
    state_bytes: int | None
    state_bytes_per_subtask: int | None
    hot_operators: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the form that `penstock advise --json` prints."""
        return asdict(self)


def advice_for(view: JobView, catch_up_seconds: float, key_groups: int) -> tuple[Advice, ...]:
    """Return the advice for each live run with enough micro-batches, given when its pending input is to be read."""
    with view.lock:
        newest = {run.pipeline: run for run in view.runs if run.kind == "live"}
        operators = status_json(view, view.state, view.last_ms)["operators"]
        parallelism = None if view.started is None else view.started.parallelism
        measured = [(run, _measured(run)) for run in newest.values()]
    if parallelism is None:
        return ()
    sizes = [entry["state_bytes"] for entry in operators if entry["state_bytes"] is not None]
    hot = tuple(entry["uid"] for entry in operators if entry["hot_subtask"] is not None)
    state = sum(sizes) if sizes else None
    return tuple(
        _advice(run, batches, parallelism, catch_up_seconds, key_groups, state, hot)
        for run, batches in measured
        if len(batches) >= LEAST_MICRO_BATCHES
    )


def _measured(run: RunView) -> Sequence[MicroBatch]:
    """Return the micro-batches that count."""
    return list(run.micro_batches)[1:]


def _advice(
    run: RunView,
    batches: Sequence[MicroBatch],
    parallelism: int,
    catch_up_seconds: float,
    key_groups: int,
    state: int | None,
    hot: tuple[str, ...],
) -> Advice:
    first, last = batches[0], batches[-1]
    # An event comes at the end of its micro-batch. A log need not have every micro-batch, so totals count.
    span = max((last.at_ms - first.at_ms) / 1000 + first.seconds, 1e-3)
    read = last.total_records - first.total_records + first.records
    growth = (last.records_behind or 0) - (first.records_behind or 0)
    arriving = max(0.0, (read + growth) / span)
    busy = max(sum(batch.seconds for batch in batches), 1e-3)
    capacity = sum(batch.records for batch in batches) / busy
    needed = arriving + (run.records_behind or 0) / catch_up_seconds
    wished = ceil(parallelism * needed / (UTILIZATION * capacity)) if capacity else parallelism
    advised = min(max(1, wished), key_groups)
    return Advice(
        run.name,
        run.pipeline or None,
        parallelism,
        advised,
        len(batches),
        round(span, 3),
        round(busy, 3),
        read,
        run.records_behind,
        catch_up_seconds,
        round(arriving, 1),
        round(capacity, 1),
        round(needed, 1),
        key_groups,
        state,
        None if state is None else ceil(state / advised),
        hot,
    )
