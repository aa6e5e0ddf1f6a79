"""What the page, notebooks and other systems are told of a plan."""

from __future__ import annotations

from typing import Any

from penstock.common import Configuration
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import StreamExecutionEnvironment
from penstock.plan.explain.outline import edges_of, nodes_of

BATCH = Configuration().set("execution.runtime-mode", "BATCH")


def longer(one: tuple[int, list[int]], other: tuple[int, list[int]]) -> tuple[int, list[int]]:
    return max(one, other)


def planned() -> Any:
    env = StreamExecutionEnvironment.get_execution_environment(BATCH)
    pairs = env.from_collection([(1, [2]), (2, [3])]).map(lambda pair: pair).name("pairs")
    keyed = pairs.key_by(lambda pair: pair[0])
    sums = keyed.reduce(longer, associative=True, commutative=True).name("sums")
    sums.sink_to(DiscardingSink()).uid("first")
    pairs.map(len).name("lengths").sink_to(DiscardingSink()).uid("second")
    return env.plan()


def test_nodes_have_what_was_decided_of_them_without_numbers_of_channels() -> None:
    decided = {node.name: node.decisions for node in nodes_of(planned())}
    (folded,) = (each for each in decided["sums"] if each[0] == "records in run 0 (batch)")
    assert folded[1].startswith("folded")
    assert folded[2]
    targets = {about for about, choice, _ in decided["pairs"] if choice.startswith("deep copy")}
    assert targets == {"to 'lengths'", "to 'sums'"}
    copies = {about for about, choice, _ in decided["sums"] if choice.startswith("deep copy")}
    assert copies <= {"to sink 'first'"}
    assert not any("channel" in about for each in decided.values() for about, _, _ in each)
    assert not any(choice == "chained" for each in decided.values() for _, choice, _ in each)


def test_edges_lead_from_node_to_node() -> None:
    plan = planned()
    names = {node.id: node.uid for node in nodes_of(plan)}
    assert all({edge.source, edge.target} <= names.keys() for edge in edges_of(plan))
    assert [edge.ship for edge in edges_of(plan) if names[edge.target] in {"first", "second"}] == [
        "NONE",
        "NONE",
    ]
