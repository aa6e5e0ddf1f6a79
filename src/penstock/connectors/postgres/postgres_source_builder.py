"""Builds sources of PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from penstock.connectors.client_library import check_set
from penstock.connectors.postgres.beyond import ERROR, POLICIES
from penstock.connectors.postgres.client import PostgresAddress, check_installed
from penstock.connectors.postgres.deserializing import (
    ChangeDeserializer,
    ChangeFunction,
    PlainChanges,
    Upserts,
)
from penstock.connectors.postgres.slots import KINDS
from penstock.connectors.postgres.values import Change, TableName
from penstock.errors import ArgumentError
from penstock.types import TypeInformation
from penstock.types.types import Types

S = TypeVar("S")

_SLOT = re.compile(r"[a-z0-9_]{1,63}")


class PostgresSourceBuilder(Generic[S]):
    """Builds a `PostgresSource`.

    Example:
        >>> from penstock.datastream.connectors.postgres import PostgresSource
        >>> builder = PostgresSource.builder().set_dsn("postgresql://etl@db.example/shop")
        >>> builder = builder.set_tables("public.orders").set_slot("shop_orders")
        >>> type_info = Types.ROW_NAMED(["id", "total"], [Types.LONG(), Types.BIG_DEC()])
        >>> builder.set_upserts(type_info).build().get_produced_type() == type_info
        True
        >>> builder = PostgresSource.builder().set_dsn("postgresql://etl@db.example/shop")
        >>> builder = builder.set_tables("public.orders").set_slot("shop_orders")
        >>> builder = builder.set_publication("shop").set_truncate_ignored()
        >>> source = builder.set_snapshot_connections(8).set_records_per_second(5_000).build()
        >>> source.publication, source.connections, source.records_per_second
        ('shop', 8, 5000)
        >>> once = PostgresSource.builder().set_dsn("postgresql://etl@db.example/shop")
        >>> once.set_tables("public.orders").set_bounded().build().is_bounded
        True
    """

    def __init__(self, make: Callable[..., S]) -> None:
        """Begin with nothing set.

        Args:
            make: Makes the source.
        """
        check_installed("PostgresSource")
        self._make = make
        self._address: PostgresAddress | None = None
        self._tables: tuple[TableName, ...] = ()
        self._slot = ""
        self._publication = ""
        self._deserializer: ChangeDeserializer = PlainChanges()
        self._is_once = False
        self._connections = 4
        self._is_truncate_ignored = False
        self._kinds: tuple[str, ...] = KINDS
        self._accepted = ""
        self._beyond = ERROR
        self._records_per_second: int | None = None

    def set_dsn(self, dsn: str) -> PostgresSourceBuilder[S]:
        """Set how to connect.

        Args:
            dsn: As libpq understands it: `host=… dbname=… user=…`, or `postgresql://…`. A password may be in it, in
                the environment variable PGPASSWORD, or in a file of passwords; no message shows it.

        Raises:
            ArgumentError: It is malformed.
        """
        self._address = PostgresAddress.of(dsn)
        return self

    def set_tables(self, *tables: str) -> PostgresSourceBuilder[S]:
        """Set the tables to read.

        Args:
            tables: Their names, as `schema.table`; without a schema they are in `public`.

        Raises:
            ArgumentError: There is none.
        """
        if not tables or not all(isinstance(name, str) and name for name in tables):
            raise ArgumentError.here(
                f"the tables are {list(tables)}", hint="Pass names, such as 'public.orders'."
            )
        self._tables = tuple(dict.fromkeys(map(TableName.of, tables)))
        return self

    def set_slot(self, slot: str) -> PostgresSourceBuilder[S]:
        """Set the name of the replication slot, which the job makes. No two jobs may have the same.

        Args:
            slot: Up to 63 lower-case letters, digits and underscores.

        Raises:
            ArgumentError: It is no such name.
        """
        if not isinstance(slot, str) or _SLOT.fullmatch(slot) is None:
            raise ArgumentError.here(
                f"the slot is {slot!r}",
                hint="Pass up to 63 lower-case letters, digits and underscores.",
            )
        self._slot = slot
        return self

    def set_publication(self, publication: str) -> PostgresSourceBuilder[S]:
        """Read changes by a publication that is there, with its columns and rows only.

        Without this call the source makes one with the name of the slot, and its user has to own the tables.

        Args:
            publication: Its name.

        Raises:
            ArgumentError: It is empty, or no string.
        """
        if not isinstance(publication, str) or not publication:
            raise ArgumentError.here(
                f"the publication is {publication!r}", hint="Pass the name of one that is there."
            )
        self._publication = publication
        return self

    def set_deserializer(
        self, deserializer: Callable[[Change], Any], type_info: TypeInformation | None = None
    ) -> PostgresSourceBuilder[S]:
        """Make records of changes by a function; otherwise records are `Change`s.

        Args:
            deserializer: Called with a `Change`, in workers; what it makes None of is left out.
            type_info: Type of the records.

        Raises:
            ArgumentError: It cannot be called.
        """
        if not callable(deserializer):
            raise ArgumentError.here(
                f"set_deserializer got {deserializer!r}", hint="Pass a function of a Change."
            )
        declared = Types.PICKLED_BYTE_ARRAY() if type_info is None else type_info
        self._deserializer = ChangeFunction(deserializer, declared)
        return self

    def set_upserts(self, type_info: TypeInformation) -> PostgresSourceBuilder[S]:
        """Make rows of one table: each replaces the one with its key, and a row of the kind DELETE removes it.

        A deleted row has the fields of the key; the others are None, unless the table has REPLICA IDENTITY FULL.

        Args:
            type_info: `Types.ROW_NAMED` of columns of the table, the key among them.

        Raises:
            ArgumentError: It is no type of rows with names.
        """
        names: list[str] = getattr(type_info, "get_field_names", list)()
        if not names:
            raise ArgumentError.here(
                f"set_upserts got {type_info!r}", hint="Pass Types.ROW_NAMED(names, types)."
            )
        self._deserializer = Upserts(type_info, tuple(names))
        return self

    def set_bounded(self) -> PostgresSourceBuilder[S]:
        """Read the rows that there are when the job starts, and no changes: without slot and publication."""
        self._is_once = True
        return self

    def set_truncate_ignored(self) -> PostgresSourceBuilder[S]:
        """Ignore a TRUNCATE of a table; by default it fails the job, because it does not list the removed rows."""
        self._is_truncate_ignored = True
        return self

    def set_snapshot_connections(self, connections: int) -> PostgresSourceBuilder[S]:
        """Set how many connections capture the tables at the same time; the default is 4.

        Args:
            connections: From 1 on.

        Raises:
            ArgumentError: It is no such number.
        """
        self._connections = _positive(connections, "connections")
        return self

    def set_records_per_second(self, records_per_second: int) -> PostgresSourceBuilder[S]:
        """Limit the rate of a live run.

        Args:
            records_per_second: Over all tables, from 1 on.

        Raises:
            ArgumentError: It is no such number.
        """
        self._records_per_second = _positive(records_per_second, "records per second")
        return self

    def set_publish(self, *kinds: str) -> PostgresSourceBuilder[S]:
        """Read some kinds of changes only; the default is all, and a publication that lacks one is refused.

        Args:
            kinds: Kinds out of `insert`, `update`, `delete`, `truncate`, as PostgreSQL's parameter `publish` has them.

        Raises:
            ArgumentError: There is none, or another one.

        Example:
            >>> from penstock.datastream.connectors.postgres import PostgresSource
            >>> builder = PostgresSource.builder().set_publish("insert", "update")
        """
        if not kinds or not {*kinds} <= {*KINDS}:
            raise ArgumentError.here(
                f"the kinds of changes are {list(kinds)}", hint=f"Pass some of {', '.join(KINDS)}."
            )
        self._kinds = tuple(kind for kind in KINDS if kind in kinds)
        return self

    def set_values_beyond_python(self, policy: str) -> PostgresSourceBuilder[S]:
        """Set how dates and times are read that Python has not: `infinity`, years before 1 and after 9999, `24:00:00`, intervals of a billion days.

        Args:
            policy: `error` fails the job, which is the default; `none` reads None; `clamp` reads the nearest value of Python;
                `text` reads the text of PostgreSQL, so that a function may send the row to a side output.

        Raises:
            ArgumentError: It is another one.

        Example:
            >>> from penstock.datastream.connectors.postgres import PostgresSource
            >>> builder = PostgresSource.builder().set_values_beyond_python("clamp")
        """
        if policy not in POLICIES:
            raise ArgumentError.here(
                f"values beyond Python's are {policy!r}",
                hint=f"Pass one of {', '.join(POLICIES)}.",
            )
        self._beyond = policy
        return self

    def set_publication_accepted(self, publication: str) -> PostgresSourceBuilder[S]:
        """Go on with a publication that was changed under the job: it missed no change, or you accept the gap.

        Args:
            publication: The text that the error about the change names.

        Example:
            >>> from penstock.datastream.connectors.postgres import PostgresSource
            >>> builder = PostgresSource.builder().set_publication_accepted("orders 16402 771")
        """
        self._accepted = publication
        return self

    def _kinds_read(self) -> tuple[str, ...]:
        ignored = {"truncate"} if self._is_truncate_ignored else set()
        return tuple(kind for kind in self._kinds if kind not in ignored)

    def build(self) -> S:
        """Return the source.

        Raises:
            ArgumentError: Something that it needs was not set, or upserts are of several tables.
        """
        needed = {
            "the database": (self._address, "set_dsn"),
            "its tables": (self._tables, "set_tables"),
            "the name of its replication slot": (self._slot or self._is_once, "set_slot"),
        }
        check_set("a PostgreSQL source", needed)
        if isinstance(self._deserializer, Upserts) and len(self._tables) > 1:
            raise ArgumentError.here(
                f"upserts are of one table, and the source reads {len(self._tables)}",
                hint="Make a source per table, each with a slot of its own.",
            )
        return self._make(
            address=self._address,
            tables=self._tables,
            slot=self._slot,
            publication=self._publication,
            deserializer=self._deserializer,
            is_once=self._is_once,
            connections=self._connections,
            is_truncate_ignored=self._is_truncate_ignored,
            kinds=self._kinds_read(),
            accepted=self._accepted,
            beyond=self._beyond,
            records_per_second=self._records_per_second,
        )


def _positive(number: object, what: str) -> int:
    if type(number) is not int or number < 1:
        raise ArgumentError.here(f"the {what} are {number!r}", hint="Pass an int from 1 on.")
    return number
