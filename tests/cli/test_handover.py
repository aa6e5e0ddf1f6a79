"""Records of a hand-over: generations of a directory, the refusal of the giver, and a hand-over that is taken back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from penstock.common import Types
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.errors import EvolutionError, HandOverError, JobHandedOverError
from penstock.plan.physical import PhysicalPlan
from penstock.runtime.task.report import Report
from penstock.spark.job.job_directory import JobDirectory
from penstock.spark.job.mounted_path import (
    checkpoint_path,
    current_generation,
    generation,
    next_generation,
)
from penstock.spark.job.observed_job import RESTORED, ObservedJob
from penstock.spark.job.run_outline import outline_of
from penstock.spark.savepoints.requested_savepoint import stop_for_successor
from penstock.spark.upgrade.handover import (
    check_live,
    check_program,
    check_taker,
    record_hand_over,
    recorded_hand_over,
    taken_back,
)
from penstock.spark.upgrade.shadow import begin_shadow
from penstock.state.savepoint import SourceRecord, prepare_directory, write_manifest
from tests.runtime.jobs import MIXED, STREAMING, environment

READ, BEGAN = {"splits": [[1, 1]]}, {"splits": [[0, 1]]}


def planned(step: int = 1, mode: Mapping[str, str] = STREAMING) -> PhysicalPlan:
    env = environment({**mode, "pipeline.max-parallelism": "16"})
    numbers = env.from_collection([1], Types.LONG()).uid("numbers")
    added = numbers.map(lambda n: n + step, Types.LONG()).uid("added")
    added.key_by(lambda n: n).sum(0).uid("sums").sink_to(DiscardingSink()).uid("out")
    return env.plan()


def stopped_job(path: Path) -> Path:
    """Make the directory of a job that was stopped with a savepoint."""
    plan = planned()
    directory = JobDirectory.open(str(path), plan, "numbers")
    saved = path / "savepoints" / "1"
    prepare_directory(saved)
    outline = outline_of(plan, plan.runs[-1], directory.job_id, "numbers")
    kinds = tuple(part.kind for part in plan.sources[0].parts)
    read = (SourceRecord("numbers", "numbers", kinds, 0, READ, {}, {"0": BEGAN}),)
    write_manifest(saved, outline.savepoint("1", Report(), read, (), drained=False))
    directory.record("stopped", {"savepoint": str(saved)})
    directory.release()
    return path


def savepoint_of(path: Path) -> str:
    return stop_for_successor(ObservedJob.at(path))


def begin(path: Path) -> None:
    """Let a job begin in a directory with a savepoint."""
    directory = JobDirectory.open(str(path), planned(), "numbers")
    directory.check_owns_sinks()
    directory.record(RESTORED, {})
    directory.release()


def refused_start(path: Path) -> str:
    directory = JobDirectory.open(str(path), planned(), "numbers")
    with pytest.raises(JobHandedOverError) as refused:
        directory.check_owns_sinks()
    directory.release()
    return str(refused.value)


def test_a_generation_counts_from_its_savepoint_on(tmp_path: Path) -> None:
    assert current_generation(tmp_path / "not there") == tmp_path / "not there"
    generation(tmp_path, 3).mkdir()
    (tmp_path / "generation-x").mkdir()
    assert (current_generation(tmp_path), next_generation(tmp_path)) == (tmp_path, 4)
    for number in (9, 10):
        generation(tmp_path, number).mkdir()
        (generation(tmp_path, number) / "restored.json").touch()
    assert checkpoint_path(str(tmp_path)) == tmp_path / "generation-10"
    assert next_generation(tmp_path) == 11


def test_a_job_that_has_handed_over_is_refused_until_it_gets_its_sinks_back(tmp_path: Path) -> None:
    a, b = (stopped_job(tmp_path / name) for name in "ab")
    assert recorded_hand_over(a, b) is None
    begins, at = savepoint_of(b), savepoint_of(a)
    made = record_hand_over(a, b, begins, at)
    assert recorded_hand_over(a, b) == made
    assert made.directory == b / "generation-1"
    told = refused_start(a)
    assert f"the job in {a} has handed its sinks over to the job in {b}" in told
    assert f"penstock handover --back {a} {b} JOB.PY" in told
    begin(made.directory)
    with pytest.raises(EvolutionError, match="is no shadow: it has got the sinks"):
        begin_shadow(a, b, planned())
    assert ObservedJob.at(b).path == made.directory
    assert taken_back(b, a) is None, "it has begun, so it has to be stopped first"
    back = record_hand_over(b, a, at, at)
    assert (back.directory, recorded_hand_over(b, a)) == (a / "generation-1", back)
    begin(back.directory)
    assert f"has handed its sinks over to the job in {a}" in refused_start(made.directory)
    assert recorded_hand_over(a, b) is None, "the next time is another one"


def test_a_hand_over_that_was_not_completed_is_taken_back(tmp_path: Path) -> None:
    a, b = (stopped_job(tmp_path / name) for name in "ab")
    at = savepoint_of(a)
    made = record_hand_over(a, b, savepoint_of(b), at)
    back = taken_back(b, a)
    assert back is not None
    assert (back.begins, back.at, back.directory) == (at, at, a / "generation-1")
    assert recorded_hand_over(b, a) == back
    with pytest.raises(Exception, match="not a checkpoint directory"):
        JobDirectory.open(str(made.directory), planned(), "numbers")
    begin(back.directory)
    assert recorded_hand_over(a, b) is None
    assert record_hand_over(a, b, at, at).directory == b / "generation-2"


def test_only_a_shadow_or_an_earlier_owner_gets_the_sinks(tmp_path: Path) -> None:
    a, other = (stopped_job(tmp_path / name) for name in ("a", "other"))
    assert begin_shadow(a, tmp_path / "b", planned()) is not None
    b = stopped_job(tmp_path / "b")
    for job in (a, b):
        check_live(job)
    check_taker(a, b)
    for giver, taker in ((a, other), (other, b), (b, a)):
        with pytest.raises(HandOverError, match="has no shadow of the job in"):
            check_taker(giver, taker)
    at = savepoint_of(a)
    record_hand_over(a, b, savepoint_of(b), at)
    check_taker(b, a)


@pytest.mark.parametrize("mode", [STREAMING, MIXED])
@pytest.mark.parametrize("is_running", [True, False])
def test_a_job_that_reads_its_history_neither_gives_nor_gets_sinks(
    tmp_path: Path, mode: Mapping[str, str], is_running: bool
) -> None:
    plan = planned(mode=mode)
    directory = JobDirectory.open(tmp_path / "a", plan, "numbers")
    if not is_running:
        directory.release()
    with pytest.raises(HandOverError, match="has not read its history yet"):
        check_live(tmp_path / "a")
    directory.release()


def test_another_program_than_that_of_the_shadow_is_refused(tmp_path: Path) -> None:
    b = stopped_job(tmp_path / "b")
    check_program(planned(), b)
    with pytest.raises(HandOverError, match=r"map \(uid added\): its function differs"):
        check_program(planned(step=2), b)
