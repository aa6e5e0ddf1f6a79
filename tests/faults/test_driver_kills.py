"""Exactly once, tested by SIGKILL of the driver at every step boundary.

One checkpoint directory, one driver after the other: each is killed at the next boundary, so
every driver both recovers from the kill before and dies at a new place. The last one is left
alone. The sinks must equal a replay of the input.

Of a job with several pipelines each is killed at every step
of its epochs, while the others are wherever they are; a driver has one process, so all of them die.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.state.log.log_table import epochs_in
from tests.faults.meeting_job import MeetingJob
from tests.faults.pipelines_job import PipelinesJob
from tests.faults.visits_job import VisitsJob
from tests.spark.jobs import enriched

BATCH_RUN = [
    "file.job.json:1",
    "file.run-0.pinned.json:1",
    "batch.ran:1",
    "batch.staged:1",
    "sink.manifest-written:1",
    "sink.renamed-first:1",
    "sinks.one-committed:1",
    "batch.committed:1",
]
SWITCH = [
    "live.started:1",
    "live.staged:1",
    "epoch.record-written:1",  # no record yet, only its temporary file
    "epoch.record-linked:1",  # the first epoch counts
    "sink.manifest-written:1",  # in the recovery, which commits it once more
]
HISTORY_PIPELINE = [
    "state.superseded@pipeline-1:1",  # of the state that was handed over, one file is left
    "epoch.record-durable@pipeline-1:1",
    "sinks.one-committed@pipeline-1:1",
    "sink.renamed-first@pipeline-1:3",
    "live.committed@pipeline-1:2",
    "live.done@pipeline-1:1",
    "job.finished:1",
]
BOUNDED_REGION = [
    "batch.ran@pipeline-0:1",  # it is repeated
    "log.before-confirm@pipeline-0-confirm:1",  # committed; the log was not told
    "file.run-0.done.json:1",  # told by the recovery of the next driver
    "file.run-4.done.json:1",  # the results are in the state of the run that reads them
]
"""The first three in the region, the last one in what reads it."""
EPOCH = [
    "live.staged@{}:1",
    "epoch.record-written@{}:1",  # no record yet, only its temporary file
    "epoch.record-linked@{}:1",
    "sink.manifest-written@{}:1",
    "sink.renamed-first@{}:1",
    "live.committed@{}:2",
]
"""Of an epoch, in the pipeline that is filled in."""
NOT_CONFIRMED = [
    "sinks.committed@pipeline-2:2",  # committed; the log was not told
    "log.before-confirm@pipeline-2-confirm:1",  # about to be told by the next driver
]
CONFIRMED = "log.before-confirm@pipeline-2-confirm:2"
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
BESIDE_HISTORY = [
    "epoch.record-written:3",  # in history: its files and clicks are read again
    "epoch.record-linked:12",  # the source goes on with its next part, or has begun it; its sinks did not commit
]
IN_FRAME = [
    "frame.begun:1",
    "frame.written:1",  # its files stay beside those of the next driver, and are removed
    "frame.checked:1",
    "frame.complete:1",  # it is not written again
    "epoch.record-linked:4",
]
"""History in a DataFrame, which is written beside live input."""


@pytest.mark.parametrize("part", ["batch run", "switch"])
def test_a_kill_at_every_step_boundary_loses_and_repeats_nothing(tmp_path: Path, part: str) -> None:
    job = VisitsJob(tmp_path, count=900, epochs=16)
    boundaries = {"batch run": BATCH_RUN, "switch": SWITCH}[part]
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


def test_a_kill_in_a_loop_over_files_loses_and_repeats_nothing(tmp_path: Path) -> None:
    job = VisitsJob(tmp_path, epochs=6, reads_files=True)
    for place in FILES:
        job.drivers.is_killed_at(place)
    job.drivers.succeeds()
    job.assert_complete()


def test_a_kill_in_history_in_files_beside_live_input_loses_and_repeats_nothing(
    tmp_path: Path,
) -> None:
    job = MeetingJob(tmp_path)
    for place in BESIDE_HISTORY:
        job.drivers.is_killed_at(place)
        job.assert_nothing_doubled()
    job.drivers.succeeds()
    job.assert_complete()


def test_a_kill_while_a_dataframe_is_written_beside_live_input_loses_and_repeats_nothing(
    tmp_path: Path,
) -> None:
    job = MeetingJob(tmp_path, is_frame=True)
    for place in IN_FRAME:
        job.drivers.is_killed_at(place)
        job.assert_nothing_doubled()
    job.drivers.succeeds()
    job.assert_complete()
    assert len([*(tmp_path / "job").glob("run-*/dataframe-*")]) == 1


def test_a_kill_at_every_step_of_a_pipeline_with_history_beside_others(tmp_path: Path) -> None:
    job = PipelinesJob(tmp_path)
    for place in HISTORY_PIPELINE:
        job.drivers.is_killed_at(place)
    job.drivers.succeeds()
    job.assert_complete()


def test_a_kill_at_every_step_of_a_bounded_region_and_behind_it(tmp_path: Path) -> None:
    job = PipelinesJob(tmp_path)
    for place in BOUNDED_REGION:
        job.drivers.is_killed_at(place)
        job.assert_nothing_doubled()
        is_told = BOUNDED_REGION.index(place) > 1
        assert job.bounded_confirmed() == (enriched.BOUNDED if is_told else 0)
    for place in EPOCH[1:]:  # before a record is begun nothing depends on what is read
        job.drivers.is_killed_at(place.format("pipeline-3"))
        job.assert_nothing_doubled()
    output = job.drivers.succeeds()
    assert "bounded: " not in output
    job.assert_complete()


def test_a_kill_at_every_step_of_a_live_log_confirms_what_was_committed(tmp_path: Path) -> None:
    job = PipelinesJob(tmp_path)
    for place in EPOCH:
        job.drivers.is_killed_at(place.format("pipeline-2"))
        job.assert_nothing_doubled()
    for place in NOT_CONFIRMED:
        job.drivers.is_killed_at(place)
        job.assert_nothing_doubled()
        committed = job.rows("clicks").total()
        assert job.clicks_confirmed() < committed
    job.drivers.is_killed_at(CONFIRMED)
    assert job.clicks_confirmed() >= committed, "the next driver confirms once more"
    job.drivers.succeeds()
    job.assert_complete()
