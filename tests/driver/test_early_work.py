"""What a driver imports before it asks for a JVM, and what while it waits for it. No JVM is started."""

from __future__ import annotations

import subprocess
import sys

STARTED = """
import sys
import time

from penstock.datastream import StreamExecutionEnvironment
from penstock.spark.session import factory

CLIENT = "penstock.spark.job_client"
begin = factory.import_early

def import_early(names):
    loaded = {name.split(".")[2] for name in sys.modules if name.startswith("penstock.spark.")}
    print("before:", *sorted(loaded))
    begin(names)

def launch_gateway(conf, popen_kwargs):
    deadline = time.monotonic() + 60
    while not hasattr(sys.modules.get(CLIENT), "SparkJobClient") and time.monotonic() < deadline:
        time.sleep(0.01)
    print("meanwhile:", hasattr(sys.modules.get(CLIENT), "SparkJobClient"))
    sys.exit("no JVM in this test")

factory.import_early = import_early
factory.launch_gateway = launch_gateway
env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([1]).print()
env.execute("early")
"""


def test_the_client_of_a_job_is_imported_while_the_jvm_starts() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", STARTED], capture_output=True, text=True, check=False
    )
    assert ran.stderr.strip() == "no JVM in this test"
    before, meanwhile = ran.stdout.splitlines()
    assert before == "before: executor job session upgrade"  # the rest is 369 modules
    assert meanwhile == "meanwhile: True"
