"""Events as JSON: what is written is read, whatever the version that wrote it."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from typing import Any, get_args

import pytest

from penstock.metrics.histogram import HistogramValue, LatestValues
from penstock.metrics.values import (
    CounterValue,
    DistributionValue,
    GaugeValue,
    MeterValue,
    MetricValue,
)
from penstock.observe.events import job_events
from penstock.observe.events.event_json import from_json, from_line, summary_of, to_json, to_line
from penstock.observe.events.job_events import (
    EVENTS,
    JobEnded,
    JobEvent,
    JobStarted,
    MetricsReported,
    MetricSummary,
    MicroBatch,
    Restarting,
    RoundFinished,
    SavepointTaken,
)

EXAMPLES: list[JobEvent] = [
    JobStarted("0.1.0", "STREAMING", 2, {"a": "b"}, [{"id": "n1"}], [{"source": "n1"}], "text"),
    MicroBatch(
        7, 3, 10, 0.5, 1_200, 5, None, 2.0, {"job": 0.25, "commit": 0.125}, {"flights": 1_000}
    ),
    Restarting(1, None, 1.0, "it raised", {"code": "USER_FUNCTION", "problem": "it raised"}),
    SavepointTaken("/sp", 0.5, stops=True, unnamed=("map-1", "map-2")),
    RoundFinished(1, "live", 5, 0.5, [{"source": "files", "ahead": 2, "unit": "files"}]),
    JobEnded("FAILED", {"code": "SINK", "problem": "no \ud800 room", "hint": "make some"}),
]


def test_every_event_has_a_row_in_the_table() -> None:
    assert set(EVENTS) == set(get_args(job_events.JobEvent))


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda event: type(event).__name__)
def test_what_is_written_is_read(event: JobEvent) -> None:
    line = to_line(event)
    assert line.endswith("\n")
    assert line.count("\n") == 1
    assert line.encode()
    assert from_line(line) == event


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
def test_every_event_is_read_with_whose_it_is(kind: type[Any]) -> None:
    required: dict[str, Any] = {
        each.name: {} if each.name in {"metrics", "state"} else 1
        for each in fields(kind)
        if each.default is MISSING and each.default_factory is MISSING
    }
    event = kind(**required, job_id="7", job_name="seven", pipeline="1", at_ms=99)
    read = from_line(to_line(event))
    assert read == event
    assert read is not None
    assert (read.job_id, read.job_name, read.pipeline, read.at_ms) == ("7", "seven", "1", 99)


def test_metrics_of_functions_are_summaries() -> None:
    latencies = HistogramValue({1: 3, 10: 1}, 13, 1, 10)
    metrics: dict[str, MetricValue | MetricSummary] = {
        "map.seen": CounterValue(3),
        "map.queue": GaugeValue("full"),
        "map.rate": MeterValue(5, {0: 1.5, 1: 0.5}),
        "map.size": DistributionValue(2, 3.0, 1.0, 2.0),
        "map.latency": latencies,
        "map.latest": LatestValues.of_latest((1, 2, 3), 2),
    }
    read = from_line(to_line(MetricsReported(metrics, {"log_bytes": 4}, {}, {"map": 3}, {"s": 9})))
    assert isinstance(read, MetricsReported)
    assert read.metrics["map.seen"] == MetricSummary("counter", {"count": 3})
    assert read.metrics["map.queue"] == MetricSummary("gauge", {"value": "full"})
    assert read.metrics["map.rate"] == MetricSummary("meter", {"count": 5, "rate": 2.0})
    assert summary_of(read.metrics["map.size"]).values["max"] == 2.0
    assert summary_of(read.metrics["map.latency"]).values["p95"] == 10
    assert summary_of(read.metrics["map.latest"]).values["count"] == 2
    assert (read.state, read.operators, read.sources) == ({"log_bytes": 4}, {"map": 3}, {"s": 9})


def test_lines_are_json_whatever_a_gauge_shows() -> None:
    metrics: dict[str, MetricValue | MetricSummary] = {
        "map.nan": GaugeValue(float("nan")),
        "map.size": DistributionValue(1, float("inf"), float("-inf"), 1.0),
    }

    def refuse(text: str) -> float:
        raise AssertionError(f"{text} is not JSON")

    found = json.loads(to_line(MetricsReported(metrics, {})), parse_constant=refuse)
    assert found["metrics"]["map.nan"]["value"] == "nan"
    assert found["metrics"]["map.size"]["sum"] == "inf"


def test_fields_of_later_versions_are_ignored() -> None:
    found = to_json(EXAMPLES[1]) | {"colour": "green"}
    assert from_json(found) == EXAMPLES[1]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "\n",
        '{"v":1,"event":"MicroB',
        "[1]\n",
        '{"v":1,"event":"Teleported"}\n',
        '{"v":2,"event":"Resumed","step":"x"}\n',
        '{"v":1,"event":"Resumed"}\n',
        '{"v":1,"event":["Resumed"]}\n',
        '{"v":1,"event":"Resumed","step":"x","at_ms":null}\n',
        '{"v":1,"event":"MetricsReported","metrics":{"a":{}},"state":{}}\n',
        '{"v":1,"event":"MetricsReported","metrics":{"a":1},"state":{}}\n',
        '{"v":1,"event":"MetricsReported","metrics":3,"state":{}}\n',
    ],
)
def test_a_line_that_is_no_event_is_none(line: str) -> None:
    assert from_line(line) is None


def test_the_form_is_the_documented_one() -> None:
    event = MicroBatch(7, 3, 10, 0.5, None, job_id="9f", job_name="visits", at_ms=5)
    assert json.loads(to_line(event)) == {
        "v": 1,
        "event": "MicroBatch",
        "at_ms": 5,
        "job_id": "9f",
        "job_name": "visits",
        "number": 7,
        "records": 3,
        "total_records": 10,
        "seconds": 0.5,
        "lag_ms": None,
    }
