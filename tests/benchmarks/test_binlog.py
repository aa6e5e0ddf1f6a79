"""The change records of the join benchmark and of its example: their shape, and what comes of them."""

from __future__ import annotations

import json
import runpy
import sys
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.inputs.binlog import ORDERS, REFUNDS, write_binlog
from penstock.api.environment.job import PlanReady
from penstock.config.configuration import set_process_overrides
from penstock.datastream import WatermarkStrategy
from penstock.datastream.connectors import DiscardingSink
from penstock.program.operators import KEYED_REGULAR_JOIN, MAP
from penstock.testing import run_in_process
from tests.runtime.jobs import MODE_IDS, MODES, environment, history_then_live

EXAMPLE = Path(__file__).parents[2] / "examples" / "regular_join.py"
RECORDS, KEYS = 300, 100


@pytest.fixture(scope="module")
def example():
    return runpy.run_path(str(EXAMPLE), run_name="example")


def lines(table, records=RECORDS):
    return [table.line(index, KEYS) for index in range(records)]


def test_lines_have_the_size_and_the_columns_of_the_proposal(example):
    orders, refunds = lines(ORDERS), lines(REFUNDS)
    assert 4500 < sum(map(len, orders)) / RECORDS < 5500
    assert 1500 < sum(map(len, refunds)) / RECORDS < 2500
    order = example["ORDER"].get_field_types()
    refund = example["REFUND"].get_field_types()
    assert [str(each) for each in order].count("String") == 21
    assert [str(each) for each in refund].count("String") == 14
    assert (len(order), len(refund)) == (22, 16)


def test_one_record_in_twenty_is_a_deletion_and_facts_agree_with_lines():
    for table in (ORDERS, REFUNDS):
        parsed = list(map(json.loads, lines(table)))
        keys, _, operations = table.facts(range(RECORDS), KEYS)
        assert [each["operation"] == "D" for each in parsed] == list(operations == 0)
        assert [each["data"]["order_id"] for each in parsed] == [str(10**15 + int(k)) for k in keys]
        assert 3 <= sum(operations == 0) <= 40


def test_files_hold_every_record_once_in_order(tmp_path):
    write_binlog(tmp_path / "made", 50, 10, files=4)
    for table in (ORDERS, REFUNDS):
        files = sorted((tmp_path / "made" / table.name).iterdir())
        times = [file.stat().st_mtime for file in files]
        assert len(files) == 4
        assert times == sorted(set(times))
        text = "".join(file.read_text(encoding="utf-8") for file in files)
        assert text.splitlines() == [table.line(index, 10) for index in range(50)]


def wanted():
    """Return (offset of the order, offset of a refund or None), from the records' facts alone."""
    sides = []
    for table in (ORDERS, REFUNDS):
        keys, _, operations = table.facts(range(RECORDS), KEYS)
        sides.append(
            [(int(k), i) for i, (k, o) in enumerate(zip(keys, operations, strict=True)) if o]
        )
    left, right = sides
    matched = [(one, other) for key, one in left for other_key, other in right if key == other_key]
    alone = [(one, None) for key, one in left if all(key != other for other, _ in right)]
    return Counter(matched + alone)


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_the_example_joins(mode, example):
    env = environment(mode)
    streams = [
        env.from_source(
            history_then_live(text[:200], text[200:]), WatermarkStrategy.no_watermarks(), table.name
        )
        for table, text in ((ORDERS, lines(ORDERS)), (REFUNDS, lines(REFUNDS)))
    ]
    example["joined"](*streams).sink_to(DiscardingSink()).name("out")
    found: Counter[tuple[int, int | None]] = Counter()
    for change in run_in_process(env).of("out"):
        pair = (change.left.offset, change.right and change.right.offset)
        found[pair] += 1 if change.get_row_kind().short_string == "+I" else -1
    assert found == wanted()


def test_the_example_plans_without_spark(monkeypatch, tmp_path):
    set_process_overrides("test", {"execution.target": "plan"})
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), str(tmp_path)])
    try:
        with pytest.raises(PlanReady) as planned:
            runpy.run_path(str(EXAMPLE), run_name="__main__")
    finally:
        set_process_overrides("test", {})
    (join, apply) = planned.value.plan.levels[1].operators
    assert (join.kind, apply.kind) == (KEYED_REGULAR_JOIN, MAP)
