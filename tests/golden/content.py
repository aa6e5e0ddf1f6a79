"""What the golden logs hold. Run it once per released format to write the files of that version:

    python -m tests.golden.content tests/golden/0.1.0

Files are only ever added: later versions must go on reading those of earlier ones.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from penstock.common import Time, Types
from penstock.datastream import (
    AggregateFunction,
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from penstock.state.backends.base import KeyedStateBackend
from penstock.state.backends.hash.backend import HashBackend
from penstock.state.log.change_log import ChangeLog
from penstock.state.schema.entry_schema import BROADCAST_GROUP, StateKind, StateSchema
from penstock.testing.live_run import MemoryLog
from penstock.types import Row
from penstock.wire.canonical.key_groups import KeyGroups

GROUPS = KeyGroups(16)
KEYS: tuple[Any, ...] = ("a", "ß", 7, -(2**40), 2.5, (1, "x"), None, b"\x00", date(2024, 2, 29))


class Mean(AggregateFunction):
    """Count and sum."""

    def create_accumulator(self) -> Any:
        return (0, 0)

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator[0] + 1, accumulator[1] + value

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[1] / accumulator[0]

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


PROFILE = Types.ROW_NAMED(
    ["name", "age", "address"],
    [
        Types.STRING(),
        Types.INT(),
        Types.ROW_NAMED(["city", "zip"], [Types.STRING(), Types.LONG()]),
    ],
)
WITH_TTL = MapStateDescriptor("visits", Types.STRING(), Types.LONG())
WITH_TTL.enable_time_to_live(StateTtlConfig.new_builder(Time.days(10_000)).build())

DESCRIPTORS: dict[str, Any] = {
    "value": ValueStateDescriptor("profile", PROFILE),
    "pickled": ValueStateDescriptor("anything"),
    "list": ListStateDescriptor("amounts", Types.BIG_DEC()),
    "map": MapStateDescriptor("seen", Types.STRING(), PROFILE),
    "reducing": ReducingStateDescriptor("greatest", max, Types.LONG()),
    "aggregating": AggregatingStateDescriptor("mean", Mean(), Types.PICKLED_BYTE_ARRAY()),
    "ttl": WITH_TTL,
}
RULES = StateSchema(StateKind.BROADCAST, Types.LONG(), Types.STRING())


def profile(number: int) -> Row:
    """Return a row of the declared type."""
    address = None if number % 3 == 0 else Row(city=f"city {number}", zip=number * 1000)
    return PROFILE.coerce(Row(name=f"name {number}", age=number, address=address))


def entries() -> Iterator[tuple[str, str, Any, Any, Any]]:
    """Yield (kind of `DESCRIPTORS`, operator, key, subkey, stored value)."""
    for number, key in enumerate(KEYS):
        yield "value", "users", key, None, profile(number)
        yield "pickled", "users", key, None, {"n": number, "when": date(2024, 1, number + 1)}
        yield "list", "totals", key, 0, [Decimal(number), Decimal("0.10")]
        yield "list", "totals", key, 1, [Decimal(-1)]
        for subkey in ("p", "q"):
            yield "map", "users", key, subkey, profile(number)
            yield "ttl", "users", key, subkey, (1_700_000_000_000 + number, number)
        yield "reducing", "totals", key, None, number * 10
        yield "aggregating", "totals", key, None, (number + 1, number)


def timers() -> Iterator[tuple[Any, int]]:
    """Yield (key, timestamp)."""
    for number, key in enumerate(KEYS):
        yield key, number - 3
        yield key, 2**62 + number


def fill(backend: KeyedStateBackend) -> None:
    """Put everything into a backend."""
    for kind, operator, key, subkey, value in entries():
        descriptor = DESCRIPTORS[kind]
        part = backend.table(operator, descriptor.get_name(), descriptor.schema())[GROUPS[key]]
        if subkey is None:
            part.put(key, value)
        else:
            part.put(key, subkey, value)
    for key, timestamp in timers():
        backend.timers("users", "_event_time_timers").add(GROUPS[key], key, timestamp)
    rules = backend.table("rules", "rules", RULES)[BROADCAST_GROUP]
    for number in range(3):
        rules.put(None, f"rule {number}", number)


def main(directory: Path) -> None:
    """Write a log: a first micro-batch, removals and a change, then a compaction."""
    log, backend = MemoryLog(), HashBackend()
    backend.catch_up(ChangeLog(log))
    fill(backend)
    extra = backend.table("totals", "greatest", DESCRIPTORS["reducing"].schema())
    extra[GROUPS["gone"]].put("gone", 1)
    first = ChangeLog(log, min_compact_bytes=1 << 30).append(backend.drain(), b"memory", backend)
    backend.written(first.position)
    backend.catch_up(ChangeLog(log))
    extra[GROUPS["gone"]].remove("gone")
    second = ChangeLog(log, min_compact_bytes=1 << 30).append(backend.drain(), b"memory", backend)
    backend.written(second.position)
    directory.mkdir(parents=True)
    head = log.read_head()
    assert head is not None
    (directory / "head.bin").write_bytes(head)
    for number in ChangeLog(log).entries():
        entry = log.read_entry(number)
        assert entry is not None
        (directory / f"entry-{number}.bin").write_bytes(entry)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
