"""Exactly once, tested by SIGKILL of the driver at every step boundary.

One checkpoint directory, one driver after the other: each is killed at the next boundary, so
every driver both recovers from the kill before and dies at a new place. The last one is left
alone. The sinks must equal a replay of the input.

The live run is a loop of epochs, but for one test.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.state.log.log_reader import epochs_in
from tests.faults.drivers import MIXED, Drivers
from tests.faults.visits_job import VisitsJob
from tests.spark.jobs import enriched
from tests.spark.test_clients import written

BATCH_RUN = [
    "file.job.json:1",
    "file.run-0.pinned.json:1",
    "batch.pinned:1",
    "batch.ran:1",
    "batch.staged:1",
    "sink.manifest-written:1",
    "sink.renamed-first:1",
    "sinks.one-committed:1",
    "batch.committed:1",
]
SWITCH = [
    "batch.done:1",
    "live.started:1",
    "live.staged:1",
    "epoch.record-written:1",  # no record yet, only its temporary file
    "epoch.record-linked:1",  # the first epoch counts
    "sink.manifest-written:1",  # in the recovery, which commits it once more
]
LIVE_RUN = [
    "state.superseded:1",  # of the state that was handed over, one file is left
    "epoch.record-durable:1",
    "sinks.one-committed:3",  # two were the recovery's
    "sink.renamed-first:3",
    "live.committed:2",
    "live.staged:2",
    "live.done:1",
    "job.finished:1",
]
MERGE = [
    "epoch.merge-planned:1",
    "epoch.merge-written:1",
    "epoch.merge-adopted:1",
    "epoch.sweep:1",  # a record that is a base is durable; what it replaces is there
    "epoch.sweep:20",
    "epoch.temporaries-removed:1",
]
FILES = [
    "live.staged:1",
    "epoch.record-linked:2",
    "live.committed:2",
]
QUERY = [
    "live.started:1",  # what follows happens in the live run: history is done
    "sink.manifest-written:2",
    "state.superseded:1",
    "live.committed:2",
]
BOUNDED_REGION = [
    "batch.ran:1",  # in the region: it is repeated
    "batch.done:1",  # behind it: its results are read from here on
    "file.run-1.done.json:1",
    "live.committed:2",
]


@pytest.mark.parametrize("part", ["batch run", "switch", "live run"])
def test_a_kill_at_every_step_boundary_loses_and_repeats_nothing(tmp_path: Path, part: str) -> None:
    job = VisitsJob(tmp_path, count=900, epochs=16)
    boundaries = {"batch run": BATCH_RUN, "switch": SWITCH, "live run": LIVE_RUN}[part]
    visible = boundaries.index("sink.renamed-first:1") if part == "batch run" else 0
    for number, place in enumerate(boundaries):
        job.drivers.is_killed_at(place)
        if number < visible:
            job.assert_nothing_visible()
    job.drivers.succeeds()
    job.assert_complete()


def test_a_kill_at_every_step_of_a_merge_loses_and_repeats_nothing(tmp_path: Path) -> None:
    job = VisitsJob(tmp_path, count=900, epochs=100)
    for place in MERGE:
        job.drivers.is_killed_at(place)
    job.drivers.succeeds()
    job.assert_complete()
    epochs = epochs_in(job.epoch_files)
    assert epochs[-1] >= 99
    assert epochs == list(range(epochs[0], epochs[-1] + 1))
    assert epochs[0] > 50, "what the merge replaced is removed"


@pytest.mark.subset
def test_a_kill_in_the_batch_run_and_behind_the_switch(tmp_path: Path) -> None:
    """The strongest of the boundaries: output half visible; state handed over, recorded, not committed.

    Each costs the start of a driver. All boundaries are in the tests above, which `make faults` runs instead.
    """
    job = VisitsJob(tmp_path, epochs=2)
    for place in ("sink.renamed-first:1", "epoch.record-linked:1"):
        job.drivers.is_killed_at(place)
    job.drivers.succeeds()
    job.assert_complete()


def test_a_kill_in_a_query_loses_and_repeats_nothing(tmp_path: Path) -> None:
    job = VisitsJob(tmp_path, epochs=6, engine="query")
    for place in QUERY:
        job.drivers.is_killed_at(place)
    job.drivers.succeeds()
    job.assert_complete()


def test_a_kill_in_a_loop_over_files_loses_and_repeats_nothing(tmp_path: Path) -> None:
    job = VisitsJob(tmp_path, epochs=6, reads_files=True)
    for place in FILES:
        job.drivers.is_killed_at(place)
    job.drivers.succeeds()
    job.assert_complete()


def test_a_kill_in_a_bounded_region_and_behind_it_loses_and_repeats_nothing(tmp_path: Path) -> None:
    settings = MIXED | {
        "execution.live.engine": "jobs",
        "execution.live.max-records-per-batch": "40",
    }
    out = tmp_path / "out"
    job = Path(enriched.__file__)
    drivers = Drivers(job, (str(out),), tmp_path / "job", tmp_path / "markers", settings)
    for place in BOUNDED_REGION:
        drivers.is_killed_at(place)
    output = drivers.succeeds()
    assert "bounded: " not in output
    assert enriched.answer(written(out)) == enriched.expected()
