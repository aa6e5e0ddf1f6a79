"""Run a selection of tests with each Python and each Spark that are to be supported and can be had here.

    python -m tools.matrix [--full] [ROW ...]         e.g. 3.12/4.3, lowest; all without names

Interpreters are looked for on the PATH and among those of pyenv; none is installed. Each pair has an environment in
build/matrix, made of the pinned requirements, whose Spark is replaced by that of `requirements/spark-VERSION.txt`.
Tests without Spark run once for each Python, with the pinned Spark.
Two rows more have the lowest version of every library that pyproject.toml allows, and the newest: `requirements/lowest.txt`
and `newest.txt` are installed over the pins, and tests of every system run too.
The last line of a pair says what was seen; a pair whose interpreter is not here is said too.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
ENVIRONMENTS = ROOT / "build" / "matrix"
PYTHONS = ((3, 11), (3, 12), (3, 13))
SPARKS = ((4, 2), (4, 3))
PINNED_SPARK = (4, 3)
"""The one of `requirements/runtime.txt`."""

WITHOUT_SPARK = (
    *("tests/api", "tests/cli", "tests/serde", "tests/state"),
    *("tests/testing", "tests/types"),
)
WITH_SPARK = (
    "tests/spark/test_clients.py",
    "tests/spark/test_cluster.py",
    "tests/spark/test_dependencies.py",
    "tests/spark/test_epochs.py",
    "tests/spark/test_modes.py",
    "tests/spark/test_savepoints.py",
    "tests/spark/test_submit.py",
    "tests/spark/test_switch.py",
)
"""Both kinds of run, savepoints, workers with files, executors of their own: what depends on Spark and pickles."""
OF_LIBRARIES = (
    *("tests/connectors", "tests/expressions", "tests/filesystem"),
    *("tests/observe/notebook", "tests/observe/reporters", "tests/observe/ui", "tests/sql"),
)
"""What calls the libraries of Penstock and of its extras; the systems are real."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A Python and a Spark, each by its first two numbers, and which versions of libraries.

    Attributes:
        python: Version of Python.
        spark: Version of Spark.
        libraries: `lowest` or `newest`; the pinned ones if empty.
    """

    python: tuple[int, int]
    spark: tuple[int, int]
    libraries: str = ""

    def __str__(self) -> str:
        numbers = "/".join(".".join(map(str, each)) for each in (self.python, self.spark))
        return self.libraries or numbers

    @property
    def replaced(self) -> str | None:
        """Name of the file of requirements that is installed over the pins, None without one."""
        spark = f"spark-{'.'.join(map(str, self.spark))}"
        return self.libraries or (None if self.spark == PINNED_SPARK else spark)

    def selections(self) -> list[list[str]]:
        """Return what pytest runs, with its marker: each a process of its own."""
        others = OF_LIBRARIES if self.libraries else ()
        made = [["-m", "spark and not fuzz and not faults", *WITH_SPARK, *others]]
        if self.libraries or self.spark == PINNED_SPARK:
            made.append(["-m", "not spark and not fuzz and not faults", *WITHOUT_SPARK, *others])
        return made

    @property
    def directory(self) -> Path:
        """Its environment."""
        return ENVIRONMENTS / str(self).replace("/", "-spark")


def pairs() -> list[Pair]:
    """Return all pairs. Those that have passed are `TESTED` in `penstock/cli/doctor/software.py`, for `penstock doctor`."""
    lowest, newest = Pair(PYTHONS[0], SPARKS[0], "lowest"), Pair(PYTHONS[-1], SPARKS[-1], "newest")
    return [*(Pair(python, spark) for python in PYTHONS for spark in SPARKS), lowest, newest]


def interpreter(version: tuple[int, int]) -> Path | None:
    """Return an interpreter of a version that starts, None if there is none."""
    name = "python" + ".".join(map(str, version))
    named = shutil.which(name)
    installed = Path.home() / ".pyenv" / "versions"
    found = sorted(installed.glob(f"{name.removeprefix('python')}.*/bin/{name}"))
    for candidate in [*map(str, reversed(found)), *([named] if named else [])]:
        if subprocess.run([candidate, "-c", ""], check=False, capture_output=True).returncode == 0:  # noqa: S603
            return Path(candidate)
    return None


def make_environment(pair: Pair, python: Path) -> Path:
    """Make the environment of a pair, unless it is there; return its interpreter."""
    made = pair.directory / "bin" / "python"
    stamp = pair.directory / ".complete"
    if not stamp.exists():
        ENVIRONMENTS.mkdir(parents=True, exist_ok=True)
        script = ["sh", str(ROOT / "scripts" / "make_venv.sh"), str(pair.directory)]
        dev = str(ROOT / "requirements" / "dev.txt")
        _run([*script, dev], PYTHON=str(python))
        pip = [str(made), "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]
        if pair.replaced is not None:
            file = str(ROOT / "requirements" / f"{pair.replaced}.txt")
            _run([*pip, "--no-deps", "--require-hashes", "-r", file])
            _run([str(made), "-m", "pip", "check", "--disable-pip-version-check"])
        _run([*pip, "--no-deps", "--no-build-isolation", "-e", str(ROOT)])
        stamp.touch()
    return made


def tested(pair: Pair, python: Path, *, full: bool) -> bool:
    """Run the tests of a pair; return whether they passed."""
    made = make_environment(pair, python)
    passed = True
    for selection in pair.selections():
        chosen = selection[:2] if full else selection
        command = [str(made), "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal", *chosen]
        workers = {"PYSPARK_PYTHON": str(made), "PYSPARK_DRIVER_PYTHON": str(made)}
        done = subprocess.run(command, cwd=ROOT, check=False, env={**os.environ, **workers})  # noqa: S603
        passed = passed and done.returncode == 0
    return passed


def _run(command: Sequence[str], **variables: str) -> None:
    subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, **variables})  # noqa: S603


def main() -> int:
    """Run the pairs that were asked for; return 1 if tests of one failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pairs", nargs="*", choices=[*map(str, pairs()), []], metavar="ROW")
    parser.add_argument("--full", action="store_true", help="all tests, and not a selection")
    asked = parser.parse_args()
    results: dict[str, str] = {}
    for pair in pairs():
        if asked.pairs and str(pair) not in asked.pairs:
            continue
        python = interpreter(pair.python)
        if python is None:
            results[str(pair)] = "not run: no such Python here"
        else:
            results[str(pair)] = "passed" if tested(pair, python, full=asked.full) else "FAILED"
        sys.stdout.write(f"{pair}: {results[str(pair)]}\n")
        sys.stdout.flush()
    return 1 if "FAILED" in results.values() else 0


if __name__ == "__main__":
    sys.exit(main())
