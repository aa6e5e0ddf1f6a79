"""What a version without pipelines has written is gone on with, by a program that is four pipelines today.

`tests/golden/one-sequence` was written by the last commit before decision 24, from `tests/golden/earlier_job.py`: the
job directory `job` of a driver that was killed in its last live run (`live.committed:6`), its output `out`, and
`savepoint`, which `penstock savepoint job --stop` of that commit has made of it.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import JobMismatchError
from penstock.wire.atomic_file import read_verified
from tests.golden import earlier_job
from tests.spark.conftest import Environment
from tests.spark.test_clients import written

GOLDEN = Path(earlier_job.__file__).parent / "one-sequence"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Return a copy of the output."""
    made = tmp_path / "out"
    shutil.copytree(GOLDEN / "out", made)
    return made


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """Return a copy of the job directory."""
    made = tmp_path / "earlier"
    shutil.copytree(GOLDEN / "job", made)
    return made


def made(environment: Environment, job: Path, **settings: Any) -> StreamExecutionEnvironment:
    own = {**earlier_job.SETTINGS, "execution.checkpointing.dir": str(job), **settings}
    return environment("mixed", **own)


def check_complete(out: Path) -> None:
    for name, rows in earlier_job.expected().items():
        assert written(out / name) == rows, name
    found = earlier_job.answer_enriched(written(out / "enriched"))
    assert found == earlier_job.expected_enriched()


def test_the_output_was_not_complete(out: Path) -> None:
    assert 0 < written(out / "clicks").total() < earlier_job.LIVE
    assert written(out / "orders").total() > earlier_job.HISTORY


def test_a_job_that_was_begun_as_one_sequence_goes_on_as_one(
    environment: Environment, job: Path, out: Path
) -> None:
    env = made(environment, job)
    earlier_job.build(env, out)
    assert len(env.plan().pipelines) == 4
    result = env.execute("earlier")
    assert [run.name for run in result.runs] == ["live"]
    assert "pipelines" not in read_verified(job / "job.json")
    check_complete(out)


def test_its_savepoint_starts_every_pipeline(
    environment: Environment, tmp_path: Path, out: Path
) -> None:
    recovery = {"execution.state-recovery.path": str(GOLDEN / "savepoint")}
    env = made(environment, tmp_path / "second", **recovery)
    earlier_job.build(env, out)
    result = env.execute("earlier")
    assert [run.name for run in result.runs] == ["live"] * 3
    assert read_verified(tmp_path / "second" / "job.json")["pipelines"] == [0, 1, 1, 2, 3, 3]
    check_complete(out)


def test_another_program_is_refused_and_nothing_is_touched(
    environment: Environment, job: Path, out: Path
) -> None:
    env = made(environment, job, **{"parallelism.default": 3})
    earlier_job.build(env, out)
    before = {path: path.read_bytes() for path in job.rglob("run-*") if path.is_file()}
    with pytest.raises(JobMismatchError, match="has changed since") as refused:
        env.execute("earlier")
    assert refused.value.code == JobMismatchError.code
    assert {path: path.read_bytes() for path in job.rglob("run-*") if path.is_file()} == before
