"""The page of results is that of the newest results, and the bars of what a record costs add up."""

from __future__ import annotations

import re

import pytest

from benchmarks.reporting import costs, results_page
from benchmarks.reporting.costs import ALL, RESULTS, newest, of_micro_batches, of_records
from benchmarks.reporting.results_page import GOALS, OF_PROPOSALS, PAGE, SECTIONS

IMAGES = PAGE.parent / "images"


@pytest.mark.parametrize("page", results_page.TABLES, ids=lambda page: page.stem)
def test_a_page_is_that_of_the_newest_results(page):
    text = page.read_text(encoding="utf-8")
    assert text == results_page.with_tables(page), "run python -m benchmarks.reporting.results_page"
    assert re.findall("^<!-- ([a-z]+) -->$", text, re.MULTILINE)[-1] == "results"


def test_every_result_has_a_section_and_a_picture():
    assert {*SECTIONS, *OF_PROPOSALS} == {path.stem for path in RESULTS.glob("*.jsonl")}
    assert [
        name for name in [*SECTIONS, *OF_PROPOSALS] if not (IMAGES / f"bench-{name}.svg").exists()
    ] == []


def test_the_page_counts_the_goals_that_are_reached():
    table = results_page.goals()
    missed, known = table.count("**missed**"), len(table.splitlines()) - 2
    assert f"{known - missed} of {known} are reached" in GOALS.read_text(encoding="utf-8")
    assert f"{known - missed} of {known} goals are reached" in PAGE.read_text(encoding="utf-8")


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
    assert path.read_bytes() == (IMAGES / "cost-by-place.svg").read_bytes()
