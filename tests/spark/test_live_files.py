"""Files in a loop of epochs: each is read once, as history would read it, and as it was when it was planned."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from penstock import failpoint
from penstock.api.environment.job import JobClient
from penstock.common import Row, Types, WatermarkStrategy
from penstock.connectors.spark_source import SparkSource
from penstock.datastream.connectors import FileSink, FileSource, HybridSource, NumberSequenceSource
from penstock.errors import SourceError
from penstock.observe.events.job_events import MicroBatch, Restarting
from penstock.observe.events.listeners import also_listening
from penstock.spark.live.epochs.epoch_files import EpochFiles
from penstock.spark.sources.listing.file_log import FileLog, PinnedFile
from tests.spark.conftest import Environment
from tests.spark.test_epochs import Seen
from tests.spark.test_files import write_parquet
from tests.spark.waiting import wait_for

NO_TIME = WatermarkStrategy.no_watermarks()
WORD = Types.ROW_NAMED(["word"], [Types.STRING()])
SMALL = {"execution.live.max-files-per-batch": 2, "execution.live.catch-up-factor": 1}
MANY = 1_500

TYPES = """
    SELECT id, CAST(id AS DECIMAL(12, 3)) AS money, CAST(id / 3 AS FLOAT) AS part, id % 2 = 0 AS even,
        DATE'2024-02-29' AS day, TIMESTAMP'2024-07-01 12:00:00.123456' AS at,
        TIMESTAMP_NTZ'2024-07-01 12:00:00.123456' AS local, ENCODE(CAST(id AS STRING), 'utf-8') AS raw,
        ARRAY(id, NULL) AS list, MAP('k', id) AS map, NAMED_STRUCT('a', id, 'b', ARRAY('x')) AS inside,
        CAST(id AS TINYINT) AS tiny, IF(id = 1, NULL, 'text') AS maybe
    FROM RANGE(5)
