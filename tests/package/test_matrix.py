"""What of the matrix of versions every change runs: the interpreters that are here, and the environments that were made.

`make test-matrix` makes an environment per pair and runs hundreds of tests in it. Without one, an interpreter can say whether it reads
the package.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from penstock.cli.doctor.software import LEAST_SPARK, TESTED
from tools.matrix import (
    OF_LIBRARIES,
    PINNED_SPARK,
    PYTHONS,
    ROOT,
    SPARKS,
    WITH_SPARK,
    WITHOUT_SPARK,
    Pair,
    interpreter,
    pairs,
)

PASSED = ("passed", "every change")
OTHERS = [version for version in PYTHONS if version != sys.version_info[:2]]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SUBSET = ("tests/serde", "tests/types")
"""Pickles, Arrow and type hints: what differs from one Python to the next, in a few seconds."""


def dotted(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))


@pytest.mark.parametrize("version", OTHERS, ids=dotted)
def test_another_python_reads_the_package_without_a_warning(
    version: tuple[int, int], tmp_path: Path
) -> None:
    python = interpreter(version)
    if python is None:
        pytest.skip(f"there is no Python {dotted(version)} here")
    ran = subprocess.run(
        [str(python), "-W", "error", "-m", "compileall", "-q", "-f", str(ROOT / "src")],
        env={**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    # Beside them there may be those of the interpreter's own modules.
    made = tmp_path.joinpath(*(ROOT / "src").parts[1:])
    assert len(list(made.rglob("*.pyc"))) == len(list((ROOT / "src").rglob("*.py")))


@pytest.mark.parametrize(
    "pair", [pair for pair in pairs() if pair.python in OTHERS and not pair.libraries], ids=str
)
def test_a_subset_runs_in_an_environment_that_was_made(pair: Pair) -> None:
    if not (pair.directory / ".complete").exists():
        pytest.skip(f"make test-matrix pairs={pair} was not run here")
    command = [
        str(pair.directory / "bin" / "python"),
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
    ]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    ran = subprocess.run(
        [*command, *SUBSET], cwd=ROOT, env=kept, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout[-4000:]
    assert " passed" in ran.stdout.splitlines()[-1]


def test_versions_are_the_same_everywhere() -> None:
    passed = [Pair(python, spark) for python, sparks in TESTED.items() for spark in sparks]
    assert set(passed) <= set(pairs())
    assert Pair((3, 11), PINNED_SPARK) in passed
    name = "Programming Language :: Python :: "
    told = {text.removeprefix(name) for text in PROJECT["classifiers"] if text.startswith(name)}
    assert told - {"3 :: Only"} == set(map(dotted, TESTED))
    assert PROJECT["requires-python"] == f">={dotted(PYTHONS[0])}"
    assert f"pyspark>={dotted(LEAST_SPARK)}" in PROJECT["dependencies"]
    assert SPARKS[0] == LEAST_SPARK


def test_the_page_says_of_each_pair_whether_it_passed() -> None:
    lines = (ROOT / "docs" / "deployment.md").read_text().splitlines()
    begin = lines.index(
        "| Python | " + " | ".join(f"Spark {dotted(each)}" for each in SPARKS) + " |"
    )
    for row, python in zip(lines[begin + 2 :], PYTHONS, strict=False):
        first, *cells = (cell.strip() for cell in row.strip("|").split("|"))
        assert first == dotted(python)
        ran = {spark for spark, cell in zip(SPARKS, cells, strict=True) if cell in PASSED}
        assert ran == set(TESTED.get(python, ()))


def test_what_the_matrix_runs_is_there() -> None:
    named = (*WITHOUT_SPARK, *WITH_SPARK, *OF_LIBRARIES)
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_rows_of_bounds_have_the_ends_of_what_is_supported():
    lowest, newest = pairs()[-2:]
    assert (str(lowest), lowest.python, lowest.spark) == ("lowest", PYTHONS[0], SPARKS[0])
    assert (str(newest), newest.python, newest.spark) == ("newest", PYTHONS[-1], SPARKS[-1])
    for row in (lowest, newest):
        assert (ROOT / "requirements" / f"{row.replaced}.txt").exists()
        assert all(set(OF_LIBRARIES) < set(selection) for selection in row.selections())
