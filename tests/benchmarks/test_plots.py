"""Plots of results: which bars, which panels, and the same bytes for the same results."""

from __future__ import annotations

import json

import pytest

from benchmarks.reporting.plots import Bar, main, panels, plot, write


def system(name, speed, *, keys=10, records=1000, equal=True, **more):
    return {
        "system": name,
        "options": {"keys": keys, "parallelism": 2},
        "records": records,
        "records_per_ms": speed,
        "seconds": {"median": records / speed / 1000},
        "outputs_equal": equal,
        **more,
    }


def result(*systems, name="reduce"):
    return {"name": name, "results": list(systems)}


TWO_CASES = result(
    system("penstock batch", 1500.0),
    system("penstock mixed", 1400.0),
    system("tws-row", 9.0, records=10),
    system("penstock batch", 700.0, keys=1000),
    system("penstock mixed", 650.0, keys=1000),
    system("tws-row", 8.0, keys=1000, records=10),
)


def test_a_panel_per_case_says_what_sets_it_apart():
    found = panels(TWO_CASES)
    assert [panel.title for panel in found] == ["10 keys", "1,000 keys"]
    assert [bar.value for bar in found[1].bars] == [700.0, 650.0, 8.0]


def test_one_case_needs_no_title():
    assert [panel.title for panel in panels(result(system("penstock batch", 1.0)))] == [""]


def test_a_system_with_wrong_outputs_has_no_bar():
    found = panels(result(system("penstock", 1.0), system("p", 2.0, equal=False)))
    assert [bar.system for bar in found[0].bars] == ["penstock"]


@pytest.mark.parametrize(
    ("name", "bar"),
    [
        ("reduce", Bar("penstock", 4.0)),
        ("switch", Bar("penstock", 0.25)),
        ("latency", Bar("penstock", 80.0, 200.0)),
    ],
)
def test_bars_show_what_the_program_measures(name, bar):
    measured = system("penstock", 4.0, latency_ms={"p50": 80.0, "p99": 200.0})
    assert panels(result(measured, name=name))[0].bars == (bar,)


@pytest.mark.parametrize(("slowest", "scale"), [(200.0, "linear"), (9.0, "log")])
def test_bars_of_very_different_length_get_a_logarithmic_axis(slowest, scale):
    figure = plot(result(system("penstock", 1500.0), system("p", slowest)))
    assert figure.axes[0].get_xscale() == scale
    assert figure.axes[0].get_xlim()[1] > 1500.0


def test_the_same_results_give_the_same_bytes(tmp_path):
    first = write(TWO_CASES, tmp_path).read_bytes()
    assert write(TWO_CASES, tmp_path).read_bytes() == first
    assert b"penstock mixed" in first  # text, not outlines
    assert len(first) < 40_000


def test_the_command_writes_a_file_per_program(tmp_path, capsys):
    results = tmp_path / "results.jsonl"
    results.write_text("\n".join(map(json.dumps, [TWO_CASES, {**TWO_CASES, "name": "other"}])))
    assert main([str(tmp_path), str(results)]) == 0
    names = [line.rsplit("/", 1)[1] for line in capsys.readouterr().out.splitlines()]
    assert names == ["bench-reduce.svg", "bench-other.svg"]
    assert (tmp_path / "bench-other.svg").stat().st_size > 1000


def test_a_case_in_a_file_of_its_own_has_a_picture_of_its_own(tmp_path, capsys):
    results = tmp_path / "reduce-many-keys.jsonl"
    results.write_text(json.dumps(TWO_CASES))
    assert main([str(tmp_path), str(results)]) == 0
    assert capsys.readouterr().out.endswith("/bench-reduce-many-keys.svg\n")
    assert b"reduce-many-keys" in (tmp_path / "bench-reduce-many-keys.svg").read_bytes()
