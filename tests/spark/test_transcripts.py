"""The transcripts of `tests/transcripts`, played by Spark: nearly all of them in one live job.

The source gives the numbers of steps, one per micro-batch. Every transcript has a branch of its
own, which makes records and in-band watermarks of the number, and what a branch fires goes to one
sink, which tells micro-batches apart. So what fired at which step is known exactly.

Those of end-of-stream windows have a job for themselves, because such windows make a job one batch
run. Those in processing time are for `tests/runtime` alone: the clock of a job is the real one. What is
left in state is not looked at here either; there is no way to see it between two micro-batches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Watermark, WatermarkGenerator, WatermarkOutput, WatermarkStrategy
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.errors import PenstockError
from tests.runtime.jobs import MAX
from tests.runtime.transcripts import (
    LATE,
    Action,
    DisagreementError,
    Transcript,
    key_of,
    load,
    of_one,
    of_two,
    play,
    puts,
)
from tests.spark.conftest import Environment
from tests.spark.epoch_sink import EpochSink

ALL = [*load("windows"), *load("pairs")]
FAILING = [transcript for transcript in ALL if "error" in transcript]
PLAYED = [
    transcript
    for transcript in ALL
    if transcript not in FAILING and "processing time" not in dict(puts(transcript))
]
WHOLE = [t for t in PLAYED if re.search("end_?of_?stream", t.get("window", ""), re.IGNORECASE)]
LIVE = [transcript for transcript in PLAYED if transcript not in WHOLE]

MARK = "watermark"
ONE = {"records", "watermark"}
SIDES = ({"left", "watermark left", "watermark"}, {"right", "watermark right", "watermark"})


class AtMarks(WatermarkGenerator):
    """A record that is a mark says what the watermark is."""

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        if event[0] == MARK:
            output.emit_watermark(Watermark(event_timestamp))

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


BY_MARKS = WatermarkStrategy.for_generator(AtMarks).with_timestamp_assigner(
    lambda record, _: record[1]
)


def put_in(steps: list[Action], of_input: set[str], number: int) -> Iterator[Any]:
    """Yield what a step puts into an input: records and marks."""
    if number >= len(steps) or steps[number][0] not in of_input:
        return
    what, argument = steps[number]
    if what.startswith("watermark"):
        yield (MARK, MAX if argument == "end" else argument)
    else:
        yield from map(tuple, argument)


def is_record(record: tuple[Any, ...]) -> bool:
    return bool(record[0] != MARK)


def described(*parts: Any) -> Any:
    """Return (what, of which transcript, value)."""
    return list(parts)


def branch(transcript: Transcript, numbers: DataStream) -> list[DataStream]:
    """Return everything that comes out of a transcript."""
    steps = puts(transcript)

    def one_input(of_input: set[str]) -> DataStream:
        put = numbers.flat_map(partial(put_in, steps, of_input))
        return put.assign_timestamps_and_watermarks(BY_MARKS).filter(is_record)

    late: tuple[str, ...] = ("late",)
    if "operation" not in transcript:
        results = of_one(transcript, one_input(ONE).key_by(key_of))
    else:
        results = of_two(transcript, *map(one_input, SIDES))
        is_interval = transcript["operation"] == "interval join"
        late = ("late left", "late right") if is_interval else ()
    streams = {"results": results} | {what: results.get_side_output(LATE[what]) for what in late}
    return [
        stream.map(partial(described, what, transcript["name"])) for what, stream in streams.items()
    ]


class Played:
    """Answers from what a job wrote."""

    def __init__(self, transcript: Transcript, epochs: list[list[Any]]) -> None:
        self._name = transcript["name"]
        self._epochs = epochs
        self._next = 0
        self._found: dict[str, list[Any]] = {}

    def put(self, what: str, argument: Any) -> None:
        del what, argument
        for kind, name, value in self._epochs[self._next]:
            if name == self._name:
                self._found.setdefault(kind, []).append(value)
        self._next += 1

    def results(self) -> list[Any]:
        return self._found.pop("results", [])

    def late(self, what: str) -> list[Any]:
        return self._found.pop(what, [])

    def entries(self) -> None:
        return None


def job(
    environment: Environment, transcripts: list[Transcript]
) -> tuple[StreamExecutionEnvironment, DataStream, int]:
    settings = {
        "parallelism.default": 1,
        "execution.live.max-records-per-batch": 1,
        "execution.live.catch-up-factor": 1,
    }
    env = environment("streaming", **settings)
    steps = max(len(puts(transcript)) for transcript in transcripts)
    # One more, so that the end of the input is in a micro-batch of its own.
    numbers = env.from_collection(list(range(steps + 1)))
    streams = [numbers.map(partial(described, "step", None))]
    for transcript in transcripts:
        streams += branch(transcript, numbers)
    return env, streams[0].union(*streams[1:]), steps


def run(
    environment: Environment, transcripts: list[Transcript], folder: Path
) -> tuple[list[list[Any]], int]:
    """Return what came out in which micro-batch, and the number of steps."""
    env, everything, steps = job(environment, transcripts)
    sink = EpochSink(folder)
    everything.sink_to(sink)
    env.execute()
    return sink.epochs(), steps


def is_refused(transcript: Transcript, epochs: list[list[Any]]) -> bool:
    """Return whether a transcript that is wrong on purpose disagrees with what came out.

    Raises:
        DisagreementError: One that is right disagrees.
    """
    try:
        play(transcript, Played(transcript, epochs))
    except DisagreementError:
        if not transcript.get("rejected"):
            raise
        return True
    return False


def steps_of(rows: list[Any]) -> list[int]:
    return [value for what, _, value in rows if what == "step"]


def test_transcripts_are_what_happens(environment: Environment, tmp_path: Path) -> None:
    epochs, steps = run(environment, LIVE, tmp_path / "epochs")
    assert list(map(steps_of, epochs))[: steps + 1] == [[number] for number in range(steps + 1)]
    refused = {t["name"] for t in LIVE if is_refused(t, epochs)}
    assert refused == {t["name"] for t in LIVE if t.get("rejected")}
    assert len(refused) >= 10
    assert len(LIVE) >= 50


def test_transcripts_of_the_whole_stream_are_what_happens(
    environment: Environment, tmp_path: Path
) -> None:
    epochs, steps = run(environment, WHOLE, tmp_path / "epochs")
    assert steps_of(epochs[0]) == list(range(steps + 1))
    everything = [row for rows in epochs for row in rows]
    assert len(WHOLE) >= 4
    for transcript in WHOLE:
        before: list[list[Any]] = [[] for _ in puts(transcript)[1:]]
        is_wrong = bool(transcript.get("rejected"))
        assert is_refused(transcript, [*before, everything]) == is_wrong


@pytest.mark.parametrize("transcript", FAILING, ids=lambda transcript: transcript["name"])
def test_a_transcript_that_fails_does_so(
    environment: Environment, tmp_path: Path, transcript: Transcript
) -> None:
    env, everything, _ = job(environment, [transcript])
    everything.sink_to(EpochSink(tmp_path / "epochs"))
    with pytest.raises(PenstockError) as failed:
        env.execute()
    assert failed.value.code == transcript["error"]
