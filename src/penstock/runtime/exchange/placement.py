"""The routes of records without a key: one placement per partitioner.

A placement splits a batch into (route, values, timestamps). It depends only on the task and the
records before, so a repeated task writes the same frames. SHUFFLE uses a random generator that is
seeded with the task and the channel.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

from penstock.errors import ArgumentError, PenstockError
from penstock.program.channel import ChannelSpec, StreamPartitioner
from penstock.program.routing import broadcast_routes, subtask_routes
from penstock.program.run_settings import RunSettings
from penstock.user_failure import failing_record, short, user_failure

Batch = tuple[int, list[Any], list[int] | None]
"""(route, values, timestamps)."""

_COLUMN_ROWS = 1 << 16
"""Rows of a frame of columns. A frame is not pickled, and every frame has the schema."""

Placement = Callable[[list[Any], list[int] | None], Iterator[Batch]]


@dataclass(frozen=True, slots=True)
class _Sender:
    """The sending task of a channel.

    Attributes:
        subtasks: Number of subtasks that receive: the first ones.
    """

    spec: ChannelSpec
    settings: RunSettings
    task: int
    subtasks: int

    def routes(self) -> tuple[int, ...]:
        return subtask_routes(self.settings, self.subtasks)


def make_placement(
    spec: ChannelSpec, settings: RunSettings, task: int, subtasks: int
) -> Placement | None:
    """Return the placement of a channel; None if records are routed by key."""
    make = _PLACEMENTS.get(spec.partitioner)
    return None if make is None else make(_Sender(spec, settings, task, subtasks))


def placed_columns(place: Placement, batch: Any) -> Iterator[tuple[int, Any]]:
    """Yield the rows of an Arrow batch as (route, some of the rows)."""
    positions = cast("list[int]", range(batch.num_rows))  # most placements leave them together
    for route, rows, _ in place(positions, None):
        own = batch if len(rows) == batch.num_rows else batch.take(list(rows))
        for start in range(0, own.num_rows, _COLUMN_ROWS):
            yield route, own.slice(start, _COLUMN_ROWS)


def _to_own(sender: _Sender) -> Placement:
    route = sender.routes()[sender.task % sender.subtasks]
    return lambda values, stamps: iter([(route, values, stamps)])


def _to_first(sender: _Sender) -> Placement:
    return _to_own(replace(sender, task=0))


def _in_turns(sender: _Sender) -> Placement:
    return _round_robin(sender.routes(), sender.task)


def _to_near(sender: _Sender) -> Placement:
    """Send to the sender's share of the receivers, as Flink does; senders may share a receiver."""
    senders = sender.spec.senders or sender.settings.parallelism
    own = sender.task % senders
    first = own * sender.subtasks // senders
    end = max(first + 1, (own + 1) * sender.subtasks // senders)
    return _round_robin(sender.routes()[first:end], 0)


def _round_robin(routes: tuple[int, ...], start: int) -> Placement:
    turn = start

    def place(values: list[Any], stamps: list[int] | None) -> Iterator[Batch]:
        nonlocal turn
        step = len(routes)
        for offset in range(min(step, len(values))):
            some = slice(offset, None, step)
            route = routes[(turn + offset) % step]
            yield route, values[some], None if stamps is None else stamps[some]
        turn = (turn + len(values)) % step

    return place


def _at_random(sender: _Sender) -> Placement:
    routes = sender.routes()
    chance = random.Random(f"{sender.spec.id}/{sender.task}")  # noqa: S311 - to spread records, not to hide them
    return lambda values, stamps: _split(chance.choices(routes, k=len(values)), values, stamps)


def _to_all(sender: _Sender) -> Placement:
    routes = broadcast_routes(sender.settings)[: sender.subtasks]
    return lambda values, stamps: iter([(route, values, stamps) for route in routes])


def _by_function(sender: _Sender) -> Placement:
    routes, spec = sender.routes(), sender.spec
    choose, selector = spec.partition_function, spec.key_selector
    assert choose is not None
    assert selector is not None
    count = len(routes)

    def route_of(value: Any) -> int:
        index = choose(selector(value), count)
        if type(index) is int and 0 <= index < count:
            return routes[index]
        raise ArgumentError(
            f"the partitioner chose subtask {short(index)} of {count}",
            hint=f"Return an int from 0 to {count - 1}.",
            origin=spec.origin,
        )

    def place(values: list[Any], stamps: list[int] | None) -> Iterator[Batch]:
        position = iter(values)
        try:
            chosen = [route_of(value) for value in position]
        except PenstockError:
            raise
        except BaseException as cause:
            record = failing_record(values, position)
            raise user_failure("the partitioner", record, cause, spec.origin) from cause
        return _split(chosen, values, stamps)

    return place


def _split(routes: list[int], values: list[Any], stamps: list[int] | None) -> Iterator[Batch]:
    by_route: dict[int, list[int]] = defaultdict(list)
    for position, route in enumerate(routes):
        by_route[route].append(position)
    for route, positions in by_route.items():
        some = [values[position] for position in positions]
        yield route, some, None if stamps is None else [stamps[p] for p in positions]


_PLACEMENTS: dict[StreamPartitioner, Callable[[_Sender], Placement]] = {
    StreamPartitioner.FORWARD: _to_own,
    StreamPartitioner.NONE: _to_own,
    StreamPartitioner.GLOBAL: _to_first,
    StreamPartitioner.REBALANCE: _in_turns,
    StreamPartitioner.RESCALE: _to_near,
    StreamPartitioner.SHUFFLE: _at_random,
    StreamPartitioner.BROADCAST: _to_all,
    StreamPartitioner.CUSTOM: _by_function,
}
