"""Latency: which events are measured, and what is noted of an arrival."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from benchmarks.model.measurement import LATENCY
from benchmarks.model.program import Outputs
from benchmarks.model.shape import STREAMING, Shape
from benchmarks.systems import latency_system
from benchmarks.systems.arrival_sink import ArrivalSink, read_arrivals
from benchmarks.systems.latency_system import LEVELS, RATE, LatencySystem, expected
from penstock.common import Types
from penstock.datastream.connectors import SinkContext

CONTEXT = SinkContext("j", "s", 0, Types.LONG(), "sink", None, Path())


def shape(rate):
    return Shape(200 * rate, 0, 10, 1, STREAMING, {RATE: rate, LEVELS: 1})


class Delayed(LatencySystem):
    """Every event is committed `delay` ms after it arose, some twice if `doubles`."""

    delay = 40
    doubles = False

    def start(self):
        self.begun = latency_system.now_ms()

    def check_alive(self):
        pass

    def arrivals(self):
        for at in range(self.begun, latency_system.now_ms() - self.delay):
            events = np.arange(at * self.rate, (at + 1) * self.rate)
            yield at + self.delay, np.repeat(events, 1 + self.doubles)

    def close(self):
        pass


@pytest.fixture(params=[1, 3])
def delayed(tmp_path, monkeypatch, request):
    monkeypatch.setattr(latency_system, "SETTLE_SECONDS", 0.05)
    monkeypatch.setattr(latency_system, "WARM_UP_SECONDS", 0.05)
    values = {
        "program": "latency",
        "shape": shape(request.param).to_json(),
        "work": str(tmp_path),
        "options": {},
    }
    return Delayed({**values, "spawned": time.monotonic()})


def test_a_round_measures_the_events_of_its_stretch(delayed):
    delayed.warm_up()
    answer = delayed.round()
    assert answer["records"] == delayed.shape.records
    assert answer["seconds"] == 0.2
    assert answer[LATENCY] == {"p50": 40.0, "p99": 40.0}
    assert answer["commits"] == 200
    assert Outputs(**delayed.check()) == expected(delayed.shape)


def test_a_doubled_event_is_a_wrong_output(delayed):
    delayed.doubles = True
    delayed.warm_up()
    delayed.round()
    assert Outputs(**delayed.check()) != expected(delayed.shape)


def test_arrivals_are_noted_once_per_epoch(tmp_path):
    file = tmp_path / "arrivals"
    sink = ArrivalSink(str(file))
    writer = sink.create_writer(CONTEXT)
    writer.write([(1, 1000, 1), (2, 1001, 1)])
    committer = sink.create_committer(CONTEXT)
    committables = writer.prepare_commit()
    for epoch in ("0-0", "0-0"):
        committer.commit(epoch, committables)
    committer.commit("0-1", [])
    ((at, arose),) = read_arrivals(file)
    assert arose.tolist() == [1000, 1001]
    assert at > 1001
