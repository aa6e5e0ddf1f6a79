"""Exploring draws other examples than CI, finds what is wrong, and says how to see it again."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from itertools import islice
from pathlib import Path

from tests.explore import in_random_order, property_tests

_ROOT = Path(__file__).parents[1]
_RNG = random.Random(1)  # noqa: S311 - examples, not secrets
_LAW = """
from hypothesis import given, strategies as st
from tests import conftest

seen = []

@given(st.integers(0, 1 << 60))
def test_numbers(n):
    seen.append(n)
    assert n % 5 != 3 or n < 1 << 40

def teardown_module():
    print("drawn", seen)
"""


def _explored(law: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.explore", *arguments, str(law)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=_ROOT)


def test_a_broken_law_is_found_and_its_seed_repeats_it(tmp_path: Path) -> None:
    law = tmp_path / "test_numbers.py"
    law.write_text(_LAW)
    first = _explored(law, "--seconds", "60")
    assert first.returncode == 1, first.stdout + first.stderr
    (seed,) = re.findall(r"Failed\. Again: .* --seed (\d+) ", first.stdout)
    again = _explored(law, "--seed", seed)
    assert again.returncode == 1
    falsified = re.compile(r"n=(\d+)")
    assert falsified.findall(first.stdout) == falsified.findall(again.stdout) != []


def test_every_other_file_is_a_general_law() -> None:
    files = [path.relative_to(_ROOT) for path in property_tests(_ROOT / "tests")]
    order = list(islice(in_random_order(files, _RNG), 2 * len(files)))
    assert all(path.is_relative_to("tests/testing") for path in order[::2])
    assert set(order[1::2]) == {p for p in files if not p.is_relative_to("tests/testing")}


def test_laws_and_decoders_are_explored() -> None:
    names = {str(path.relative_to(_ROOT)) for path in property_tests(_ROOT / "tests")}
    assert names >= {
        "tests/testing/test_law.py",
        "tests/testing/test_time_law.py",
        "tests/testing/test_object_reuse_law.py",
        "tests/serde/coded_rows/test_arbitrary_bytes.py",
        "tests/spark/test_law.py",
    }
