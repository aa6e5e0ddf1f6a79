"""`penstock drop`: lists and drops what a job keeps in other systems, and nothing that is somebody else's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.cli.plan import plan_of
from penstock.config.configuration import set_process_overrides
from penstock.config.options import TARGET
from penstock.connectors.postgres.client import close_sessions
from penstock.filesystem.stored_path import mounted
from penstock.graph.endpoints import SinkContext
from penstock.plan.phases.backlog import snapshot_parts
from penstock.spark.job.job_directory import SHADOW, JobDirectory
from penstock.spark.job.observed_job import RESTORED

JOB = """
import sys
from penstock.datastream import StreamExecutionEnvironment
from penstock.common import Types, WatermarkStrategy
from penstock.datastream.connectors.postgres import PostgresSink, PostgresSource
from penstock.datastream.connectors.redis import RedisSink

dsn, slot, url = sys.argv[1:]
env = StreamExecutionEnvironment.get_execution_environment()
row = Types.ROW_NAMED(["id", "v"], [Types.INT(), Types.INT()])
source = PostgresSource.builder().set_dsn(dsn).set_tables("t").set_slot(slot).set_upserts(row)
rows = env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "t").uid("t")
sink = PostgresSink.builder().set_dsn(dsn).set_table("out").set_columns("id", "v").build()
rows.sink_to(sink).name("out").uid("out")
rows.sink_to(RedisSink.to_stream(url, "out")).name("stream").uid("stream")
env.execute("copies")
"""


@pytest.fixture
def job(postgres, valkey, program, tmp_path):
    """Return the arguments of a job, and a maker of what it keeps."""
    postgres.run("create table t (id int primary key, v int)", "create table out (id int, v int)")
    script, arguments = program(JOB), [postgres.dsn, postgres.slot(), valkey.url]

    def made(*, begins, generation=""):
        set_process_overrides("cli", {TARGET.key: "plan"})
        place = tmp_path / "job" / generation
        place.parent.mkdir(parents=True, exist_ok=True)
        directory = JobDirectory.open(place, plan_of(Path(script), arguments), "copies")
        if generation:
            directory.record(RESTORED, {})
        elif begins:
            for number, part in snapshot_parts(directory.plan).items():
                files = mounted(directory.path / "snapshots" / str(number))
                files.mkdir(parents=True)
                part.source.snapshot(files)
        if begins:
            for sink in directory.plan.sinks:
                scratch = (sink.type_info, sink.name, sink.origin, directory.path)
                context = SinkContext(directory.job_id, sink.uid, 0, *scratch)
                committer = sink.sink.create_committer(context)
                committer.recover()
                writer = sink.sink.create_writer(context)
                writer.write([{"id": 1, "v": 2}])
                committer.commit("0-0", writer.prepare_commit())
                left = sink.sink.create_writer(context)
                left.write([{"id": 3, "v": 4}])
                left.prepare_commit()
                committer.close()
        directory.release()
        return directory

    yield [script, str(tmp_path / "job"), "--", *arguments], made
    close_sessions()


SLOTS = "select count(*) from pg_replication_slots where database = current_database()"
PUBLICATIONS = "select count(*) from pg_publication"
STAGES = "select count(*) from pg_class where relname like 'stage%' and relkind = 'r'"
MARKS = "select count(*) from penstock.epochs"


def test_what_a_job_keeps_is_listed_and_then_dropped(postgres, valkey, penstock, job):
    arguments, made = job
    job_id = made(begins=True).job_id
    kept = (SLOTS, PUBLICATIONS, STAGES, MARKS)
    assert [postgres.value(each) for each in kept] == [1, 1, 1, 1]
    listed = penstock("drop", *arguments)
    assert listed.exit_code == 0, listed.stderr
    lines = listed.stdout.splitlines()
    for line, begin in zip(
        lines,
        ("replication slot", "publication", "staged rows penstock.stage_", "row", "key penstock:"),
        strict=True,
    ):
        assert line.startswith(begin)
    assert job_id in lines[3]
    assert "nothing was dropped" in listed.stderr
    assert "password" not in listed.output
    assert [postgres.value(each) for each in kept] == [1, 1, 1, 1]
    told = [json.loads(line) for line in penstock("drop", "--json", *arguments).stdout.splitlines()]
    assert told == [{"what": line, "is_dropped": False} for line in lines]
    dropped = penstock("drop", "--yes", *arguments)
    assert dropped.stdout.splitlines() == [f"dropped {line}" for line in lines]
    assert [postgres.value(each) for each in kept] == [0, 0, 0, 0]
    assert not valkey.client.keys(f"*{job_id}*")
    assert postgres.run("select * from out") == [(1, 2)]
    again = penstock("drop", "--yes", *arguments)
    assert (again.exit_code, again.stdout) == (0, "")
    assert "keeps nothing in other systems" in again.stderr


def test_what_earlier_generations_keep_is_dropped_with_the_job(postgres, valkey, penstock, job):
    arguments, made = job
    first, second = (made(begins=True, generation=each) for each in ("", "generation-1"))
    never = made(begins=False, generation="generation-2")
    (never.path / "restored.json").unlink()
    listed = penstock("drop", *arguments).stdout.splitlines()
    assert len(listed) == len({*listed}) == 8
    for directory in (first, second):
        assert sum(directory.job_id in line for line in listed) == 2, "the marks of both sinks"
    dropped = penstock("drop", "--yes", *arguments)
    assert dropped.stdout.splitlines() == [f"dropped {line}" for line in listed]
    assert [postgres.value(each) for each in (SLOTS, STAGES, MARKS)] == [0, 0, 0]
    assert not any(valkey.client.keys(f"*{each.job_id}*") for each in (first, second))


def test_a_shadow_has_nothing_to_drop_before_it_gets_the_sinks(penstock, job):
    arguments, made = job
    first, second = (made(begins=True, generation=each) for each in ("", "generation-1"))
    (first.path / SHADOW).mkdir()
    listed = penstock("drop", *arguments).stdout
    assert (first.job_id in listed, second.job_id in listed) == (False, True)


def test_what_the_rounds_of_an_upgrade_keep_is_dropped_with_its_directory(
    postgres, valkey, penstock, job
):
    arguments, made = job
    upgrade = made(begins=False)
    round_job = made(begins=True, generation="bootstrap/round-0/job")
    (upgrade.path / "bootstrap/round-1").mkdir()
    listed = penstock("drop", *arguments).stdout.splitlines()
    assert sum(round_job.job_id in line for line in listed) == 2, "the marks of both sinks"
    dropped = penstock("drop", "--yes", *arguments)
    assert dropped.stdout.splitlines() == [f"dropped {line}" for line in listed]
    assert [postgres.value(each) for each in (STAGES, MARKS)] == [0, 0]


def test_a_slot_that_the_job_has_not_made_is_not_of_it(postgres, penstock, job):
    arguments, made = job
    made(begins=False)
    (slot,) = postgres.slots
    postgres.run(f"select pg_create_logical_replication_slot('{slot}', 'pgoutput')")
    found = penstock("drop", "--yes", *arguments)
    assert (found.exit_code, found.stdout) == (0, ""), found.stderr
    assert postgres.value(SLOTS) == 1


def test_a_job_that_runs_and_another_one_are_refused(penstock, job, program, tmp_path):
    arguments, made = job
    missing = penstock("drop", *arguments)
    assert missing.exit_code != 0
    assert "is not a checkpoint directory" in missing.stderr
    directory = made(begins=False)
    again = JobDirectory.open(str(directory.path), directory.plan, "copies")
    running = penstock("drop", "--yes", *arguments)
    assert running.exit_code != 0
    assert "JOB_LOCKED" in running.stderr
    again.release()
    other = program(JOB.replace('.uid("stream")', '.uid("others")'), "other.py")
    refused = penstock("drop", other, *arguments[1:])
    assert refused.exit_code != 0
    assert "the graph of 'copies' has changed" in refused.stderr


OWN = """
import sys
from penstock.common import Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DiscardingSink, KeptOutside

says = "says" in sys.argv

class Own(DiscardingSink):
    def kept_outside(self, context):
        if says:
            raise ValueError("oops")
        def drop():
            raise ValueError("not now")
        return [KeptOutside(f"a lock of {context.name}", drop)]

env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([1], Types.LONG()).sink_to(Own()).name("out").uid("out")
env.execute("owns")
"""


def test_what_fails_in_a_sink_of_ones_own_is_told(penstock, program, tmp_path):
    script = program(OWN)
    set_process_overrides("cli", {TARGET.key: "plan"})
    JobDirectory.open(str(tmp_path / "job"), plan_of(Path(script), []), "owns").release()
    listed = penstock("drop", script, str(tmp_path / "job"))
    assert (listed.exit_code, listed.stdout) == (0, "a lock of out\n")
    failed = penstock("drop", script, str(tmp_path / "job"), "--yes")
    assert failed.exit_code != 0
    assert "a lock of out cannot be dropped: ValueError: not now" in failed.stderr
    silent = penstock("drop", script, str(tmp_path / "job"), "--", "says")
    assert silent.exit_code != 0
    assert "sink 'out' does not list its outside resources: ValueError: oops" in silent.stderr
