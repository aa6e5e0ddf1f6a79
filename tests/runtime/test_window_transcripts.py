"""Transcripts: what goes into a window operator, and what it fires.

A transcript is a list of steps, in order:

    records: [[key, time, value], …]      processing time: milliseconds
    watermark: milliseconds or end        expect: results since the last `expect`
    late: late records since the last     entries: entries of state that are left

Results are [key, [start, end] or number of the window, what `result` makes of the values].
A transcript with `rejected` is wrong on purpose: the runner must refuse it, else it proves
nothing. One with `error` fails with that code at its last step.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from penstock.common import Time
from penstock.datastream import (
    AggregateFunction,
    OutputTag,
    ProcessWindowFunction,
    ValueStateDescriptor,
    window,
)
from penstock.errors import PenstockError
from penstock.runtime.windows.forms import form_of
from tests.runtime.window_harness import MAX, WindowHarness

TRANSCRIPTS = sorted((Path(__file__).parents[1] / "transcripts" / "windows").glob("*.yaml"))

NAMES = {name: getattr(window, name) for name in window.__all__}
NAMES["ms"] = Time.milliseconds


class Described(ProcessWindowFunction):
    """(key, window, the elements or the only one)."""

    def __init__(self, one: bool) -> None:
        self.one = one

    def process(self, key, context, elements):
        found = list(elements)
        form = form_of(context.window())
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
        yield [key, list(form_of(context.window())), [len(list(elements)), *counts]]

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


RESULTS: dict[str, Any] = {
    "list": lambda stream: stream.process(Listed(one=False)),
    "reduce": lambda stream: stream.reduce(added, Reduced(one=True)),
    "aggregate": lambda stream: stream.aggregate(Sum(), Described(one=True)),
    "aggregate without merge": lambda stream: stream.aggregate(
        SumWithoutMerge(), Described(one=True)
    ),
    "firings": lambda stream: stream.process(Numbered()),
}


class DisagreementError(Exception):
    """A transcript is wrong."""


def harness(transcript: dict[str, Any]) -> WindowHarness:
    def build(stream):
        cut = stream.window(eval(transcript["window"], NAMES))  # noqa: S307 - our own files
        if "trigger" in transcript:
            cut = cut.trigger(eval(transcript["trigger"], NAMES))  # noqa: S307
        if "evictor" in transcript:
            cut = cut.evictor(eval(transcript["evictor"], NAMES))  # noqa: S307
        if "allowed lateness" in transcript:
            cut = cut.allowed_lateness(transcript["allowed lateness"])
        cut.side_output_late_data(OutputTag("late"))
        result = RESULTS[transcript["result"]](cut)
        result.get_side_output(OutputTag("late"))
        return result

    return WindowHarness(build)


def run(transcript: dict[str, Any]) -> None:
    driven = harness(transcript)

    def same(step: str, expected: Any, got: Any) -> None:
        if sorted(map(repr, expected)) != sorted(map(repr, got)):
            raise DisagreementError(f"{transcript['name']}: {step}: expected {expected}, got {got}")

    actions: dict[str, Any] = {
        "records": lambda records: driven.add(*map(tuple, records)),
        "watermark": lambda time: driven.watermark(MAX if time == "end" else time),
        "processing time": driven.clock,
        "expect": lambda expected: same("expect", expected, driven.fired()),
        "late": lambda expected: same("late", expected, [list(r) for r in driven.late()]),
        "entries": lambda expected: same("entries", [expected], [driven.entries()]),
    }
    for step in transcript["steps"]:
        for what, argument in step.items():
            actions[what](argument)
    same("at the end", [], driven.fired())
    same("late at the end", [], driven.late())


def transcripts() -> list[dict[str, Any]]:
    return [
        transcript
        for path in TRANSCRIPTS
        for transcript in yaml.safe_load_all(path.read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize("transcript", transcripts(), ids=lambda transcript: transcript["name"])
def test_a_transcript_is_what_happens(transcript: dict[str, Any]) -> None:
    if transcript.get("rejected"):
        with pytest.raises(DisagreementError):
            run(transcript)
    elif "error" in transcript:
        with pytest.raises(PenstockError) as failed:
            run(transcript)
        assert failed.value.code == transcript["error"]
    else:
        run(transcript)


def test_there_are_transcripts_that_are_refused() -> None:
    assert sum(bool(transcript.get("rejected")) for transcript in transcripts()) >= 5
