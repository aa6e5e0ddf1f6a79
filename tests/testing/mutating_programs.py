"""Random programs whose functions keep and change records, and their answers.

`STEPS` and `SINKS` are streams; `expected` replays them on plain lists with a deep copy wherever a
record passes from one function to another. The two share only `bump`.

A record is {"k": key, "n": number, "tags": list}.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from operator import methodcaller
from typing import Any

from penstock.common import Types
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
)
from tests.testing import kept_elsewhere
from tests.testing.laws import LAST_OF_KEY

ODD = OutputTag("odd")


def bump(record):
    """Change a record in place, and what is in it."""
    record["n"] += 1
    record["tags"].append(record["n"])
    return record


def repeat(record):
    return [record] * (1 + record["n"] % 3)


def refill(record):
    own = {"k": record["k"], "n": 0, "tags": []}
    for number in range(record["n"] % 3):
        own["n"] = number
        own["tags"].append(number)
        yield own


class OneObject(MapFunction):
    """Gives the same dict for every record."""

    def __init__(self):
        self.row: dict[str, Any] = {"tags": []}

    def map(self, record):
        self.row["tags"].clear()
        self.row["tags"].extend(record["tags"])
        self.row.update(k=record["k"], n=record["n"] + 10)
        return self.row


class SpoilsTheLast(MapFunction):
    """Changes the record it gave before."""

    last = None

    def map(self, record):
        if self.last is not None:
            self.last["n"] = -1000
            self.last["tags"].append("spoiled")
        self.last = record
        return record


class SpoilingFilter(FilterFunction):
    """Changes the record it was asked about before."""

    last = None

    def filter(self, record):
        if self.last is not None:
            self.last["n"] = -1000
        self.last = record
        return record["n"] % 4 != 0


class YieldsOneObject(FlatMapFunction):
    """Yields a dict of its own, changed between any two records."""

    def __init__(self):
        self.own = {}

    def flat_map(self, record):
        for _ in range(2):
            self.own.update(record)
            yield self.own
            self.own["n"] = -1000


class ToBoth(ProcessFunction):
    """Gives an odd record to the main output and aside: the same object, changed in between."""

    def process_element(self, value, ctx):
        yield value
        if value["n"] % 2:
            value["n"] += 100
            yield ODD, value


class KeepsInState(KeyedProcessFunction):
    """Numbers the records of a key in one dict, which is in its state and is given out."""

    def open(self, runtime_context):
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen"))

    def process_element(self, value, ctx):
        seen = self.seen.value() or {"k": value["k"], "n": 0, "tags": []}
        seen["n"] += 1
        seen["tags"] = [seen["n"]]
        self.seen.update(seen)
        yield seen


def added(total, record):
    """Reduce in place."""
    total["n"] += record["n"]
    total["tags"].extend(record["tags"])
    return total


def _key(record):
    return record["k"]


def _both(stream):
    main = stream.process(ToBoth())
    return main.map(bump).union(main.get_side_output(ODD).map(bump), main.get_side_output(ODD))


class Calls:
    """An object that is called, and gives out what it holds."""

    def __init__(self):
        self.own = {}

    def __call__(self, record):
        return kept_elsewhere.filled(self.own, record)


def with_default(record, own={}):  # noqa: B006 - that is the point
    return kept_elsewhere.filled(own, record)


def imports(record):
    from tests.testing import kept_elsewhere as found  # noqa: PLC0415 - that is the point

    return found.same(record)


def spoils(record, last=[]):  # noqa: B006 - that is the point
    """Say yes, and change the record it was asked about before."""
    for before in last:
        before["n"] = -1000
    last[:] = [record]
    return True


KEPT = {
    "of a module": lambda record: kept_elsewhere.same({**record}),
    "a module's": kept_elsewhere.same,
    "of a class": lambda record: kept_elsewhere.Held.same({**record}),
    "partial": partial(kept_elsewhere.filled, {}),
    "a called object": Calls(),
    "default": with_default,
    "imported": imports,
    "by name": lambda record: vars(kept_elsewhere)["same"]({**record}),
    "a table": lambda record: kept_elsewhere.filled(kept_elsewhere.of_key(record), record),
}
"""Functions that give one object for all records, each known in another way."""

STEPS: dict[str, Any] = {
    **{name: methodcaller("map", function) for name, function in KEPT.items()},
    "plain filter": lambda s: s.filter(spoils),
    "bump": lambda s: s.map(bump),
    "fork": lambda s: s.map(bump).union(s.map(bump), s),
    "repeat": lambda s: s.flat_map(repeat),
    "refill": lambda s: s.flat_map(refill),
    "one object": lambda s: s.map(OneObject()),
    "spoils the last": lambda s: s.map(SpoilsTheLast()),
    "spoiling filter": lambda s: s.filter(SpoilingFilter()),
    "yields one object": lambda s: s.flat_map(YieldsOneObject()),
    "to both": _both,
    "keyed": lambda s: s.key_by(_key).map(bump).map(OneObject()),
    "rebalanced": lambda s: s.rebalance().map(bump),
}

SINKS = {
    "all": lambda s: s,
    "bumped": lambda s: s.map(bump),
    "counted": lambda s: s.key_by(_key).process(KeepsInState()).map(bump).map(bump),
    "totals": lambda s: s.key_by(_key).reduce(added).map(bump),
}


def _shape(record):
    return record["k"], record["n"], str(record["tags"])


def _shape_of_total(record):
    """Return a total with its tags in any order."""
    return record["k"], record["n"], sorted(map(str, record["tags"]))


SHAPES = {**dict.fromkeys(SINKS, _shape), "totals": _shape_of_total}
"""Name of a sink to the form in which its records are compared: of dicts only numbers and texts."""

RULES = {"totals": LAST_OF_KEY}


def _own(records):
    return [copy.deepcopy(record) for record in records]


def _replay_one_object(records):
    return [{"k": r["k"], "n": r["n"] + 10, "tags": list(r["tags"])} for r in records]


def _replay_refill(records):
    return [
        {"k": r["k"], "n": n, "tags": list(range(n + 1))}
        for r in records
        for n in range(r["n"] % 3)
    ]


def _replay_both(records):
    odd = [{**r, "n": r["n"] + 100} for r in _own(records) if r["n"] % 2]
    return [*map(bump, _own(records)), *map(bump, _own(odd)), *_own(odd)]


def _replay_counted(records):
    counts: dict[int, int] = defaultdict(int)
    found = []
    for record in records:
        counts[record["k"]] += 1
        n = counts[record["k"]]
        found.append(bump(bump({"k": record["k"], "n": n, "tags": [n]})))
    return found


def _replay_totals(records):
    totals: dict[int, Any] = {}
    for record in _own(records):
        key = record["k"]
        totals[key] = added(totals[key], record) if key in totals else record
    return [bump(total) for total in totals.values()]


_REPLAY = {
    **dict.fromkeys(KEPT, _own),
    "plain filter": _own,
    "bump": lambda records: [*map(bump, _own(records))],
    "fork": lambda records: [*map(bump, _own(records)), *map(bump, _own(records)), *_own(records)],
    "repeat": lambda records: [copy.deepcopy(r) for r in records for _ in range(1 + r["n"] % 3)],
    "refill": _replay_refill,
    "one object": _replay_one_object,
    "spoils the last": _own,
    "spoiling filter": lambda records: _own(r for r in records if r["n"] % 4),
    "yields one object": lambda records: _own(r for r in records for _ in range(2)),
    "to both": _replay_both,
    "keyed": lambda records: _replay_one_object(map(bump, _own(records))),
    "rebalanced": lambda records: [*map(bump, _own(records))],
    "all": _own,
    "bumped": lambda records: [*map(bump, _own(records))],
    "counted": _replay_counted,
    "totals": _replay_totals,
}


@dataclass(frozen=True)
class MutatingProgram:
    """One random program."""

    steps: tuple[str, ...]
    sinks: tuple[str, ...]


def build(program: MutatingProgram) -> StreamExecutionEnvironment:
    """Return the program, whose sinks get records in a form that can be compared."""
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([], type_info=Types.PICKLED_BYTE_ARRAY()).name("records")
    for step in program.steps:
        stream = STEPS[step](stream)
    for sink in program.sinks:
        SINKS[sink](stream).map(SHAPES[sink]).sink_to(DiscardingSink()).name(sink)
    return env


def expected(program: MutatingProgram, records: list[Any]) -> dict[str, list[Any]]:
    """Return the records of every sink."""
    found = _own(records)
    for step in program.steps:
        found = _REPLAY[step](found)
    return {sink: [*map(SHAPES[sink], _REPLAY[sink](found))] for sink in program.sinks}
