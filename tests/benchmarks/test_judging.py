"""Figures that are not a ratio of two systems at one case: growth, memory, cores, latency."""

from __future__ import annotations

import pytest

from benchmarks.model.measurement import LATENCY, Measurement
from benchmarks.model.program import Case, Outputs
from benchmarks.reporting.judging import Cores, Growth, Latency, MemoryGrowth, Throughput


def judged(figure, measured):
    judgement = figure.judge(measured, "a")
    assert judgement is not None
    return judgement


@pytest.fixture
def at(fake_system):
    """Return a maker of measurements: records per second is `speed`."""

    def make(name="a", *, records=1000, keys=10, cores=2, speed=1000, memory=100, p50=None):
        answer = {"records": records, "seconds": records / speed}
        if p50 is not None:
            answer[LATENCY] = {"p50": p50}
        outputs = Outputs(1, "right")
        return Measurement(
            system=fake_system(name),
            case=Case(records, keys, cores, 1, {}),
            rounds=[answer],
            warm_up={},
            outputs=outputs,
            expected=outputs,
            peak_memory_bytes={"driver": memory, "jvm": memory, "workers": memory, "other": 9},
        )

    return make


def test_growth_compares_the_ends_at_equal_cores(at):
    measured = [
        at(records=10, speed=100),
        at(records=1000, speed=80),
        at(records=100, speed=1),
        at(records=100, speed=1, cores=1),
    ]
    judgement = judged(Growth(id="F", program="p", goal=0.9), measured)
    assert (judgement.value, judgement.reached) == (pytest.approx(0.8), False)
    assert judgement.ratio == "a, 1,000 / 10 records"


@pytest.mark.parametrize(("memory", "reached"), [(120, True), (121, False)])
def test_memory_must_not_grow_beyond_the_goal(at, memory, reached):
    measured = [at(records=10), at(records=1000, memory=memory)]
    judgement = judged(MemoryGrowth(id="F", program="p", goal=1.2), measured)
    assert judgement.reached is reached
    assert judgement.to_json()["bound"] == "at most"


def test_cores_compares_equal_sizes(at):
    measured = [at(speed=180), at(speed=100, cores=1), at(speed=1, cores=1, records=7)]
    judgement = judged(Cores(id="F", program="p", goal=1.7), measured)
    assert judgement.value == pytest.approx(1.8)


def test_latency_compares_with_the_quickest(at):
    measured = [at(p50=30.0), at("q", p50=20.0), at("r", p50=10.0), at("s")]
    figure = Latency(id="F", program="p", goal=2.0, against=("q", "r", "s"))
    judgement = judged(figure, measured)
    assert (judgement.value, judgement.reached) == (3.0, False)


def test_a_figure_may_be_about_another_system_than_the_reference(at):
    measured = [at("a", speed=100), at("b", speed=50), at("c", speed=25)]
    figure = Throughput(id="F", program="p", goal=2.0, of="b", against=("c",))
    assert judged(figure, measured).value == pytest.approx(2.0)


def test_a_run_without_candidates_is_not_judged(at):
    for figure in (
        Growth(id="F", program="p", goal=1),
        Cores(id="F", program="p", goal=1),
        Latency(id="F", program="p", goal=1, against=("q",)),
    ):
        assert figure.judge([at()], "a") is None
