"""`pipeline.auto-generate-uids` = false: every source, operator and sink must have a uid."""

from __future__ import annotations

import pytest

from penstock.common import Configuration, Types
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import OutputTag, ProcessFunction, StreamExecutionEnvironment
from penstock.errors import GraphError
from penstock.testing import run_in_process
from tests.runtime.jobs import BATCH, MODE_IDS, MODES, by_time


def environment(mode=BATCH):
    made = Configuration.from_dict(mode | {"pipeline.auto-generate-uids": "false"})
    return StreamExecutionEnvironment.get_execution_environment(made)


def named(stream):
    return stream.map(lambda record: record).uid("mapped")


SIDE = OutputTag("side", Types.PICKLED_BYTE_ARRAY())


class Aside(ProcessFunction):
    def process_element(self, value, ctx):
        yield SIDE, value


PASSING = {
    "key_by": lambda s: s.key_by(lambda r: r[0]),
    "partitioning": lambda s: s.rebalance(),
    "union": lambda s: s.union(named(s)),
    "side output": lambda s: s.process(Aside()).uid("aside").get_side_output(SIDE),
}


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
@pytest.mark.parametrize("passing", sorted(PASSING))
def test_a_program_with_uids_runs_and_what_says_how_records_travel_needs_none(mode, passing):
    env = environment(mode)
    stream = PASSING[passing](env.from_collection([(1, 2)]).uid("read"))
    stream.map(str).uid("text").sink_to(DiscardingSink()).uid("written")
    assert set(run_in_process(env).of()) == {"(1, 2)"}


def test_a_source_and_what_stamps_its_records_are_one():
    env = environment()
    read = env.from_collection([(1, 2)]).assign_timestamps_and_watermarks(by_time()).uid("read")
    read.sink_to(DiscardingSink()).uid("written")
    assert [sink.uid for sink in env.plan().sinks] == ["written"]


def test_the_error_lists_every_operator_without_uid_with_its_line():
    env = environment()
    read = env.from_collection([1]).name("numbers")
    named(read).filter(bool).name("true ones").sink_to(DiscardingSink()).name("nowhere")
    with pytest.raises(GraphError) as caught:
        env.plan()
    _, *lines = str(caught.value).splitlines()
    listed = [line for line in lines if line.startswith("  ") and __file__ in line]
    for name, line in zip(("numbers", "true ones", "nowhere"), listed, strict=False):
        assert name in line
    assert "mapped" not in str(caught.value)
    assert caught.value.origin is not None


def test_results_that_are_collected_need_no_uid():
    env = environment()
    stream = named(env.from_collection([1]).uid("read"))
    stream.sink_to(DiscardingSink()).uid("written")
    env.get_config().enable_auto_generated_uids()
    stream.map(str).sink_to(DiscardingSink())
    env.plan()
    env.get_config().disable_auto_generated_uids()
    with pytest.raises(GraphError, match="has no uid"):
        env.plan()