"""


def write(directory: Path, *names: str) -> list[str]:
    directory.mkdir(parents=True, exist_ok=True)
    for name in names:
        path = directory / f".{name}"
        path.write_text(json.dumps({"word": name}) + "\n")
        path.rename(directory / f"{name}.json")
    return list(names)


def words(env: Any, directory: Path, how_many: int) -> Counter[Any]:
    source = FileSource.json(directory, WORD).monitor_continuously()
    rows = env.from_source(source, NO_TIME, "words", WORD)
    counted = rows.map(lambda row: (row.word, 1)).key_by(lambda pair: pair[0]).sum(1)
    found = counted.execute_and_collect(limit=how_many)
    assert isinstance(found, list)
    return Counter(found)


@pytest.mark.parametrize("form", ["parquet", "orc", "json", "dataframe"])
def test_values_are_those_of_history(
    environment: Environment, session: SparkSession, tmp_path: Path, form: str
) -> None:
    frame = session.sql(TYPES)
    if form == "json":
        frame = frame.drop("local", "raw", "map")
    source: Any = SparkSource(frame)
    if form != "dataframe":
        frame.coalesce(1).write.format(form).save(str(tmp_path / "in"))
        source = FileSource(str(tmp_path / "in"), form)
    found = {}
    for mode in ("batch", "streaming"):
        env = environment(mode, **{"execution.checkpointing.dir": str(tmp_path / mode)})
        rows = env.from_source(source, NO_TIME, "rows")
        found[mode] = sorted(map(repr, rows.execute_and_collect()))
    assert len(found["batch"]) == 5
    assert found["streaming"] == found["batch"]


def test_partitions_have_the_columns_of_the_first_epoch(
    environment: Environment, tmp_path: Path
) -> None:
    """Files in a directory of partitions, in another one with more, and in none are in one epoch."""
    for number, directory in enumerate(["day=7", "day=8", "day=x", "", "day=9/hour=3"]):
        (path,) = write(tmp_path / "in" / directory, f"w{number}")
        os.utime(tmp_path / "in" / directory / f"{path}.json", (number, number))
    row = Types.ROW_NAMED(["word", "day"], [Types.STRING(), Types.STRING()])
    env = environment("streaming", **SMALL)
    source = FileSource.json(tmp_path / "in", row).monitor_continuously()
    rows = env.from_source(source, NO_TIME, "rows")
    found = rows.map(lambda row: (row.word, row.day, len(row))).execute_and_collect(limit=5)
    assert sorted(found) == [
        ("w0", "7", 2),
        ("w1", "8", 2),
        ("w2", "x", 2),
        ("w3", None, 2),
        ("w4", "9", 2),
    ]


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_bounded_files_beside_directories_of_partitions_are_read(
    environment: Environment, tmp_path: Path, mode: str
) -> None:
    """Spark lists them, and leaves them out when it reads."""
    for number, directory in enumerate(["day=7", "", "day=8"]):
        write(tmp_path / "in" / directory, f"w{number}")
    row = Types.ROW_NAMED(["word", "day"], [Types.STRING(), Types.LONG()])
    rows = environment(mode).from_source(FileSource.json(tmp_path / "in", row), NO_TIME, "rows")
    found = rows.map(lambda row: (row.word, row.day)).execute_and_collect()
    assert sorted(found) == [("w0", 7), ("w1", None), ("w2", 8)]


STEPS = [
    "file-log-written:1:raise",
    "file-log-durable:2:raise",
    "live.staged:3:raise",
    "live.recorded:3:raise",
    "live.committed:4:raise",
]


def test_a_failure_at_every_step_loses_and_repeats_no_file(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = write(tmp_path / "in", *(f"w{n}" for n in range(9)))
    failpoint.count_anew()
    monkeypatch.setenv("PENSTOCK_FAILPOINT", ",".join(STEPS))
    markers = tmp_path / "markers"
    markers.mkdir()
    monkeypatch.setenv("PENSTOCK_FAILPOINT_MARKER", str(markers))
    restarts = {
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": len(STEPS),
        "restart-strategy.fixed-delay.delay": "10 ms",
    }
    seen = Seen()
    with also_listening(seen):
        found = words(environment("streaming", **SMALL, **restarts), tmp_path / "in", 9)
    assert {path.name for path in markers.iterdir()} == {*STEPS}
    assert len(seen.of(Restarting)) == len(STEPS)
    assert found == Counter({(name, 1): 1 for name in names})


COUNTED = Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.LONG()])


def start(env: Any, source: Any, out: Path) -> JobClient:
    """Start a job that counts the words of a source."""
    rows = env.from_source(source, NO_TIME, "words", WORD)
    counted = rows.map(lambda row: (row.word, 1)).key_by(lambda pair: pair[0]).sum(1)
    counted.map(lambda pair: Row(word=pair[0], n=pair[1]), COUNTED).sink_to(FileSink.json(out))
    client: JobClient = env.execute_async("words")
    return client


def counts(out: Path) -> Counter[tuple[str, int]]:
    lines = (line for path in out.glob("*.json") for line in path.read_text().splitlines())
    return Counter((each["word"], each["n"]) for each in map(json.loads, lines))


def has_counted(out: Path, word: str) -> bool:
    return counts(out)[word, 1] > 0


def grown(path: Path) -> None:
    with path.open("a") as file:
        file.write('{"word": "more"}\n')


def touched(path: Path) -> None:
    os.utime(path, (1, 1))


@pytest.mark.parametrize("change", [grown, touched])
@pytest.mark.parametrize("when", ["rows", "check_again"])
def test_a_file_that_changes_after_it_was_planned_is_told_and_then_read(
    environment: Environment,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Path], None],
    when: str,
) -> None:
    write(tmp_path / "in", "a", "b")
    path = tmp_path / "in" / "b.json"
    content = path.read_bytes()
    original = getattr(EpochFiles, when)

    def changing(self: EpochFiles, *planned: Any) -> Any:
        change(path)
        return original(self, *planned)

    with monkeypatch.context() as patch:
        patch.setattr(EpochFiles, when, changing)
        with pytest.raises(SourceError, match=r"b\.json changed"):
            words(environment("streaming"), tmp_path / "in", 2)
    if change is grown:
        with pytest.raises(SourceError, match=r"b\.json changed .* it had 14 bytes, it has 31"):
            words(environment("streaming"), tmp_path / "in", 2)
        path.write_bytes(content)  # with another time, as a copy has
    found = words(environment("streaming"), tmp_path / "in", 2)
    assert found == Counter({("a", 1): 1, ("b", 1): 1})


def test_the_log_goes_on_where_history_ended(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    added: list[str] = []
    add = FileLog.add

    def noted(log: FileLog, files: Sequence[PinnedFile]) -> bool:
        added.extend(file.uri for file in files)
        return add(log, files)

    monkeypatch.setattr(FileLog, "add", noted)
    files = FileSource.json(tmp_path / "in", WORD)
    source = HybridSource.builder(files).add_source(files.monitor_continuously()).build()
    for word in ("history", "live", "later"):
        write(tmp_path / "in", word)
        client = start(environment("mixed"), source, tmp_path / "out")
        wait_for(client, partial(has_counted, tmp_path / "out", word))
        client.cancel()
    assert counts(tmp_path / "out").total() == 3
    assert [uri.rsplit("/", 1)[1] for uri in added] == ["live.json", "later.json"]


def test_files_of_another_file_system_are_read_once(
    environment: Environment, session: SparkSession, tmp_path: Path
) -> None:
    """Hadoop's view of a local directory: the driver lists it through Spark, and has no path of its own."""
    java_context: Any = session.sparkContext._jsc
    mounted = "fs.viewfs.mounttable.elsewhere.link./data"
    java_context.hadoopConfiguration().set(mounted, (tmp_path / "data").as_uri())
    days = {"day=7": ["a", "b c", "%20"], "day=8": ["\N{GRINNING FACE}"]}
    for day, names in days.items():
        write(tmp_path / "data" / day, *names)
    row = Types.ROW_NAMED(["word", "day"], [Types.STRING(), Types.LONG()])
    source = FileSource.json("viewfs://elsewhere/data", row).monitor_continuously()
    rows = environment("streaming", **SMALL).from_source(source, NO_TIME, "rows")
    found = rows.map(lambda row: (row.word, row.day)).execute_and_collect(limit=4)
    wanted = {(name, int(day[-1])): 1 for day, names in days.items() for name in names}
    assert Counter(found) == Counter(wanted)


