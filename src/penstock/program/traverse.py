"""Traversals along edges, of any graph.

The arguments of a traversal are its first nodes and a function from a node to its next nodes. So the
planner and tasks use the same traversals, upstream and downstream. Nodes are hashable, mostly ids.

    reachable        every node once
    inputs_first     every node once, after all nodes that it leads to
    ways             every path to a last node, also where two paths meet again

No traversal is recursive: a program may chain more operators than Python's limit of recursion.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

N = TypeVar("N", bound=Hashable)


def reachable(starts: Iterable[N], edges: Callable[[N], Iterable[N]]) -> dict[N, None]:
    """Return every node that edges lead to, the first ones included, in the order of the traversal.

    Examples:
        >>> list(reachable([3], {3: [1, 2], 2: [1], 1: []}.__getitem__))
        [3, 2, 1]
    """
    nodes: dict[N, None] = {}
    todo = list(starts)
    while todo:
        current = todo.pop()
        if current not in nodes:
            nodes[current] = None
            todo += edges(current)
    return nodes


def inputs_first(starts: Iterable[N], edges: Callable[[N], Iterable[N]]) -> Iterator[N]:
    """Yield the `reachable` nodes, each after all nodes that its edges lead to. There are no cycles.

    Examples:
        >>> list(inputs_first([3], {3: [1, 2], 2: [1], 1: []}.__getitem__))
        [1, 2, 3]
    """
    seen: set[N] = set()
    for start in starts:
        if start in seen:
            continue
        seen.add(start)
        path: list[tuple[N, Iterator[N]]] = [(start, iter(tuple(edges(start))))]
        while path:
            current, left = path[-1]
            following = next((node for node in left if node not in seen), None)
            if following is None:
                path.pop()
                yield current
            else:
                seen.add(following)
                path.append((following, iter(tuple(edges(following)))))


def ways(start: N, edges: Callable[[N], Iterable[N]]) -> Iterator[tuple[N, ...]]:
    """Yield every path from a node to one without edges, in order of the edges. There are no cycles.

    Examples:
        >>> list(ways(3, {3: [1, 2], 2: [1], 1: []}.__getitem__))
        [(3, 1), (3, 2, 1)]
    """
    todo: list[tuple[N, ...]] = [(start,)]
    while todo:
        way = todo.pop()
        next_nodes = tuple(edges(way[-1]))
        if not next_nodes:
            yield way
        todo += [(*way, node) for node in reversed(next_nodes)]
