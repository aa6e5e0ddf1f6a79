"""Every error Penstock raises on purpose: one root, one code per failure.

An error names the problem (`problem`), what to do about it (`hint`) and the line that created the operator at fault, if
one is (`origin`). A Python worker sends errors to the driver as text inside a Spark exception (`to_wire`, `from_wire`).
"""

from __future__ import annotations

import base64
import json
import re
import sys
import sysconfig
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Self

_PLACE = re.compile(r'File "([^"\n]+)", line (\d+)|(\S+):(\d+)(?= in )')


def with_names_of_cells(text: str) -> str:
    """Return text in which the number of a cell replaces its temporary file name.

    It imports IPython, because only IPython calls it.
    """
    notebook = sys.modules.get("IPython")
    shell = None if notebook is None else notebook.get_ipython()
    name_of = getattr(getattr(shell, "compile", None), "format_code_name", None)

    def named(place: re.Match[str]) -> str:
        cell = None if name_of is None else name_of(place[1] or place[3])
        return place[0] if cell is None else f"{' '.join(cell)}, line {place[2] or place[4]}"

    return _PLACE.sub(named, text)


_PACKAGE = str(Path(__file__).parent)
_COMMANDS = str(Path(__file__).parent / "cli")
_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})
_WIRE = re.compile(r"<<penstock-error:([A-Za-z0-9+/=]+)>>")


HIDDEN = "******"
"""Text in place of a secret."""

RESTORE_CHECKPOINTS = "Restore the checkpoint directory from a copy, or start the job in a new one."
RESTORE_STATE = "Restore the checkpoint or savepoint from a copy, or read an older one."
"""Hints about files of a job that are gone or damaged, for the job and for a reader of its state."""


def masked(text: str, secrets: Iterable[str]) -> str:
    """Return a text in which no secret is left."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text


def encodable(text: str) -> str:
    r"""Return text that every encoding of Unicode accepts: a lone surrogate becomes its escape.

    A record, a message or the name of a file may contain a lone surrogate. A worker that cannot
    encode its error does not send it, and the driver would wait for ever.

    Examples:
        >>> encodable("cut \ud83d")
        'cut \\ud83d'
    """
    return text.encode("utf-8", "backslashreplace").decode()


@dataclass(frozen=True, slots=True)
class CallSite:
    """A line of the user's code, e.g. `job.py:41 in build`."""

    filename: str
    lineno: int
    function: str

    def __str__(self) -> str:
        return encodable(f"{self.filename}:{self.lineno} in {self.function}")

    @classmethod
    def of_caller(cls) -> CallSite | None:
        """Return the innermost frame outside Penstock, or None if there is none.

        While a script is carried out it is the line of the script. The caller of the command line is a library.
        """
        line = _SCRIPT_LINE.get()
        if line is not None:
            return line
        frame = sys._getframe(1)
        while frame is not None:
            filename = frame.f_code.co_filename
            if filename.startswith(_COMMANDS):
                return None
            if not filename.startswith((_PACKAGE, "<string>")):  # a dataclass __init__
                return cls(filename, frame.f_lineno, frame.f_code.co_name)
            frame = frame.f_back  # type: ignore[assignment]
        return None

    @contextmanager
    def as_line_of_user(self) -> Iterator[None]:
        """Be the line of the user for what is called meanwhile: a statement of a script."""
        token = _SCRIPT_LINE.set(self)
        try:
            yield
        finally:
            _SCRIPT_LINE.reset(token)

    @classmethod
    def of_definition(cls, function: Any) -> CallSite | None:
        """Return the line of the program that defines a function or method.

        None if the function is not defined in Python, or is one of Penstock's.
        """
        code = getattr(function, "__code__", None)
        if code is None or code.co_filename.startswith(_PACKAGE):
            return None
        return cls(code.co_filename, code.co_firstlineno, code.co_name)


_SCRIPT_LINE: ContextVar[CallSite | None] = ContextVar("script_line", default=None)


