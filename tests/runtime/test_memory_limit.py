"""A key group, or a key, that is larger than memory: see `memory_limited_level`.

100,000 records take about 60 MB as objects; the process may grow by 20 MB. The control run shows
that it is spilling that makes the difference.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runtime.memory_limited_level import OUT_OF_MEMORY

ROOT = Path(__file__).parents[2]
RECORDS = 100_000
HEADROOM = 20_000_000
SMALL, UNLIMITED = 2_500_000, 10**10


def run(job: str, keys: int, sorted_inputs_bytes: int) -> subprocess.CompletedProcess[str]:
    arguments = [job, keys, RECORDS, sorted_inputs_bytes, HEADROOM]
    return subprocess.run(
        [sys.executable, "-m", "tests.runtime.memory_limited_level", *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize(
    ("job", "keys", "results"),
    [
        ("process", 1, RECORDS),
        ("sorter", 1, RECORDS),
        ("keyed sorter", 1, RECORDS),
        ("reduce", 30_000, 30_000),
        ("window", 1, 1),
        ("co_group", 1, 1),
        ("tumbling", 1, 101),
        ("co_group tumbling", 1, 101),
    ],
)
def test_larger_than_memory(job, keys, results):
    done = run(job, keys, SMALL)
    assert done.returncode == 0, done.stderr
    count, total, in_order = done.stdout.split()
    assert int(count) == results
    assert int(total) == RECORDS * (RECORDS - 1) // 2
    assert in_order == "True" or keys > 1
    assert run(job, keys, UNLIMITED).returncode == OUT_OF_MEMORY
