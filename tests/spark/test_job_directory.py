"""The checkpoint directory, opened without Spark: whose it is, and with which uids a job goes on."""

from __future__ import annotations

import pytest

from penstock.common import Configuration, WatermarkStrategy
from penstock.connectors.data_generator import DataGeneratorSource
from penstock.connectors.discard import DiscardingSink
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import JobMismatchError
from penstock.plan.fingerprint import describe_shape, fingerprint
from penstock.plan.identity import with_numbers
from penstock.plan.physical import PhysicalPlan
from penstock.serde.atomic_file import read_verified, write_verified
from penstock.spark.job_directory import JobDirectory


def plan_of(*uids: str | None) -> PhysicalPlan:
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"parallelism.default": 1})
    )
    source = DataGeneratorSource(lambda i: i)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "s")
    for uid in uids:
        stream = stream.key_by(lambda v: v).reduce(max).name("reduce")
        if uid is not None:
            stream.uid(uid)
    stream.sink_to(DiscardingSink())
    return env.plan()


def uids_in(path, plan) -> list[str]:
    directory = JobDirectory.open(str(path), plan, "job")
    directory.release()
    return [op.uid for level in directory.plan.levels for op in level.operators]


def test_an_unchanged_program_without_uids_goes_on(tmp_path):
    plan = plan_of(None, None)
    first = uids_in(tmp_path, plan)
    assert len(set(first)) == 2
    assert uids_in(tmp_path, plan_of(None, None)) == first


def written_by_the_first_version(path, plan: PhysicalPlan) -> None:
    """Leave what 0.1.0 wrote: uids are numbers, and nothing says so."""
    uids_in(path, plan)
    record = read_verified(path / "job.json")
    old = with_numbers(plan)
    record |= {"fingerprint": fingerprint(old), "shape": describe_shape(old)}
    del record["uids"]
    write_verified(path / "job.json", record)


@pytest.mark.parametrize(
    ("uids", "kept"),
    [((None, None), ["reduce-1", "reduce-2"]), (("a", None), ["a", "reduce-1"]), (("a",), ["a"])],
)
def test_a_directory_of_the_first_version_goes_on_with_its_numbers(tmp_path, uids, kept):
    written_by_the_first_version(tmp_path, plan_of(*uids))
    assert uids_in(tmp_path, plan_of(*uids)) == kept


def test_a_directory_of_the_first_version_refuses_another_program(tmp_path):
    written_by_the_first_version(tmp_path, plan_of(None))
    with pytest.raises(JobMismatchError):
        uids_in(tmp_path, plan_of(None, None))


def test_another_graph_is_told_how_to_keep_the_state(tmp_path):
    uids_in(tmp_path, plan_of("a"))
    with pytest.raises(JobMismatchError) as refused:
        uids_in(tmp_path, plan_of("a", "b"))
    assert f"penstock savepoint {tmp_path}" in refused.value.hint
    assert "execution.state-recovery.path" in refused.value.hint
