"""The end of a command: text on stderr, and an exit status."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console
from rich.text import Text

from penstock.cli.interrupts import resume_advice, sigterm_as_interrupt
from penstock.errors import PenstockError, did_you_mean

FAILED = 1

# Frames of files that start so are ours or Python's way to the user's program.
_HIDDEN = (f"{Path(__file__).parent.parent}{os.sep}", "<frozen ")


def exit_status(
    action: Callable[[], int],
    console: Console,
    *,
    verbose: bool,
    advice: Callable[[KeyboardInterrupt], str] = resume_advice,
) -> int:
    """Call `action`, report its exception, and return the exit status.

    Args:
        action: Returns an exit status.
        console: Receives reports.
        verbose: Whether to show whole tracebacks, of Penstock's own errors too.
        advice: Text for the user after Ctrl-C or SIGTERM.

    Returns:
        The status of `action`; 1 after an error, 130 after Ctrl-C, 143 after SIGTERM.

    Raises:
        SystemExit: `action` did.
    """
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
        return FAILED


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
