"""The walks along edges, each against its definition, and that nobody writes another one by hand."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock
from penstock.errors import CallSite
from penstock.graph.logical import LogicalGraph, Node
from penstock.program.operators import MAP, SINK, SOURCE
from penstock.program.traverse import inputs_first, reachable, ways
from penstock.types import Types

ROOT = Path(penstock.__file__).parent
WALKED = ("api", "graph", "plan", "program", "runtime/task", "testing")
"""Where graphs are known."""

EDGES = {"inputs", "chained_to", "fed_operators", "producer"}
"""What leads from a node to others."""

NO_WALKS = {
    "api/streams/columns/noted_queries.py": "the nodes that are read as one scan, a tree",
    "plan/compat/function_digest.py": "what a function refers to: values, with an identity but no hash",
    "plan/phases/edges.py": "takes levels off the end of a list",
    "plan/placement/expressions.py": "takes levels off the end of a list",
    "program/traverse.py": "the walks themselves",
    "testing/causes/find.py": "the functions that a function calls, which have no edges",
}
"""Files with a loop that looks like a walk, and what it is."""


@st.composite
def graphs(draw):
    """Return node to the nodes it reads, smaller ones all, the same one twice included."""
    size = draw(st.integers(1, 7))
    edges = {n: draw(st.lists(st.integers(0, n - 1), max_size=3)) if n else [] for n in range(size)}
    return edges, draw(st.lists(st.integers(0, size - 1), max_size=3))


def behind(edges, node):
    return {node}.union(*(behind(edges, each) for each in edges[node]))


def all_ways(edges, node):
    if not edges[node]:
        return [(node,)]
    return [(node, *way) for each in edges[node] for way in all_ways(edges, each)]


@given(graphs())
def test_reaches_every_node_behind_once(drawn):
    edges, starts = drawn
    found = reachable(starts, edges.__getitem__)
    assert set(found) == set().union(*(behind(edges, start) for start in starts))


@given(graphs())
def test_inputs_come_first(drawn):
    edges, starts = drawn
    found = list(inputs_first(starts, edges.__getitem__))
    assert sorted(found) == sorted(reachable(starts, edges.__getitem__))
    place = {node: n for n, node in enumerate(found)}
    assert all(place[each] < place[node] for node in found for each in edges[node])


@given(graphs())
def test_every_way_is_told_in_order_of_edges(drawn):
    edges, _ = drawn
    assert list(ways(len(edges) - 1, edges.__getitem__)) == all_ways(edges, len(edges) - 1)


@pytest.mark.parametrize("walk", [reachable, inputs_first])
def test_a_long_chain_is_walked(walk):
    assert len(list(walk([100_000], lambda n: [n - 1] if n else []))) == 100_001


def test_a_long_chain_is_one_way():
    [way] = ways(2_000, lambda n: [n - 1] if n else [])
    assert way == tuple(range(2_000, -1, -1))


def walks(source: str) -> list[int]:
    """Return the lines of loops that take nodes off a list, and of functions that follow edges."""
    nodes = list(ast.walk(ast.parse(source)))
    loops = [n for n in nodes if isinstance(n, ast.While) and _called(n) & {"pop", "popleft"}]
    recursions = [
        node
        for node in nodes
        if isinstance(node, ast.FunctionDef)
        and node.name in _called(node)
        and any(isinstance(n, ast.Attribute) and n.attr in EDGES for n in ast.walk(node))
    ]
    return [node.lineno for node in loops + recursions]


def _called(node: ast.AST) -> set[str]:
    """Return the names of functions, and of methods of `self` and of lists, that are called."""
    functions = [call.func for call in ast.walk(node) if isinstance(call, ast.Call)]
    names = {f.id for f in functions if isinstance(f, ast.Name)}
    methods = [f for f in functions if isinstance(f, ast.Attribute)]
    return names | {f.attr for f in methods if isinstance(f.value, ast.Name)}


def test_nobody_else_walks():
    files = [file for member in WALKED for file in (ROOT / member).rglob("*.py")]
    found = {str(file.relative_to(ROOT)) for file in files if walks(file.read_text())}
    assert found == NO_WALKS.keys()


def test_a_walk_is_noticed():
    assert walks("while todo:\n    node = todo.pop()\n    todo += node.inputs\n") == [1]
    assert walks("def f(n):\n    return [f(each) for each in n.inputs]\n") == [1]
    assert walks("def f(n):\n    return [g(each) for each in n.inputs]\n") == []


def node(number, kind, inputs):
    origin = CallSite.of_caller()
    return Node(number, kind, f"n{number}", None, inputs, Types.INT(), origin)


def test_a_node_is_found_by_its_id_and_that_changes_nothing_else():
    nodes = (node(2, SOURCE, ()), node(5, MAP, (2,)), node(9, SINK, (5,)))
    graph, same = LogicalGraph(nodes), LogicalGraph(nodes)
    assert [graph.node(key) for key in (2, 5, 9)] == list(nodes)
    assert (graph, hash(graph), repr(graph)) == (same, hash(same), repr(same))
    assert repr(graph) == f"LogicalGraph(nodes={nodes!r})"
