"""Metrics for monitoring systems: one table, and everything made from it agrees with it."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from penstock.metrics.histogram import HistogramValue
from penstock.metrics.values import CounterValue, DistributionValue, GaugeValue, MeterValue
from penstock.observe.events.grafana import dashboard
from penstock.observe.events.job_events import (
    BatchProgress,
    JobEnded,
    JobEvent,
    JobStarted,
    MetricsReported,
    MicroBatch,
    Repeating,
    Restarting,
    RunFinished,
    RunStarted,
    SavepointFailed,
    SavepointTaken,
    Switched,
)
from penstock.observe.events.job_view import JobView, JobViews
from penstock.observe.events.metric_readers import STATUSES
from penstock.observe.events.metric_table import JOB, METRICS, MetricKind
from penstock.observe.ui.server import metrics_text
from tools.support.monitoring import metric_line

TOP = Path(__file__).parents[3]
WHOSE: dict[str, Any] = {"job_id": "9f", "job_name": 'vis"its'}
NODES = [
    {"id": "n0", "kind": "source", "uid": "flights", "name": "flights", "level": 0},
    {"id": "n1", "kind": "map", "uid": "my", "name": "my", "level": 0},
    {"id": "n2", "kind": "map", "uid": "my.map", "name": "my.map", "level": 0},
]
EVENTS: list[JobEvent] = [
    JobStarted("0.1.0", "STREAMING", 2, nodes=NODES, **WHOSE, at_ms=1_000),
    RunStarted("history", "batch", "flights", True, **WHOSE, at_ms=1_000),
    BatchProgress(1, 4, 1.0, **WHOSE, at_ms=2_000),
    RunFinished("history", "batch", 4_000, 2.0, **WHOSE, at_ms=3_000),
    RunStarted("live", "live", "flights", False, **WHOSE, at_ms=3_500),
    Switched(0.5, None, **WHOSE, at_ms=3_500),
    MicroBatch(
        7,
        10,
        30,
        0.5,
        1_000,
        5,
        2,
        4.0,
        {"job": 0.25, "commit": 0.125, "driver": 0.125},
        {"flights": 2_500},
        {"flights": {"flights-0": 2_500}},
        **WHOSE,
        at_ms=4_000,
    ),
    MetricsReported(
        {
            "my.map.group.seen": CounterValue(3),
            "my.map.queue": GaugeValue(2.5),
            "my.map.mood": GaugeValue("good"),
            "my.map.rate": MeterValue(5, {0: 1.5}),
            "my.size": DistributionValue(2, 3.0, 1.0, 2.0),
            "my.latency": HistogramValue({1: 3, 10: 1}, 13, 1, 10),
        },
        {"log_bytes": 9, "compaction_bytes": 8, "copy_hits": 7},
        {
            "level-0.read": 2.0,
            "level-0.operator.my.map": 3.0,
            "level-1.operator.my.map": 0.5,
            "driver.commit": 1.0,
        },
        {"my.map": 4_030},
        {"flights": 4_030},
        {"my.map": [30, 4_000]},
        {"my.map": 12},
        {"my.map": 8_000},
        {"out": {"records": 9, "commits": 2, "seconds": 0.5, "files": 3, "bytes": 100}},
        **WHOSE,
    ),
    SavepointTaken("/sp", 0.1, stops=False, **WHOSE),
    SavepointFailed("no room", **WHOSE),
    Repeating(1, 3, **WHOSE),
    Restarting(1, 3, 1.0, "it raised", **WHOSE),
    RunStarted("live", "live", "flights", False, **WHOSE, at_ms=5_000),
    MicroBatch(
        8, 5, 5, 0.1, 1_000, 5, 2, 4.0, {"job": 0.1}, {"flights": 3_000}, **WHOSE, at_ms=6_000
    ),
]


def view() -> JobView:
    return JobView.of(EVENTS)


def series(name: str, now_ms: int = 10_000) -> dict[tuple[str, ...], float]:
    (row,) = (row for row in METRICS if row.name == f"penstock_{name}")
    return dict(row.read(view(), now_ms))


def parsed(*views: JobView) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Return the series that Prometheus' own parser finds."""
    parser: Any = import_module("prometheus_client.parser")
    text = metrics_text(lambda: views).decode()
    found = {}
    for family in parser.text_string_to_metric_families(text):
        for sample in family.samples:
            key = sample.name, tuple(sorted(sample.labels.items()))
            assert key not in found, "no series twice"
            found[key] = sample.value
    return found


def test_every_row_has_series_with_its_labels() -> None:
    for row in METRICS:
        found = list(row.read(view(), 10_000))
        assert found, row.name
        assert all(len(labels) == len(row.labels) for labels, _ in found), row.name
        assert len({labels for labels, _ in found}) == len(found), row.name


def test_names_follow_the_rules_of_prometheus() -> None:
    assert len({row.name for row in METRICS}) == len(METRICS)
    for row in METRICS:
        assert re.fullmatch(r"penstock_[a-z_]+", row.name)
        assert row.name.endswith("_total") == (row.kind is MetricKind.COUNTER), row.name
        assert row.help.endswith("."), row.name
        assert JOB not in row.labels, row.name
        assert not {"key", "record"} & {*row.labels}, row.name


def test_records_are_counted_once() -> None:
    assert series("run_records_total") == {("", "history"): 4_000, ("", "live"): 35}
    assert series("source_records_total") == {("flights",): 4_030}
    assert series("operator_records_total") == {("my.map",): 4_030}


