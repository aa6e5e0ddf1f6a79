"""The script about many files: every step sees all of them, and one that does not fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import file_cost

FILES = 2_100


def test_every_step_sees_all_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert file_cost.main(["--files", str(FILES)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["list", "pin", "open", "history"]
    assert all(f" {FILES:,} files, " in line for line in lines)


def test_a_position_is_given_once_and_kept(tmp_path: Path) -> None:
    file_cost.make(tmp_path / "data", 70)
    (tmp_path / "work").mkdir()
    assert file_cost.pin(tmp_path / "data", tmp_path / "work") == 70
    assert file_cost.pin(tmp_path / "data", tmp_path / "work") == 70
    assert file_cost.open_log(tmp_path / "data", tmp_path / "work") == 70
