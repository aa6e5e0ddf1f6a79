"""Files that are cut short, files with a flipped bit, and epoch records that are not there or there twice.

The job stands in the middle of its live run. Each file of its checkpoint is damaged in turn, and
the job started: it refuses and names the file, or it does not need the file and the answer is
right. The same of the log of the files that a job monitors. In no case is anything visible that a replay of the input does not give.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from penstock.api.environment.job import JobClient
from penstock.errors import PenstockError
from penstock.state.log.epoch_record import file_of, read_record
from penstock.state.log.log_table import epochs_in
from tests.faults.in_process import Attempts, Kept
from tests.faults.visits_job import VisitsJob
from tests.spark.conftest import Environment, Failures
from tests.spark.jobs.orders_in_files import (
    CLICKS,
    PER_FILE,
    build,
    expected,
    orders_of,
    write_orders,
)
from tests.spark.test_clients import written
from tests.spark.waiting import wait_for

Damage = Callable[[Path], Path]
"""Damages a file; returns the file that the error names."""


def cut_short(path: Path) -> Path:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    return path


def flipped(path: Path) -> Path:
    data = path.read_bytes()
    middle = len(data) // 2
    path.write_bytes(data[:middle] + bytes([data[middle] ^ 0x10]) + data[middle + 1 :])
    return path


def twice_as_long(path: Path) -> Path:
    path.write_bytes(path.read_bytes() * 2)
    return path


def removed(path: Path) -> Path:
    path.unlink()
    return path


def copied_to_the_next(path: Path) -> Path:
    copy = path.with_name(Path(file_of(int(path.name) + 1)).name)
    copy.write_bytes(path.read_bytes())
    return copy


STEPS = [
    "job/job.json",
    "job/run-0.pinned.json",
    "job/run-0.done.json",
    "job/run-1.pinned.json",
    "out/totals/_penstock/*/*/commits/1-*.json",
]
HANDED_OVER = ["job/run-0/snapshot/*.parquet"]
"""It is removed once the live run has it in its checkpoint."""


@pytest.mark.parametrize(
    ("patterns", "place"),
    [(STEPS, "live.staged:3"), (HANDED_OVER, "live.started:1")],
    ids=["steps", "handed over"],
)
def test_damage_is_named(
    environment: Environment,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    patterns: list[str],
    place: str,
) -> None:
    job = VisitsJob(tmp_path)
    attempts = Attempts(job, environment)
    attempts.fail_at(place, monkeypatch)
    kept = Kept((job.checkpoints, job.out), tmp_path / "kept")
    for pattern in patterns:
        for damage in (cut_short, flipped):
            path = newest(tmp_path, pattern)
            before = path.read_bytes()
            damage(path)
            assert path.read_bytes() != before
            error = attempts.fail()
            job.assert_nothing_wrong()
            assert path.name in error.problem, (path, error)
            kept.bring_back()
    attempts.succeed()
    job.assert_complete()


def test_damage_of_what_epochs_are_recorded_in_is_named(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Logs were merged by then, so a base, records behind it and a segment are needed."""
    job = VisitsJob(tmp_path, count=900, epochs=100)
    attempts = Attempts(job, environment)
    attempts.fail_at("live.staged:80", monkeypatch)
    at = job.epoch_files
    epochs = epochs_in(at)
    base = max(epoch for epoch in epochs if read_record(at, epoch).base is not None)
    assert 0 < base < epochs[-1] - 1
    newest_record, record, whole = (at / file_of(epoch) for epoch in (epochs[-1], base + 1, base))
    accidents: list[tuple[Path, Damage]] = [
        (newest_record, cut_short),  # without it the epoch before is the newest: nobody can tell
        (newest_record, flipped),
        (newest_record, twice_as_long),
        (newest_record, copied_to_the_next),
        (record, flipped),
        (record, removed),
        (whole, cut_short),
        (whole, removed),
        (newest(at, "segments/merged-*"), cut_short),
        (newest(at, "segments/merged-*"), flipped),
        (newest(at, "segments/merged-*"), removed),
    ]
    kept = Kept((job.checkpoints, job.out), tmp_path / "kept")
    for path, damage in accidents:
        named = damage(path)
        error = attempts.fail()
        assert error.code == "STATE", (path, damage, error)
        assert named.name in error.problem, (path, damage, error)
        job.assert_nothing_wrong()
        kept.bring_back()
    attempts.succeed()
    job.assert_complete()


