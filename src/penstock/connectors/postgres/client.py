"""Addresses of databases, whose secrets are not shown, connections that are kept, and their failures as ours.

A connection is kept per process, address and purpose, and used by one thread at a time. A call that fails because the
server restarts, or because another client uses the slot for a moment, is repeated for a while.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from penstock.connectors.client_library import OfThisProcess, repeated
from penstock.errors import HIDDEN, ArgumentError, CallSite, PenstockError, masked
from penstock.extras import EXTRAS
from penstock.graph.dataset import Dataset

_LIBRARY = EXTRAS["postgres"]
check_installed, library = _LIBRARY.check_installed, _LIBRARY.load
_SECRETS = ("password", "sslpassword", "passfile", "sslkey", "oauth_client_secret")
_JDBC = "jdbc:postgresql:"
_DEFAULTS: dict[str, object] = {"connect_timeout": 10, "client_encoding": "UTF8"}


@dataclass(frozen=True, slots=True, repr=False)
class PostgresAddress:
    """A connection string, as libpq understands it.

    Attributes:
        dsn: `host=… dbname=…` or `postgresql://…`. Other settings come from libpq's environment
            variables (PGPASSWORD) and files, in the driver and in the workers.
    """

    dsn: str

    @classmethod
    def of(cls, dsn: object) -> PostgresAddress:
        """Return the address that a program gives."""
        malformed = ArgumentError.here(
            "the connection string of PostgreSQL is malformed",
            hint="Pass 'host=db.example port=5432 dbname=shop user=shop', or "
            "'postgresql://shop@db.example:5432/shop'. Quote values with spaces.",
        )
        if not isinstance(dsn, str) or not dsn.strip():
            raise malformed
        address = cls(dsn)
        try:
            address.parts()
        except library().ProgrammingError:
            raise malformed from None  # its words may have a piece of a password
        return address

    @classmethod
    def of_jdbc(cls, url: str, user: str | None, password: str | None) -> PostgresAddress:
        """Return the address of a URL of JDBC, with the user and the password that go with it."""
        match = re.fullmatch(re.escape(_JDBC) + r"//[^\s]*", url if isinstance(url, str) else "")
        if match is None:
            raise ArgumentError.here(
                "the URL of the database does not begin with jdbc:postgresql://",
                hint="Write other databases with a Sink of your own, or through a DataFrame.",
            )
        parts = cls.of(url.removeprefix("jdbc:")).parts()
        more = {"user": user, "password": password}
        given = {key: value for key, value in more.items() if value is not None}
        return cls.of(library().conninfo.make_conninfo("", **{**parts, **given}))

    def parts(self) -> dict[str, Any]:
        """Return its parameters by name."""
        parts: dict[str, Any] = library().conninfo.conninfo_to_dict(self.dsn)
        return parts

    def connect(self, **how: Any) -> Any:
        """Return a new connection, in autocommit mode."""
        known = self.parts()
        more = {key: value for key, value in _DEFAULTS.items() if key not in known}
        return library().connect(self.dsn, autocommit=True, **{**more, **how})

    def describe(self) -> str:
        """Return server and database, e.g. `shop at db.example:5432`."""
        parts = self.parts()
        host = parts.get("host") or parts.get("hostaddr") or "the default host"
        return f"{parts.get('dbname', 'the default database')} at {host}:{parts.get('port', 5432)}"

    def dataset(self, table: object) -> Dataset:
        """Return the lineage dataset of a table of the database."""
        parts = self.parts()
        host = str(parts.get("host") or parts.get("hostaddr") or "localhost").split(",")[0]
        port = str(parts.get("port", 5432)).split(",")[0]
        database = parts.get("dbname") or parts.get("user") or "postgres"
        return Dataset(f"postgres://{host}:{port}", f"{database}.{table}")

    def masked(self, text: str) -> str:
        """Return a text in which no secret of the string is left."""
        secrets = [str(value) for key, value in self.parts().items() if key in _SECRETS and value]
        return masked(text, secrets)

    def __repr__(self) -> str:
        shown = (
            f"{key}={HIDDEN if key in _SECRETS else value}" for key, value in self.parts().items()
        )
        return f"PostgresAddress({' '.join(shown)})"


T = TypeVar("T")

PATIENCE_SECONDS = 30.0
"""Time for which a call is repeated while the server cannot be reached."""

_IN_USE = "55006"
_PASSING = ("08", "57P01", "57P02", "57P03", "53300", "40001", "40P01", "25P03", _IN_USE)
"""SQLSTATEs, or their classes, of temporary failures."""

_STARTING = ("starting up", "shutting down", "recovery", "too many", "terminating connection")
_SESSION = """\
select set_config('DateStyle', 'ISO', false), set_config('TimeZone', 'UTC', false),
       set_config('IntervalStyle', 'postgres', false), set_config('bytea_output', 'hex', false),
       set_config('extra_float_digits', '1', false),
       set_config('synchronous_commit', 'on', false),
       set_config('statement_timeout', '0', false),
       set_config('idle_in_transaction_session_timeout', '0', false)"""
"""Values come as text, and text depends on these. A table may take long. Commits stay."""

_REPEATED = ("0A", "22", "23", "28", "3D", "42", "54")
"""Classes of SQLSTATE that another attempt would repeat."""

_MAY_COME = "23503"
"""A row that another one refers to, which another client may still write."""

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
    connection = address.connect(application_name=f"penstock {role}")
    try:
        connection.execute(_SESSION)
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def session(address: PostgresAddress, role: str) -> Iterator[Any]:
    """Yield a free connection, and keep it for the next caller.

    It is closed if the block raises.
    """
    key = (address, role)
    with _lock:
        kept: list[Any] = _kept.setdefault(key, [])
        connection = kept.pop() if kept else None
    if connection is None:
        connection = new_session(address, role)
    try:
        yield connection
    except BaseException:
        connection.close()
        raise
    with _lock:
        _kept.setdefault(key, []).append(connection)


def close_sessions() -> None:
    """Close the idle connections."""
    with _lock:
        idle = [connection for kept in _kept.values() for connection in kept]
        _kept.clear()
    for connection in idle:
        connection.close()


def is_transient(error: Any) -> bool:
    """Return whether an error may be temporary."""
    if not isinstance(error, library().Error):
        return False
    if error.sqlstate is not None:
        return str(error.sqlstate).startswith(_PASSING)
    if not isinstance(error, library().OperationalError | library().InterfaceError):
        return False
    text = str(error)  # of a connection that was not made, or was cut
    return "FATAL" not in text or any(word in text for word in _STARTING)


def patiently(call: Callable[[], T], seconds: float = PATIENCE_SECONDS) -> T:
    """Return the result of a call; repeat it during temporary failures."""
    return repeated(call, seconds, is_transient)


@contextmanager
def postgres_errors(
    error_class: type[PenstockError],
    address: PostgresAddress,
    doing: str,
    origin: CallSite | None = None,
) -> Iterator[None]:
    """Turn an error of the library in the block into one of ours, without secrets."""
    try:
        yield
    except library().Error as error:
        words = " ".join(address.masked(str(error)).split())
        state = error.sqlstate or ""
        hint = next((text for key, text in _HINTS.items() if state.startswith(key)), _OTHER_HINT)
        named = f"{state}: " if state else ""
        is_repeated = state.startswith(_REPEATED) and state != _MAY_COME
        raise error_class(
            f"cannot {doing} of {address.describe()}: {named}{words}", hint=hint, origin=origin
        ).permanent(
            is_repeated
        ) from None  # the cause may have a secret in its text, and a traceback would show it
