"""The benchmark of commits runs, and finds fewer files where they are merged."""

from __future__ import annotations

import re

import pytest

from benchmarks import commit_cost


def test_both_sinks_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert commit_cost.main(["--epochs", "5", "--rows", "3"]) == 0
    shown, merged = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"shown: p50 .* ms, p99 .* ms, published in .* s, 10 files", shown)
    assert re.fullmatch(r"merged: p50 .* ms, p99 .* ms, published in .* s, 1 files", merged)