def test_the_status_is_one_of_all() -> None:
    assert series("job_status") == {(each,): float(each == "RUNNING") for each in STATUSES}
    assert JobView().status in STATUSES
    assert JobView.of([JobEnded("FAILED")]).status in STATUSES


def test_lag_and_waiting_grow_while_nothing_comes() -> None:
    assert series("run_watermark_lag_seconds", 6_000) == {("", "live"): 1}
    assert series("run_watermark_lag_seconds", 16_000) == {("", "live"): 11}
    assert series("run_behind_seconds", 16_000) == {("", "live"): 11}, (
        "it waits since before the restart"
    )


def test_a_run_that_is_over_has_nothing_pending() -> None:
    made = JobView.of([*EVENTS, JobEnded("FINISHED", **WHOSE)])
    for name in ("run_pending_records", "run_pending_files", "run_behind_seconds"):
        (row,) = (row for row in METRICS if row.name == f"penstock_{name}")
        assert list(row.read(made, 10_000)) == []


def test_times_of_operators_are_added_over_levels() -> None:
    assert series("operator_busy_seconds_total") == {("my.map",): 3.5}
    assert series("section_seconds_total") == {
        ("level-0", "read"): 2.0,
        ("level-0", "operator"): 3.0,
        ("level-1", "operator"): 0.5,
        ("driver", "commit"): 1.0,
    }


def test_metrics_of_functions_have_operator_and_name() -> None:
    """A uid may have dots, and be the begin of another one."""
    assert series("operator_metric") == {("my.map", "group.seen"): 3, ("my.map", "queue"): 2.5}
    assert series("operator_meter_events_total") == {("my.map", "rate"): 5}
    assert series("operator_meter_rate") == {("my.map", "rate"): 1.5}
    found = series("operator_distribution")
    assert found["my", "size", "count"] == 2
    assert found["my", "latency", "0.95"] == 10


def test_prometheus_reads_all_of_it() -> None:
    found = parsed(view())
    names = {name for name, _ in found}
    for row in METRICS:
        assert row.name in names, row.name
    job = ("job_name", 'vis"its')
    assert found["penstock_job_restarts_total", (job,)] == 1
    key = (job, ("name", "latency"), ("operator", "my"))
    assert found["penstock_operator_distribution_count", key] == 4
    assert found["penstock_operator_distribution", (*key, ("quantile", "0.5"))] == 1


def test_a_log_of_events_gives_the_same_metrics() -> None:
    from_log = import_module("penstock.observe.events.event_json")
    again = JobView.of(from_log.from_line(from_log.to_line(event)) for event in EVENTS)
    for row in METRICS:
        assert list(row.read(again, 10_000)) == list(row.read(view(), 10_000)), row.name


def test_of_jobs_with_one_name_the_last_one_is_shown() -> None:
    views = JobViews()
    for job_id in ("1", "2", "3"):
        name = "other" if job_id == "3" else "same"
        views.on_event(JobStarted("0", "BATCH", 1, job_id=job_id, job_name=name))
    assert {view.job_id for view in views.views()} == {"2", "3"}
    parsed(*views.views())


def test_jobs_that_are_over_are_not_remembered_for_ever() -> None:
    views = JobViews()
    for number in range(100):
        whose: dict[str, Any] = {"job_id": str(number), "job_name": str(number)}
        views.on_event(JobStarted("0", "BATCH", 1, **whose))
        views.on_event(JobEnded("FINISHED", **whose))
    assert [view.job_id for view in views.views()] == [str(number) for number in range(80, 100)]


def test_the_dashboard_names_metrics_and_labels_that_exist() -> None:
    known = {row.name: {*row.labels, JOB} for row in METRICS}
    panels = dashboard()["panels"]
    assert len(panels) > 10
    for panel in panels:
        (target,) = panel["targets"]
        (name,) = re.findall(r"penstock_\w+", target["expr"])
        assert name in known, panel["title"]
        stat = {"quantile"} if "stat" in known[name] else set()
        for label in re.findall(r"{{(\w+)}}", target["legendFormat"]):
            assert label in known[name] | stat, panel["title"]
        for label in re.findall(r"(\w+)=~", target["expr"]):
            assert label in known[name], panel["title"]


def test_a_counter_is_shown_as_a_rate_and_a_gauge_is_not() -> None:
    kinds = {row.name: row.kind for row in METRICS}
    for panel in dashboard()["panels"]:
        expression = panel["targets"][0]["expr"]
        (name,) = re.findall(r"penstock_\w+", expression)
        is_rate = "rate(" in expression or "increase(" in expression
        assert is_rate == (kinds[name] is MetricKind.COUNTER), panel["title"]


def test_the_documented_dashboard_is_the_generated_one() -> None:
    found = json.loads((TOP / "docs" / "grafana.json").read_text(encoding="utf-8"))
    assert found == dashboard(), "run `make docs`"


def test_every_metric_is_documented() -> None:
    page = (TOP / "docs" / "monitoring.md").read_text(encoding="utf-8")
    for row in METRICS:
        assert f"{metric_line(row)}\n" in page, "run `make docs`"


@pytest.mark.parametrize("name", ["collect", "describe"])
def test_a_registry_of_the_program_accepts_the_collector(name: str) -> None:
    client: Any = import_module("prometheus_client")
    module: Any = import_module("penstock.observe.ui.server")
    registry = client.CollectorRegistry()
    registry.register(module.JobCollector(lambda: [view()]))
    assert hasattr(module.JobCollector, name)
    assert b"penstock_run_records_total" in client.generate_latest(registry)
