"""`map_groups` on Spark: state of a key goes from history to live, and over restarts, in every mode."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.jobs.groups import build, check
from tests.spark.conftest import Environment, Failures


@pytest.mark.parametrize("mode", ["batch", "streaming", "mixed"])
def test_sums_go_on_whatever_fails(
    environment: Environment, tmp_path: Path, failures: Failures, mode: str
) -> None:
    nth = 1 if mode == "batch" else 3
    settings = failures.at(f"sinks.before-commit:{nth}:raise", f"sinks.committed:{nth}:raise")
    settings |= {"execution.live.max-records-per-batch": 50}
    env = environment(mode, **settings)
    build(env, tmp_path / "out", 400)
    env.execute("groups")
    failures.check_all_happened()
    check(tmp_path / "out", 400)
