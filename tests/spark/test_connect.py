"""A client of Spark Connect is told at once what it cannot do."""

from __future__ import annotations

import pytest

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import EnvironmentSetupError
from penstock.spark.session.factory import get_session


@pytest.fixture(autouse=True)
def client_of_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")


def test_there_is_no_session() -> None:
    with pytest.raises(EnvironmentSetupError, match="Spark Connect") as caught:
        get_session(Configuration())
    assert caught.value.code == "ENVIRONMENT"
    assert "spark-submit" in (caught.value.hint or "")


def test_a_job_is_refused_and_leaves_nothing(tmp_path) -> None:
    settings = Configuration.from_dict({"execution.checkpointing.dir": str(tmp_path / "job")})
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.from_collection([1]).print()
    with pytest.raises(EnvironmentSetupError, match="Spark Connect"):
        env.execute()
    assert {path.name for path in tmp_path.rglob("*.json")} <= {"owner.json"}  # beside its lock


def test_what_needs_no_session_works() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1]).print()
    assert "print" in env.explain()
    assert "nodes" in env.get_execution_plan()
