"""A system over an input that ends: what counts as a round."""

from __future__ import annotations

import pytest

from benchmarks.model.program import Outputs
from benchmarks.model.shape import BATCH, Shape
from benchmarks.systems import bounded
from benchmarks.systems.bounded import STALE_SECONDS, BoundedSpecification, BoundedSystem


class Clock:
    now = 100.0

    def monotonic(self):
        return self.now


class System(BoundedSystem):
    """Takes 5 seconds for a run, and 9 if it was idle for long."""

    def prepare(self):
        self.last = clock.now
        self.runs = 0

    def run(self):
        clock.now += 9 if clock.now - self.last > STALE_SECONDS else 5
        self.last = clock.now
        self.runs += 1
        return {}

    def digest(self):
        return Outputs(0, "")

    def close(self):
        pass


clock = Clock()


@pytest.mark.parametrize(("pause", "runs"), [(STALE_SECONDS - 1, 2), (STALE_SECONDS + 1, 3)])
def test_a_system_that_was_idle_for_long_is_warmed_up_again(monkeypatch, tmp_path, pause, runs):
    monkeypatch.setattr(bounded, "time", clock)
    shape = Shape(10, 0, 1, 1, BATCH).to_json()
    system = System(BoundedSpecification("p", shape, str(tmp_path), {}).to_json())
    system.warm_up()
    clock.now += pause
    assert system.round() == {"records": 10, "seconds": 5.0}
    assert system.runs == runs
