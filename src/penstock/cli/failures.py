"""The end of a command: text on stderr and an exit status, also after Ctrl-C and SIGTERM."""

from __future__ import annotations

import logging
import os
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from rich.console import Console
from rich.text import Text

from penstock.api.environment.environment import StreamExecutionEnvironment
from penstock.config.configuration import Configuration
from penstock.config.options import CHECKPOINT_DIR
from penstock.errors import PenstockError, did_you_mean

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

    After an interrupt py4j would log its own frames, before the line that the user reads.
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


FAILED = 1

# Frames of files that start so are ours or Python's way to the user's program.
_HIDDEN = (f"{Path(__file__).parent.parent}{os.sep}", "<frozen ")


def exit_status(
    action: Callable[[], int],
    console: Console,
    *,
    verbose: bool,
    advice: Callable[[KeyboardInterrupt], str] = resume_advice,
    failed: int = FAILED,
) -> int:
    """Call `action`, report its exception, and return the exit status: `failed` after an error, 130 after Ctrl-C, 143 after SIGTERM."""
    with sigterm_as_interrupt() as received:
        try:
            return action()
        except KeyboardInterrupt as interrupt:
            _write(console, Text(advice(interrupt), style="yellow"))
            return received.exit_status
        except PenstockError as error:
            if verbose:
                _write(console, Text(_causes(error)))
            _write(console, error_text(error, with_notes=not verbose or error.details is None))
        except Exception as error:  # noqa: BLE001 - the program's own error, shown as it is
            whole = "".join(traceback.format_exception(error))
            _write(console, Text((whole if verbose else trimmed_traceback(error)).rstrip("\n")))
        return failed


def error_text(error: PenstockError, *, with_notes: bool = True) -> Text:
    """Return code, problem, fix, origin and notes of an error, in red."""
    code = f"[{error.code}]"
    notes = getattr(error, "__notes__", ()) if with_notes else ()
    text = Text("\n".join([str(error), *notes]), style="red")
    text.stylize("bold", 0, len(code))
    return text


def _causes(error: PenstockError) -> str:
    """Return Spark's text, the causes and the frames of an error, without the error itself.

    If the error was raised in another thread, the causes contain its text too.
    """
    whole = "".join(traceback.format_exception(error))
    shown = "".join(traceback.format_exception_only(error))
    frames = f"{error.details or ''}\n{whole.removesuffix(shown)}"
    name = f"{type(error).__module__}.{type(error).__qualname__}"
    return frames.replace(f"{name}: {error}\n", "").strip("\n")


def trimmed_traceback(error: BaseException) -> str:
    """Return Python's traceback without the frames of Penstock and of `runpy`.

    If Penstock raised the error, a last line names the option that shows the hidden frames.
    """
    report = traceback.TracebackException.from_exception(error)
    inside = _is_hidden(report.stack[-1]) and not all(map(_is_hidden, report.stack))
    for part in _chain(report):
        shown = [frame for frame in part.stack if not _is_hidden(frame)]
        part.stack = traceback.StackSummary.from_list(shown)
    hint = "(frames of Penstock are left out; --verbose shows them)\n" if inside else ""
    return _with_guess("".join(report.format()), error) + hint


def _with_guess(text: str, error: BaseException) -> str:
    """Return a traceback with the attribute that was probably meant, as Python prints it.

    The module `traceback`, which can leave out frames, adds the guess from Python 3.12 on.
    """
    if not isinstance(error, AttributeError) or error.name is None or "Did you mean" in text:
        return text
    names = tuple(name for name in dir(error.obj) if not name.startswith("_"))
    guess = did_you_mean(error.name, names)
    return f"{text.rstrip()}{guess}\n" if guess else text


def _is_hidden(frame: traceback.FrameSummary) -> bool:
    return frame.filename.startswith(_HIDDEN)


def _chain(report: traceback.TracebackException) -> Iterator[traceback.TracebackException]:
    """Yield a report and all reports it contains."""
    pending = [report]
    while pending:
        part = pending.pop()
        yield part
        inner = (part.__cause__, part.__context__, *(part.exceptions or ()))
        pending += [other for other in inner if other is not None]


def _write(console: Console, text: Text) -> None:
    # Not wrapped: paths and values must be found and copied whole.
    console.print(text, soft_wrap=True)
