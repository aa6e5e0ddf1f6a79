"""The plan for a large cluster: the page has what the script computes, from sizes as they are now."""

from __future__ import annotations

import importlib.util
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "decisions" / "0071-estimates.md").read_text(encoding="utf-8")
_ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)


@pytest.fixture(scope="module")
def script():
    path = ROOT / "benchmarks" / "scale_plan.py"
    spec = importlib.util.spec_from_file_location("scale_plan", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture(scope="module")
def documented(script):
    rows = dict(_ROW.findall(PAGE))
    return script.Sizes(**{name: float(rows[name]) for name in script._NAMES})


def test_sizes_on_the_page_are_those_of_today(script, documented):
    # A sixteenth of everything: buckets fill up the same way.
    small = replace(script.CLUSTER, key_groups=512, frame_records=8192)
    measured = script.measure(small, 8 * 8192)
    for name in script._NAMES:
        assert getattr(measured, name) == pytest.approx(getattr(documented, name), rel=0.25), name


def test_the_plan_on_the_page_follows_from_the_sizes_on_it(script, documented):
    rows = [row for row in _ROW.findall(PAGE) if row[0] in dict(script.plan_rows(documented))]
    assert len(rows) == len(script.plan_rows(documented))
    for (what, on_page), (_, computed) in zip(rows, script.plan_rows(documented), strict=True):
        ours, theirs = (re.sub("[^0-9.e+]", "", text) for text in (computed, on_page))
        assert float(ours) == pytest.approx(float(theirs), rel=0.02), what


def test_settings_on_the_page_are_those_of_the_plan(script):
    rows = dict(re.findall(r"^\| (`?[^|]+?`?) \| ([0-9,]+) \|", PAGE, re.MULTILINE))
    cluster = script.CLUSTER
    assert int(rows["`parallelism.default`"].replace(",", "")) == cluster.executors * cluster.cores
    assert int(rows["`pipeline.max-parallelism`"].replace(",", "")) == cluster.key_groups
    assert int(rows["`execution.frame.max-records`"].replace(",", "")) == cluster.frame_records
    assert int(rows["splits of the source"].replace(",", "")) == cluster.splits


def test_more_key_groups_make_smaller_frames(script):
    few, many = (
        script.measure(replace(script.CLUSTER, key_groups=groups, frame_records=2048), 8192)
        for groups in (64, 1024)
    )
    assert few.records_per_frame == pytest.approx(128, rel=0.1)
    assert many.records_per_frame == pytest.approx(8, rel=0.1)
    assert many.frame_bytes > few.frame_bytes
