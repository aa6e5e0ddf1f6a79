"""Functions that changed since state was made: published once at a start, and told by `penstock plan`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from penstock.cli.main import command_line
from penstock.cli.plan import planned_by
from penstock.common import Configuration
from penstock.config.configuration import process_overrides, set_process_overrides
from penstock.datastream.connectors import CollectionSource
from penstock.observe.events.job_events import FunctionChanged, JobEvent
from penstock.plan.compat import function_digest
from penstock.plan.compat.function_digest import changed_functions, function_digests, job_digest
from penstock.plan.physical import PhysicalPlan
from penstock.spark.driver.changed_functions import (
    compare_with_last_start,
    functions_of,
    publish_changes,
    recorded_functions,
)
from penstock.spark.job.job_directory import JobDirectory
from penstock.state.savepoint import OperatorRecord, Savepoint, prepare_directory, write_manifest
from tests.runtime.jobs import STREAMING, job

SINCE = "the last start"


class Published:
    """Stands for `JobEvents`."""

    def __init__(self) -> None:
        self.events: list[JobEvent] = []

    def publish(self, event: JobEvent) -> None:
        self.events.append(event)


def plan_of(rate: int) -> PhysicalPlan:
    source = CollectionSource.of([("a", 1)])

    def build(stream: Any) -> Any:
        scaled = stream.map(lambda r: (r[0], r[1] * rate)).name("scaled").uid("rates")
        return scaled.key_by(lambda r: r[0]).sum(1).uid("sums")

    return job(STREAMING, source, build).plan()


def start(directory: Path, rate: int, *, makes_state: bool = True) -> list[JobEvent]:
    published = Published()
    opened = JobDirectory.open(str(directory), plan_of(rate), "job")
    try:
        take_back = compare_with_last_start(opened, published)  # type: ignore[arg-type]
        if not makes_state:
            take_back()
    finally:
        opened.release()
    return published.events


def test_a_change_is_published_at_the_next_start_and_once(tmp_path: Path) -> None:
    directory = tmp_path / "job"
    assert start(directory, 1) == []
    assert start(directory, 1) == []
    assert start(directory, 2) == [FunctionChanged("scaled", "rates", SINCE)]
    assert start(directory, 2) == []


def test_a_start_that_makes_no_state_leaves_no_digests(tmp_path: Path) -> None:
    directory = tmp_path / "job"
    assert start(directory, 3, makes_state=False) == []
    assert not (directory / "functions.json").exists()
    assert start(directory, 1) == []
    before = (directory / "functions.json").read_bytes()
    assert start(directory, 2, makes_state=False) == [FunctionChanged("scaled", "rates", SINCE)]
    assert (directory / "functions.json").read_bytes() == before
    assert start(directory, 1, makes_state=False) == []
    assert start(directory, 2) == [FunctionChanged("scaled", "rates", SINCE)]


def test_digests_are_computed_once_per_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    computed = list[object]()

    def counted(value: object, compute: Any = function_digest.digest) -> Any:
        computed.append(value)
        return compute(value)

    monkeypatch.setattr(function_digest, "digest", counted)
    plan = plan_of(2)
    known = function_digests(plan)
    later = replace(plan, mode=None)
    assert (changed_functions(later, known), function_digests(later)) == ((), known)
    assert job_digest(later) == job_digest(plan_of(2))
    assert len(computed) == 2 * len(known)


def test_a_directory_of_an_earlier_version_is_silent(tmp_path: Path) -> None:
    directory = tmp_path / "job"
    start(directory, 1)
    (directory / "functions.json").unlink()
    assert start(directory, 2) == []
    assert start(directory, 1) == [FunctionChanged("scaled", "rates", SINCE)]


def savepoint_at(path: Path, digests: dict[str, str]) -> Savepoint:
    records = tuple(OperatorRecord(uid, uid, "MAP", False, text) for uid, text in digests.items())
    made = Savepoint(
        "s", "2026-01-01T00:00:00+00:00", "j", "job", "live", 1, 128, operators=records
    )
    prepare_directory(path)
    write_manifest(path, made)
    return made


def test_a_savepoint_has_the_functions_of_its_job(tmp_path: Path) -> None:
    path = tmp_path / "saved"
    savepoint_at(path, function_digests(plan_of(1)))
    configuration = Configuration().set_string("execution.state-recovery.path", str(path))
    known = recorded_functions(configuration)
    assert known is not None
    published = Published()
    publish_changes(plan_of(2), known, published)  # type: ignore[arg-type]
    assert published.events == [FunctionChanged("scaled", "rates", f"savepoint {path}")]
    before = functions_of(savepoint_at(tmp_path / "before", dict.fromkeys(known.digests, "")), path)
    publish_changes(plan_of(2), before, published)  # type: ignore[arg-type]
    assert len(published.events) == 1


def test_a_directory_counts_before_a_savepoint(tmp_path: Path) -> None:
    start(tmp_path / "job", 2)
    savepoint_at(tmp_path / "saved", function_digests(plan_of(1)))
    configuration = Configuration()
    configuration.set_string("execution.state-recovery.path", str(tmp_path / "saved"))
    configuration.set_string("execution.checkpointing.dir", str(tmp_path / "job"))
    known = recorded_functions(configuration)
    assert known is not None
    assert (known.place, known.digests) == (SINCE, function_digests(plan_of(2)))
    assert recorded_functions(Configuration()) is None


PROGRAM = """
from penstock.datastream import StreamExecutionEnvironment

RATE = {rate}

env = StreamExecutionEnvironment.get_execution_environment()
pairs = env.from_collection([("a", 1)]).map(lambda r: (r[0], r[1] * RATE)).uid("rates")
pairs.key_by(lambda r: r[0]).sum(1).uid("sums").print()
env.execute("job")
"""


@pytest.fixture(autouse=True)
def _nothing_left() -> Any:
    yield
    for name, _ in process_overrides():
        set_process_overrides(name, {})


def test_the_plan_names_the_operators_that_changed(tmp_path: Path) -> None:
    script, directory = tmp_path / "job.py", tmp_path / "job"

    def plan(rate: int) -> Any:
        script.write_text(PROGRAM.format(rate=rate))
        arguments = ["plan", str(script), "-D", f"execution.checkpointing.dir={directory}"]
        return CliRunner().invoke(command_line(), arguments)

    assert plan(1).stderr == ""
    set_process_overrides("cli", {"execution.target": "plan"})
    opened = JobDirectory.open(str(directory), planned_by(script, None).plan, "job")
    compare_with_last_start(opened, Published())  # type: ignore[arg-type]
    opened.release()
    assert plan(1).stderr == ""
    changed = plan(2)
    assert changed.stderr == (
        "the function of map (uid rates) differs from that in the last start; its state is kept\n"
    )
    assert changed.exit_code == 0
    assert "differs from that" not in changed.stdout
