"""`penstock rescale`, without Spark: of jobs that do not run, and what a driver reads of the request."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from penstock.cli.main import command_line
from penstock.common import Configuration, WatermarkStrategy
from penstock.config.options import CHECKPOINT_DIR, PARALLELISM
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream.connectors import DataGeneratorSource
from penstock.errors import ConfigError
from penstock.plan.physical import PhysicalPlan
from penstock.spark.executor import SparkExecutor
from penstock.spark.job.job_directory import JobDirectory
from penstock.spark.job.later_parallelism import (
    ParallelismRequest,
    RescaleLookout,
    Rescaling,
    accept_parallelism,
)
from tests.runtime.jobs import STREAMING, environment


def plan_of(parallelism: int) -> PhysicalPlan:
    env = environment({**STREAMING, "pipeline.max-parallelism": "16"}, parallelism)
    source = DataGeneratorSource(lambda i: i, count=None)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    numbers.key_by(lambda i: i % 7).reduce(max).sink_to(DiscardingSink())
    return env.plan()


@pytest.fixture
def job(tmp_path: Path) -> Path:
    JobDirectory.open(str(tmp_path), plan_of(2), "numbers").release()
    return tmp_path


def rescale(job: Path, number: int, *more: str) -> Result:
    arguments = ["rescale", str(job), "--parallelism", str(number), *more]
    return CliRunner().invoke(command_line(), arguments)


def settled(job: Path) -> int | None:
    configuration = Configuration.from_dict({CHECKPOINT_DIR.key: str(job), PARALLELISM.key: "2"})
    SparkExecutor().settle(configuration)
    return configuration.get(PARALLELISM)


def test_the_next_start_takes_the_parallelism(job: Path) -> None:
    assert settled(job) == 2
    result = rescale(job, 5)
    assert result.exit_code == 0, result.output
    assert "goes on with parallelism 5" in result.output
    assert settled(job) == 5
    JobDirectory.open(str(job), plan_of(5), "numbers").release()
    assert rescale(job, 1).exit_code == 0
    assert settled(job) == 1


def test_a_directory_that_is_not_there_sets_nothing(tmp_path: Path) -> None:
    assert settled(tmp_path / "new") == 2


def test_what_cannot_be_rescaled_is_refused(job: Path) -> None:
    for number in (0, 17):
        result = rescale(job, number)
        assert result.exit_code != 0
        assert "16 key groups" in result.output
    running = JobDirectory.open(str(job), plan_of(2), "numbers")
    running.record("finished", {"runs": 1})
    running.release()
    result = rescale(job, 3)
    assert result.exit_code != 0
    assert "it is finished" in result.output
    assert settled(job) == 2


def test_a_running_job_gets_a_request(job: Path) -> None:
    running = JobDirectory.open(str(job), plan_of(2), "numbers")
    request = ParallelismRequest(job)
    result = rescale(job, 3, "--timeout", "1s")
    assert result.exit_code != 0
    assert "no change of parallelism after 1.0 s" in result.output
    RescaleLookout(running).check()  # the command has withdrawn it
    request.submit(3)
    with pytest.raises(Rescaling):
        RescaleLookout(running).check()
    accept_parallelism(running, 3)
    assert request.number() is None
    running.release()
    assert settled(job) == 3


def test_a_refusal_reaches_the_command(job: Path) -> None:
    running = JobDirectory.open(str(job), plan_of(2), "numbers")
    request = ParallelismRequest(job)

    def refuse() -> None:
        while request.number() is None:
            time.sleep(0.01)
        request.refuse(ConfigError("it cannot be", hint="Take another."))

    driver = threading.Thread(target=refuse)
    driver.start()
    result = rescale(job, 3)
    driver.join()
    assert result.exit_code != 0
    assert "it cannot be" in result.output
    running.release()
    assert settled(job) == 2
    request.submit(4)
    assert request.refusal() is None, "that of another request"
