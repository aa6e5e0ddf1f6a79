"""One Spark session for all tests that need one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock import failpoint
from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.spark.session.factory import get_session

Environment = Callable[..., StreamExecutionEnvironment]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything in this directory: it needs a JVM."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def session() -> Iterator[SparkSession]:
    """Return a session with two cores in which a failed task is tried again."""
    conf = Configuration.from_dict({"parallelism.default": 2, "pipeline.name": "tests"})
    made = get_session(conf)
    yield made
    made.stop()


@pytest.fixture
def environment(session: SparkSession, tmp_path: Path) -> Environment:
    """Return a maker of environments: mode and further settings to environment."""

    def make(mode: str = "mixed", **settings: Any) -> StreamExecutionEnvironment:
        keys = {
            "batch": {"execution.runtime-mode": "BATCH"},
            "streaming": {"execution.runtime-mode": "STREAMING"},
            "mixed": {"execution.checkpointing.interval-during-backlog": "0"},
        }[mode]
        conf = Configuration.from_dict(
            {
                "parallelism.default": 2,
                "execution.checkpointing.dir": str(tmp_path / "job"),
                "execution.evolution": "keep",
            }
            | keys
            | settings
        )
        return StreamExecutionEnvironment.get_execution_environment(conf)

    return make


class Failures:
    """Places at which the job of a test fails, once each, and is started again."""

    def __init__(self, markers: Path, patch: pytest.MonkeyPatch) -> None:
        self._markers = markers
        self._patch = patch
        self._places: set[str] = set()

    def at(self, *places: str) -> dict[str, object]:
        """Arm failpoints, and return the settings of a job that survives all of them."""
        self._places = set(places)
        failpoint.count_anew()
        self._patch.setenv("PENSTOCK_FAILPOINT", ",".join(places))
        self._patch.setenv("PENSTOCK_FAILPOINT_MARKER", str(self._markers))
        return {
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": len(places),
            "restart-strategy.fixed-delay.delay": "10 ms",
        }

    def check_all_happened(self) -> None:
        """Check that the job has failed at every place."""
        assert {path.name for path in self._markers.iterdir()} == self._places


@pytest.fixture
def failures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Failures:
    """Return what lets a job fail."""
    markers = tmp_path / "markers"
    markers.mkdir()
    return Failures(markers, monkeypatch)
