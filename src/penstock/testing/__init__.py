"""Run programs in this process, without Spark or a Java runtime, and compare their results.

Example, in which all workers are lost at every other micro-batch:

>>> from penstock.connectors.python.function_sink import DiscardingSink
>>> from penstock.datastream import StreamExecutionEnvironment
>>> env = StreamExecutionEnvironment.get_execution_environment()
>>> numbers = env.from_collection([1, 2, 3, 4])
>>> sink = numbers.key_by(lambda n: n % 2).sum().sink_to(DiscardingSink()).name("sums")
>>> results = run_in_process(env, Schedule(batch_sizes=(1,), restart_every=2))
>>> same_answer(results.of("sums"), [1, 2, 4, 6])
True
"""

from __future__ import annotations

from penstock.testing.harness import OperatorHarness
from penstock.testing.harness_values import Emitted, HarnessSnapshot, PendingTimer
from penstock.testing.in_process import collect, run_in_process
from penstock.testing.law.engine import check
from penstock.testing.law.samples import SampleRecord
from penstock.testing.law.script import check_script
from penstock.testing.law.verdict import LawVerdict
from penstock.testing.law.ways import Way, WayMode
from penstock.testing.log_kit import check_log_source
from penstock.testing.record_strategies import records_of
from penstock.testing.results import Results, difference, last_per_key, same_answer
from penstock.testing.schedule import Schedule

__all__ = [
    "Emitted",
    "HarnessSnapshot",
    "LawVerdict",
    "OperatorHarness",
    "PendingTimer",
    "Results",
    "SampleRecord",
    "Schedule",
    "Way",
    "WayMode",
    "check",
    "check_log_source",
    "check_script",
    "collect",
    "difference",
    "last_per_key",
    "records_of",
    "run_in_process",
    "same_answer",
]
