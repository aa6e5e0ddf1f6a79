"""Scores in batches of any size are those of scoring everything at once, in every mode."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from examples.score import FLIGHT, at_once, build, fitted, made_flights
from penstock.common import WatermarkStrategy
from penstock.datastream.connectors import CollectionSource, DiscardingSink, HybridSource
from penstock.testing import Schedule, run_in_process
from tests.runtime.jobs import BATCH, MIXED, STREAMING, environment

PROGRAM = Path(__file__).parents[2] / "examples" / "score.py"
FLIGHTS = made_flights(150)


@pytest.fixture(scope="module")
def model() -> bytes:
    return fitted(made_flights(200, seed=2))


@pytest.mark.parametrize("batch_size", [1, 64, 1000])
@pytest.mark.parametrize("mode", [BATCH, STREAMING, MIXED], ids=["batch", "streaming", "mixed"])
def test_batches_are_scored_as_all_at_once(
    mode: dict[str, str], batch_size: int, model: bytes
) -> None:
    env = environment(mode)
    history, live = (CollectionSource(tuple(part), FLIGHT) for part in (FLIGHTS[:90], FLIGHTS[90:]))
    source = HybridSource.builder(history).add_source(live).build()
    flights = env.from_source(source, WatermarkStrategy.no_watermarks(), "flights")
    build(flights, model, batch_size).sink_to(DiscardingSink()).name("out")
    found = run_in_process(env, Schedule(batch_sizes=(40,), fail_every=2)).of("out")
    assert {row.flight: row.delay for row in found} == at_once(model, FLIGHTS)
    assert len(found) == len(FLIGHTS)


def test_help_says_what_it_does() -> None:
    said = subprocess.run(
        [sys.executable, str(PROGRAM), "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert "scikit-learn" in said
    assert "--batch-size" in said


@pytest.mark.spark
def test_it_runs_on_spark() -> None:
    command = [sys.executable, str(PROGRAM), "--flights", "300", "--batch-size", "64"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert run.returncode == 0, run.stderr[-2000:]
    assert "300 flights; scored at once: equal" in run.stdout
