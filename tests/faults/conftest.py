"""Marks of the fault suite, and the session for the faults that need no process of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.conftest import environment, failures, session

__all__ = ["environment", "failures", "session"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what only `make faults` runs: everything here outside the subset of `make test`."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.spark)
            if item.get_closest_marker("subset") is None:
                item.add_marker(pytest.mark.faults)
