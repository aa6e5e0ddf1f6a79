"""The methods of an environment for SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, cast

from penstock.types.row import Row

if TYPE_CHECKING:
    from penstock.api.streams.data_stream import DataStream

QUERY = "penstock.sql.queries:query_streams"
"""Name of the class that makes streams of SQL. A name, because layers below must not import the layers above them."""

SESSION = "penstock.sql.session:SqlSession"
"""Name of the class that has the tables, views and functions of a program."""


class SqlMethods:
    """Queries over streams, and statements."""

    _sql_session: Any = None

    def sql(self, query: str, tables: Mapping[str, Any] | None = None) -> DataStream[Row]:
        """Return the rows of a query of SQL over streams.

        The dialect is Flink's. Rows that later rows change are taken back: the stream is then a changelog of `+I`, `-U`,
        `+U` and `-D`. Whatever the mode, the table that is left of it is the same. Needs the extra `sql`.

        Args:
            query: A SELECT.
            tables: Names with streams of declared rows or tuples; those of `create_view` and `execute_sql` are known, too.

        Returns:
            Rows of the columns of the query.

        Raises:
            SqlError: The query is wrong, or uses what is not supported; it names the place.
            ArgumentError: A table is no stream, or has no columns.

        Example:
            >>> large = env.sql("SELECT f0 AS who, f1 * 100 AS cents FROM o WHERE f1 > 3", {"o": orders})
            >>> collect(large)
            [Row(who='ann', cents=500), Row(who='ann', cents=700)]
        """
        return cast("DataStream[Row]", resolve_name(QUERY)(self, query, tables or {}))

    @property
    def sql_session(self) -> Any:
        """The tables, views and functions of SQL of the program; a `penstock.sql.session.SqlSession`."""
        if self._sql_session is None:
            self._sql_session = resolve_name(SESSION)(self)
        return self._sql_session

    def execute_sql(self, script: str) -> Any:
        """Carry out the statements of a script of SQL, in Flink's dialect.

        INSERTs that follow each other are one job. This call runs it, before the next SELECT or at the end of the script,
        and waits for its end. Needs the extra `sql`.

        Args:
            script: Statements with semicolons between them.

        Returns:
            The result of the last statement, a `SqlResult`: `collect()` returns its rows, `print()` prints them.

        Raises:
            SqlError: A statement is wrong, or uses what is not supported; it names the place.
            PenstockError: A job failed.

        Example:
            >>> result = env.execute_sql('''
            ...     CREATE TABLE numbers (n INT) WITH ('connector' = 'datagen', 'number-of-rows' = '5');
            ...     DESCRIBE numbers;
            ... ''')
            >>> [(row.name, row.type) for row in result.collect()]
            [('n', 'INT')]
        """
        return self.sql_session.execute(script)

    def create_view(
        self, name: str, stream: DataStream[Any], primary_key: Sequence[str] = ()
    ) -> None:
        """Give a stream a name in SQL.

        Args:
            name: The name.
            stream: Stream of declared rows or tuples. Rows of other kinds than `+I` are changes.
            primary_key: Names of the columns by which its rows are unique; with them a row replaces the former one.

        Raises:
            ArgumentError: There is a table or view of that name, or the stream has no columns.

        Example:
            >>> env.create_view("o", orders)
            >>> collect(env.sql("SELECT f0 FROM o WHERE f1 > 4"))
            [Row(f0='ann'), Row(f0='ann')]
        """
        self.sql_session.create_stream_view(name, stream, primary_key)

    def create_function(self, name: str, function: Any) -> None:
        """Give a function a name in SQL.

        Args:
            name: The name.
            function: Result of `udf`, `udtf` or `udaf` of `penstock.sql.udf`.

        Raises:
            ArgumentError: It is something else.

        Example:
            >>> from penstock.sql.udf import udf
            >>> env.create_function("twice", udf(lambda n: n * 2, result_type="INT"))
            >>> collect(env.sql("SELECT twice(f1) AS n FROM o", {"o": orders}))
            [Row(n=10), Row(n=6), Row(n=14)]
        """
        self.sql_session.create_function(name, function)
