"""What the tests of all sinks do with one: make its committer, stage records, and kill a driver in a commit."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from penstock.graph.endpoints import Committer, Sink, SinkContext

_COMMITTING = """
import pickle, sys
from pathlib import Path
sink, context, handles = pickle.loads(Path(sys.argv[1]).read_bytes())
sink.create_committer(context).commit("2", handles)
"""


def started(sink: Sink, context: SinkContext) -> Committer:
    """Return the committer of a driver that has just started."""
    made = sink.create_committer(replace(context, subtask=-1))
    made.recover()
    return made


def staged(sink: Sink, context: SinkContext, *values: Any, subtask: int = 0) -> list[Any]:
    """Return the committables of a task that writes some values, one at a time."""
    writer = sink.create_writer(replace(context, subtask=subtask))
    for value in values:
        writer.write([value])
    return writer.prepare_commit()


def killed_in_commit(
    sink: Sink, context: SinkContext, handles: list[Any], step: str, directory: Path
) -> Committer:
    """Let a driver commit epoch 2 and be killed at a step; return the committer of the next one.

    Args:
        sink: The sink.
        context: Its context.
        handles: What is committed.
        step: The failpoint.
        directory: For a file of the driver.
    """
    job = directory / "killed-driver"
    job.write_bytes(pickle.dumps((sink, context, handles)))
    killed = subprocess.run(
        [sys.executable, "-c", _COMMITTING, str(job)],
        env={**os.environ, "PENSTOCK_FAILPOINT": f"{step}:1:kill"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert killed.returncode == -9, killed.stderr
    return sink.create_committer(replace(context, subtask=-1))
