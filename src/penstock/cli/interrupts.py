"""Ctrl-C and SIGTERM. Both stop a job in the same way."""

from __future__ import annotations

import logging
import signal
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from penstock.api.environment.environment import StreamExecutionEnvironment
from penstock.config.configuration import Configuration
from penstock.config.options import CHECKPOINT_DIR

_OF_PY4J = "KeyboardInterrupt while sending command."
"""The message of py4j about an interrupt during a call of the JVM."""


@dataclass(slots=True)
class StopSignal:
    """The signal that stopped the process.

    Attributes:
        number: The signal; SIGINT until SIGTERM arrives.
    """

    number: int = signal.SIGINT

    @property
    def exit_status(self) -> int:
        """The status a shell expects of a process that ended by the signal."""
        return 128 + self.number


def _is_about_the_job(record: logging.LogRecord) -> bool:
    return record.msg != _OF_PY4J


@contextmanager
def sigterm_as_interrupt() -> Iterator[StopSignal]:
    """Raise KeyboardInterrupt on SIGTERM in the main thread, where this must be called.

    Of an interrupt py4j would log its own frames, before the line that the user reads.
    """
    received = StopSignal()

    def interrupt(number: int, _: FrameType | None) -> None:
        received.number = number
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGTERM, interrupt)
    root = logging.getLogger()
    root.addFilter(_is_about_the_job)
    try:
        yield received
    finally:
        root.removeFilter(_is_about_the_job)
        signal.signal(signal.SIGTERM, previous or signal.SIG_DFL)


def resume_advice(interrupt: KeyboardInterrupt) -> str:
    """Return the text for a user whose program was stopped.

    The configuration is that of the environment in the frames of the interrupt's traceback.
    """
    if _configuration_of(interrupt).get_string(CHECKPOINT_DIR.key, None) is not None:
        return "stopped; start the same command again to resume"
    return f"stopped; without {CHECKPOINT_DIR.key} this job cannot be resumed"


def _configuration_of(interrupt: KeyboardInterrupt) -> Configuration:
    configuration = Configuration()
    for frame, _ in traceback.walk_tb(interrupt.__traceback__):
        for value in frame.f_locals.values():
            if isinstance(value, StreamExecutionEnvironment):
                configuration = value.get_configuration()
    return configuration
