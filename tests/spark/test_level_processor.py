"""The process that Spark starts with a query, and waits for, imports what it needs and no more."""

from __future__ import annotations

import subprocess
import sys

IMPORTED = """
import sys
import penstock.spark.worker.level_processor
print([name for name in ("numpy", "pyarrow", "penstock.runtime") if name in sys.modules])
"""


def test_describing_a_level_imports_neither_the_runtime_nor_arrow() -> None:
    command = [sys.executable, "-c", IMPORTED]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