class PenstockError(Exception):
    """Root of every error this library raises on purpose.

    Attributes:
        code: Stable identifier, unique in the package; tests and users match on it.
        problem: The fault, with the offending values.
        hint: The way out, in the imperative.
        origin: The user's line that created the operator at fault, when there is one.
        details: The text of Spark's error that led to it, None if there is none.
        is_permanent: True if another attempt would repeat it, so that no restart strategy applies.
    """

    code: ClassVar[str] = "PENSTOCK"
    is_permanent: bool = False
    _by_code: ClassVar[dict[str, type[PenstockError]]] = {}

    def __init_subclass__(cls, *, is_permanent: bool = False) -> None:
        """Register the class under its code, so that `from_wire` can rebuild it."""
        super().__init_subclass__()
        cls.is_permanent = is_permanent or cls.is_permanent
        PenstockError._by_code[cls.code] = cls

    def __init__(self, problem: str, *, hint: str, origin: CallSite | None = None) -> None:
        problem, hint = encodable(problem), encodable(hint)
        super().__init__(problem, hint, origin)
        self.problem, self.hint, self.origin = problem, hint, origin
        self.details: str | None = None

    @classmethod
    def here(cls, problem: str, *, hint: str) -> Self:
        """Return the error of a call that the program is making now, with its line."""
        return cls(problem, hint=hint, origin=CallSite.of_caller())

    @staticmethod
    @contextmanager
    def at(origin: CallSite | None) -> Iterator[None]:
        """Give errors that name no line of the program this one."""
        try:
            yield
        except PenstockError as error:
            error.origin = error.origin or origin
            raise

    def permanent(self, is_permanent: bool = True) -> Self:  # noqa: FBT001, FBT002 - one word
        """Return the error, marked if another attempt would repeat it."""
        self.is_permanent = is_permanent or type(self).is_permanent
        return self

    def _render_traceback_(self) -> list[str]:
        """Return the lines that a notebook shows: the program's frames, and the error.

        IPython calls this method.
        """
        frames = [
            frame
            for frame in traceback.extract_tb(self.__traceback__)
            if not frame.filename.startswith((_PACKAGE, "<string>", *_LIBRARIES))
        ]
        shown = traceback.format_exception_only(self)
        if frames:
            shown = ["Traceback (most recent call last):\n", *traceback.format_list(frames), *shown]
        return with_names_of_cells("".join(shown)).rstrip("\n").split("\n")

    def __str__(self) -> str:
        place = f"\n  at: {self.origin}" if self.origin else ""
        return f"[{self.code}] {self.problem}\n  fix: {self.hint}{place}"

    # Keyword-only arguments defeat the default `cls(*args)` unpickling, and errors
    # must cross from a Python worker to the driver intact.
    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.problem, self.hint, self.origin), self.__dict__

    def to_wire(self) -> str:
        """Return a marker that `from_wire` finds in any surrounding text."""
        site = self.origin
        payload = {
            "code": self.code,
            "problem": self.problem,
            "hint": self.hint,
            "origin": [site.filename, site.lineno, site.function] if site else None,
            "is_permanent": self.is_permanent,
        }
        return f"<<penstock-error:{base64.b64encode(json.dumps(payload).encode()).decode()}>>"

    @staticmethod
    def from_wire(text: str) -> PenstockError | None:
        """Return the first error embedded in `text` by `to_wire`, or None."""
        match = _WIRE.search(text)
        if match is None:
            return None
        payload = json.loads(base64.b64decode(match[1]))
        cls = PenstockError._by_code.get(payload["code"], PenstockError)
        origin = CallSite(*payload["origin"]) if payload["origin"] else None
        error = _rebuild(cls, payload["problem"], payload["hint"], origin)
        return error.permanent(payload["is_permanent"])


def without_wire(text: str) -> str:
    """Return `text` without the markers of `to_wire`."""
    return _WIRE.sub("", text)


@lru_cache(maxsize=1024)
def did_you_mean(name: str, names: tuple[str, ...]) -> str:
    """Return the question whether the nearest of `names` was meant, empty if none is near.

    Cached, because `getattr(row, name, default)` calls it once per record.

    Examples:
        >>> did_you_mean("cariers", ("day", "carrier"))
        "; did you mean 'carrier'?"
        >>> did_you_mean("Day", ("day", "carrier"))
        "; did you mean 'day'?"
        >>> did_you_mean("x", ("day", "carrier"))
        ''
    """
    by_case = {known.casefold(): known for known in names}
    nearest = get_close_matches(name.casefold(), by_case, n=1)
    return f"; did you mean {by_case[nearest[0]]!r}?" if nearest else ""


def _rebuild(
    cls: type[PenstockError], problem: str, hint: str, origin: CallSite | None
) -> PenstockError:
    return cls(problem, hint=hint, origin=origin)


class ConfigError(PenstockError, ValueError, is_permanent=True):
    """A configuration key is unknown, or its value cannot be used."""

    code = "CONFIG_INVALID"


class GraphError(PenstockError, is_permanent=True):
    """The program is wrong; raised while building or planning it, never while running."""

    code = "GRAPH"


class ArgumentError(GraphError, TypeError, ValueError):
    """A method of the API was called with an argument it cannot use.

    Both of Python's errors, because PyFlink raises now one and now the other.
    """

    code = "GRAPH_ARGUMENT"


class UnkeyedStateError(GraphError):
    """Keyed state or a timer was requested where there is no key."""

    code = "GRAPH_UNKEYED_STATE"


class EmptyGraphError(GraphError):
    """A job was started that has no sink."""

    code = "GRAPH_EMPTY"


class WatermarkUnsupportedError(PenstockError):
    """A watermark appeared in a job that was planned to run without watermarks."""

    code = "TIME_NO_WATERMARKS"


class TimestampUnsupportedError(PenstockError):
    """A function read the timestamp of a record in a job that was planned without timestamps."""

    code = "TIME_NO_TIMESTAMPS"


class SqlError(GraphError):
    """A statement of SQL is wrong, or uses what is not supported; names its place in the text."""

    code = "SQL"


