"""PyFlink's `JdbcSink`, for URLs of PostgreSQL: its INSERT as a `PostgresSink`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase

from penstock.connectors.postgres.client import PostgresAddress
from penstock.connectors.postgres.postgres_sink import PostgresSink
from penstock.connectors.postgres.staged_rows import TableWrites
from penstock.connectors.postgres.values import TableName
from penstock.errors import ArgumentError
from penstock.types import TypeInformation

_NAME = r'(?:"(?:[^"]|"")+"|\w+)'
_NAMES = rf"{_NAME}(?:\s*,\s*{_NAME})*"
_SET = rf"({_NAME})\s*=\s*excluded\s*\.\s*({_NAME})"
_INSERT = re.compile(
    rf"\s*insert\s+into\s+(?P<table>{_NAME}(?:\s*\.\s*{_NAME})?)\s*\(\s*(?P<columns>{_NAMES})\s*\)\s*"
    r"values\s*\(\s*(?P<values>\?(?:\s*,\s*\?)*)\s*\)"
    rf"(?:\s*on\s+conflict\s*\(\s*(?P<keys>{_NAMES})\s*\)\s*do\s+"
    r"(?:nothing|update\s+set\s+(?P<sets>[^?;]+)))?\s*;?\s*",
    re.IGNORECASE,
)
_SMALL = str.maketrans(ascii_uppercase, ascii_lowercase)
_HINT = (
    "Pass INSERT INTO table (columns) VALUES (?, …), with as many ? as columns, and at the end perhaps ON CONFLICT "
    "(keys) DO UPDATE SET column = EXCLUDED.column, … with every other column: of an epoch only the newest row of a "
    "key is written. Otherwise use PostgresSink."
)


@dataclass(frozen=True, slots=True, repr=False)
class JdbcConnectionOptions:
    """Connection of a sink. Build one with `JdbcConnectionOptions.JdbcConnectionOptionsBuilder()`.

    Attributes:
        url: `jdbc:postgresql://host:port/database`.
        user_name: The user; None takes that of the URL.
        password: The password; no message shows it.
        driver_name: A class of Java, which is not used.

    Example:
        >>> builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        >>> builder.with_url("jdbc:postgresql://db.example/shop").build().get_db_url()
        'jdbc:postgresql://db.example/shop'
        >>> builder = builder.with_user_name("etl").with_password("secret")
        >>> builder = builder.with_driver_name("org.postgresql.Driver")
        >>> options = builder.build()
        >>> options.get_user_name(), options.get_password(), options.get_driver_name()
        ('etl', 'secret', 'org.postgresql.Driver')
    """

    url: str = ""
    user_name: str | None = None
    password: str | None = None
    driver_name: str | None = None

    def get_db_url(self) -> str:
        """Return the URL."""
        return self.url

    def get_driver_name(self) -> str | None:
        """Return the class of Java."""
        return self.driver_name

    def get_user_name(self) -> str | None:
        """Return the user."""
        return self.user_name

    def get_password(self) -> str | None:
        """Return the password."""
        return self.password

    class JdbcConnectionOptionsBuilder:
        """Builds `JdbcConnectionOptions`, as PyFlink's builder does."""

        def __init__(self) -> None:
            self._url = ""
            self._user_name: str | None = None
            self._password: str | None = None
            self._driver_name: str | None = None

        def with_url(self, url: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the URL of the database."""
            self._url = url
            return self

        def with_driver_name(
            self, driver_name: str
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Accept the class of a driver of Java, which is not used."""
            self._driver_name = driver_name
            return self

        def with_user_name(
            self, user_name: str
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the user."""
            self._user_name = user_name
            return self

        def with_password(
            self, password: str
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the password."""
            self._password = password
            return self

        def build(self) -> JdbcConnectionOptions:
            """Return the options."""
            return JdbcConnectionOptions(
                self._url, self._user_name, self._password, self._driver_name
            )


@dataclass(frozen=True, slots=True)
class JdbcExecutionOptions:
    """The batches of PyFlink's sink. They change nothing here: an epoch is written as a whole.

    Attributes:
        batch_interval_ms: Time between two writes.
        batch_size: Rows of a write.
        max_retries: Most repetitions of a write.

    Example:
        >>> JdbcExecutionOptions.builder().with_batch_size(200).build().get_batch_size()
        200
        >>> builder = JdbcExecutionOptions.builder().with_batch_interval_ms(500).with_max_retries(5)
        >>> options = builder.build()
        >>> options.get_batch_interval_ms(), options.get_max_retries()
        (500, 5)
    """

    batch_interval_ms: int = 0
    batch_size: int = 5000
    max_retries: int = 3

    def get_batch_interval_ms(self) -> int:
        """Return the time between two writes."""
        return self.batch_interval_ms

    def get_batch_size(self) -> int:
        """Return the rows of a write."""
        return self.batch_size

    def get_max_retries(self) -> int:
        """Return the most repetitions of a write."""
        return self.max_retries

    @staticmethod
    def builder() -> JdbcExecutionOptions.Builder:
        """Return a builder."""
        return JdbcExecutionOptions.Builder()

    class Builder:
        """Builds `JdbcExecutionOptions`, as PyFlink's builder does."""

        def __init__(self) -> None:
            self._interval_ms, self._size, self._retries = 0, 5000, 3

        def with_batch_interval_ms(self, batch_interval_ms: int) -> JdbcExecutionOptions.Builder:
            """Accept the time between two writes."""
            self._interval_ms = batch_interval_ms
            return self

        def with_batch_size(self, batch_size: int) -> JdbcExecutionOptions.Builder:
            """Accept the rows of a write."""
            self._size = batch_size
            return self

        def with_max_retries(self, max_retries: int) -> JdbcExecutionOptions.Builder:
            """Accept how often a write is repeated."""
            self._retries = max_retries
            return self

        def build(self) -> JdbcExecutionOptions:
            """Return the options."""
            return JdbcExecutionOptions(self._interval_ms, self._size, self._retries)


class JdbcSink:
    """Makes sinks of an INSERT, as PyFlink's `JdbcSink` does; each record is written exactly once.

    Example:
        >>> options = JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        >>> options = options.with_url("jdbc:postgresql://db.example/shop").build()
        >>> sql = "insert into orders (customer, amount) values (?, ?)"
        >>> JdbcSink.sink(sql, None, options).describe()
        'postgres table public.orders, exactly-once'
    """

    @staticmethod
    def sink(
        sql: str,
        type_info: TypeInformation | None,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
    ) -> PostgresSink:
        """Return a sink that writes rows by an INSERT.

        Args:
            sql: `INSERT INTO table (columns) VALUES (?, …)`; with `ON CONFLICT (keys) DO UPDATE SET column =
                EXCLUDED.column, …` behind it, with every other column, if rows are written by key.
            type_info: Type of the records; their fields are the values, in order.
            jdbc_connection_options: The connection; the URL is one of PostgreSQL.
            jdbc_execution_options: Accepted; an epoch is written as a whole.

        Raises:
            ArgumentError: The statement or the URL is none of these.
        """
        del type_info, jdbc_execution_options
        options = jdbc_connection_options
        address = PostgresAddress.of_jdbc(options.url, options.user_name, options.password)
        match = _INSERT.fullmatch(sql if isinstance(sql, str) else "")
        writes = None if match is None else _writes(match)
        if writes is None:
            raise ArgumentError.here(f"the statement of a JdbcSink is {sql!r}", hint=_HINT)
        return PostgresSink(address, writes)


def _writes(match: re.Match[str]) -> TableWrites | None:
    """Return the writes of a statement, None if rows of one key do not simply replace each other."""
    columns = _split(match["columns"])
    keys = () if match["keys"] is None else _split(match["keys"])
    if match["values"].count("?") != len(columns) or not {*keys} <= {*columns}:
        return None
    if keys:
        sets = match["sets"] or ""
        pairs = [_split(f"{one} {other}") for one, other in re.findall(_SET, sets, re.IGNORECASE)]
        others = {(column, column) for column in columns if column not in keys}
        left = re.sub(_SET, "", sets, flags=re.IGNORECASE).replace(",", "").strip()
        if {*pairs} != others or left:
            return None
    name = _split(match["table"])
    return TableWrites(
        TableName(*name) if len(name) > 1 else TableName("public", *name), columns, keys
    )


def _split(names: str) -> tuple[str, ...]:
    """Return names as the catalogue has them: with small letters, unless they are quoted.

    PostgreSQL makes only those of ASCII small: `ÄPFEL` is `Äpfel`.
    """
    return tuple(
        name[1:-1].replace('""', '"') if name.startswith('"') else name.translate(_SMALL)
        for name in re.findall(_NAME, names)
    )
