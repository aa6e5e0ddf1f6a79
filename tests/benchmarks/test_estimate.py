"""Estimates of `penstock plan`: within a factor of two of runs, and of what things take in this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import estimate_check
from benchmarks.estimate_check import FACTOR, RUNS, compare
from benchmarks.memory_cost import THINGS, main, measure
from penstock.plan.explain.estimate import MEASURED_BYTES, Estimate, render_estimate


def test_time_and_memory_are_within_a_factor_of_two_of_every_run():
    found = list(compare())
    assert [each.run for each in found] == list(RUNS)
    for each in found:
        for factor in each.factors():
            assert 1 / FACTOR <= factor <= FACTOR, (each.run.file, each.run.system, factor)


def test_the_table_is_what_things_take():
    assert list(MEASURED_BYTES) == list(THINGS)
    names = ("value state of a key", "timer")
    small = measure(50_000, names)
    for name in names:
        assert MEASURED_BYTES[name] / FACTOR <= small[name] <= MEASURED_BYTES[name] * FACTOR, name


def test_the_command_prints_a_row_per_thing(capsys, monkeypatch):
    monkeypatch.setattr("benchmarks.memory_cost.measure", lambda count: {"timer": float(count)})
    assert main(["--count", "12345"]) == 0
    assert "| timer | 12,345 |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("seconds", "words"), [(3.0, "3.0 s"), (600.0, "10.0 min"), (7200.0, "2.0 h")]
)
def test_an_estimate_in_words(seconds, words):
    text = render_estimate(Estimate(10**9, 1000, 2, seconds, 1 << 20, 2 << 20, 3 << 20, 4 << 20))
    assert words in text
    assert "10 MiB" in text


def test_the_page_has_the_table_and_what_the_command_prints(capsys):
    page = (Path(__file__).parents[2] / "docs" / "scale.md").read_text(encoding="utf-8")
    for name, size in MEASURED_BYTES.items():
        assert f"| {name} | {size:,} |" in page
    assert estimate_check.main() == 0
    *_, told = capsys.readouterr().out.splitlines()
    assert told.startswith(f"Estimates of {len(RUNS)} recorded runs")
    assert told in page
