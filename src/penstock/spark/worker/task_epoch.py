"""The number of the epoch that a task is of, as a local property of Spark: all tasks of a Spark job have it.

    driver   sets it in the thread that starts the Spark job of an epoch
    worker   reads it in any task of any stage of this job

So it travels beside the input of tasks, and the functions of a run stay the same in every epoch.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark import SparkContext, TaskContext

from penstock.graph.endpoints import EpochNumber

PROPERTY = "penstock.epoch"
"""Spark's local property with the number as text."""


def set_epoch(context: SparkContext, epoch: EpochNumber) -> None:
    """Set the epoch of the Spark jobs that this thread starts from now on."""
    context.setLocalProperty(PROPERTY, text_of(epoch))


@contextmanager
def jobs_of_epoch(context: SparkContext, epoch: EpochNumber) -> Iterator[None]:
    """Set the epoch of the Spark jobs that this thread starts inside the context."""
    set_epoch(context, epoch)
    try:
        yield
    finally:
        context.setLocalProperty(PROPERTY, None)  # type: ignore[arg-type]


def task_epoch() -> EpochNumber:
    """Return the epoch of this task."""
    context = TaskContext.get()
    assert context is not None, "it is a task of Spark"
    text = context.getLocalProperty(PROPERTY)
    assert text is not None, "the driver sets it for every job that stages output"
    return EpochNumber(*json.loads(text))


def text_of(epoch: EpochNumber) -> str:
    """Return the value of the property."""
    return json.dumps([epoch.run, epoch.number, epoch.is_whole_run])
