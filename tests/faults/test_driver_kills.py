"""Exactly once, tested by SIGKILL of the driver at every step boundary.

One checkpoint directory, one driver after the other: each is killed at the next boundary, so
every driver both recovers from the kill before and dies at a new place. The last one is left
alone. The sinks must equal a replay of the input.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.drivers import MIXED, Drivers
from tests.faults.visits_job import VisitsJob
from tests.spark.jobs import enriched
from tests.spark.test_clients import written

BATCH_RUN = [
    "file.job.json:1",
    "file.run-0.pinned.json:1",
    "batch.pinned:1",
    "batch.ran:1",
    "file.run-0.staged.json:1",
    "batch.staged:1",
    "sinks.before-commit:1",
    "sink.manifest-written:1",
    "sink.renamed-first:1",
    "sink.committed:1",
    "sinks.one-committed:1",
    "sinks.committed:1",
    "batch.committed:1",
]
SWITCH = [
    "file.run-0.done.json:1",
    "batch.done:1",
    "file.run-1.pinned.json:1",
    "live.started:1",
    "live.staged:1",
    "sink.manifest-written:1",
]
LIVE_RUN = [
    "live.started:1",  # what follows happens in the live run: history is done
    "sink.manifest-written:2",
    "sinks.one-committed:1",
    "state.superseded:1",  # of the state that was handed over, one file is left
    "live.committed:2",
    "live.staged:2",
    "live.done:1",
    "file.finished.json:1",
    "job.finished:1",
]

BOUNDED_REGION = [
    "batch.ran:1",  # in the region: it is repeated
    "batch.done:1",  # behind it: its results are read from here on
    "file.run-1.done.json:1",
    "live.committed:2",
]


@pytest.mark.parametrize("part", ["batch run", "switch", "live run"])
def test_a_kill_at_every_step_boundary_loses_and_repeats_nothing(tmp_path: Path, part: str) -> None:
    job = VisitsJob(tmp_path, count=900)
    boundaries = {"batch run": BATCH_RUN, "switch": SWITCH, "live run": LIVE_RUN}[part]
    visible = boundaries.index("sink.renamed-first:1") if part == "batch run" else 0
    for number, place in enumerate(boundaries):
        job.drivers.is_killed_at(place)
        if number < visible:
            job.assert_nothing_visible()
    job.drivers.succeeds()
    job.assert_complete()


@pytest.mark.subset
def test_a_kill_in_the_batch_run_and_behind_the_switch(tmp_path: Path) -> None:
    """The strongest of the boundaries: output half visible; state handed over, before a commit.

    Each costs the start of a driver. All boundaries are in the test above, which `make faults` runs.
    """
    job = VisitsJob(tmp_path, live_files=2)
    for place in ("sink.renamed-first:1", "live.staged:1"):
        job.drivers.is_killed_at(place)
    job.drivers.succeeds()
    job.assert_complete()


def test_a_kill_in_a_bounded_region_and_behind_it_loses_and_repeats_nothing(tmp_path: Path) -> None:
    settings = MIXED | {"execution.live.max-records-per-batch": "40"}
    out = tmp_path / "out"
    job = Path(enriched.__file__)
    drivers = Drivers(job, (str(out),), tmp_path / "job", tmp_path / "markers", settings)
    for place in BOUNDED_REGION:
        drivers.is_killed_at(place)
    output = drivers.succeeds()
    assert "bounded: " not in output
    assert enriched.answer(written(out)) == enriched.expected()
