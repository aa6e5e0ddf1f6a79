"""What a micro-batch is checked for is checked before any of it runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import SourceError
from penstock.spark.live.live_columns import LiveColumns
from penstock.spark.live.planned_files import PlannedFiles
from tests.spark.conftest import Environment

CHECKS: dict[str, tuple[type, str]] = {
    "files": (PlannedFiles, "check"),
    "columns": (LiveColumns, "check"),
}


def noted(calls: Path) -> Callable[[int], int]:
    """Return a function that notes that it was called."""

    def note(value: int) -> int:
        calls.touch()
        return value

    return note


@pytest.mark.parametrize("name", CHECKS)
def test_no_function_is_called_before_a_check(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    seen: list[bool] = []

    def refuse(*_: Any) -> None:
        seen.append((tmp_path / "calls").exists())
        raise SourceError("refused", hint="Nothing to do.")

    monkeypatch.setattr(*CHECKS[name], refuse)
    env = environment("streaming", **{"execution.live.engine": "query"})
    env.from_collection([1, 2]).map(noted(tmp_path / "calls")).print()
    with pytest.raises(SourceError, match="refused"):
        env.execute()
    assert seen == [False]
    assert not (tmp_path / "calls").exists()