FILES_LOGGED = 6
"""Of those that appear: two per part of the log, of which the last was not recorded."""


def test_damage_of_the_log_of_live_files_is_named_and_loses_nothing(
    environment: Environment, tmp_path: Path, failures: Failures
) -> None:
    """Orders go on in files that appear. Two epochs with such files are recorded, and a third one was planned."""
    read = 2 * PER_FILE
    write_orders(tmp_path / "in" / "history", 0, read)
    with monitored(environment, tmp_path) as client:
        wait_for(client, lambda: shown(tmp_path).total() == read + CLICKS)
    last = read + FILES_LOGGED * PER_FILE
    write_orders(tmp_path / "in" / "history", read, last)
    failing = failures.at("live.staged:3:raise") | {"restart-strategy.type": "disable"}
    with pytest.raises(PenstockError), monitored(environment, tmp_path, **failing) as client:
        wait_for(client, lambda: False)
    failures.check_all_happened()
    log = tmp_path / "job" / "run-0" / "files" / "0"
    first, second, third = (log / f"{position:012}-0" for position in (0, 2, 4))
    schema = log / "schema.json"
    assert {*log.iterdir()} == {first, second, third, schema}

    accidents: list[tuple[Path, Damage, str]] = [
        *((path, damage, path.name) for path in (first, second, third, schema) for damage in TORN),
        (first, removed, "nothing has position 0"),
        (second, removed, "nothing has position 2"),
        (schema, removed, schema.name),
        (third, both_removed, "it has 2 files, and 4 were read"),
    ]
    kept = Kept((tmp_path / "job", tmp_path / "out"), tmp_path / "kept")
    before = shown(tmp_path)
    for path, damage, named in accidents:
        damage(path)
        with pytest.raises(PenstockError) as caught, monitored(environment, tmp_path) as client:
            wait_for(client, lambda: False)
        assert caught.value.code == "STATE", (path, damage, caught.value)
        assert named in caught.value.problem, (path, damage, caught.value)
        assert "Restore" in str(caught.value.hint)
        assert shown(tmp_path) == before
        kept.bring_back()
    third.unlink()  # nothing was recorded with its files: they get positions anew
    with monitored(environment, tmp_path) as client:
        wait_for(client, lambda: shown(tmp_path).total() == last + CLICKS)
    assert shown(tmp_path) == expected(last)


def both_removed(third: Path) -> Path:
    """Remove a part that was not recorded, and the recorded one before it."""
    third.unlink()
    return removed(third.with_name(f"{2:012}-0"))


TORN = (cut_short, flipped, twice_as_long)


@contextmanager
def monitored(environment: Environment, root: Path, **settings: Any) -> Iterator[JobClient]:
    """Run the job over a directory that is monitored, and cancel it."""
    small = {"execution.live.max-files-per-batch": 2, "execution.live.catch-up-factor": 1}
    env = environment("mixed", **small, **settings)
    build(env, root / "out", orders_of(root / "in", "live files"))
    client = env.execute_async("orders")
    try:
        yield client
    finally:
        client.cancel()


def shown(root: Path) -> Counter[tuple[Any, ...]]:
    return written(root / "out")


def newest(root: Path, pattern: str) -> Path:
    """Return the file of a pattern that was written last."""
    return max(root.glob(pattern), key=lambda path: path.stat().st_mtime_ns)
