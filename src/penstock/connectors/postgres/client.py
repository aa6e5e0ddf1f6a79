"""Connections that are kept, and their failures as ours.

A connection is kept per process, address and purpose, and used by one thread at a time. What fails because the server
restarts, or because somebody else uses the slot for a moment, is tried again for a while.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from penstock.connectors.client_library import OfThisProcess
from penstock.connectors.postgres.address import PostgresAddress, library
from penstock.errors import CallSite, PenstockError

T = TypeVar("T")

PATIENCE_SECONDS = 30.0
"""Time for which a call is repeated while the server cannot be reached."""

_PAUSE_SECONDS = 0.02
_LONGEST_PAUSE_SECONDS = 0.5
_IN_USE = "55006"
_PASSING = ("08", "57P01", "57P02", "57P03", "53300", "40001", "40P01", _IN_USE)
"""SQLSTATEs, or their classes, of what may pass without anybody doing something."""

_STARTING = ("starting up", "shutting down", "recovery", "too many", "terminating connection")
_SESSION = """\
select set_config('DateStyle', 'ISO', false), set_config('TimeZone', 'UTC', false),
       set_config('IntervalStyle', 'postgres', false), set_config('bytea_output', 'hex', false),
       set_config('extra_float_digits', '1', false),
       set_config('synchronous_commit', 'on', false),
       set_config('statement_timeout', '0', false),
       set_config('idle_in_transaction_session_timeout', '0', false)"""
"""Values come as text, and text depends on these. A table may take long. What is committed stays."""

_REPEATED = ("0A", "22", "23", "28", "3D", "42", "54")
"""Classes of SQLSTATE that another attempt would repeat."""

_MAY_COME = "23503"
"""A row that another one refers to, which somebody else may still write."""

_HINTS = {
    "22": "Map the record to values that its column holds. A `line` of a COPY is the number of the record in its task.",
    "23502": "The column is NOT NULL: map the record to a row that has a value.",
    "23503": "Write the row that it refers to first.",
    "23505": "A row with these values is there: write by key, set_upsert_keys(…), or remove the other one.",
    "23": "The table refuses the row: map the record to one that fulfils the constraint, or change the constraint.",
    "0A": "The server cannot do that; see its documentation.",
    "28": "Check user and password, and pg_hba.conf of the server.",
    "3D000": "Check the name of the database.",
    "42501": "Give the user of the job the right that it lacks.",
    "42P01": "Check the name of the table, with its schema.",
    "42703": "Check the names of the columns.",
    "42": "Check names and types of table and columns against those of the sink or source.",
    "53": "The server lacks room or connections.",
    "57014": "The server ended the statement; see its statement_timeout.",
}
_OTHER_HINT = (
    "Check the connection string, and that the server is up. The job goes on where it was."
)

_kept: OfThisProcess = OfThisProcess()
_lock = threading.Lock()


def new_session(address: PostgresAddress, role: str) -> Any:
    """Return a connection whose values are text in one form."""
    made = address.connect(application_name=f"penstock {role}")
    try:
        made.execute(_SESSION)
    except BaseException:
        made.close()
        raise
    return made


@contextmanager
def session(address: PostgresAddress, role: str) -> Iterator[Any]:
    """Yield a connection that nobody else uses now, and keep it for the next one.

    It is closed if the block raises.
    """
    key = (address, role)
    with _lock:
        kept: list[Any] = _kept.setdefault(key, [])
        made = kept.pop() if kept else None
    if made is None:
        made = new_session(address, role)
    try:
        yield made
    except BaseException:
        made.close()
        raise
    with _lock:
        _kept.setdefault(key, []).append(made)


def close_sessions() -> None:
    """Close the connections that nobody uses now."""
    with _lock:
        found = [each for kept in _kept.values() for each in kept]
        _kept.clear()
    for each in found:
        each.close()


def is_transient(error: Any) -> bool:
    """Return whether an error may pass without anybody doing something."""
    if not isinstance(error, library().OperationalError | library().InterfaceError):
        return False
    if error.sqlstate is not None:
        return str(error.sqlstate).startswith(_PASSING)
    text = str(error)  # of a connection that was not made, or was cut
    return "FATAL" not in text or any(word in text for word in _STARTING)


def patiently(call: Callable[[], T], seconds: float = PATIENCE_SECONDS) -> T:
    """Return what a call returns; repeat it while it fails for what may pass.

    Raises:
        Error: One of `psycopg`: it failed for another reason, or for too long.
    """
    until, pause = time.monotonic() + seconds, _PAUSE_SECONDS
    while True:
        try:
            return call()
        except library().Error as error:
            if not is_transient(error) or time.monotonic() >= until:
                raise
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)


@contextmanager
def postgres_errors(
    made: type[PenstockError],
    address: PostgresAddress,
    doing: str,
    origin: CallSite | None = None,
) -> Iterator[None]:
    """Turn an error of the library in the block into one of ours, without secrets.

    Raises:
        PenstockError: The block raised an error of the library.
    """
    try:
        yield
    except library().Error as error:
        words = " ".join(address.masked(str(error)).split())
        state = error.sqlstate or ""
        hint = next((text for key, text in _HINTS.items() if state.startswith(key)), _OTHER_HINT)
        named = f"{state}: " if state else ""
        is_repeated = state.startswith(_REPEATED) and state != _MAY_COME
        raise made(
            f"cannot {doing} of {address.describe()}: {named}{words}", hint=hint, origin=origin
        ).permanent(
            is_repeated
        ) from None  # the cause may have a secret in its text, and a traceback would show it
