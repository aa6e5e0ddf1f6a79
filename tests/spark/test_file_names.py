"""Every file is read once, whatever its name, and a file that was planned is never left out."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.common import Row, Types, WatermarkStrategy
from penstock.common.time import Time
from penstock.datastream.connectors import FileSink, FileSource, HybridSource, SparkSource
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import PenstockError, SourceError
from penstock.graph.endpoints import SplitSource
from penstock.spark.driver import batch_run
from penstock.spark.inspect.state_reader import read_state
from penstock.spark.live.epochs.epoch_files import EpochFiles
from penstock.types import TypeInformation
from tests.spark.conftest import Environment

NO_TIME = WatermarkStrategy.no_watermarks()
NAMES = [
    "plain",
    "br[1]",
    "br1",
    "a{b,c}",
    "ab",
    "st*r",
    "star",
    "q?",
    "back\\slash",
    "sp ace",
    "per%20cent",
    "per cent",
    "new\nline",
    "\N{GRINNING FACE}",
    "line\u2028separator",
    "comma,",
    "plus+",
    "hash#",
    "quote'",
    'double"',
    "semi;colon",
    "amp&=",
    "~^$(b)|",
    "...",
]
AWKWARD = "dir [1]{a,b}*?\\"
ODD = "Job ÄÖ %20[1]{a,b}*?#,'\"\\\n$x ${y};=&"
"""A name with whatever somebody may take for something else: capitals, escapes, markup, the end of an option or a line."""


def write(directory: Path, names: Sequence[str]) -> list[str]:
    directory.mkdir(parents=True, exist_ok=True)
    for name in names:
        (directory / f"f{name}.txt").write_text(json.dumps(name) + "\n")
    return list(names)


class Nothing(SplitSource):
    """A source without a split."""

    kind = "nothing"

    @property
    def is_bounded(self) -> bool:
        return True

    def get_produced_type(self) -> TypeInformation[Any]:
        return Types.STRING()

    def splits(self, parallelism: int) -> list[tuple[int, int | None]]:
        del parallelism
        return []

    def read(self, split: int, start: int, end: int) -> list[Any]:
        raise AssertionError((split, start, end))


class Growing(Nothing):
    """Has ten more records whenever it is asked."""

    asked = 0

    def splits(self, parallelism: int) -> list[tuple[int, int | None]]:
        del parallelism
        self.asked += 1
        return [(0, 10 * self.asked)]

    def read(self, split: int, start: int, end: int) -> list[Any]:
        return [f"{split} {n}" for n in range(start, end)]


def test_every_file_is_history_or_live_whatever_its_name(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names, and those of their directory and of the checkpoint directory, have glob characters."""
    shared = tmp_path / AWKWARD
    wanted = write(shared, NAMES)
    later = [f"later {name}" for name in NAMES]

    def arrive(place: str) -> None:
        if place == "batch.pinned":
            write(tmp_path / "elsewhere", later)
            for path in (tmp_path / "elsewhere").iterdir():
                path.rename(shared / path.name)

    monkeypatch.setattr(batch_run, "failpoint", arrive)
    directory = str(tmp_path / "ck [1]{a}*?")
    settings = {"execution.checkpointing.dir": directory, "execution.live.max-files-per-batch": 16}
    env = environment("mixed", **settings)
    files = FileSource.text(shared)
    source = HybridSource.builder(files).add_source(files.monitor_continuously()).build()
    lines = env.from_source(source, NO_TIME, "lines").map(json.loads, Types.STRING())
    nothing = HybridSource.until_position(Nothing(), 3)
    lines = lines.union(env.from_source(nothing, NO_TIME, "nothing"))
    cut = HybridSource.until_position(Growing(), 13)
    lines = lines.union(env.from_source(cut, NO_TIME, "growing"))
    grown = [f"0 {n}" for n in range(10)]
    counted = lines.map(lambda name: (name, 1)).key_by(lambda pair: pair[0]).sum(1)
    wanted += later + grown
    found = counted.execute_and_collect(limit=len(wanted))
    assert Counter(found) == Counter({(name, 1): 1 for name in wanted})


