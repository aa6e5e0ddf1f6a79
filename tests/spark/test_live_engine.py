"""A live run that is not to be a query is refused before anything is begun."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import ConfigError
from tests.spark.conftest import Environment


def test_jobs_are_refused_until_there_are_any(environment: Environment, tmp_path: Path) -> None:
    env = environment("streaming", **{"execution.live.engine": "jobs"})
    env.from_collection([1]).print()
    with pytest.raises(ConfigError, match=r"run 0 \(live\)"):
        env.execute()
    assert not (tmp_path / "job").exists()
