"""The check that runs a job, in a process of its own: the only one that starts Spark."""

from __future__ import annotations

import subprocess
import sys
import time

from penstock.doctor.finding import Finding, Situation, fail, ok

PROGRAM = """
from penstock.common import Configuration, Types
from penstock.datastream import StreamExecutionEnvironment

config = Configuration.from_dict({"execution.runtime-mode": "BATCH", "parallelism.default": 2})
env = StreamExecutionEnvironment.get_execution_environment(config)
numbers = env.from_collection(list(range(10)), Types.LONG())
sums = numbers.key_by(lambda n: n % 2).reduce(lambda a, b: a + b)
with sums.execute_and_collect() as results:
    print(sorted(results))
"""
"""A job with a shuffle, whose functions run in workers."""

_LOOK = "See what fails above; else run a program with `penstock run --verbose`, which shows Spark's log."
_PRINTED = "[20, 25]"
_SECONDS = 180


def job(situation: Situation) -> Finding:
    """Check that a job runs and has the right results."""
    begun = time.monotonic()
    try:
        ran = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-c", PROGRAM],
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
            env=dict(situation.environ),
        )
    except subprocess.TimeoutExpired:
        return fail("job", f"a small job took more than {_SECONDS} s", _LOOK)
    if ran.returncode != 0:
        said = ran.stderr.strip().splitlines() or [f"exit status {ran.returncode}"]
        return fail("job", f"a small job failed: {said[-1]}", _LOOK)
    if ran.stdout.splitlines()[-1:] != [_PRINTED]:
        return fail("job", f"a small job printed {ran.stdout!r}, and not {_PRINTED}", _LOOK)
    return ok("job", f"a small job ran in {time.monotonic() - begun:.1f} s")
