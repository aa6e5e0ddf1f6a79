"""`benchmarks.growth`: slopes are fitted right, and its record is what the page shows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import growth
from benchmarks.growth import DIMENSIONS, Dimension, Grown, main, read, text_of

REPOSITORY = Path(__file__).parents[2]
RECORD = REPOSITORY / "benchmarks" / "results" / "growth" / "growth.jsonl"
PAGE = REPOSITORY / "docs" / "decisions" / "0045-hours.md"


@pytest.mark.parametrize(("power", "linear"), [(1.0, True), (0.5, True), (2.0, False)])
def test_the_slope_is_the_power(power, linear):
    grown = Grown("keys", tuple((size, size**power / 1e6) for size in (10, 100, 1000)))
    assert grown.slope == pytest.approx(power)
    assert grown.is_linear is linear


def test_a_bend_at_the_end_is_not_hidden_by_what_came_before():
    points = ((10, 1.0), (100, 1.1), (1000, 1.2), (10_000, 1.3), (100_000, 130.0))
    grown = Grown("keys", points)
    assert grown.slope < growth.LINEAR < grown.last_slope
    assert not grown.is_linear


def test_worse_than_linear_is_the_exit_status(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(
        DIMENSIONS, "keys", Dimension(lambda n: n**2 / 1e6, (1, 10, 100), "squares")
    )
    record = tmp_path / "growth.jsonl"
    assert main(["keys", "--append", str(record), "--draw", str(tmp_path / "g.svg")]) == 1
    assert "| 2.00 |" in capsys.readouterr().out
    assert read(record)[0].slope == pytest.approx(2.0)
    monkeypatch.setitem(DIMENSIONS, "keys", Dimension(lambda n: n / 1e6, (1, 10, 100), "lines"))
    assert main(["keys", "--append", str(record)]) == 0
    assert len(record.read_text().splitlines()) == 2
    assert read(record)[0].slope == pytest.approx(1.0)  # the newest one


@pytest.mark.parametrize("name", DIMENSIONS)
def test_every_dimension_can_be_measured(name):
    dimension = DIMENSIONS[name]
    assert dimension.seconds(2) > 0
    assert list(dimension.sizes) == sorted(dimension.sizes)


def test_the_page_has_the_newest_record_and_nothing_in_it_is_worse_than_linear():
    found = read(RECORD)
    assert [each.name for each in found] == list(DIMENSIONS)
    assert text_of(found) in PAGE.read_text(encoding="utf-8")
    assert all(each.is_linear for each in found)
    assert json.loads(RECORD.read_text().splitlines()[-1])["commit"]
