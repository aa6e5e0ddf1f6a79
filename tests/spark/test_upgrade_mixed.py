"""An upgrade of a job from history to live, with windows, whose old and new programs are started again on the way."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from penstock import failpoint
from penstock.api.environment.job import JobClient
from penstock.common import Duration, Time, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import FileSink, FileSource, HybridSource
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import PenstockError
from tests.spark.conftest import Environment
from tests.spark.test_upgrade import written
from tests.spark.waiting import wait_for

VISIT = Types.ROW_NAMED(["key", "at"], [Types.STRING(), Types.LONG()])
PER_FILE = 10
OLD_FILES, FILES = 3, 10
ONE = {"parallelism.default": 1}
"""A file that one of several tasks has read last would hold the watermark."""

STEPS = ("batch.staged", "bootstrap.read", "bootstrap.state", "bootstrap.merged")


def write(base: Path, number: int) -> None:
    """Add the next file, whose records are behind those of the others: to the history, or live."""
    directory = base / ("old" if number < OLD_FILES else "live")
    directory.mkdir(exist_ok=True)
    visits = range(number * PER_FILE, (number + 1) * PER_FILE)
    lines = (json.dumps({"key": f"k{n % 3}", "at": n * 1_000}) for n in visits)
    staged = base / "staged"
    staged.write_text("".join(f"{line}\n" for line in lines))
    staged.rename(directory / f"{number}.json")


def start(
    env: StreamExecutionEnvironment, base: Path, outputs: Path, *, has_new: bool = False
) -> JobClient:
    """Start the job: counts of a key, and with `has_new` those in each window."""
    old, live = (FileSource.json(str(base / name), VISIT) for name in ("old", "live"))
    source = HybridSource.builder(old).add_source(live.monitor_continuously()).build()
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(2))
    strategy = strategy.with_timestamp_assigner(lambda visit, _: visit.at)
    visits = env.from_source(source, strategy, "visits").uid("visits")
    ones = (
        visits.map(lambda visit: (visit.key, 1, visit.at // 7_000))
        .uid("ones")
        .key_by(lambda one: one[0])
    )
    counts = ones.sum(1).uid("counts")
    texts = counts.map(lambda r: f"{r[0]} {r[1]}", Types.STRING()).uid("texts")
    texts.sink_to(FileSink.text(outputs / "out")).uid("out")
    if has_new:
        windows = ones.window(TumblingEventTimeWindows.of(Time.seconds(7)))
        sums = windows.reduce(lambda a, b: (a[0], a[1] + b[1], a[2])).uid("sums")
        shown = sums.map(lambda r: f"{r[0]} {r[2]} {r[1]}", Types.STRING()).uid("shown")
        shown.sink_to(FileSink.text(outputs / "new")).uid("new")
    return env.execute_async("visits")


def sums() -> Counter[str]:
    """Return the counts of windows that end with the visits before the last file."""
    seen = Counter((f"k{n % 3}", n // 7) for n in range((FILES - 1) * PER_FILE))
    return Counter(
        f"{key} {window} {count}" for (key, window), count in seen.items() if window < 12
    )


def closed(outputs: Path) -> Counter[str]:
    """Return what the job has written about these windows."""
    new = written(outputs / "new")
    return Counter({text: count for text, count in new.items() if int(text.split()[1]) < 12})


def test_an_upgrade_from_history_to_live_equals_the_program_from_the_beginning(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(number: int, client: JobClient, *, restarts: bool = False) -> None:
        """Let a job read one more file."""
        write(tmp_path, number)
        wait_for(client, lambda: written(tmp_path / "out").total() == (number + 1) * PER_FILE)
        if restarts:
            client.cancel()
            client.get_job_execution_result().exception()

    for number in range(OLD_FILES):
        write(tmp_path, number)
    run(3, start(environment("mixed", **ONE), tmp_path, tmp_path), restarts=True)
    first = start(environment("mixed", **ONE), tmp_path, tmp_path)
    run(4, first)
    markers = tmp_path / "markers"
    markers.mkdir()
    monkeypatch.setenv("PENSTOCK_FAILPOINT", ",".join(f"{step}:1:raise" for step in STEPS))
    monkeypatch.setenv("PENSTOCK_FAILPOINT_MARKER", str(markers))

    def again(**settings: Any) -> JobClient:
        failpoint.count_anew()
        second = {"execution.checkpointing.dir": str(tmp_path / "second")}
        env = environment("mixed", **ONE, **second, **settings)
        return start(env, tmp_path, tmp_path, has_new=True)

    upgrade = {
        "execution.evolution.from-job": str(tmp_path / "job"),
        "execution.evolution": "allow",
    }
    for _ in STEPS:
        with pytest.raises(PenstockError, match="failpoint"):
            again(**upgrade)
    second = again(**upgrade)
    first.get_job_execution_result().result()
    for number in range(5, FILES - 1):
        run(number, second, restarts=number % 2 == 1)
        second = again() if number % 2 == 1 else second
    run(FILES - 1, second)

    whole = {"execution.checkpointing.dir": str(tmp_path / "whole")}
    beginning = tmp_path / "from the beginning"
    other = start(environment("mixed", **ONE, **whole), tmp_path, beginning, has_new=True)
    wait_for(other, lambda: written(beginning / "out").total() == FILES * PER_FILE)
    for client, outputs in ((other, beginning), (second, tmp_path)):
        wait_for(client, lambda: closed(outputs).total() >= sums().total())  # noqa: B023 - at once
        client.cancel()
        assert closed(outputs) == sums()
    assert written(tmp_path / "out") == written(beginning / "out")