def test_files_and_positions_are_read_in_the_same_epochs(
    environment: Environment, tmp_path: Path
) -> None:
    write(tmp_path / "in", *(f"w{n}" for n in range(5)))
    env = environment("streaming", **SMALL, **{"execution.live.max-records-per-batch": 10})
    files = env.from_source(FileSource.json(tmp_path / "in", WORD), NO_TIME, "words", WORD)
    numbers = env.from_source(NumberSequenceSource(1, 40), NO_TIME, "numbers")
    both = files.map(lambda row: row.word).union(numbers.map(str))
    seen = Seen()
    with also_listening(seen):
        found = both.map(lambda each: each).execute_and_collect()
        assert Counter(found) == Counter(
            [f"w{n}" for n in range(5)] + [str(n + 1) for n in range(40)]
        )
    assert {batch.records for batch in seen.of(MicroBatch)} >= {12}


def test_many_small_files_are_read_in_large_epochs(
    environment: Environment, tmp_path: Path
) -> None:
    write(tmp_path / "in", *(f"w{n}" for n in range(MANY)))
    env = environment("streaming")
    seen = Seen()
    with also_listening(seen):
        assert words(env, tmp_path / "in", MANY).total() == MANY
    sizes = [batch.records for batch in seen.of(MicroBatch)]
    assert max(sizes) > min(sizes[-3:])
    assert sum(sizes) == MANY


def test_a_file_without_rows_is_read_too(environment: Environment, tmp_path: Path) -> None:
    write(tmp_path / "in", "a")
    (tmp_path / "in" / "empty.json").write_text("")
    found = words(environment("streaming"), tmp_path / "in", 1)
    assert found == Counter({("a", 1): 1})


def test_bounded_files_without_keys_end_by_themselves(
    environment: Environment, tmp_path: Path
) -> None:
    """The only level is the last one, so tasks of files stage sinks."""
    for number in range(5):
        write_parquet(tmp_path / "in" / f"{number}.parquet", [("a", number)])
    env = environment("streaming", **SMALL)
    rows = env.from_source(FileSource.parquet(tmp_path / "in"), NO_TIME, "rows")
    found = rows.map(lambda row: Row(n=row.n)).execute_and_collect()
    assert sorted(row.n for row in found) == list(range(5))
    assert pq.read_table(tmp_path / "in").num_rows == 5
