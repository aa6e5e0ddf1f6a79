"""Transcripts: what goes into an operator step by step, and what it fires.

A transcript is a list of steps, in order. Those that put something in:

    records: [[key, time, value], …]      of a window operation of one stream
    left, right: the same                 of an operation of two streams
    watermark: milliseconds or end        of all inputs
    watermark left, watermark right       of one input
    processing time: milliseconds

and those that say what must have come out:

    expect: results since the last `expect`
    late, late left, late right: late records since the last of these
    entries: entries of state that are left

Results of windows of one stream are [key, [start, end] or number of the window, what `result`
makes of the values]; of a co-group [key, values of the left, values of the right]; of a join in
windows [value or null, value or null]; of an interval join [value, value, time].

A transcript with `rejected` is wrong on purpose: whoever plays it must refuse it, else it proves
nothing. One with `error` fails with that code.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, cast

import yaml

from penstock.common import Time
from penstock.datastream import (
    AggregateFunction,
    CoGroupFunction,
    DataStream,
    KeyedStream,
    OutputTag,
    ProcessJoinFunction,
    ProcessWindowFunction,
    ValueStateDescriptor,
    window,
)
from penstock.runtime.operators.windows.general import stored_window

Transcript = dict[str, Any]
Action = tuple[str, Any]
"""(what, argument)."""

FOLDER = Path(__file__).parents[1] / "transcripts"

PUTS = frozenset(
    {
        "records",
        "left",
        "right",
        "watermark",
        "watermark left",
        "watermark right",
        "processing time",
    }
)
"""What puts something in."""

LATE = {"late": OutputTag("late"), "late left": OutputTag("left"), "late right": OutputTag("right")}

NAMES = {name: getattr(window, name) for name in window.__all__}
NAMES["ms"] = Time.milliseconds


class DisagreementError(Exception):
    """A transcript is wrong."""


class Player(Protocol):
    """Plays a transcript."""

    def put(self, what: str, argument: Any) -> None:
        """Put something in."""

    def results(self) -> list[Any]:
        """Return what came out since the last call."""

    def late(self, what: str) -> list[Any]:
        """Return the late records since the last call, for one of `LATE`."""

    def entries(self) -> int | None:
        """Return the number of entries of state; None if they cannot be seen."""


def load(folder: str) -> list[Transcript]:
    """Return the transcripts of a folder, in order of files."""
    paths = sorted((FOLDER / folder).glob("*.yaml"))
    found = [t for path in paths for t in yaml.safe_load_all(path.read_text(encoding="utf-8"))]
    names = [transcript["name"] for transcript in found]
    assert len(set(names)) == len(names) > 0
    return found


def actions(transcript: Transcript) -> list[Action]:
    """Return the steps."""
    return [action for step in transcript["steps"] for action in step.items()]


def puts(transcript: Transcript) -> list[Action]:
    """Return the steps that put something in."""
    return [action for action in actions(transcript) if action[0] in PUTS]


def play(transcript: Transcript, player: Player) -> None:
    """Take every step.

    Raises:
        DisagreementError: Something else came out than the transcript says.
    """

    def same(step: str, expected: list[Any], got: list[Any]) -> None:
        if sorted(map(repr, expected)) != sorted(map(repr, got)):
            raise DisagreementError(f"{transcript['name']}: {step}: expected {expected}, got {got}")

    for what, argument in actions(transcript):
        if what in PUTS:
            player.put(what, argument)
        elif what == "expect":
            same(what, argument, player.results())
        elif what in LATE:
            same(what, argument, player.late(what))
        else:
            assert what == "entries"
            entries = player.entries()
            same(what, [argument], [argument if entries is None else entries])
    same("expect at the end", [], player.results())
    for what in LATE:
        same(f"{what} at the end", [], player.late(what))


class Described(ProcessWindowFunction):
    """(key, window, the elements or the only one)."""

    def __init__(self, one: bool) -> None:
        self.one = one

    def process(self, key, context, elements):
        found = list(elements)
        form = stored_window(context.window())
        yield [
            key,
            list(form) if isinstance(form, tuple) else form,
            found[0] if self.one else found,
        ]


class Numbered(ProcessWindowFunction):
    """Counts firings, per window and per key."""

    def process(self, key, context, elements):
        counts = []
        for states in (context.window_state(), context.global_state()):
            state = states.get_state(ValueStateDescriptor("firings"))
            state.update((state.value() or 0) + 1)
            counts.append(state.value())
        yield [key, list(stored_window(context.window())), [len(list(elements)), *counts]]

    def clear(self, context):
        context.window_state().get_state(ValueStateDescriptor("firings")).clear()


class Sum(AggregateFunction):
    def create_accumulator(self):
        return [0]

    def add(self, value, accumulator):
        accumulator[0] += value[2]
        return accumulator

    def get_result(self, accumulator):
        return accumulator[0]

    def merge(self, acc_a, acc_b):
        acc_a[0] += acc_b[0]
        return acc_a


class SumWithoutMerge(Sum):
    def merge(self, acc_a, acc_b):
        raise NotImplementedError


class Listed(Described):
    def process(self, key, context, elements):
        yield from super().process(key, context, [value for _, _, value in elements])


def added(left, right):
    return (left[0], max(left[1], right[1]), left[2] + right[2])


class Reduced(Described):
    def process(self, key, context, elements):
        yield from super().process(key, context, [elements[0][2]])


RESULTS: dict[str, Callable[[Any], DataStream]] = {
    "list": lambda cut: cut.process(Listed(one=False)),
    "reduce": lambda cut: cut.reduce(added, Reduced(one=True)),
    "aggregate": lambda cut: cut.aggregate(Sum(), Described(one=True)),
    "aggregate without merge": lambda cut: cut.aggregate(SumWithoutMerge(), Described(one=True)),
    "firings": lambda cut: cut.process(Numbered()),
}


class Groups(CoGroupFunction):
    """[key, values of the first, values of the second]."""

    def co_group(self, first, second):
        key = next(iter([*first, *second]))[0]
        yield [key, [record[2] for record in first], [record[2] for record in second]]


class Close(ProcessJoinFunction):
    """[value, value, time of the pair]."""

    def process_element(self, left, right, ctx):
        yield [left[2], right[2], ctx.get_timestamp()]


def key_of(record):
    return record[0]


def value_of(record):
    return None if record is None else record[2]


def pair(left, right):
    return [value_of(left), value_of(right)]


JOINS: dict[str, Callable[[Any], DataStream]] = {
    "join": lambda cut: cut.apply(pair),
    "left join": lambda cut: cut.left().apply(pair),
    "right join": lambda cut: cut.right().apply(pair),
    "full join": lambda cut: cut.full().apply(pair),
}


def of_one(transcript: Transcript, stream: KeyedStream) -> DataStream:
    """Return the results of a window operation of one stream."""
    cut = _cut(transcript, stream)
    cut.side_output_late_data(LATE["late"])
    return RESULTS[transcript["result"]](cut)


def of_two(transcript: Transcript, left: DataStream, right: DataStream) -> DataStream:
    """Return the results of an operation of two streams."""
    operation = transcript["operation"]
    if operation == "interval join":
        keyed = left.key_by(key_of), right.key_by(key_of)
        close = keyed[0].interval_join(keyed[1]).between(*transcript["between"])
        close.side_output_left_late_data(LATE["late left"])
        close.side_output_right_late_data(LATE["late right"])
        for change in transcript.get("exclusive", ()):
            getattr(close, f"{change}_bound_exclusive")()
        return close.process(Close())
    if operation == "co-group":
        groups = left.co_group(right).where(key_of).equal_to(key_of)
        return cast("DataStream", _cut(transcript, groups).apply(Groups()))
    joined = left.join(right).where(key_of).equal_to(key_of)
    return JOINS[operation](_cut(transcript, joined))


def _cut(transcript: Transcript, stream: Any) -> Any:
    def made(name: str) -> Any:
        return eval(transcript[name], NAMES)  # noqa: S307 - our own files

    cut = stream.window(made("window"))
    if "trigger" in transcript:
        cut = cut.trigger(made("trigger"))
    if "evictor" in transcript:
        cut = cut.evictor(made("evictor"))
    return cut.allowed_lateness(transcript.get("allowed lateness", 0))
