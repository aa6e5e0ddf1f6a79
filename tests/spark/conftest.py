"""One Spark session for all tests that need one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.program.run_settings import LiveEngine
from penstock.spark.session.factory import get_session

Environment = Callable[..., StreamExecutionEnvironment]

ENGINE = "execution.live.engine"
ENGINES = [engine.value for engine in LiveEngine]


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
            {"parallelism.default": 2, "execution.checkpointing.dir": str(tmp_path / "job")}
            | keys
            | settings
        )
        return StreamExecutionEnvironment.get_execution_environment(conf)

    return make
