"""The hand-over of state between runs: the ending run records it, the next run reads it.

Keyed state is a Parquet table (operator, key_group, blob) in `run-N/snapshot`. Watermarks and the
`memory` of operators are in the run's record. Only files that the record names are read.
"""

from __future__ import annotations

import hashlib
from typing import Any

from penstock.errors import RESTORE_CHECKPOINTS, StateError
from penstock.filesystem.stored_path import JobPath
from penstock.plan.physical import HandOver
from penstock.runtime.task.report import Report
from penstock.spark.job.state_layout import StateLayout


def describe_hand_over(
    report: Report, state_files: dict[str, str], layout: StateLayout
) -> dict[str, Any]:
    """Return the record of the ending run."""
    return {
        "layout": layout.to_json(),
        "watermarks": describe_watermarks(report.watermarks),
        "memory": report.memory,
        "state_files": state_files,
    }


def describe_watermarks(watermarks: dict[int, dict[int, int]]) -> dict[str, dict[str, int]]:
    """Return watermarks with keys that JSON supports."""
    return {
        str(channel): {str(group): mark for group, mark in groups.items()}
        for channel, groups in watermarks.items()
    }


def read_hand_over(recorded: dict[str, Any]) -> HandOver:
    """Return watermarks and memory of a record."""
    return HandOver(
        watermarks={
            int(channel): {int(group): mark for group, mark in groups.items()}
            for channel, groups in recorded["watermarks"].items()
        },
        memory=dict(recorded["memory"]),
    )


def verified_files(snapshot: JobPath, recorded: dict[str, str]) -> list[JobPath]:
    """Return the state files of a run that has ended, checked."""
    files = []
    for name, expected in recorded.items():
        path = snapshot / name
        try:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as cause:
            problem = f"the state file {path} cannot be read: {cause.strerror}"
            raise StateError(problem, hint=RESTORE_CHECKPOINTS) from cause
        if digest != expected:
            raise StateError(f"the state file {path} is damaged", hint=RESTORE_CHECKPOINTS)
        files.append(path)
    return files


def greatest_watermark(handed: HandOver) -> int | None:
    """Return the greatest watermark of a hand-over, None if there is none."""
    marks = [
        mark
        for groups in handed.watermarks.values()
        for mark in groups.values()
        if abs(mark) < 2**62  # neither Long.MIN nor Long.MAX
    ]
    return max(marks, default=None)
