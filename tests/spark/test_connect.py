"""A client of Spark Connect is told at once what it cannot do, and can do the rest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import EnvironmentSetupError
from penstock.spark.session.factory import get_session
from tests.spark.connect_server import connect_server
from tests.spark.jobs import connect_client

ROOT = Path(__file__).parents[2]


@pytest.fixture
def client_of_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")


@pytest.mark.usefixtures("client_of_connect")
def test_there_is_no_session() -> None:
    with pytest.raises(EnvironmentSetupError, match="Spark Connect") as caught:
        get_session(Configuration())
    assert caught.value.code == "ENVIRONMENT"
    assert "spark-submit" in (caught.value.hint or "")


@pytest.mark.usefixtures("client_of_connect")
def test_a_job_is_refused_and_leaves_nothing(tmp_path) -> None:
    settings = Configuration.from_dict({"execution.checkpointing.dir": str(tmp_path / "job")})
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.from_collection([1]).print()
    with pytest.raises(EnvironmentSetupError, match="Spark Connect"):
        env.execute()
    assert {path.name for path in tmp_path.rglob("*.json")} <= {"owner.json"}  # beside its lock


@pytest.mark.usefixtures("client_of_connect")
def test_what_needs_no_session_works() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1]).print()
    assert "print" in env.explain()
    assert "nodes" in env.get_execution_plan()


def test_a_real_client_of_a_real_server(tmp_path: Path) -> None:
    pytest.importorskip("grpc_status", reason="grpcio-status is not installed")
    files = tmp_path / "client"
    files.mkdir()
    with connect_server(tmp_path) as address:
        done = subprocess.run(
            [sys.executable, connect_client.__file__, address, str(files)],
            env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["session"] == "pyspark.sql.connect.session"
    assert told["rows"] == 3
    assert "print" in told["explain"]
    assert told["nodes"] == 3
    assert told["code"] == "ENVIRONMENT"
    assert "the JVM of Spark's driver" in told["problem"]
    assert "spark-submit" in told["hint"]
    assert told["collected"] == [2, 4]
    assert set(told["files"]) <= {"lock", "owner.json"}
