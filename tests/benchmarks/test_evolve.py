"""`benchmarks.evolve`: its answer, and a small run of it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.evolve import Sizes, groups_of, main, make, right_counts


@pytest.mark.parametrize("aggregate", [0, 1, 6])
def test_the_right_counts_are_those_of_the_records(aggregate: int) -> None:
    sizes = Sizes(records=70, live=11, rate=1, keys=9, parallelism=2)
    record, groups = make(sizes.keys), groups_of(aggregate, sizes.keys)
    counts = Counter(record(i)[0] % groups for i in range(81))
    assert list(right_counts(sizes, groups)) == [counts[group] for group in range(groups)]


@pytest.mark.spark
def test_a_small_run_is_right(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ("--records=20000", "--live=6000", "--rate=100", "--keys=40")
    assert main([*sizes, f"--directory={tmp_path}", "--at-most=5"]) == 0
    line = json.loads(capsys.readouterr().out)
    assert line["is_right"]
    assert line["rate_before"] > 0
    assert line["rate_meanwhile"] > 0
