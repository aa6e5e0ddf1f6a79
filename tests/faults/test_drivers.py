"""The harness itself: a fault that did not happen, or hit the wrong process, fails its test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.drivers import Drivers

SCRIPT = """
from penstock.failpoint import failpoint

failpoint("a")
print("done")
"""

pytestmark = pytest.mark.subset


@pytest.fixture
def drivers(tmp_path: Path) -> Drivers:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    return Drivers(script, (), tmp_path / "job", tmp_path / "markers")


def test_a_kill_that_happens_is_believed(drivers: Drivers) -> None:
    drivers.is_killed_at("a:1")


def test_a_kill_that_does_not_happen_fails_the_test(drivers: Drivers) -> None:
    with pytest.raises(AssertionError, match="done"):
        drivers.is_killed_at("nowhere:1")


def test_a_failure_must_be_the_one_that_was_asked_for(drivers: Drivers) -> None:
    assert "failpoint a fired" in drivers.fails_at("a:1:raise")
    drivers.script.write_text("raise ValueError('another')")
    with pytest.raises(AssertionError, match="did not fire"):
        drivers.fails_at("a:1:raise")


def test_a_job_that_survives_must_have_had_its_accident(drivers: Drivers) -> None:
    with pytest.raises(AssertionError, match="did not fire"):
        drivers.succeeds("nowhere:1:kill")


def test_a_worker_s_accident_must_not_be_the_driver_s(drivers: Drivers) -> None:
    drivers.script.write_text(
        SCRIPT.replace('failpoint("a")', 'try:\n    failpoint("a")\nexcept Exception:\n    pass')
    )
    with pytest.raises(AssertionError, match="fired in the driver"):
        drivers.succeeds("a:1:raise")
