"""Reading results back: the last row per key, and no row twice."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from examples.demo.answers import last_rows, read_answers
from examples.demo.errors import DemoCheckError


def routes(*rows):
    names = ("carrier", "origin", "flights", "delayed")
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def test_the_last_row_has_the_greatest_count_wherever_it_is():
    table = routes(
        ("UA", "EWR", 2, 1), ("UA", "EWR", 3, 1), ("UA", "EWR", 1, 0), ("AA", "JFK", 1, 0)
    )
    assert last_rows("routes", table, 2) == {
        ("UA", "EWR"): ("UA", "EWR", 3, 1),
        ("AA", "JFK"): ("AA", "JFK", 1, 0),
    }


def test_a_row_written_twice_is_noticed_even_if_it_is_not_the_last():
    table = routes(("UA", "EWR", 1, 0), ("UA", "EWR", 1, 0), ("UA", "EWR", 2, 1))
    with pytest.raises(DemoCheckError, match="twice") as raised:
        last_rows("routes", table, 2)
    assert raised.value.code == "DEMO_CHECK"


def test_null_is_a_key_like_any_other():
    table = pa.table({"tailnum": pa.array([None, None], pa.string()), "flights": [1, 2]})
    assert last_rows("aircraft", table, 1) == {(None,): (None, 2)}


def test_results_without_files_are_empty_and_private_directories_are_skipped(tmp_path):
    (tmp_path / "alerts" / "_penstock").mkdir(parents=True)
    alert = pa.table({"tailnum": ["N1"], "last_ms": [1], "alert_ms": [2]})
    pq.write_table(alert, tmp_path / "alerts" / "_penstock" / "staged.parquet")
    pq.write_table(alert, tmp_path / "alerts" / "part-0.parquet")
    answers = read_answers(tmp_path)
    assert answers.alerts == Counter({("N1", 1, 2): 1})
    assert answers.last == {"aircraft": {}, "routes": {}}
