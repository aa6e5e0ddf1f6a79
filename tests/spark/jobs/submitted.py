"""The totals of `tests/faults` as a program for `spark-submit`, which has no `-D`.

Arguments: checkpoint directory, and those of the totals.
"""

from __future__ import annotations

import sys

from penstock.config.configuration import set_process_overrides
from tests.faults.jobs import totals


def main(checkpoints: str, *arguments: str) -> None:
    """Run the job."""
    settings = {
        "execution.checkpointing.dir": checkpoints,
        "execution.checkpointing.interval-during-backlog": "0",
        "parallelism.default": "2",
    }
    set_process_overrides("submitted", settings)
    totals.main(*arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])
