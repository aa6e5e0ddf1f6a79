"""A job hands its sinks over to its shadow while it runs, and gets them back: every record is counted once in its target."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from penstock import failpoint
from penstock.api.environment.job import JobClient
from penstock.cli.main import command_line
from penstock.config.configuration import set_process_overrides
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import JobHandedOverError
from penstock.observe.events.listeners import LogListener, set_listeners
from penstock.spark.job.mounted_path import current_generation
from tests.sink_systems import BY_KEY, SINKS, SinkTarget, new_target
from tests.spark.conftest import Environment
from tests.spark.jobs import weighed
from tests.spark.jobs.weighed import HEAVY, LIGHT, add_to, last_totals, totals
from tests.spark.waiting import wait_for

PROGRAM = """\
import sys
from tests.spark.jobs import weighed

weighed.STARTED.append(weighed.start(sys.argv[1:]))
"""
SYSTEMS = [
    pytest.param(name, marks=[] if name == "kafka" else pytest.mark.faults) for name in SINKS
]


MODES = {
    "live": ["-Dexecution.runtime-mode=STREAMING"],
    **{form: ["-Dexecution.checkpointing.interval-during-backlog=0"] for form in ("files", "log")},
}
"""Form of the input to the mode of the jobs."""

Weight = tuple[int, int]
"""Number of records, and the weight of the job that has written their totals."""


class Jobs:
    """A job and its shadow in this process, as the commands run them.

    Attributes:
        form: The form of the input.
    """

    def __init__(self, base: Path, target: SinkTarget, form: str = "live") -> None:
        self.input, self.target, self.form = base / "input", target, form
        self.job, self.shadow = base / "job", base / "shadow"
        system = target.system if target.system.startswith("delta") else "files"
        self.outputs = SinkTarget(system, "", str(self.shadow / "outputs" / "out"))
        self._script = base / "program.py"
        self._script.write_text(PROGRAM)

    def arguments(self, weight: int) -> list[str]:
        """Return the arguments of the program."""
        target = self.target
        place = [str(self.input), self.form]
        return [*place, str(weight), target.system, target.address, target.name]

    def add(self, first: int, last: int) -> None:
        """Add records to the input."""
        add_to(self.input, self.form, first, last)

    def run(self, weight: int, *command: str) -> JobClient:
        """Run a command that starts the program, and return its job."""
        result = self.invoke(weight, *command)
        assert result.exit_code == 0, result.output
        return weighed.STARTED.pop()

    def invoke(self, weight: int, *command: str) -> Result:
        """Run a command that starts the program."""
        options = [*MODES[self.form], "-Dparallelism.default=2"]
        program = [str(self._script), *options, "--", *self.arguments(weight)]
        try:
            return CliRunner().invoke(command_line(), [*command, *program])
        finally:
            set_process_overrides("cli", {})
            set_listeners(LogListener())

    def hand_over(self, weight: int, *options: str) -> JobClient:
        """Hand the sinks over, and return the job that has got them."""
        return self.run(weight, *self.handover(*options))

    def handover(self, *options: str) -> list[str]:
        """Return the command."""
        return ["handover", *options, str(self.job), str(self.shadow)]

    def start(self, env: StreamExecutionEnvironment) -> JobClient:
        """Start the job."""
        return weighed.start(self.arguments(LIGHT), env)

    def start_shadow(self) -> JobClient:
        """Start the shadow."""
        return self.run(HEAVY, "shadow", "--of", str(self.job), "--into", str(self.shadow))

    def wait_for(self, client: JobClient, *weights: Weight) -> None:
        """Wait until so many records have their totals in the target, and look that it has no others."""
        expected = totals(*weights)
        wait_for(client, lambda: self.target.rows().total() >= expected.total())
        assert self.target.rows() == expected

    def wait_for_last(self, client: JobClient, target: SinkTarget, *weights: Weight) -> None:
        """Wait until a target has exactly the results of so many records; of a table of keys the last ones."""
        expected = totals(*weights)
        if target.system in BY_KEY:
            expected = last_totals(expected)
        wait_for(client, lambda: target.rows() == expected)


@pytest.fixture
def jobs(request: pytest.FixtureRequest, tmp_path: Path) -> Jobs:
    """Return the jobs with a target of the system of the test."""
    return Jobs(tmp_path, new_target(request.param, request))


@pytest.mark.parametrize("jobs", SYSTEMS, indirect=True)
def test_sinks_have_one_owner_at_a_time(environment: Environment, jobs: Jobs) -> None:
    jobs.add(0, 40)
    job = jobs.start(environment("streaming"))
    jobs.wait_for(job, (40, LIGHT))
    shadow = jobs.start_shadow()
    wait_for(shadow, lambda: jobs.outputs.rows().total() == 40)
    jobs.add(40, 48)
    wait_for(shadow, lambda: jobs.outputs.rows().total() == 48)
    shadow.cancel().result()
    jobs.add(48, 60)
    jobs.wait_for(job, (60, LIGHT))
    taker = jobs.hand_over(HEAVY)
    job.get_job_execution_result().result()
    with pytest.raises(JobHandedOverError):
        jobs.start(environment("streaming"))
    jobs.add(60, 80)
    jobs.wait_for(taker, (60, LIGHT), (20, HEAVY))
    assert jobs.outputs.rows().total() == 48, "its own output is left alone"
    again = jobs.hand_over(LIGHT, "--back")
    taker.get_job_execution_result().result()
    jobs.add(80, 100)
    jobs.wait_for(again, (60, LIGHT), (20, HEAVY), (20, LIGHT))
    assert current_generation(jobs.job) == jobs.job / "generation-1"
    again.cancel().result()
    assert jobs.target.rows() == totals((60, LIGHT), (20, HEAVY), (20, LIGHT))


FAILURES = (
    "handover.taker-stopped",
    "handover.recorded",
    "bootstrap.part-state",
    "handover.advanced",
)


@pytest.mark.parametrize(
    ("form", "system", "places"), [("files", "files", ()), ("log", "delta by key", FAILURES)]
)
def test_jobs_that_read_history_and_then_live_hand_over_behind_it(
    environment: Environment,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    form: str,
    system: str,
    places: tuple[str, ...],
) -> None:
    jobs = Jobs(tmp_path, new_target(system, request), form)
    jobs.add(0, 20)
    jobs.add(20, 40)
    job = jobs.start(environment("mixed"))
    jobs.wait_for_last(job, jobs.target, (40, LIGHT))
    shadow = jobs.start_shadow()
    jobs.add(40, 48)
    jobs.wait_for_last(shadow, jobs.outputs, (48, HEAVY))
    shadow.cancel().result()
    jobs.add(48, 60)
    jobs.wait_for_last(job, jobs.target, (60, LIGHT))
    markers = tmp_path / "markers"
    markers.mkdir()
    failpoint.count_anew()
    monkeypatch.setenv("PENSTOCK_FAILPOINT", ",".join(f"{place}:1:raise" for place in places))
    monkeypatch.setenv("PENSTOCK_FAILPOINT_MARKER", str(markers))
    for _ in places:  # each ends one attempt
        failed = jobs.invoke(HEAVY, *jobs.handover())
        assert failed.exit_code != 0
        failpoint.count_anew()
    assert len([*markers.iterdir()]) == len(places)
    taker = jobs.hand_over(HEAVY)
    job.get_job_execution_result().result()
    jobs.add(60, 80)
    jobs.wait_for_last(taker, jobs.target, (60, LIGHT), (20, HEAVY))
    again = jobs.hand_over(LIGHT, "--back")
    jobs.add(80, 100)
    expected = (60, LIGHT), (20, HEAVY), (20, LIGHT)
    jobs.wait_for_last(again, jobs.target, *expected)
    again.cancel().result()
    jobs.wait_for_last(again, jobs.target, *expected)
