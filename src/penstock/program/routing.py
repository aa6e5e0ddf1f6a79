"""Routes: the integers by which Spark partitions frames.

In a batch run the route of a record is its key group, so that Spark's sort brings one key group
together. Control frames for task *t* have route `-t - 1`: they sort before all records.

In a live run the route is one integer per subtask, chosen so that Spark's hash partitioning
(Murmur3 with seed 42, modulo the number of shuffle partitions) puts exactly one subtask on
each partition.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.program.channel import ChannelSpec, StreamPartitioner
from penstock.program.run_settings import RunKind, RunSettings
from penstock.wire.canonical.key_groups import KeyGroups, subtask_of

_MASK = 0xFFFFFFFF
_C1 = 0xCC9E2D51
_C2 = 0x1B873593


class RecordRoutes(KeyGroups):
    """A cache of key to route, like `KeyGroups`.

    Attributes:
        of_groups: The route of each key group.
    """

    def __init__(self, settings: RunSettings, subtasks: int) -> None:
        """Compute the route of every key group."""
        super().__init__(settings.max_parallelism)
        groups = range(settings.max_parallelism)
        if settings.kind is RunKind.LIVE:
            owners = _owners(subtasks, settings.max_parallelism)
            self._of_group = tuple(map(settings.routes.__getitem__, owners))
        elif subtasks >= settings.parallelism:
            self._of_group = tuple(groups)
        else:
            self._of_group = tuple(_squeezed(settings, subtasks, group) for group in groups)
        self.of_groups = np.array(self._of_group, dtype=np.int64)

    def __missing__(self, key: Any) -> int:
        """Compute, cache and return the route of a new key."""
        route = self[key] = self._of_group[super().__missing__(key)]
        return route

    def _from_groups(self, groups: NDArray[np.uint64]) -> list[int]:
        routes: list[int] = self.of_groups[groups].tolist()
        return routes


@lru_cache(maxsize=64)
def _owners(subtasks: int, max_parallelism: int) -> tuple[int, ...]:
    """Return the subtask of each key group; every writer of a live run reads it."""
    return tuple(subtask_of(group, subtasks, max_parallelism) for group in range(max_parallelism))


def _squeezed(settings: RunSettings, subtasks: int, group: int) -> int:
    """Return the route of `group` in a batch run whose receiver has fewer subtasks than tasks.

    Routes are in order of key groups, so that as few key groups as possible share a route.
    """
    owner = subtask_of(group, subtasks, settings.max_parallelism)
    first, end = (
        _first_group(settings, subtasks, owner),
        _first_group(settings, subtasks, owner + 1),
    )
    low = _first_group(settings, settings.parallelism, owner)
    high = _first_group(settings, settings.parallelism, owner + 1)
    return low + (group - first) * (high - low) // (end - first)


def _first_group(settings: RunSettings, subtasks: int, subtask: int) -> int:
    return -(-subtask * settings.max_parallelism // subtasks)


def subtask_routes(settings: RunSettings, subtasks: int) -> tuple[int, ...]:
    """Return the route to each of the first subtasks, for records without a key."""
    if settings.kind is RunKind.LIVE:
        return settings.routes[:subtasks]
    return tuple(_first_group(settings, settings.parallelism, s) for s in range(subtasks))


def record_routes(spec: ChannelSpec, settings: RunSettings, subtasks: int) -> tuple[int, ...]:
    """Return the routes of elements between records, for channels whose records are in order.

    In a live run these are all routes. In a batch run they are the routes of records, because Spark
    sorts by route.
    """
    is_live = settings.kind is RunKind.LIVE
    if is_live or spec.partitioner is StreamPartitioner.BROADCAST:
        return broadcast_routes(settings)[:subtasks]
    return subtask_routes(settings, subtasks)


def destination_routes(settings: RunSettings) -> tuple[int, ...]:
    """Return one route per subtask, for control elements; Spark sorts them before all records."""
    if settings.kind is RunKind.BATCH:
        return tuple(route - settings.parallelism for route in broadcast_routes(settings))
    return settings.routes


def broadcast_routes(settings: RunSettings) -> tuple[int, ...]:
    """Return one route per subtask, for records that every subtask has before the others."""
    if settings.kind is RunKind.BATCH:
        return tuple(-task - 1 for task in range(settings.parallelism))
    return settings.routes


def task_of_negative(route: int, tasks: int) -> int:
    """Return the task of a batch run that reads a negative route."""
    return (-route - 1) % tasks


def live_routes(parallelism: int) -> tuple[int, ...]:
    """Return the route of each subtask, for `parallelism` shuffle partitions.

    Examples:
        >>> [spark_partition(route, 3) for route in live_routes(3)]
        [0, 1, 2]
    """
    routes: dict[int, int] = {}
    candidate = 0
    while len(routes) < parallelism:
        routes.setdefault(spark_partition(candidate, parallelism), candidate)
        candidate += 1
    return tuple(routes[subtask] for subtask in range(parallelism))


def spark_partition(value: int, partitions: int) -> int:
    """Return the shuffle partition Spark's `HashPartitioning` chooses for one INT column."""
    hashed = _murmur3(value)
    signed = hashed - (1 << 32) if hashed >= 1 << 31 else hashed
    return signed % partitions


def _murmur3(value: int, seed: int = 42) -> int:
    """Murmur3 x86 32-bit of one 4-byte integer, as in Spark's `Murmur3Hash`."""
    k1 = (value * _C1) & _MASK
    k1 = ((k1 << 15) | (k1 >> 17)) & _MASK
    k1 = (k1 * _C2) & _MASK
    h1 = seed ^ k1
    h1 = ((h1 << 13) | (h1 >> 19)) & _MASK
    h1 = (h1 * 5 + 0xE6546B64) & _MASK
    h1 ^= 4
    h1 ^= h1 >> 16
    h1 = (h1 * 0x85EBCA6B) & _MASK
    h1 ^= h1 >> 13
    h1 = (h1 * 0xC2B2AE35) & _MASK
    return h1 ^ (h1 >> 16)