class UnboundedBatchError(GraphError):
    """BATCH mode was set for a program with an unbounded source."""

    code = "GRAPH_UNBOUNDED_BATCH"


class TypeMismatchError(PenstockError, TypeError, is_permanent=True):
    """A record does not have the declared type."""

    code = "TYPE_MISMATCH"


class UnknownFieldError(PenstockError, KeyError, ValueError, is_permanent=True):
    """A row or row type has no field of that name."""

    code = "UNKNOWN_FIELD"


class KeyTypeError(PenstockError, TypeError, is_permanent=True):
    """A value cannot be used as a key."""

    code = "KEY_TYPE"


class DecodeError(PenstockError, ValueError, is_permanent=True):
    """Bytes do not follow the declared layout.

    Attributes:
        position: Offset of the first wrong byte, None if it is unknown.
    """

    code = "SERDE_DECODE"

    def __init__(
        self,
        problem: str,
        *,
        hint: str,
        origin: CallSite | None = None,
        position: int | None = None,
    ) -> None:
        super().__init__(problem, hint=hint, origin=origin)
        self.position = position


class ExpressionError(PenstockError, ArithmeticError, ValueError, is_permanent=True):
    """An expression of columns has no value for a record: overflow, division by zero, a wrong cast."""

    code = "EXPRESSION"


class UserFunctionError(PenstockError):
    """A user function raised; names operator, record and the user's line."""

    code = "USER_FUNCTION"


class UserCodeError(PenstockError, is_permanent=True):
    """A user function or object cannot be shipped to the workers."""

    code = "USER_CODE"


class SourceError(PenstockError):
    """A source cannot be read: missing, unreadable, of the wrong shape."""

    code = "SOURCE"


class HistoryChangedError(SourceError, is_permanent=True):
    """History has changed since its positions were pinned."""

    code = "SOURCE_HISTORY_CHANGED"


class SinkError(PenstockError):
    """A sink cannot be written."""

    code = "SINK"


class MissingConnectorError(PenstockError, ImportError, is_permanent=True):
    """A connector of PyFlink was imported that Penstock does not have."""

    code = "CONNECTOR_MISSING"


class JobDirectoryError(PenstockError, is_permanent=True):
    """The checkpoint directory cannot be used."""

    code = "JOB_DIRECTORY"

    @classmethod
    def unreadable(cls, what: object, cause: OSError) -> Self:
        """Return the error about something that this user cannot read."""
        hint = "Run this as a user who may read the checkpoint directory."
        return cls(f"{what} cannot be read: {cause}", hint=hint)


class JobMismatchError(JobDirectoryError):
    """The checkpoint directory belongs to another job or another graph."""

    code = "JOB_MISMATCH"


class JobLockedError(JobDirectoryError):
    """Another driver is running this job."""

    code = "JOB_LOCKED"


class JobHandedOverError(JobDirectoryError):
    """The job has handed its sinks over to another one, and may not start."""

    code = "JOB_HANDED_OVER"


class JobFencedError(JobDirectoryError):
    """Another driver has taken the job over; this one may not commit any more."""

    code = "JOB_FENCED"


class HandOverError(PenstockError):
    """The sinks of a job cannot be handed over to another one."""

    code = "HAND_OVER"


class StateError(PenstockError):
    """Keyed state is damaged or does not belong to this program."""

    code = "STATE"


class StateMigrationError(StateError):
    """Stored state cannot be read as the type that the program declares now."""

    code = "STATE_MIGRATION"


class SpillError(PenstockError):
    """Records that do not fit in memory cannot be written to a local disk, or read back."""

    code = "SPILL"


class SavepointError(PenstockError, is_permanent=True):
    """A savepoint cannot be taken, or cannot be read."""

    code = "SAVEPOINT"


class SavepointMismatchError(SavepointError):
    """A savepoint does not fit the program that was to start from it."""

    code = "SAVEPOINT_MISMATCH"


class EvolutionError(PenstockError, is_permanent=True):
    """A program differs from the one that made the stored state, and the start needs a decision about that state."""

    code = "EVOLUTION"


class EnvironmentSetupError(PenstockError, is_permanent=True):
    """The machine lacks something the job needs, such as a Java runtime."""

    code = "ENVIRONMENT"


class JobFailedError(PenstockError):
    """The job failed for a reason outside the user's functions."""

    code = "JOB_FAILED"


class WorkerStartError(JobFailedError):
    """A Python worker did not start in time, because the machine is overloaded."""

    code = "WORKER_START"


class LawError(PenstockError, AssertionError, is_permanent=True):
    """A program gives two answers, in two ways to run it over the same records."""

    code = "LAW"


class EffectError(PenstockError, is_permanent=True):
    """A function of a program that is checked connects to a service, or starts a process."""

    code = "EFFECT"


class JobCancelledError(PenstockError, is_permanent=True):
    """The job was cancelled before it ended."""

    code = "JOB_CANCELLED"
