"""Passes on what the JVM and its workers print, without Spark's start-up chatter.

The JVM's output goes through pipes that this process drains line by line. Everything passes
(print() in a user function, stack traces), except lines that say nothing about the job.
"""

from __future__ import annotations

import re
import sys
import threading
from typing import IO, TextIO

_NOISE = re.compile(
    r"^(WARNING: Using incubator modules"
    r"|Using Spark's default log4j profile"
    r"|Setting default log level to"
    r"|To adjust logging level use"
    r"|Picked up JAVA_TOOL_OPTIONS"
    r"|Streaming TransformWithStateInPandas Python worker"
    r"|Starting Streaming TransformWithStateInPandas Python worker"
    r"|\S+ \S+ WARN (Utils: (Your hostname|Set SPARK_LOCAL_IP)|NativeCodeLoader))"
)


def pass_on(pipe: IO[bytes], target_name: str) -> None:
    """Copy `pipe` to `sys.<target_name>` in a background thread until it ends."""
    thread = threading.Thread(
        target=_copy, args=(pipe, target_name), name=f"penstock-jvm-{target_name}", daemon=True
    )
    thread.start()


def _copy(pipe: IO[bytes], target_name: str) -> None:
    after_noise = False
    for raw in pipe:
        line = raw.decode("utf-8", "replace")
        if _NOISE.match(line):
            after_noise = True
            continue
        if after_noise and not line.strip():
            continue  # the blank line that belongs to a suppressed one
        after_noise = False
        # Looked up for every line: tests and progress displays replace sys.stdout.
        target: TextIO = getattr(sys, target_name)
        target.write(line)
        target.flush()
