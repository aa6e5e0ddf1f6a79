"""Transcripts of window operations, played to the operator alone; `tests/spark` has Spark do it."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import PenstockError
from tests.runtime.transcripts import LATE, DisagreementError, Transcript, load, of_one, play
from tests.runtime.window_harness import MAX, WindowHarness

TRANSCRIPTS = load("windows")


class Operator:
    """Plays a transcript to a window operator."""

    def __init__(self, transcript: Transcript) -> None:
        def build(stream):
            result = of_one(transcript, stream)
            result.get_side_output(LATE["late"])
            return result

        self._driven = WindowHarness(build)
        self._puts = {
            "records": lambda records: self._driven.add(*map(tuple, records)),
            "watermark": lambda time: self._driven.watermark(MAX if time == "end" else time),
            "processing time": self._driven.clock,
        }

    def put(self, what: str, argument: Any) -> None:
        self._puts[what](argument)

    def results(self) -> list[Any]:
        return self._driven.fired()

    def late(self, what: str) -> list[Any]:
        return list(map(list, self._driven.late())) if what == "late" else []

    def entries(self) -> int:
        return self._driven.entries()


@pytest.mark.parametrize("transcript", TRANSCRIPTS, ids=lambda transcript: transcript["name"])
def test_a_transcript_is_what_happens(transcript: Transcript) -> None:
    if transcript.get("rejected"):
        with pytest.raises(DisagreementError):
            play(transcript, Operator(transcript))
    elif "error" in transcript:
        with pytest.raises(PenstockError) as failed:
            play(transcript, Operator(transcript))
        assert failed.value.code == transcript["error"]
    else:
        play(transcript, Operator(transcript))


def test_there_are_transcripts_that_are_refused() -> None:
    assert sum(bool(transcript.get("rejected")) for transcript in TRANSCRIPTS) >= 5
