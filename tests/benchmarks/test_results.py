"""The result object: fields, medians, ratios, figures, and what they are made of."""

from __future__ import annotations

import json

import pytest

from benchmarks.catalog import PROGRAMS
from benchmarks.measuring.memory import peaks_of
from benchmarks.measuring.processes import ProcessMemory
from benchmarks.model.measurement import Measurement, Skipped
from benchmarks.model.program import Case, Outputs
from benchmarks.reporting.figures import FIGURES
from benchmarks.reporting.judging import Throughput
from benchmarks.reporting.render import read_results, render
from benchmarks.reporting.results import BenchResult

RIGHT = Outputs(10, "right")


@pytest.fixture
def measured(fake_system):
    def make(name, *seconds, is_peer=False, keys=10, outputs=RIGHT):
        return Measurement(
            system=fake_system(name, is_peer=is_peer),
            case=Case(records=1000, keys=keys, parallelism=2, rounds=3, options={}),
            rounds=[
                {"records": 1000, "seconds": s, "latencies": [s / 4, 3 * s / 4], "disk": 5}
                for s in seconds
            ],
            warm_up={"cold_seconds": 9.0},
            outputs=outputs,
            expected=RIGHT,
            peak_memory_bytes={"driver": 1, "jvm": 2, "workers": 3},
        )

    return make


@pytest.fixture
def result_of(fake_program):
    def make(*measurements, skipped=(), figures=()):
        program = fake_program(*(m.system for m in measurements))
        cases = list({m.case.keys: m.case for m in measurements}.values())
        return BenchResult(
            program,
            cases,
            {"cpu": "c", "cores": 2},
            {"python": "3"},
            "abc",
            measurements,
            skipped,
            figures,
        )

    return make


def test_fields(measured, result_of):
    result = result_of(measured("a", 2.0, 1.0, 4.0)).to_json()
    assert list(result) == [
        "name",
        "records",
        "keys",
        "machine",
        "versions",
        "commit",
        "runs",
        "wall_seconds",
        "options",
        "settings",
        "results",
        "ratios",
        "figures",
        "skipped",
    ]
    (system,) = result["results"]
    assert system["seconds"] == {"min": 1.0, "median": 2.0, "max": 4.0}
    assert system["records_per_ms"] == 0.5
    assert system["micro_batch_seconds"] == {"min": 0.25, "median": 0.875, "max": 3.0}
    assert system["peak_memory_bytes"] == {"driver": 1, "jvm": 2, "workers": 3}
    assert system["outputs"] == {"count": 10, "digest": "right"}
    assert system["outputs_equal"] is True
    assert system["details"] == {"cold_seconds": 9.0, "disk": [5, 5, 5]}
    assert json.loads(json.dumps(result)) == result


def test_keys_is_a_number_or_a_list(measured, result_of):
    assert result_of(measured("a", 1.0)).to_json()["keys"] == 10
    both = result_of(measured("a", 1.0), measured("a", 1.0, keys=20))
    assert both.to_json()["keys"] == [10, 20]


def test_ratios_are_of_medians_of_ours_over_others_at_the_same_keys(measured, result_of):
    result = result_of(
        measured("a", 1.0, 2.0, 9.0),
        measured("b", 4.0),
        measured("p", 8.0, is_peer=True),
        measured("p", 1.0, is_peer=True, keys=20),
    )
    assert result.ratios() == {"a / p, 10 keys": 4.0, "b / a, 10 keys": 0.5, "b / p, 10 keys": 2.0}


def test_wrong_outputs_have_no_ratio_and_no_figure(measured, result_of):
    figure = Throughput(id="F1", program="fake", against=("p",), goal=2.0)
    result = result_of(
        measured("a", 1.0),
        measured("p", 8.0, is_peer=True, outputs=Outputs(10, "wrong")),
        figures=(figure,),
    )
    assert (result.ratios(), result.judged(), result.exit_status) == ({}, [], 1)


@pytest.mark.parametrize(("goal", "reached"), [(4.0, True), (4.1, False)])
def test_a_figure_compares_with_the_fastest_of_its_peers(measured, result_of, goal, reached):
    result = result_of(
        measured("a", 1.0),
        measured("p", 8.0, is_peer=True),
        measured("q", 4.0, is_peer=True),
        figures=(Throughput(id="F1", program="fake", against=("p", "q"), goal=goal, keys=10),),
    )
    assert result.judged() == [
        {
            "id": "F1",
            "ratio": "a / q, 10 keys",
            "value": 4.0,
            "goal": goal,
            "bound": "at least",
            "reached": reached,
        }
    ]
    assert result.exit_status == 0


@pytest.mark.parametrize(
    "figure",
    [
        Throughput(id="F1", program="other", against=("p",), goal=1.0),
        Throughput(id="F1", program="fake", against=("q",), goal=1.0),
        Throughput(id="F1", program="fake", against=("p",), goal=1.0, keys=20),
    ],
)
def test_a_figure_that_the_run_cannot_judge_is_left_out(measured, result_of, figure):
    result = result_of(measured("a", 1.0), measured("p", 1.0, is_peer=True), figures=(figure,))
    assert result.judged() == []


@pytest.mark.parametrize(("is_failure", "status"), [(True, 1), (False, 0)])
def test_status_counts_failures_of_ours_only(measured, result_of, is_failure, status):
    skipped = [Skipped("b", 10, "why", is_failure)]
    assert result_of(measured("a", 1.0), skipped=skipped).exit_status == status


def test_figures_name_programs_and_systems_that_exist():
    for figure in FIGURES:
        program = PROGRAMS[figure.program]
        names = {system.name for system in program.systems}
        assert {figure.of or program.reference, *getattr(figure, "against", ())} <= names


def test_every_reference_is_a_system_of_ours():
    for program in PROGRAMS.values():
        assert program.reference in {s.name for s in program.systems if not s.is_peer}


def test_memory_by_role():
    processes = [
        ProcessMemory(1, "python3", 10, 9, 8),
        ProcessMemory(2, "java", 700, 600, 500),
        ProcessMemory(3, "java", 30, 20, 10),
        ProcessMemory(4, "python3", 90, 50, 40),
        ProcessMemory(5, "python3", 80, 70, 60),
        ProcessMemory(6, "chmod", 5000, 5000, 5000),
    ]
    assert peaks_of(processes, driver=1) == {
        "driver": 10,
        "jvm": 700,
        "workers": 120,
        "largest_worker": 90,
        "largest_worker_anonymous": 60,
    }


def test_the_newest_result_of_a_program_is_rendered(measured, result_of, tmp_path):
    path = tmp_path / "results.jsonl"
    older = result_of(measured("a", 1.0)).to_json()
    newer = result_of(
        measured("a", 2.0),
        measured("p", 8.0, is_peer=True, outputs=Outputs(1, "")),
        skipped=[Skipped("q", 10, "not here", is_failure=False)],
    ).to_json()
    path.write_text(f"{json.dumps(older)}\n{json.dumps(newer)}\n")
    (read,) = read_results(path)
    text = render(read)
    assert "| a | 10 | 0.5 | 2.00 (2.00 to 2.00) |" in text
    assert "| p | 10 | wrong outputs |" in text
    assert "| cores |" not in text  # the same in every row
    assert "q at 10 keys: not here" in text
