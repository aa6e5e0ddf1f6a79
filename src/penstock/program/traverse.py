"""The walks along edges: over nodes, operators, or whatever a function names the neighbours of.

A walk knows no graph. It is given where it starts and a function from a node to the nodes behind it,
so the planner and a task walk alike, upstream and downstream. Nodes are hashable: mostly ids.

    reachable        every node once
    inputs_first     every node once, and behind all nodes it leads to
    ways             every way to an end, also where two ways meet again

None is written as a recursion: a program may chain more operators than Python calls functions.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

N = TypeVar("N", bound=Hashable)


def reachable(starts: Iterable[N], edges: Callable[[N], Iterable[N]]) -> dict[N, None]:
    """Return every node that edges lead to, the first ones included, in the order of the walk.

    Args:
        starts: Where it begins.
        edges: The nodes behind a node.

    Examples:
        >>> list(reachable([3], {3: [1, 2], 2: [1], 1: []}.__getitem__))
        [3, 2, 1]
    """
    found: dict[N, None] = {}
    todo = list(starts)
    while todo:
        current = todo.pop()
        if current not in found:
            found[current] = None
            todo += edges(current)
    return found


def inputs_first(starts: Iterable[N], edges: Callable[[N], Iterable[N]]) -> Iterator[N]:
    """Yield what is `reachable`, each node behind all those its edges lead to. There are no circles.

    Args:
        starts: Where it begins; what the first of them leads to comes first.
        edges: The nodes behind a node; asked once per node, before any of them is yielded.

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
    """Yield every way from a node to one without edges, in order of the edges. There are no circles.

    Args:
        start: The first node of every way.
        edges: The nodes behind a node.

    Examples:
        >>> list(ways(3, {3: [1, 2], 2: [1], 1: []}.__getitem__))
        [(3, 1), (3, 2, 1)]
    """
    todo: list[tuple[N, ...]] = [(start,)]
    while todo:
        way = todo.pop()
        behind = tuple(edges(way[-1]))
        if not behind:
            yield way
        todo += [(*way, node) for node in reversed(behind)]