def test_every_live_file_is_read_once_whatever_its_name(
    environment: Environment, tmp_path: Path
) -> None:
    wanted = write(tmp_path / "plain", NAMES)
    write(tmp_path / "plain" / "deeper[1]", ["not read, as in history"])
    row = Types.ROW_NAMED(["name", "k"], [Types.STRING(), Types.INT()])
    for k in (1, 2):
        directory = tmp_path / AWKWARD / f"k={k}"
        directory.mkdir(parents=True)
        for name in ("a[1]", "b"):
            (directory / f"{name}.json").write_text(json.dumps({"name": name}))
    odd = {"execution.checkpointing.dir": str(tmp_path / ODD), "pipeline.name": f"{ODD}:"}
    env = environment("streaming", **{"execution.live.max-files-per-batch": 16}, **odd)
    lines = env.from_source(FileSource.text(tmp_path / "plain"), NO_TIME, f"{ODD}:").uid(f"{ODD}:")
    parts = env.from_source(FileSource.json(tmp_path / AWKWARD, row), NO_TIME, "parts", row)
    names = lines.map(json.loads, Types.STRING())
    named = parts.map(lambda each: f"{each.name} of {each.k}", Types.STRING())
    nothing = env.from_source(Nothing(), NO_TIME, "nothing")
    pair = Types.TUPLE([Types.STRING(), Types.LONG()])
    counted = names.union(named, nothing).map(lambda name: (name, 1), pair)
    counted = counted.key_by(lambda each: each[0], Types.STRING()).sum(1).uid(f"sum {ODD}:")
    counted.name(f"{ODD}:").sink_to(FileSink.json(tmp_path / f"out {ODD}")).name(ODD).uid(
        f"out {ODD}:"
    )
    env.execute()
    found = [
        tuple(json.loads(line))
        for path in (tmp_path / f"out {ODD}").iterdir()
        if path.suffix == ".json"
        for line in path.read_text().split("\n")
        if line
    ]
    wanted += ["a[1] of 1", "a[1] of 2", "b of 1", "b of 2"]
    assert Counter(found) == Counter(dict.fromkeys([(name, 1) for name in wanted], 1))
    state = read_state(tmp_path / ODD, f"sum {ODD}:", "reduce", as_text=True)
    assert state.count() == len(wanted)


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_a_colon_in_a_name_is_told(environment: Environment, tmp_path: Path, mode: str) -> None:
    write(tmp_path / "in", ["10:30"])
    env = environment(mode)
    source = FileSource.text(tmp_path / "in")
    if mode == "streaming":
        source = source.monitor_continuously()
    lines = env.from_source(source, NO_TIME, "lines")
    with pytest.raises(SourceError, match=r"f10:30\.txt") as caught:
        lines.execute_and_collect(limit=1)
    assert "colon" in caught.value.hint


def test_a_directory_that_is_not_there_is_told_before_history_is_read(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "history", ["a"])
    places: list[str] = []
    monkeypatch.setattr(batch_run, "failpoint", places.append)
    env = environment("mixed")
    live = FileSource.text(tmp_path / "live").monitor_continuously()
    source = HybridSource.builder(FileSource.text(tmp_path / "history")).add_source(live).build()
    with pytest.raises(SourceError, match=r"there is no .*/live") as caught:
        env.from_source(source, NO_TIME, "lines").execute_and_collect(limit=1)
    assert places == []
    assert caught.value.origin is not None
    assert __file__ in str(caught.value.origin)


def test_a_planned_file_is_read_or_missed_aloud(
    environment: Environment,
    session: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It vanishes before it is read; then the job is started without it, and with it again."""
    write(tmp_path / "in", ["a", "b"])
    lost = tmp_path / "in" / "fb.txt"
    content = lost.read_text()
    checked = EpochFiles.rows

    def vanish(self: Any, *asked: Any) -> Any:
        found = checked(self, *asked)
        lost.unlink(missing_ok=bool(not found))
        return found

    def run() -> Counter[Any]:
        env = environment("streaming")
        source = FileSource.text(tmp_path / "in").monitor_continuously()
        lines = env.from_source(source, NO_TIME, "lines").map(json.loads, Types.STRING())
        return Counter(lines.execute_and_collect(limit=2))

    session.conf.set("spark.sql.files.ignoreMissingFiles", "true")
    try:
        with monkeypatch.context() as patch:
            patch.setattr(EpochFiles, "rows", vanish)
            with pytest.raises(PenstockError, match=r"fb\.txt") as reading:
                run()
        with pytest.raises(PenstockError, match=r"fb\.txt is gone") as planned:
            run()
        assert (reading.value.code, planned.value.code) == ("SOURCE", "SOURCE")
        lost.write_text(content)
        assert run() == Counter({"a": 1, "b": 1})
    finally:
        session.conf.unset("spark.sql.files.ignoreMissingFiles")


def test_a_bounded_source_beside_united_streams_does_not_end_too_early(
    environment: Environment, session: SparkSession, tmp_path: Path
) -> None:
    """Spark counts a stream that is united with itself once in some places, twice in others."""
    streams = []
    for name in ("one", "two"):
        write(tmp_path / name, [name])
        streams.append(session.readStream.text(str(tmp_path / name)))
    united = streams[0].union(streams[1]).union(streams[0])
    write(tmp_path / "in", list("abcd"))
    env = environment("streaming", **{"execution.live.max-files-per-batch": 1})
    others = env.from_source(SparkSource(united), NO_TIME, "others")
    others.sink_to(FileSink.json(tmp_path / "others"))
    letters = env.from_source(FileSource.text(tmp_path / "in"), NO_TIME, "letters")
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda line, _: ord(json.loads(line))
    )
    pair = Types.ROW_NAMED(["key", "n"], [Types.STRING(), Types.LONG()])
    counted = (
        letters.assign_timestamps_and_watermarks(strategy)
        .map(lambda _: ("all", 1), Types.TUPLE([Types.STRING(), Types.LONG()]))
        .key_by(lambda each: each[0])
        .window(TumblingEventTimeWindows.of(Time.days(1)))
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
        .map(lambda each: Row(key=each[0], n=each[1]), pair)
    )
    counted.sink_to(FileSink.json(tmp_path / "counted"))
    client = env.execute_async("united")
    deadline = time.monotonic() + 240
    while not list((tmp_path / "counted").glob("*.json")) and time.monotonic() < deadline:
        assert not client.get_job_status().result().is_terminal_state()
        time.sleep(0.2)
    client.cancel().result()
    rows = [
        json.loads(line)
        for path in (tmp_path / "counted").glob("*.json")
        for line in path.read_text().splitlines()
    ]
    assert rows == [{"key": "all", "n": 4}]
