"""The operators of Bytewax that `docs/from-bytewax.md` uses, over lists, for machines without Bytewax.

A source is read to its end at once. `fold_window` has a watermark per key, which only records move: the programs
take less time than they wait. It drops late records, and the end of the input closes all windows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import ModuleType
from typing import Any

Items = list[Any]


@dataclass
class Dataflow:
    """A flow, which has its outputs."""

    flow_id: str
    outputs: list[Items] = field(default_factory=list)


@dataclass(frozen=True)
class TestingSource:
    """A source of a list."""

    __test__ = False
    items: Items


@dataclass(frozen=True)
class StdOutSink:
    """A sink that prints."""


@dataclass(frozen=True)
class Stream:
    """The records of a step."""

    flow: Dataflow
    items: Items


@dataclass(frozen=True)
class EventClock:
    """A clock that takes the time of a record from the record."""

    ts_getter: Callable[[Any], datetime]
    wait_for_system_duration: timedelta


@dataclass(frozen=True)
class TumblingWindower:
    """Windows that follow one another."""

    length: timedelta
    align_to: datetime


@dataclass(frozen=True)
class WindowOut:
    """Results of windows."""

    down: Stream


def read(step_id: str, flow: Dataflow, source: TestingSource) -> Stream:
    """Return the records of a source."""
    del step_id
    return Stream(flow, list(source.items))


def map_items(step_id: str, up: Stream, mapper: Callable[[Any], Any]) -> Stream:
    """Return what a function makes of each record."""
    del step_id
    return Stream(up.flow, [mapper(item) for item in up.items])


def key_on(step_id: str, up: Stream, key: Callable[[Any], str]) -> Stream:
    """Return pairs of a key and the record."""
    return map_items(step_id, up, lambda item: (key(item), item))


def stateful_map(step_id: str, up: Stream, mapper: Callable[[Any, Any], Any]) -> Stream:
    """Return what a function makes of the state of a key and a value; the first state is None."""
    del step_id
    states: dict[str, Any] = {}
    results = []
    for key, value in up.items:
        states[key], result = mapper(states.get(key), value)
        results.append((key, result))
    return Stream(up.flow, results)


def join(step_id: str, *sides: Stream) -> Stream:
    """Return the last values of a key when every side has one, and forget them then."""
    del step_id
    waiting: dict[str, dict[int, Any]] = {}
    results = []
    for number, side in enumerate(sides):
        for key, value in side.items:
            values = waiting.setdefault(key, {})
            values[number] = value
            if len(values) == len(sides):
                results.append((key, tuple(values[at] for at in range(len(sides)))))
                del waiting[key]
    return Stream(sides[0].flow, results)


def fold_window(
    step_id: str,
    up: Stream,
    clock: EventClock,
    windower: TumblingWindower,
    builder: Callable[[], Any],
    folder: Callable[[Any, Any], Any],
    merger: Callable[[Any, Any], Any],
) -> WindowOut:
    """Return the accumulator of each key and window with the number of the window."""
    del step_id, merger  # windows that follow one another are never merged
    windows: dict[tuple[str, int], Any] = {}
    watermarks: dict[str, datetime] = {}
    for key, value in up.items:
        time = clock.ts_getter(value)
        candidate = time - clock.wait_for_system_duration
        watermarks[key] = max(watermarks.get(key, candidate), candidate)
        if time >= watermarks[key]:
            window = (key, (time - windower.align_to) // windower.length)
            windows[window] = folder(windows[window] if window in windows else builder(), value)
    return WindowOut(Stream(up.flow, [(key, (at, value)) for (key, at), value in windows.items()]))


def output(step_id: str, up: Stream, sink: StdOutSink) -> None:
    """Print records when the flow runs."""
    del step_id, sink
    up.flow.outputs.append(up.items)


def run_main(flow: Dataflow) -> None:
    """Run a flow."""
    for items in flow.outputs:
        for item in items:
            sys.stdout.write(f"{item}\n")


_NAMES: dict[str, dict[str, Any]] = {
    "bytewax": {},
    "bytewax.dataflow": {"Dataflow": Dataflow},
    "bytewax.testing": {"TestingSource": TestingSource, "run_main": run_main},
    "bytewax.connectors": {},
    "bytewax.connectors.stdio": {"StdOutSink": StdOutSink},
    "bytewax.operators": {
        "input": read,
        "map": map_items,
        "key_on": key_on,
        "stateful_map": stateful_map,
        "join": join,
        "output": output,
    },
    "bytewax.operators.windowing": {
        "EventClock": EventClock,
        "TumblingWindower": TumblingWindower,
        "fold_window": fold_window,
    },
}


def modules() -> dict[str, ModuleType]:
    """Return the modules by name, as `sys.modules` has them."""
    made = {}
    for name, members in _NAMES.items():
        made[name] = ModuleType(name)
        vars(made[name]).update(members)
        above, _, last = name.rpartition(".")
        if above:
            setattr(made[above], last, made[name])
    return made
