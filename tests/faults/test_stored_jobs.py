"""Checkpoint directories in stores, tested by SIGKILL of the driver, and by drivers that wake up after they were replaced."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from penstock.filesystem.object_path import ObjectPath
from penstock.filesystem.s3_store import S3Store, s3_client
from penstock.filesystem.stored_path import StoredPath
from penstock.spark.job.stored_lock import DRIVERS
from tests.azure_server import KEY
from tests.faults.drivers import SECONDS, Drivers
from tests.faults.processes import wait_for
from tests.faults.test_object_kills import KEYS, NUMBERS, OUT, rows, s3_options
from tests.s3_server import SECRET, s3_server, settings_of
from tests.store_systems import SYSTEMS

EVERY = {(n % KEYS, (n + KEYS - 1) // KEYS): 1 for n in range(1, NUMBERS + 1)}
JOB = ObjectPath(OUT.bucket, "jobs/counts")
KILLS = ("live.staged:1", "epoch.record-linked:2", "live.committed:1")
FREEZES = (
    "epoch.record-checked:1",  # behind its look for a successor: its put meets that of its successor
    "epoch.record-linked:1",  # its record counts, and the next driver commits it
    "sink.manifest-written:2",  # the next driver makes visible what it has decided
)


@pytest.fixture
def server() -> Iterator[str]:
    with s3_server() as url:
        s3_client(settings_of(url)).create_bucket(Bucket=OUT.bucket)
        yield url


@pytest.fixture
def drivers(server: str, tmp_path: Path) -> Drivers:
    return Drivers(
        Path(__file__).parent / "jobs" / "object_counts.py",
        (str(NUMBERS), str(OUT)),
        tmp_path / "job",
        tmp_path / "markers",
        {
            "execution.runtime-mode": "STREAMING",
            "execution.live.max-records-per-batch": "20",
            **s3_options(server),
        },
        stored=str(JOB),
    )


def assert_complete(server: str) -> None:
    assert rows(S3Store(settings_of(server))) == EVERY


def test_counts_are_written_once_although_drivers_are_killed(server: str, drivers: Drivers) -> None:
    for place in KILLS:
        assert SECRET not in drivers.is_killed_at(place)
    drivers.succeeds()
    assert_complete(server)
    store = S3Store(settings_of(server))
    assert not any(SECRET.encode() in store.read(path) for path in store.list_below(JOB))


@pytest.mark.parametrize("name", [name for name in SYSTEMS if name != "s3"])
def test_other_stores_have_a_job_whose_drivers_are_killed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The login is the environment's; with Azure it is a key, which no object has."""
    system = SYSTEMS[name]
    with system.serve() as url:
        bucket = system.new_bucket(url, OUT.bucket)
        environment = system.environment(url)
        for variable, value in environment.items():
            monkeypatch.setenv(variable, value)
        drivers = Drivers(
            Path(__file__).parent / "jobs" / "object_counts.py",
            (str(NUMBERS), str(bucket / OUT.key)),
            tmp_path / "job",
            tmp_path / "markers",
            {"execution.runtime-mode": "STREAMING", "execution.live.max-records-per-batch": "20"},
            stored=str(bucket / JOB.key),
        )
        for place in KILLS:
            assert KEY not in drivers.is_killed_at(place)
        drivers.succeeds()
        store = system.store(url)
        assert rows(store, bucket / OUT.key) == EVERY
        assert store.uploads(bucket) == []
        assert not any(KEY.encode() in store.read(path) for path in store.list_below(bucket))


def test_a_driver_that_was_frozen_commits_nothing_when_it_wakes_up(
    server: str, drivers: Drivers
) -> None:
    """Its sign of life is removed, which declares it dead; it wakes up while the next one has the job."""
    job = StoredPath(S3Store(settings_of(server)), JOB)
    with ExitStack() as ended:
        frozen: subprocess.Popen[str] | None = None
        for place in FREEZES:
            driver = drivers.start(f"{place}:freeze")
            ended.callback(_end, driver)
            _wait_until_frozen(drivers, driver, f"{place}:freeze")
            for path in (job / DRIVERS).iterdir():
                if path.name.endswith(".alive"):
                    path.unlink()
            if frozen is not None:
                _assert_fenced(frozen)
            frozen = driver
        drivers.succeeds()
        assert_complete(server)
        assert frozen is not None
        _assert_fenced(frozen)
    assert_complete(server)


def test_a_second_driver_is_refused(server: str, drivers: Drivers) -> None:
    first = drivers.start("live.staged:2:freeze")
    try:
        _wait_until_frozen(drivers, first, "live.staged:2:freeze")
        assert "JOB_LOCKED" in drivers.is_refused()
        first.send_signal(signal.SIGCONT)
        output, _ = first.communicate(timeout=SECONDS)
        assert first.returncode == 0, output
    finally:
        _end(first)
    assert_complete(server)


def _wait_until_frozen(drivers: Drivers, driver: subprocess.Popen[str], place: str) -> None:
    def has_frozen() -> bool:
        return drivers.process_at(place) == driver.pid

    wait_for(lambda: has_frozen() or driver.poll() is not None, SECONDS, "nothing froze")
    assert driver.poll() is None, driver.communicate()[0]


def _assert_fenced(frozen: subprocess.Popen[str]) -> None:
    frozen.send_signal(signal.SIGCONT)
    output, _ = frozen.communicate(timeout=SECONDS)
    assert frozen.returncode == 1, output
    assert "JOB_FENCED" in output
    assert "Traceback" not in output


def _end(driver: subprocess.Popen[str]) -> None:
    driver.kill()
    driver.communicate()
