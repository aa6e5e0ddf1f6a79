"""`word-count`: 10^6 lines of verse, cut into words, counted by word; results dropped.

line i = LINES[i % 35]       then (word, 1) per word, key_by word, rolling sum

Every line has a timestamp; see `booleans` for `on`, `off` and `planned`. Where a source gives
timestamps, `off` keeps none on the channels of a live run and, because a batch run reads every word
in order of time, the one into the sum of a batch run. Systems named `reuse` pass objects on without
copies.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any
from zlib import crc32

import numpy as np

from benchmarks.inputs.timed_source import TimedSource
from benchmarks.model.digest import as_text, digest_of
from benchmarks.model.program import Outputs
from benchmarks.model.shape import STREAMING, Shape
from benchmarks.programs.booleans import OFF, ON
from benchmarks.programs.pipeline import Pipeline, ours
from penstock.common import WatermarkStrategy
from penstock.datastream import DataStream, StreamExecutionEnvironment

LINES = (
    "To be, or not to be,--that is the question:--",
    "Whether 'tis nobler in the mind to suffer",
    "The slings and arrows of outrageous fortune",
    "Or to take arms against a sea of troubles,",
    "And by opposing end them?--To die,--to sleep,--",
    "No more; and by a sleep to say we end",
    "The heartache, and the thousand natural shocks",
    "That flesh is heir to,--'tis a consummation",
    "Devoutly to be wish'd. To die,--to sleep;--",
    "To sleep! perchance to dream:--ay, there's the rub;",
    "For in that sleep of death what dreams may come,",
    "When we have shuffled off this mortal coil,",
    "Must give us pause: there's the respect",
    "That makes calamity of so long life;",
    "For who would bear the whips and scorns of time,",
    "The oppressor's wrong, the proud man's contumely,",
    "The pangs of despis'd love, the law's delay,",
    "The insolence of office, and the spurns",
    "That patient merit of the unworthy takes,",
    "When he himself might his quietus make",
    "With a bare bodkin? who would these fardels bear,",
    "To grunt and sweat under a weary life,",
    "But that the dread of something after death,--",
    "The undiscover'd country, from whose bourn",
    "No traveller returns,--puzzles the will,",
    "And makes us rather bear those ills we have",
    "Than fly to others that we know not of?",
    "Thus conscience does make cowards of us all;",
    "And thus the native hue of resolution",
    "Is sicklied o'er with the pale cast of thought;",
    "And enterprises of great pith and moment,",
    "With this regard, their currents turn awry,",
    "And lose the name of action.--Soft you now!",
    "The fair Ophelia!--Nymph, in thy orisons",
    "Be all my sins remember'd.",
)
"""Hamlet, act 3, scene 1."""

RECORDS = 1_000_000
REUSE = {"pipeline.object-reuse": "true"}

_NOT_A_WORD = re.compile(r"\W+")

Count = tuple[str, int]


def line(index: int) -> str:
    """Return the line of an index."""
    return LINES[index % len(LINES)]


def tokens(text: str) -> list[Count]:
    """Return (word, 1) per word, in lower case."""
    return [(word, 1) for word in _NOT_A_WORD.split(text.lower()) if word]


def word_of(count: Count) -> str:
    """Return the word."""
    return count[0]


def numbered(count: Count) -> tuple[int, int]:
    """Return the number that stands for a word in digests, and its count."""
    return crc32(count[0].encode()), count[1]


def build(env: StreamExecutionEnvironment, shape: Shape) -> DataStream[Any]:
    """Return the rolling counts."""
    source = TimedSource(line, shape.records)
    lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines")
    words = lines.flat_map(tokens).disable_chaining()
    return words.key_by(word_of).sum(1).map(numbered)


def counts(shape: Shape) -> dict[int, int]:
    """Return how often each word comes up, by number."""
    found: Counter[str] = Counter()
    rounds, rest = divmod(shape.records, len(LINES))
    for number, text in enumerate(LINES):
        for word, _ in tokens(text):
            found[word] += rounds + (number < rest)
    return {crc32(word.encode()): count for word, count in found.items() if count}


def expected(shape: Shape) -> Outputs:
    """Count the words of the lines."""
    found = counts(shape)
    digest = digest_of(list(found), list(found.values()))
    return Outputs(len(found), as_text(digest))


def is_output(shape: Shape, columns: Any) -> Any:
    """Return the mask of the last count of every word."""
    found = counts(shape)
    numbers = np.array(sorted(found), dtype=np.int64)
    last = np.array([found[number] for number in numbers.tolist()], dtype=np.int64)
    at = np.searchsorted(numbers, columns[0])
    return last[np.minimum(at, len(last) - 1)] == columns[1]


PROGRAM = Pipeline(
    name="word-count",
    summary="lines to words to counts, timestamps on against off, object reuse on against off",
    build=build,
    expected=expected,
    is_output=is_output,
    systems=(
        ours(STREAMING, "on", note="Timestamps go everywhere.", by_default=True, **ON),
        ours(STREAMING, "off", note="No timestamps.", by_default=True, **OFF),
        ours(STREAMING, "on reuse", note="Timestamps, no copies.", by_default=True, **(ON | REUSE)),
        ours(STREAMING, "off reuse", note="Neither.", by_default=True, **(OFF | REUSE)),
    ),
    reference="penstock streaming off",
    records=RECORDS,
    keys=len(counts(Shape(len(LINES), 0, 1, 1, STREAMING))),
).program()
