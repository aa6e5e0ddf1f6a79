"""The demo of an upgrade with some of its flights: it compares all results with those of Spark SQL, and prints the rounds."""

from __future__ import annotations

import re

import pytest

from examples.evolve.demo import run_demo
from tests.spark.jobs.demo_on_cluster import some_flights


@pytest.mark.usefixtures("session")
def test_a_feature_is_added_while_departures_arrive(tmp_path, capsys):
    run_demo(tmp_path / "data", some_flights)
    lines = capsys.readouterr().out.splitlines()
    rounds = [line for line in lines if line.startswith("  round ")]
    assert re.fullmatch(r"  round 0: [\d,]+ records in .*", rounds[0])
    assert rounds[-1].endswith("at the position of the old job, which has stopped")
    assert sum(line.startswith("  switched in ") for line in lines) == 1
    assert lines[-1] == "Both agree with Spark SQL."
