"""Frames of kind LOG: the logs of subtasks, and the attempts of the tasks that sent frames.

    frame     from → to                              content
    view      stage 0 → a subtask                    its log as of the newest record
    sender    a task → every task of the next level  the task and its attempt
    outcome   a subtask → the last stage             its writes to its log, and the tasks whose output it read
    staged    a task → the last stage                its own output that it has staged for sinks

If Spark loses the output of a task, it runs the task again, and functions need not be deterministic. Then
some readers may have read the output of the first attempt, and others that of the second. PySpark gives a
task no attempt of its stage. So every task sends its own attempt to all its readers, readers digest the
attempts that they read, and the driver compares the digests of a level (see `EpochMessage`).
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterable
from dataclasses import dataclass

from penstock.program.channel import SINK_LEVEL
from penstock.spark.worker.sink_task import SinkMessage
from penstock.state.log.subtask_log import LogChange, LogView
from penstock.wire.frame import FrameHeader, FrameKind, encode_payload, load_payload, read_header


@dataclass(frozen=True, slots=True)
class Sender:
    """A task that sent frames.

    Attributes:
        attempt: Spark's id of the attempt.
    """

    task: int
    attempt: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a subtask, besides what it sends.

    Attributes:
        change: Its writes to its log, None without any.
        read: The level that it read from, and a digest of the attempts.
    """

    change: LogChange | None
    read: tuple[int, bytes]


@dataclass(frozen=True, slots=True)
class ArrivedLogs:
    """The content of all frames of kind LOG for one subtask.

    Attributes:
        attempts: Digest of the attempts whose output it read.
    """

    view: LogView
    attempts: bytes


def view_frame(level: int, view: LogView) -> bytes:
    """Return the frame that takes the view of a log to its subtask, for `StageInput.forward`."""
    return _frame(0, level, view)


def sender_frame(task: int, level: int, attempt: int) -> bytes:
    """Return the frame with the attempt of a task."""
    return _frame(task, level + 1, Sender(task, attempt))


def outcome_frame(task: int, outcome: Outcome) -> bytes:
    """Return the frame with the outcome of a subtask."""
    return _frame(task, SINK_LEVEL, outcome)


def staged_frame(task: int, message: SinkMessage) -> bytes:
    """Return the frame with what a task has staged for sinks."""
    return _frame(task, SINK_LEVEL, message)


def is_log(frame: bytes) -> bool:
    """Return whether a frame is of kind LOG."""
    return read_header(frame).kind is FrameKind.LOG


def message_of(frame: bytes) -> Outcome | SinkMessage:
    """Return the content of a frame that was sent to the last stage."""
    message = load_payload(frame)
    assert isinstance(message, Outcome | SinkMessage), "nothing else is sent to the last stage"
    return message


def arrived_logs(frames: Iterable[bytes]) -> ArrivedLogs:
    """Return the content of the frames of kind LOG that arrived at a subtask."""
    view = None
    senders: list[tuple[int, int]] = []
    for frame in frames:
        content = load_payload(frame)
        if isinstance(content, Sender):
            senders.append((content.task, content.attempt))
        else:
            view = content
    assert isinstance(view, LogView), "the driver sends one to every subtask in every epoch"
    return ArrivedLogs(view, hashlib.sha256(repr(sorted(senders)).encode()).digest()[:8])


def _frame(task: int, level: int, content: LogView | Sender | Outcome | SinkMessage) -> bytes:
    header = FrameHeader(task, 0, 0, level, FrameKind.LOG, 1)
    return encode_payload(header, pickle.dumps(content, 5))
