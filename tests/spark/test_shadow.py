"""A shadow: reads what the original has read as a batch, then the same live input, and writes beside it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from penstock.api.environment.job import JobClient, PlanReady
from penstock.common import Types, WatermarkStrategy
from penstock.config import set_process_overrides
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import FileSink, FileSource, HybridSource
from penstock.errors import EvolutionError
from penstock.inspection import (
    OutputComparison,
    PositionDifference,
    compare_outputs,
    compare_positions,
)
from penstock.spark.upgrade.shadow import begin_shadow
from tests.spark.conftest import Environment
from tests.spark.test_upgrade import PER_FILE, write
from tests.spark.waiting import wait_for

COUNTED = Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.LONG()])

Overrides = Callable[[Mapping[str, Any]], None]


def totals_job(
    env: StreamExecutionEnvironment, base: Path, weights: Mapping[str, int]
) -> JobClient:
    """Start the job: the total weight of each key, one line per record."""
    live = FileSource.text(str(base / "live")).monitor_continuously()
    files = HybridSource.builder(FileSource.text(str(base / "old"))).add_source(live).build()
    lines = env.from_source(files, WatermarkStrategy.no_watermarks(), "files").uid("files")
    pairs = lines.map(lambda line: (line, weights.get(line, 1)), COUNTED).uid("pairs")
    totals = pairs.key_by(lambda r: r[0]).sum(1).uid("totals")
    totals.sink_to(FileSink.json(base / "out")).uid("out")
    return env.execute_async("totals")


def rows_in(directory: Path) -> list[dict[str, Any]]:
    files = sorted(directory.glob("*.json"))
    return [json.loads(line) for path in files for line in path.read_text().splitlines()]


def has_read(directory: Path, files: int) -> Callable[[], bool]:
    """Return a test whether all records of so many files have results."""
    return lambda: len(rows_in(directory)) >= files * PER_FILE


@pytest.fixture
def overrides() -> Iterator[Overrides]:
    """Return what sets the values of the command line, as `penstock shadow` does."""
    yield lambda values: set_process_overrides("cli", dict(values))
    set_process_overrides("cli", {})


def start_shadow(
    overrides: Overrides,
    environment: Environment,
    base: Path,
    weights: Mapping[str, int],
    into: str = "shadow",
) -> JobClient:
    """Start the program as a shadow of the job in `base`, as the command does."""
    new = base / into
    given = {
        "execution.checkpointing.dir": str(new),
        "execution.evolution": "allow",
        "execution.shadow": "files",
    }
    overrides(given | {"execution.target": "plan"})
    with pytest.raises(PlanReady) as ready:
        totals_job(environment("mixed"), base, weights)
    beginning = begin_shadow(base / "job", new, ready.value.plan)
    assert beginning is not None
    overrides(given | {"execution.state-recovery.path": str(beginning.savepoint)})
    try:
        return totals_job(environment("mixed"), base, weights)
    finally:
        overrides({})


def test_a_shadow_differs_from_its_original_by_the_change_of_its_program_alone(
    environment: Environment, tmp_path: Path, overrides: Overrides
) -> None:
    for number in range(5):
        write(tmp_path / ("old" if number < 3 else "live"), number)
    out, outputs = tmp_path / "out", tmp_path / "shadow" / "outputs" / "out"
    original = totals_job(environment("mixed"), tmp_path, {})
    wait_for(original, has_read(out, 5))
    shadow = start_shadow(overrides, environment, tmp_path, {"k2": 2})
    wait_for(shadow, has_read(outputs, 5))
    write(tmp_path / "live", 5)
    for client, directory in ((original, out), (shadow, outputs)):
        wait_for(client, has_read(directory, 6))
    shadow.cancel()
    directories = tmp_path / "job", tmp_path / "shadow"
    assert compare_positions(*directories) == []
    write(tmp_path / "live", 6)
    wait_for(original, has_read(out, 7))
    assert compare_positions(*directories) == [PositionDifference("files", 1, 0, "files")]
    again = start_shadow(overrides, environment, tmp_path, {"k2": 2})
    wait_for(again, has_read(outputs, 7))
    again.cancel()
    original.cancel()
    assert compare_positions(*directories) == []
    (found,) = compare_outputs(*directories, how=OutputComparison(keys=["k"]))
    last = max(row["n"] for row in rows_in(out) if row["k"] == "k2")
    assert (found.rows_a, found.rows_b, found.different) == (4, 4, 1)
    assert found.examples[0].before == {"k": "k2", "n": last}
    assert found.examples[0].after == {"k": "k2", "n": 2 * last}
    assert None not in (found.first_epoch_a, found.first_epoch_b)
    with pytest.raises(EvolutionError, match="would both be in"):
        start_shadow(overrides, environment, tmp_path, {}, into="job")
