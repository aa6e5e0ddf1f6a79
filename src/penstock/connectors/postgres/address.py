"""Address of a database and its connection string, whose secrets are not shown."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from penstock.connectors.client_library import HIDDEN
from penstock.errors import ArgumentError
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
        dsn: `host=… dbname=…` or `postgresql://…`. What it lacks is taken from libpq's environment
            variables (PGPASSWORD) and files, in the driver and in the workers.
    """

    dsn: str

    @classmethod
    def of(cls, dsn: object) -> PostgresAddress:
        """Return the address that a program gives.

        Raises:
            ArgumentError: It is no connection string. The message does not have it.
            MissingConnectorError: The package `psycopg` is not installed.
        """
        malformed = ArgumentError.here(
            "the connection string of PostgreSQL is malformed",
            hint="Pass 'host=db.example port=5432 dbname=shop user=shop', or "
            "'postgresql://shop@db.example:5432/shop'. Quote values with spaces.",
        )
        if not isinstance(dsn, str) or not dsn.strip():
            raise malformed
        made = cls(dsn)
        try:
            made.parts()
        except library().ProgrammingError:
            raise malformed from None  # its words may have a piece of a password
        return made

    @classmethod
    def of_jdbc(cls, url: str, user: str | None, password: str | None) -> PostgresAddress:
        """Return the address of a URL of JDBC, with the user and the password that go with it.

        Raises:
            ArgumentError: It is not one of PostgreSQL.
        """
        found = re.fullmatch(re.escape(_JDBC) + r"//[^\s]*", url if isinstance(url, str) else "")
        if found is None:
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
        found: dict[str, Any] = library().conninfo.conninfo_to_dict(self.dsn)
        return found

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
        """Return a table of the database, as other systems know it."""
        parts = self.parts()
        host = str(parts.get("host") or parts.get("hostaddr") or "localhost").split(",")[0]
        port = str(parts.get("port", 5432)).split(",")[0]
        database = parts.get("dbname") or parts.get("user") or "postgres"
        return Dataset(f"postgres://{host}:{port}", f"{database}.{table}")

    def masked(self, text: str) -> str:
        """Return a text in which no secret of the string is left."""
        secrets = [str(value) for key, value in self.parts().items() if key in _SECRETS and value]
        for secret in sorted(secrets, key=len, reverse=True):
            text = text.replace(secret, HIDDEN)
        return text

    def __repr__(self) -> str:
        shown = (
            f"{key}={HIDDEN if key in _SECRETS else value}" for key, value in self.parts().items()
        )
        return f"PostgresAddress({' '.join(shown)})"
