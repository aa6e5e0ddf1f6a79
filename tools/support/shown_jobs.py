"""Jobs that pages show in tests and pictures, told in events: nothing has to run for them.

story        history, a failure and a restart, the switch, live micro-batches
upgraded     the rounds of an upgrade, and the live run behind them
large_job    40 operators, 64 subtasks, 10,000 micro-batches
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any

from penstock.metrics.job_metrics import COMBINED_IN, COMBINED_OUT, RECORDS_OUT, WATERMARK
from penstock.metrics.values import CounterValue, GaugeValue, MetricValue
from penstock.observe.events.job_events import (
    BatchProgress,
    JobEvent,
    JobStarted,
    MetricsReported,
    MicroBatch,
    Restarting,
    RoundFinished,
    RoundProgress,
    RunFinished,
    RunStarted,
    SavepointTaken,
    Switched,
)
from penstock.observe.events.job_view import JobView

WHOSE: dict[str, Any] = {"job_id": "5f0c2a9e41d7b836", "job_name": "delays"}

_PLAN = """\
mode STREAMING, parallelism 4, 128 key groups

runs
  history, batch run: reads files of flights/history
  live, live run: reads files of flights/live
"""

_SETTINGS = {
    "execution.checkpointing.dir": "/data/checkpoints/delays",
    "execution.history": "batch",
    "parallelism.default": "4",
    "spark.hadoop.fs.s3a.secret.key": "******",
}

_ERROR = {
    "code": "USER_FUNCTION",
    "problem": (
        "the function of operator 'delay per carrier' failed with ValueError: could not convert "
        "string to float: 'NA'\n  record: ('UA', 'NA')"
    ),
    "hint": "Correct the function, or leave out such records before it.",
    "origin": "job.py:31 in build",
}


_DECISIONS = {
    "delays": [
        (
            "records in run 0 (history)",
            "folded before the exchange, by key group",
            "its function is associative and commutative",
        ),
        (
            "to sink 'delays-files'",
            "deep copy of what can be changed",
            "'delay per carrier' may keep what it emits: it keeps in its state what it emits",
        ),
    ]
}


def _node(number: int, kind: str, uid: str, level: int = 0, name: str = "") -> dict[str, Any]:
    where = {"level": level, "parallelism": None, "origin": f"job.py:{20 + number} in build"}
    decided = _DECISIONS.get(uid, ())
    return {
        "id": f"n{number}",
        "kind": kind,
        "uid": uid,
        "name": name or uid,
        **where,
        "decisions": decided,
    }


def _edge(source: int, target: int, ship: str = "CHAINED", tag: str = "") -> dict[str, Any]:
    return {"source": f"n{source}", "target": f"n{target}", "ship": ship, "tag": tag}


_NODES = [
    _node(0, "source", "flights"),
    _node(1, "filter", "departed"),
    _node(2, "keyed_reduce", "delays", 1, "delay per carrier"),
    _node(3, "keyed_process", "alerts", 1, "alert after three late flights"),
    _node(4, "keyed_window", "weeks", 1, "departures per week"),
    _node(5, "sink", "delays-files"),
    _node(6, "sink", "alerts-topic"),
    _node(7, "sink", "weeks-table"),
]
_EDGES = [
    _edge(0, 1),
    _edge(1, 2, "HASH"),
    _edge(1, 3, "HASH"),
    _edge(1, 4, "HASH", "late"),
    _edge(2, 5),
    _edge(3, 6),
    _edge(4, 7),
]
_SAVEPOINT_AT = 40
_BUSY = {"departed": 2.4, "delays": 19.5, "alerts": 7.1, "weeks": 3.2}


def story(now_ms: int | None = None, *, until: str = "live", name: str = "") -> Iterator[JobEvent]:
    """Yield what a job says of itself.

    Args:
        now_ms: When the last event happens; None is now.
        until: `failed`, `history` or `live`: where it stands.
        name: Of the job; empty is the usual one.
    """
    end = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    whose = {**WHOSE, "job_name": name or WHOSE["job_name"]}

    def at(seconds_ago: float) -> dict[str, Any]:
        return {**whose, "at_ms": end - int(seconds_ago * 1000)}

    yield JobStarted("0.1.0", "STREAMING", 4, _SETTINGS, _NODES, _EDGES, _PLAN, **at(95))
    yield RunStarted("history", "batch", "files of flights/history", bounded=True, **at(95))
    yield BatchProgress(9, 24, 7.0, 104_000, **at(88))
    yield Restarting(1, 3, 1.0, "the function failed", _ERROR, **at(86))
    if until == "failed":
        return
    yield RunStarted("history", "batch", "files of flights/history", bounded=True, **at(85))
    yield BatchProgress(18, 24, 12.0, 207_000, **at(73))
    if until == "history":
        return
    yield RunFinished("history", "batch", 276_000, 16.2, **at(69))
    yield RunStarted("live", "live", "files of flights/live", bounded=False, **at(68))
    yield Switched(0.8, end - 100_000, **at(68))
    yield from _live(at, end)


def upgraded(now_ms: int | None = None, *, until: str = "live") -> Iterator[JobEvent]:
    """Yield the events of a job that begins with an upgrade.

    Args:
        now_ms: When the last event happens; None is now.
        until: `history`, `rounds` or `live`: where it stands.
    """
    end = time.time_ns() // 1_000_000 if now_ms is None else now_ms

    def at(seconds_ago: float) -> dict[str, Any]:
        return {**WHOSE, "at_ms": end - int(seconds_ago * 1000)}

    yield JobStarted("0.1.0", "STREAMING", 4, _SETTINGS, _NODES, _EDGES, _PLAN, **at(95))
    yield RoundProgress(0, "batch", **at(95))
    yield RoundProgress(0, "batch", 10.0, 180_000, 0.625, **at(85))
    if until == "history":
        return
    behind = [{"source": "flights", "ahead": 4, "unit": "files"}]
    yield RoundFinished(0, "batch", 276_000, 16.2, behind=behind, **at(78.8))
    yield RoundProgress(1, "live", **at(78.7))
    if until == "rounds":
        return
    yield RoundFinished(1, "live", 12_000, 3.1, **at(75.6))
    yield RoundProgress(2, "live", **at(75.5))
    yield RoundFinished(2, "live", 2_000, 1.5, is_last=True, **at(74))
    yield RunStarted("live", "live", "files of flights/live", bounded=False, **at(72.8))
    yield Switched(2.7, end - 100_000, **at(72.8))
    yield from _live(at, end)


def _live(at: Any, end: int) -> Iterator[JobEvent]:
    total = 0
    for number in range(64):
        records = 800 + int(300 * math.sin(number / 5))
        total += records
        job = 0.31 + 0.14 * math.sin(number / 3) ** 2
        durations = {"job": job, "commit": 0.05, "driver": 0.04}
        marks = {"flights": end - 4_000 - (64 - number) * 1_000}
        yield MicroBatch(
            number,
            records,
            total,
            sum(durations.values()),
            4_000,
            1_200,
            3,
            6.0,
            durations,
            marks,
            {"flights": {f"live-{number}": end - 4_000 * number for number in (1, 2, 3)}},
            {"flights": {"live-3": 800, "live-1": 300, "live-2": 100}},
            **at(64 - number),
        )
        share = (276_000 + total) / 330_000
        yield MetricsReported(
            _metrics_of_operators(276_000 + total, marks["flights"]),
            {"log_bytes": 700 * total, "compaction_bytes": 90_000, "copy_hits": number * 4},
            {f"level-1.operator.{uid}": busy * share for uid, busy in _BUSY.items()},
            {
                "departed": 276_000 + total,
                "delays": 270_000 + total,
                "alerts": 270_000 + total,
                "weeks": 6_000,
            },
            {"flights": 276_000 + total},
            {
                "delays": [40_000, 44_000, 186_000, 40_000],
                "alerts": [78_000, 77_000, 78_500, 76_500],
            },
            {"delays": 16, "alerts": 3_843, "weeks": 53},
            {"delays": 1_900, "alerts": 412_000, "weeks": 6_200},
            _sinks(total, number + 1),
            **at(64 - number),
        )
        if number == _SAVEPOINT_AT:
            path = "/data/checkpoints/delays/savepoints/20261124T021500Z-1f2e3d4c"
            yield SavepointTaken(path, 0.4, stops=False, size_bytes=18_400_000, **at(24))


def _metrics_of_operators(records: int, watermark: int) -> dict[str, MetricValue]:
    """Return what operators count themselves, after this many records of the source."""
    emitted = {"departed": records - 6_000, "delays": records - 8_000, "alerts": records // 90}
    found: dict[str, MetricValue] = {
        f"{uid}.{RECORDS_OUT}": CounterValue(count)
        for uid, count in {**emitted, "weeks": 53}.items()
    }
    found |= {f"{uid}.{WATERMARK}": GaugeValue(watermark) for uid in (*emitted, "weeks")}
    found[f"delays.{COMBINED_IN}"] = CounterValue(270_000)
    found[f"delays.{COMBINED_OUT}"] = CounterValue(384)
    return found


def _sinks(records: int, commits: int) -> dict[str, dict[str, float]]:
    files = {"records": records, "commits": commits, "seconds": 0.02 * commits, "files": commits}
    topic = {"records": records // 90, "commits": commits, "seconds": 0.03 * commits}
    return {"delays-files": {**files, "bytes": 31 * records}, "alerts-topic": topic}


OPERATORS, SUBTASKS, MICRO_BATCHES = 40, 64, 10_000


def large_job() -> JobView:
    """Return a job of the size that a page must bear: wide, long, and with names of every length."""
    end = time.time_ns() // 1_000_000
    nodes = [_node(0, "source", "events")]
    nodes += [
        _node(
            number,
            "keyed_process",
            f"operator-{number}",
            1 + number // 8,
            "long name " * (number % 7),
        )
        for number in range(1, OPERATORS + 1)
    ]
    nodes.append(_node(OPERATORS + 1, "sink", "out"))
    edges = [_edge(max(0, (number - 1) // 2), number, "HASH") for number in range(1, OPERATORS + 1)]
    edges += [_edge(number, OPERATORS + 1) for number in range(OPERATORS // 2, OPERATORS + 1)]
    whose: dict[str, Any] = {"job_id": "large", "job_name": "large"}
    began = {**whose, "at_ms": end - MICRO_BATCHES * 1000}
    view = JobView.of(
        [
            JobStarted("0.1.0", "STREAMING", SUBTASKS, {}, nodes, edges, "plan\n" * 400, **began),
            RunStarted("live", "live", "events", bounded=False, **began),
        ]
    )
    for number in range(MICRO_BATCHES):
        grow(view, number, end - (MICRO_BATCHES - number) * 1000)
    return view


def grow(view: JobView, number: int, at_ms: int) -> None:
    """Add a micro-batch to the large job, as it reports it.

    Args:
        view: The job.
        number: Of the micro-batch.
        at_ms: When it was committed, in epoch milliseconds.
    """
    whose: dict[str, Any] = {"job_id": "large", "job_name": "large", "at_ms": at_ms}
    uids = [f"operator-{each}" for each in range(1, OPERATORS + 1)]
    durations = {"job": 0.2, "commit": 0.01, "driver": 0.02}
    view.on_event(
        MicroBatch(number, 500, 500 * (number + 1), 0.23, 50, 10, None, None, durations, **whose)
    )
    seconds = {
        f"level-{level}.operator.{uid}": 0.001 * number * index
        for index, uid in enumerate(uids)
        for level in (1, 2)
    }
    records = dict.fromkeys(uids, 500 * (number + 1))
    metrics: dict[str, MetricValue] = {f"{uid}.{RECORDS_OUT}": CounterValue(number) for uid in uids}
    metrics |= {f"{uid}.{WATERMARK}": GaugeValue(at_ms - 10) for uid in uids}
    # All of one subtask are hot, so that the page says so forty times.
    received = [500 * (number + 1), *[1] * (SUBTASKS - 1)]
    subtasks = {uid: received for uid in uids}  # noqa: C420 - nobody changes it
    view.on_event(
        MetricsReported(
            metrics, {}, seconds, records, {"events": 500 * (number + 1)}, subtasks, **whose
        )
    )
