"""The status of a job as JSON, made of its view."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from penstock.events.job_events import SavepointTaken
from penstock.events.job_view import JobView
from penstock.events.run_view import RunView
from penstock.metrics.task_clock import OPERATOR


def status_json(view: JobView, status: str, now_ms: int) -> dict[str, Any]:
    """Return the status as `penstock status --json` prints it.

    Args:
        view: Of the job.
        status: One of those of `JobView`, or `LOST`.
        now_ms: Now, in epoch milliseconds.
    """
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
            "runs": [_run_json(run, now_ms if is_live else view.last_ms) for run in view.runs],
            "operators": list(_operators(view)),
            "sinks": list(_sinks(view)),
            "savepoints": [
                each.path for each in view.savepoints if isinstance(each, SavepointTaken)
            ],
        }


def _run_json(run: RunView, now_ms: int) -> dict[str, Any]:
    return {
        "name": run.name,
        "kind": run.kind,
        "pipeline": run.pipeline or None,
        "reads": run.reads,
        "started_ms": run.started_ms,
        "attempts": run.attempts,
        "finished_ms": run.finished_ms,
        "outcome": run.outcome,
        "switch_seconds": run.switch_seconds,
        "records": run.records,
        "records_per_second": run.speed(now_ms),
        "progress": run.progress(),
        "micro_batch": run.number,
        "lag_ms": run.lag_ms,
        "records_behind": run.records_behind,
        "files_behind": run.files_behind,
        "behind_seconds": run.behind_seconds(now_ms),
        "catch_up_seconds": run.catch_up_seconds,
        "watermarks": dict(run.watermarks),
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
                "busy_seconds": round(busy.get(uid, 0.0), 3),
                "state_keys": view.metrics.state_keys.get(uid),
                "state_bytes": view.metrics.state_bytes.get(uid),
                **_skew(view.metrics.subtasks.get(uid, ())),
            }


HOT_SHARE = 2.0
"""A subtask is hot that got this many times its share of the records."""

_LEAST_RECORDS = 1_000
"""Fewer records of an operator say nothing of their distribution."""


def _skew(received: Sequence[int]) -> dict[str, Any]:
    """Return what each subtask received, and which of them is hot."""
    total = sum(received)
    share = max(received) * len(received) / total if total else None
    is_hot = share is not None and share >= HOT_SHARE and total >= _LEAST_RECORDS
    return {
        "subtask_records": list(received),
        "skew": None if share is None else round(share, 2),
        "hot_subtask": received.index(max(received)) if is_hot else None,
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
