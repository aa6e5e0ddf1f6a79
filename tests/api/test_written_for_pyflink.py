"""What programs written for PyFlink do with the smaller parts of its API."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from penstock import metrics
from penstock.api.environment.job import JobExecutionResult, JobID
from penstock.common import Configuration, Row, Types
from penstock.config.options import STATE_BACKEND
from penstock.datastream import CoMapFunction, KeyedStream, StreamExecutionEnvironment
from penstock.errors import ArgumentError, ConfigError, EmptyGraphError
from penstock.metrics import metricbase

ROW = Types.ROW_NAMED(["name", "size"], [Types.STRING(), Types.INT()])
TUPLE = Types.TUPLE([Types.STRING(), Types.INT()])


@pytest.fixture
def env():
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)


class Both(CoMapFunction):
    def map1(self, value):
        return value

    map2 = map1


def nodes_of(env):
    return json.loads(env.get_execution_plan())["nodes"]


def test_a_plan_needs_no_sink(env):
    env.from_collection([1]).map(lambda n: n).name("same")
    source, mapped = nodes_of(env)
    assert (source["pact"], mapped["pact"]) == ("Data Source", "Operator")
    assert mapped["type"] == "same"
    assert [edge["id"] for edge in mapped["predecessors"]] == [source["id"]]


def test_a_plan_without_a_sink_has_every_stream(env):
    first, second = env.from_collection([1]), env.from_collection([2])
    first.connect(second).map(Both()).name("both")
    second.key_by(lambda n: n)
    second.map(lambda n: n).name("alone")
    assert [node["pact"] for node in nodes_of(env)] == ["Data Source"] * 2 + ["Operator"] * 2


def test_a_plan_changes_nothing(env):
    env.from_collection([1]).map(lambda n: n)
    assert nodes_of(env) == nodes_of(env)
    with pytest.raises(EmptyGraphError):
        env.plan()


def test_a_program_of_nothing_has_no_plan(env):
    with pytest.raises(EmptyGraphError):
        env.get_execution_plan()


def test_an_accumulator_that_is_not_there_is_none():
    result = JobExecutionResult(JobID("j"), 5, accumulators={"m.seen": 3})
    assert result.get_accumulator_result("accumulator") is None
    assert result.get_accumulator_result("seen") == 3


def test_a_result_is_printed_as_flink_prints_it():
    lines = str(JobExecutionResult(JobID("j"), 5)).splitlines()
    assert lines == [
        "Program execution finished",
        "Job with JobID j has finished.",
        "Job Runtime: 5 ms",
    ]


def test_a_name_of_two_accumulators_is_refused():
    result = JobExecutionResult(JobID("j"), 5, accumulators={"m.seen": 3, "n.seen": 4})
    with pytest.raises(ArgumentError, match=r"m\.seen"):
        result.get_accumulator_result("seen")


def test_a_duration_without_a_unit_is_in_milliseconds(env):
    env.configure(Configuration().set_string("execution.checkpointing.timeout", "12000"))
    assert env.get_checkpoint_config().get_checkpoint_timeout() == 12000


AGGREGATIONS = ["sum", "min", "max", "min_by", "max_by"]


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize(
    ("type_info", "position"), [(ROW, "weight"), (ROW, 2), (TUPLE, 2), (TUPLE, "size")]
)
def test_a_field_the_declared_type_has_not_is_refused_at_once(
    env, aggregation, type_info, position
):
    keyed = env.from_collection([("a", 1)], type_info).key_by(lambda record: record[0])
    with pytest.raises(ArgumentError) as caught:
        getattr(keyed, aggregation)(position)
    assert repr(position) in caught.value.problem
    assert caught.value.origin is not None
    assert caught.value.origin.filename == __file__


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize(
    ("type_info", "position"), [(ROW, "size"), (ROW, 1), (TUPLE, 1), (None, 7), (Types.INT(), 0)]
)
def test_a_field_that_may_be_there_is_accepted(env, aggregation, type_info, position):
    keyed = env.from_collection([], type_info).key_by(lambda record: record)
    getattr(keyed, aggregation)(position)


@pytest.mark.parametrize(
    "stream",
    [
        lambda env: env.from_collection([1]),
        lambda env: env.from_collection([1]).map(lambda n: n).force_non_parallel(),
    ],
    ids=["collection", "force_non_parallel"],
)
def test_what_is_not_parallel_gets_no_parallelism(env, stream):
    chosen = stream(env)
    assert chosen.set_parallelism(1) is chosen
    assert chosen.force_non_parallel() is chosen
    with pytest.raises(ArgumentError, match="always has one subtask") as caught:
        chosen.set_parallelism(2)
    assert caught.value.origin is not None
    assert caught.value.origin.filename == __file__


def test_a_parallelism_of_one_may_be_changed(env):
    assert env.from_collection([1]).map(lambda n: n).set_parallelism(1).set_parallelism(2)


@pytest.mark.parametrize("limit", [-1, 1.5, "2", True])
def test_a_limit_is_a_number_of_records(env, limit):
    with pytest.raises(ArgumentError, match="limit"):
        env.from_collection([1]).execute_and_collect(limit=limit)


def test_the_kinds_of_aggregation_are_an_enum():
    names = {member.name: member.value for member in KeyedStream.AccumulateType}
    assert names == {"MIN": 1, "MAX": 2, "MIN_BY": 3, "MAX_BY": 4, "SUM": 5}


def test_a_wrong_number_of_fields_is_a_value_error():
    with pytest.raises(ValueError, match="2"):
        Row("name", "size")("a", 1, 2)
    with pytest.raises(ValueError, match="keyword"):
        Row("a", size=1)


def test_the_unit_of_a_bare_number_is_the_same_everywhere():
    written = Configuration().set_string("execution.checkpointing.interval", "1500")
    plain = StreamExecutionEnvironment.get_execution_environment(written)
    assert plain.get_checkpoint_interval() == timedelta(milliseconds=1500) // timedelta(
        milliseconds=1
    )


def test_metrics_are_in_both_of_pyflinks_places():
    for name in ("Counter", "Distribution", "Meter", "Metric", "MetricGroup"):
        assert getattr(metricbase, name) is getattr(metrics, name)


CLUSTER = {
    "akka.ask.timeout": "20 s",
    "classloader.resolve-order": "parent-first",
    "cluster.evenly-spread-out-slots": "true",
    "env.java.opts": "-XX:+UseG1GC",
    "execution.attached": "true",
    "fs.s3a.access.key": "k",
    "heartbeat.timeout": "50000",
    "high-availability.type": "zookeeper",
    "io.tmp.dirs": "/tmp/flink",
    "kubernetes.cluster-id": "c",
    "metrics.reporter.prom.port": "9249",
    "metrics.reporters": "prom",
    "pekko.ask.timeout": "20 s",
    "state.checkpoints.num-retained": "3",
    "table.local-time-zone": "UTC",
    "web.submit.enable": "true",
}


@pytest.mark.parametrize("key", CLUSTER)
def test_keys_of_a_cluster_are_kept_and_change_nothing(key):
    written = Configuration().set_string(key, CLUSTER[key])
    env = StreamExecutionEnvironment.get_execution_environment(written)
    env.from_collection([1]).print()
    assert env.plan()
    assert env.get_configuration().get_string(key, "") == CLUSTER[key]


@pytest.mark.parametrize(
    "key", ["metrics.latency.intervall", "slots", "table.exec.state.tttl", "fss.key", "webby"]
)
def test_a_key_that_is_nearly_one_is_refused(key):
    with pytest.raises(ConfigError):
        Configuration().set_string(key, "1").validate()


@pytest.mark.parametrize(
    ("written", "found"),
    [("rocksdb", "lmdb"), ("filesystem", "hashmap"), ("jobmanager", "hashmap")],
)
def test_the_older_key_of_the_state_backend_is_read(written, found):
    assert Configuration().set_string("state.backend", written).get(STATE_BACKEND) == found
