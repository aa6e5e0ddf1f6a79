"""A server of Spark Connect on loopback, by the class that PySpark comes with."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from benchmarks.measuring.processes import members, signal_all
from tests.faults.processes import wait_for

SECONDS = 120
_SPARK = Path(pyspark.__file__).parent
_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"
_STARTED = re.compile(r"Spark Connect server started at: \S*?:(\d+)")
_SETTINGS = {
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.ui.enabled": "false",
}


@contextmanager
def connect_server(directory: Path) -> Iterator[str]:
    """Start a server in a directory; return its address, and end its process."""
    log = directory / "server.log"
    told = [part for key, value in _SETTINGS.items() for part in ("--conf", f"{key}={value}")]
    submit = str(_SPARK / "bin" / "spark-submit")
    command = [submit, "--class", _CLASS, "--master", "local[1]", *told]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "spark-internal"],
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd=directory,
            env={
                **os.environ,
                "SPARK_HOME": str(_SPARK),
                "SPARK_LOCAL_IP": "127.0.0.1",
                "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            },
        )
    try:
        wait_for(lambda: _STARTED.search(log.read_text()) is not None, SECONDS, str(log))
        found = _STARTED.search(log.read_text())
        assert found is not None
        yield f"sc://127.0.0.1:{found[1]}"
    finally:
        process.terminate()
        process.wait(SECONDS)
        signal_all(process.pid, signal.SIGKILL)
        wait_for(lambda: not members(process.pid), SECONDS, "processes of a server are left")
