"""A batch run on Spark whose key groups do not fit in the memory they may take."""

from __future__ import annotations

import logging
from typing import Any

from penstock.datastream import ProcessWindowFunction
from penstock.datastream.window import EndOfStreamWindows
from tests.spark.conftest import Environment

RECORDS = [(n % 3 if n % 2 else n, n) for n in range(4000)]
"""(key, number): three keys have half of the records."""


class SpillDirectories(ProcessWindowFunction):
    """Counts the numbers of a key, and says in which directories there are spill files."""

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        # Spark sets it for the worker; nothing else says where its local directories are.
        import os  # noqa: PLC0415 - runs in the worker
        from pathlib import Path  # noqa: PLC0415

        local = Path(os.environ["SPARK_LOCAL_DIRS"].split(",")[0])
        is_spilling = any(local.glob("penstock-spill-*/*.mdb"))
        yield key, sum(number for _, number in elements), len(elements), is_spilling


def test_spilling_is_local_and_is_told(environment: Environment, caplog: Any) -> None:
    env = environment("batch", **{"execution.sorted-inputs.memory": "2kb"})
    windows = env.from_collection(RECORDS).key_by(lambda r: r[0]).window(EndOfStreamWindows.get())
    with (
        caplog.at_level(logging.INFO, "penstock"),
        windows.process(SpillDirectories()).execute_and_collect("spilling") as results,
    ):
        found = list(results)
    wanted: dict[int, list[int]] = {}
    for key, number in RECORDS:
        wanted.setdefault(key, []).append(number)
    assert {key: (total, count) for key, total, count, _ in found} == {
        key: (sum(numbers), len(numbers)) for key, numbers in wanted.items()
    }
    assert any(is_spilling for *_, is_spilling in found)
    said = [record.getMessage() for record in caplog.records if "spilled" in record.getMessage()]
    assert len(said) == 1
    assert "did not fit in 2048 bytes" in said[0]
