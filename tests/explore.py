"""Asks the laws and the decoders new questions, for a given time.

Tests draw the same examples on every run, so that CI judges a change and not its luck. This draws
others: it runs the files that have property tests, in random order and again and again, each time
with a seed of its own, which it prints. What fails is tried again by the printed command.

    python -m tests.explore --seconds 600
    python -m tests.explore --seed 17 tests/testing/test_law.py
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

_FAILED, _NOTHING_TO_RUN = 1, 5  # exit statuses of pytest
_MARKED = "(hypothesis or fuzz) and not faults"
_GENERAL_LAWS = "tests/testing"
"""Asked as often as all others together: they cover whole programs."""


def property_tests(root: Path) -> list[Path]:
    """Return the files that draw examples."""
    return sorted(
        path
        for path in root.rglob("test_*.py")
        if "@given" in (text := path.read_text(encoding="utf-8")) or "mark.fuzz" in text
    )


def in_random_order(files: list[Path], rng: random.Random) -> Iterator[Path]:
    """Yield files for ever; every other one is a general law."""
    general = [path for path in files if path.is_relative_to(_GENERAL_LAWS)]
    others = [path for path in files if path not in general]
    if not general or not others:
        while True:
            yield from rng.sample(files, len(files))
    while True:
        for other in rng.sample(others, len(others)):
            yield rng.choice(general)
            yield other


def explore(files: list[Path], seconds: float, seed: int | None) -> int:
    """Run property tests until the time is over or one fails.

    Args:
        files: Where they are.
        seconds: After which no further file is begun.
        seed: For the examples; None draws one for each file.

    Returns:
        0 if all passed, else the exit status of pytest.
    """
    rng = random.Random()  # noqa: S311 - examples, not secrets
    deadline = time.monotonic() + seconds
    order = iter(files) if seed is not None else in_random_order(files, rng)
    environment = os.environ | {"PENSTOCK_EXPLORE": "1"}
    first = next(order)
    for path in chain([first], order):
        if path is not first and time.monotonic() > deadline:
            break
        drawn = rng.randrange(1 << 32) if seed is None else seed
        sys.stdout.write(f"python -m tests.explore --seed {drawn} {path}\n")
        sys.stdout.flush()
        pytest = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "-m", _MARKED]
        ran = subprocess.run(
            [*pytest, f"--hypothesis-seed={drawn}", str(path)],
            env=environment | {"PENSTOCK_FUZZ_SEED": str(drawn)},
            check=False,
        )
        if ran.returncode not in {0, _NOTHING_TO_RUN}:
            sys.stdout.write(f"Failed. Again: python -m tests.explore --seed {drawn} {path}\n")
            return ran.returncode
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Explore as the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tests.explore", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="default: all that draw examples")
    parser.add_argument("--seconds", type=float, default=600, help="default: %(default)s")
    parser.add_argument("--seed", type=int, help="draw these examples, once; needs files")
    given = parser.parse_args(arguments)
    if given.seed is not None and not given.files:
        parser.error("--seed needs the files it is for")
    files = given.files or property_tests(Path("tests"))
    return explore(files, given.seconds, given.seed)


if __name__ == "__main__":
    sys.exit(main())
