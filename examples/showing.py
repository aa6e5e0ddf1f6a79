"""What the demos of connectors share: lines for the terminal, and the settings of their jobs."""

from __future__ import annotations

import sys
from pathlib import Path

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment


def say(line: str) -> None:
    """Write a line to the terminal."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def environment(directory: Path) -> StreamExecutionEnvironment:
    """Return an environment in which history is read as a batch.

    Args:
        directory: Gets the checkpoint directory of the job.
    """
    conf = Configuration.from_dict(
        {
            "execution.checkpointing.dir": str(directory / "job"),
            "execution.history": "batch",
            "parallelism.default": 2,
        }
    )
    return StreamExecutionEnvironment.get_execution_environment(conf)
