"""The status of a job as JSON, made of its view."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from penstock.metrics.job_metrics import (
    COMBINED_IN,
    COMBINED_OUT,
    LATE_RECORDS,
    RECORDS_OUT,
    WATERMARK,
)
from penstock.metrics.task_clock import OPERATOR
from penstock.observe.events.event_json import summary_of
from penstock.observe.events.job_events import LOST as LOST_RUN
from penstock.observe.events.job_events import MetricsReported, SavepointTaken
from penstock.observe.events.job_view import LOST, JobView
from penstock.observe.events.run_view import RunView
from penstock.wire.elements import MAX_WATERMARK


def status_json(view: JobView, status: str, now_ms: int) -> dict[str, Any]:
    """Return the status as `penstock status --json` prints it."""
    with view.lock:
        is_live = status in {"RUNNING", "RESTARTING"}
        return {
            "job_id": view.job_id,
            "name": view.job_name,
            "status": status,
            "mode": None if view.started is None else view.started.mode,
            "started_ms": None if view.started is None else view.started.at_ms,
            "last_event_ms": view.last_ms or None,
            "records": view.records(),
            "behind_seconds": view.behind_seconds(now_ms) if is_live else None,
            "restarts": view.restarts,
            "error": dict(view.error) or None,
            "error_ms": view.error_ms,
            "runs": [
                _run_json(run, now_ms if is_live else view.last_ms, is_lost=status == LOST)
                for run in view.runs
            ],
            "rounds": [round_view.to_json() for round_view in view.rounds.views],
            "operators": list(_operators(view)),
            "sinks": list(_sinks(view)),
            "savepoints": [
                event.path for event in view.savepoints if isinstance(event, SavepointTaken)
            ],
        }


def _run_json(run: RunView, now_ms: int, *, is_lost: bool) -> dict[str, Any]:
    was_killed = is_lost and run.finished_ms is None
    finished_ms = now_ms if was_killed else run.finished_ms
    return {
        "name": run.name,
        "kind": run.kind,
        "pipeline": run.pipeline or None,
        "reads": run.reads,
        "started_ms": run.started_ms,
        "attempts": run.attempts,
        "finished_ms": finished_ms,
        "outcome": LOST_RUN if was_killed else run.outcome,
        "switch_seconds": run.switch_seconds,
        "records": run.records,
        "records_so_far": run.records_so_far if finished_ms is None else None,
        "records_per_second": run.speed(now_ms),
        "progress": run.progress(),
        "micro_batch": run.number,
        "lag_ms": run.lag_ms,
        "records_behind": run.records_behind,
        "files_behind": run.files_behind,
        "behind_seconds": None if was_killed else run.behind_seconds(now_ms),
        "catch_up_seconds": run.catch_up_seconds,
        "watermarks": dict(run.watermarks),
        "split_records_behind": {
            name: dict(splits) for name, splits in run.split_records_behind.items()
        },
        "split_watermarks": {name: dict(marks) for name, marks in run.split_watermarks.items()},
    }


def _operators(view: JobView) -> Iterator[dict[str, Any]]:
    """Yield the operators in order of the plan, with what they received and how long they were busy."""
    if view.started is None or view.metrics is None:
        return
    busy: dict[str, float] = {}
    for name, seconds in view.metrics.seconds.items():
        _, _, section = name.partition(".")
        if section.startswith(OPERATOR):
            uid = section.removeprefix(OPERATOR)
            busy[uid] = busy.get(uid, 0.0) + seconds
    for node in view.started.nodes:
        if node["kind"] not in {"source", "sink"}:
            uid = node["uid"]
            yield {
                "uid": uid,
                "name": node["name"],
                "kind": node["kind"],
                "level": node["level"],
                "records": view.metrics.operators.get(uid, 0),
                **_readings(view.metrics, uid),
                "busy_seconds": round(busy.get(uid, 0.0), 3),
                "state_keys": view.metrics.state_keys.get(uid),
                "state_bytes": view.metrics.state_bytes.get(uid),
                **_skew(view.metrics.subtasks.get(uid, ()), node["level"]),
            }


def _readings(reported: MetricsReported, uid: str) -> dict[str, int | None]:
    """Return the metrics that an operator counts itself; its watermark is None before the first and after the last one."""

    def reading(name: str) -> int | None:
        metric = reported.metrics.get(f"{uid}.{name}")
        values = {} if metric is None else summary_of(metric).values
        count = values.get("count", values.get("value"))
        return count if isinstance(count, int) else None  # a metric of a function may have the name

    mark = reading(WATERMARK)
    return {
        "records_out": reading(RECORDS_OUT),
        "late_records": reading(LATE_RECORDS),
        "combined_in": reading(COMBINED_IN),
        "combined_out": reading(COMBINED_OUT),
        "watermark_ms": None if mark is None or mark >= MAX_WATERMARK else mark,
    }


HOT_FACTOR = 2.0
"""A subtask is hot that got this many times what the others got on average."""

_LEAST_RECORDS = 1_000
"""Fewer records of an operator give no distribution."""


def _skew(received: Sequence[int], level: int) -> dict[str, Any]:
    """Return the records that each subtask received, and the hot subtask."""
    total, most = sum(received), max(received, default=0)
    others = (total - most) / (len(received) - 1) if len(received) > 1 else most
    is_hot = level > 0 and total >= _LEAST_RECORDS and most >= HOT_FACTOR * others and most > others
    return {
        "subtask_records": list(received),
        "skew": round(most * len(received) / total, 2) if total else None,
        "hot_subtask": received.index(most) if is_hot else None,
    }


def _sinks(view: JobView) -> Iterator[dict[str, Any]]:
    """Yield the sinks in order of the plan, with what their commits were."""
    if view.started is None or view.metrics is None:
        return
    for node in view.started.nodes:
        known = view.metrics.sinks.get(node["uid"])
        if node["kind"] == "sink" and known is not None:
            yield {
                "uid": node["uid"],
                "name": node["name"],
                "records": known.get("records", 0),
                "commits": known.get("commits", 0),
                "commit_seconds": round(known.get("seconds", 0.0), 3),
                "files": known.get("files"),
                "bytes": known.get("bytes"),
            }
