"""Run programs in this process, without Spark or a Java runtime, and compare their answers.

    results = run_in_process(env, Schedule(batch_sizes=(3, 1), restart_every=2))
    assert same_answer(results.of("totals"), expected)
"""

from __future__ import annotations

from penstock.testing.answers import difference, last_per_key, same_answer
from penstock.testing.in_process import run_in_process
from penstock.testing.results import Results
from penstock.testing.schedule import Schedule

__all__ = [
    "Results",
    "Schedule",
    "difference",
    "last_per_key",
    "run_in_process",
    "same_answer",
]
