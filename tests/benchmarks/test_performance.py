"""The page of one screen, and the bars of what a record costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.reporting import costs, performance
from benchmarks.reporting.costs import ALL, newest, of_micro_batches, of_records

REPOSITORY = Path(__file__).parents[2]
PAGE = REPOSITORY / "docs" / "performance.md"


def test_the_page_is_that_of_the_newest_results():
    assert PAGE.read_text(encoding="utf-8") == performance.page()  # make docs writes it


def test_its_pictures_are_there_and_it_fits_a_screen():
    text = PAGE.read_text(encoding="utf-8")
    for section in performance.SECTIONS:
        assert (REPOSITORY / "docs" / "images" / f"bench-{section.file}.svg").exists()
    assert len(text.splitlines()) < 70


def test_pieces_of_a_bar_add_up_to_the_slots_of_the_median_round():
    result = newest("reduce")
    found = of_records(result, "loop")
    assert {ALL} in [set(cost.by_place) for cost in found]
    by_system = {each["system"]: each for each in result["results"]}
    for cost in found:
        each = by_system[cost.system]
        slots = each["options"]["parallelism"]
        wall = each.get("profile", {}).get("wall_seconds", each["seconds"]["median"])
        assert cost.total == pytest.approx(wall * slots * 1e6 / each["records"], rel=0.02)


def test_a_micro_batch_stands_beside_an_empty_query():
    ours, empty = of_micro_batches(newest("live-state"), newest("latency"), "spark-empty")
    assert (ours.system, empty.system) == ("penstock hashmap", "spark-empty")
    assert ours.total > empty.total > 0


def test_the_picture_has_the_same_bytes_for_the_same_results(tmp_path):
    path = tmp_path / "cost.svg"
    assert costs.main([str(path)]) == 0
    assert path.read_bytes() == (REPOSITORY / "docs" / "images" / "cost-by-place.svg").read_bytes()
