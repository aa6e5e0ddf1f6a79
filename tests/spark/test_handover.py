"""A job hands its sinks over to its shadow while it runs, and gets them back: every record is counted once in its target."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.api.environment.job import JobClient
from penstock.cli.main import command_line
from penstock.config.configuration import set_process_overrides
from penstock.errors import JobHandedOverError
from penstock.observe.events.listeners import LogListener, set_listeners
from penstock.spark.job.mounted_path import current_generation
from tests.sink_systems import SINKS, SinkTarget, new_target
from tests.spark.conftest import Environment
from tests.spark.jobs import weighed
from tests.spark.jobs.weighed import HEAVY, LIGHT, add, totals
from tests.spark.waiting import wait_for

PROGRAM = """\
import sys
from tests.spark.jobs import weighed

weighed.STARTED.append(weighed.start(sys.argv[1:]))
"""
SYSTEMS = [
    pytest.param(name, marks=[] if name == "kafka" else pytest.mark.faults) for name in SINKS
]


class Jobs:
    """A job and its shadow in this process, as the commands run them."""

    def __init__(self, base: Path, target: SinkTarget) -> None:
        self.log, self.target = base / "log", target
        self.job, self.shadow = base / "job", base / "shadow"
        system = "delta" if target.system == "delta" else "files"
        self.outputs = SinkTarget(system, "", str(self.shadow / "outputs" / "out"))
        self._script = base / "program.py"
        self._script.write_text(PROGRAM)

    def arguments(self, weight: int) -> list[str]:
        """Return the arguments of the program."""
        target = self.target
        return [str(self.log), "live", str(weight), target.system, target.address, target.name]

    def run(self, weight: int, *command: str) -> JobClient:
        """Run a command that starts the program, and return its job."""
        options = ["-Dexecution.runtime-mode=STREAMING", "-Dparallelism.default=2"]
        program = [str(self._script), *options, "--", *self.arguments(weight)]
        try:
            result = CliRunner().invoke(command_line(), [*command, *program])
        finally:
            set_process_overrides("cli", {})
            set_listeners(LogListener())
        assert result.exit_code == 0, result.output
        return weighed.STARTED.pop()

    def hand_over(self, weight: int, *options: str) -> JobClient:
        """Hand the sinks over, and return the job that has got them."""
        return self.run(weight, "handover", *options, str(self.job), str(self.shadow))

    def wait_for(self, client: JobClient, *weights: tuple[int, int]) -> None:
        """Wait until so many records have their totals in the target, and look that it has no others."""
        expected = totals(*weights)
        wait_for(client, lambda: self.target.rows().total() >= expected.total())
        assert self.target.rows() == expected


@pytest.fixture
def jobs(request: pytest.FixtureRequest, tmp_path: Path) -> Jobs:
    """Return the jobs with a target of the system of the test."""
    return Jobs(tmp_path, new_target(request.param, request))


@pytest.mark.parametrize("jobs", SYSTEMS, indirect=True)
def test_sinks_have_one_owner_at_a_time(environment: Environment, jobs: Jobs) -> None:
    def original() -> JobClient:
        return weighed.start(jobs.arguments(LIGHT), environment("streaming"))

    add(jobs.log, 0, 40)
    job = original()
    jobs.wait_for(job, (40, LIGHT))
    shadow = jobs.run(HEAVY, "shadow", "--of", str(jobs.job), "--into", str(jobs.shadow))
    wait_for(shadow, lambda: jobs.outputs.rows().total() == 40)
    add(jobs.log, 40, 48)
    wait_for(shadow, lambda: jobs.outputs.rows().total() == 48)
    shadow.cancel().result()
    add(jobs.log, 48, 60)
    jobs.wait_for(job, (60, LIGHT))
    taker = jobs.hand_over(HEAVY)
    job.get_job_execution_result().result()
    with pytest.raises(JobHandedOverError):
        original()
    add(jobs.log, 60, 80)
    jobs.wait_for(taker, (60, LIGHT), (20, HEAVY))
    assert jobs.outputs.rows().total() == 48, "its own output is left alone"
    again = jobs.hand_over(LIGHT, "--back")
    taker.get_job_execution_result().result()
    add(jobs.log, 80, 100)
    jobs.wait_for(again, (60, LIGHT), (20, HEAVY), (20, LIGHT))
    assert current_generation(jobs.job) == jobs.job / "generation-1"
    again.cancel().result()
    assert jobs.target.rows() == totals((60, LIGHT), (20, HEAVY), (20, LIGHT))
