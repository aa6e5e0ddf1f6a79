"""Transcripts of co-groups and joins, played to an operator alone, with either backend."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import PenstockError
from penstock.state.log.blob import decode_blob
from penstock.testing import OperatorHarness
from tests.runtime.transcripts import LATE, DisagreementError, Transcript, load, of_two, play

TRANSCRIPTS = load("pairs")
INPUTS = {"left": 0, "right": 1}
MARKED = {"watermark": None, "watermark left": 0, "watermark right": 1}


class Harness:
    """Plays a transcript to a harness."""

    def __init__(self, transcript: Transcript, harness: OperatorHarness, tags: list[str]) -> None:
        self._transcript = transcript
        self._harness = harness
        self._seen = dict.fromkeys(tags, 0)
        self._results: list[Any] = []

    def put(self, what: str, argument: Any) -> None:
        if what in INPUTS:
            stamps = [record[1] for record in argument]
            out = self._harness.push_all(map(tuple, argument), stamps, input=INPUTS[what])
        elif argument == "end":
            out = self._harness.end_input(input=MARKED[what])
        else:
            out = self._harness.advance_watermark(argument, input=MARKED[what])
        self._results += out

    def results(self) -> list[Any]:
        found, self._results = self._results, []
        return found

    def late(self, what: str) -> list[Any]:
        if what not in self._seen:
            return []
        found = list(map(list, self._harness.side_output(LATE[what])))
        new, self._seen[what] = found[self._seen[what] :], len(found)
        return new

    def entries(self) -> int:
        blobs = self._harness.snapshot().state
        return sum(len(section.keys) for blob in blobs for section in decode_blob(blob))


def run(transcript: Transcript, backend: str) -> None:
    is_interval = transcript["operation"] == "interval join"
    tags = ["late left", "late right"] if is_interval else []
    with OperatorHarness.of(
        lambda left, right: of_two(transcript, left, right),
        side_outputs=[LATE[tag] for tag in tags],
        backend=backend,
    ) as harness:
        play(transcript, Harness(transcript, harness, tags))


@pytest.mark.parametrize("backend", ["hashmap", "lmdb"])
@pytest.mark.parametrize("transcript", TRANSCRIPTS, ids=lambda transcript: transcript["name"])
def test_a_transcript_is_what_happens(transcript: Transcript, backend: str) -> None:
    if transcript.get("rejected"):
        with pytest.raises(DisagreementError):
            run(transcript, backend)
    elif "error" in transcript:
        with pytest.raises(PenstockError) as failed:
            run(transcript, backend)
        assert failed.value.code == transcript["error"]
    else:
        run(transcript, backend)


def test_there_are_transcripts_that_are_refused() -> None:
    for operations in ({"co-group"}, {"join", "left join", "full join"}, {"interval join"}):
        of_these = [t for t in TRANSCRIPTS if t["operation"] in operations]
        assert any(transcript.get("rejected") for transcript in of_these)
