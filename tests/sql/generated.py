"""Queries and tables that change, drawn by a random number generator, for the law of SQL.

A table is a list of changes of rows: insertions, and removals of rows that are there. `final` is the table that is left; DuckDB
gets only that. Queries are drawn of a grammar whose functions mean the same in both engines; where they do not (division of whole
numbers, AVG of whole numbers), `for_duckdb` rewrites them.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from penstock.common import Row, RowKind, Types
from penstock.testing import Way
from penstock.testing.law.comparison import Received
from penstock.testing.law.rules import SinkAnswer, SinkRule
from penstock.testing.law.sql_script import connection

_LEFT = SinkRule(SinkAnswer.NET_CHANGES)

TABLES = {
    "t": (
        ("k", "VARCHAR", Types.STRING()),
        ("a", "INTEGER", Types.INT()),
        ("b", "BIGINT", Types.LONG()),
        ("x", "DOUBLE", Types.DOUBLE()),
        ("f", "BOOLEAN", Types.BOOLEAN()),
    ),
    "u": (
        ("k", "VARCHAR", Types.STRING()),
        ("c", "INTEGER", Types.INT()),
        ("s", "VARCHAR", Types.STRING()),
    ),
    "v": (("b", "BIGINT", Types.LONG()), ("g", "INTEGER", Types.INT())),
}
"""Name to columns: name, type of DuckDB, type here."""

_VALUES: dict[str, tuple[Any, ...]] = {
    "VARCHAR": ("", "p", "q", "pq", "Q", None),
    "INTEGER": (-3, 0, 1, 2, 7, None),
    "BIGINT": (-5, 0, 1, 2, 10_000_000_000, None),
    "DOUBLE": (-1.5, 0.0, 0.1, 0.2, 1e15, None),
    "BOOLEAN": (True, False, None),
}


@dataclass(frozen=True)
class ChangingTable:
    """A table and its history."""

    name: str
    changes: tuple[Row, ...]

    @property
    def type_info(self) -> Any:
        columns = TABLES[self.name]
        return Types.ROW_NAMED([name for name, _, _ in columns], [kind for *_, kind in columns])

    @property
    def final(self) -> list[tuple[Any, ...]]:
        return materialized(self.changes)


def materialized(rows: Any) -> list[tuple[Any, ...]]:
    """Return the rows that a changelog leaves; a removal of what is not there is a failure."""
    left = Received(Way(), list(rows), _LEFT).answer
    assert all(isinstance(row, Row) for row in left), left
    return [tuple(map(comparable, row)) for row in left]


def comparable(value: Any) -> Any:
    """Return a value that equals that of another engine: floats have 9 digits."""
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float):
        if math.isnan(value):
            return "NaN"
        return 0.0 if value == 0 else float(f"{value:.9g}")
    return value


def changing_table(rng: random.Random, name: str, *, is_changing: bool) -> ChangingTable:
    there: list[tuple[Any, ...]] = []
    changes: list[Row] = []
    names = [column for column, _, _ in TABLES[name]]

    def add(kind: RowKind, values: tuple[Any, ...]) -> None:
        row = Row(**dict(zip(names, values, strict=True)))
        row.set_row_kind(kind)
        changes.append(row)

    for _ in range(rng.choice((0, 15, 25, 25, 35, 35, 45))):
        if is_changing and there and rng.random() < 0.3:
            gone = there.pop(rng.randrange(len(there)))
            update = rng.random() < 0.5
            add(RowKind.UPDATE_BEFORE if update else RowKind.DELETE, gone)
            if not update:
                continue
            kind = RowKind.UPDATE_AFTER
        else:
            kind = RowKind.INSERT
        values = tuple(rng.choice(_VALUES[kind_of]) for _, kind_of, _ in TABLES[name])
        there.append(values)
        add(kind, values)
    return ChangingTable(name, tuple(changes))


class QueryMaker:
    """Draws queries."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def query(self) -> str:
        rng = self._rng
        kind = rng.choice(
            ("select", "select", "group", "group", "join", "join", "set", "top", "over", "in")
        )
        return str(getattr(self, f"_{kind}")(rng.choice((0, 0, 1))))

    def group(self) -> str:
        """Return a query that groups rows of a table."""
        return self._group(0)

    def _source(self, depth: int, alias: str) -> tuple[str, dict[str, list[str]]]:
        """Return a table of FROM and its columns by family."""
        rng = self._rng
        name = rng.choice(tuple(TABLES))
        if depth and rng.random() < 0.5:
            inner, columns = self._grouped_rows(depth - 1)
            return f"({inner}) AS {alias}", {
                family: [f"{alias}.{each}" for each in found] for family, found in columns.items()
            }
        families: dict[str, list[str]] = {"text": [], "whole": [], "float": [], "truth": []}
        for column, kind, _ in TABLES[name]:
            families[_FAMILY[kind]].append(f"{alias}.{column}")
        return f"{name} AS {alias}", families

    def _grouped_rows(self, depth: int) -> tuple[str, dict[str, list[str]]]:
        source, columns = self._source(depth, "z")
        key = self._rng.choice(columns[self._family(columns)])
        family = self._family(columns)
        value = self._scalar(columns, family, 0)
        made = {"text": [], "whole": ["n"], "float": [], "truth": []}
        made["whole"].append("m")
        return (
            f"SELECT {key} AS kk, COUNT(*) AS n, COUNT({value}) AS m FROM {source} GROUP BY {key}",
            made,
        )

    def _family(self, columns: dict[str, list[str]]) -> str:
        return self._rng.choice([each for each, found in columns.items() if found])

    def _scalar(self, columns: dict[str, list[str]], family: str, depth: int) -> str:
        rng = self._rng
        leaves = [*columns[family] * 6, *_LITERALS[family]]
        if not depth or rng.random() < 0.3:
            return rng.choice(leaves)
        inner = lambda kind: self._scalar(columns, kind, depth - 1)  # noqa: E731
        forms = {
            "whole": (
                lambda: f"({inner('whole')} + {inner('whole')})",
                lambda: f"({inner('whole')} - {inner('whole')})",
                lambda: f"IDIV({inner('whole')}, {rng.choice(('2', '3', '-2'))})",
                lambda: f"MOD({inner('whole')}, {rng.choice(('2', '3', '-2'))})",
                lambda: f"ABS({inner('whole')})",
                lambda: f"COALESCE({inner('whole')}, {inner('whole')})",
                lambda: f"NULLIF({inner('whole')}, {inner('whole')})",
                lambda: f"CHAR_LENGTH({inner('text')})",
                lambda: (
                    f"CASE WHEN {inner('truth')} THEN {inner('whole')} ELSE {inner('whole')} END"
                ),
                lambda: f"CAST({inner('truth')} AS INTEGER)",
            ),
            "float": (
                lambda: f"({inner('float')} + {inner('float')})",
                lambda: f"({inner('float')} * {rng.choice(('0.5e0', '2e0'))})",
                lambda: f"CAST({inner('whole')} AS DOUBLE)",
                lambda: f"-({inner('float')})",
                lambda: f"COALESCE({inner('float')}, {inner('float')})",
            ),
            "text": (
                lambda: f"({inner('text')} || {inner('text')})",
                lambda: f"UPPER({inner('text')})",
                lambda: f"SUBSTRING({inner('text')}, 1, 1)",
                lambda: f"REPLACE({inner('text')}, 'p', 'x')",
                lambda: f"CAST({inner('whole')} AS VARCHAR)",
                lambda: f"CASE {inner('text')} WHEN 'p' THEN 'one' ELSE {inner('text')} END",
            ),
            "truth": (
                lambda: f"({inner('truth')} AND {inner('truth')})",
                lambda: f"({inner('truth')} OR {inner('truth')})",
                lambda: f"(NOT {inner('truth')})",
                lambda: self._comparison(inner),
                lambda: self._comparison(inner),
                lambda: f"({inner('whole')} IN (0, 1, 7))",
                lambda: f"({inner('whole')} NOT IN (1, NULL))",
                lambda: f"({inner('whole')} BETWEEN 0 AND 2)",
                lambda: f"({inner('text')} LIKE '%q')",
                lambda: f"({inner(rng.choice(('whole', 'text', 'float', 'truth')))} IS NULL)",
                lambda: f"({inner('whole')} IS DISTINCT FROM {inner('whole')})",
                lambda: f"({inner('truth')} IS NOT TRUE)",
            ),
        }
        return rng.choice(forms[family])()

    def _comparison(self, inner: Any) -> str:
        family = self._rng.choice(("whole", "float", "text"))
        operator = self._rng.choice(("=", "<>", "<", "<=", ">", ">="))
        return f"({inner(family)} {operator} {inner(family)})"

    def _where(self, columns: dict[str, list[str]], chance: float = 0.35) -> str:
        if self._rng.random() > chance:
            return ""
        return f" WHERE {self._scalar(columns, 'truth', 2)}"

    def _select(self, depth: int) -> str:
        rng = self._rng
        source, columns = self._source(depth, "s")
        made = [
            f"{self._scalar(columns, self._family(columns), 2)} AS c{at}"
            for at in range(rng.randint(1, 3))
        ]
        distinct = rng.choice(("", "", "DISTINCT "))
        return f"SELECT {distinct}{', '.join(made)} FROM {source}{self._where(columns)}"

    def _aggregate(self, columns: dict[str, list[str]]) -> str:
        rng = self._rng
        numbers = [each for each in ("whole", "float") if columns[each]] or ["whole"]
        value = self._scalar(columns, rng.choice(numbers), rng.choice((0, 1)))
        families = [each for each in ("whole", "text", "float") if columns[each]] or ["text"]
        any_value = self._scalar(columns, rng.choice(families), rng.choice((0, 0, 1)))
        call = rng.choice(
            (
                "COUNT(*)",
                f"COUNT({any_value})",
                f"COUNT(DISTINCT {any_value})",
                f"SUM({value})",
                f"SUM(DISTINCT {value})",
                f"AVGOF({self._scalar(columns, 'whole', 1)})",
                f"AVG({self._scalar(columns, 'float', 1)})",
                f"MIN({any_value})",
                f"MIN({any_value})",
                f"MAX({any_value})",
                f"VAR_POP({self._scalar(columns, 'whole', 0)})",
            )
        )
        if rng.random() < 0.2 and not call.startswith("AVGOF"):
            call += f" FILTER (WHERE {self._scalar(columns, 'truth', 1)})"
        return call

    def _group(self, depth: int) -> str:
        rng = self._rng
        source, columns = self._source(depth, "s")
        keys = list(
            dict.fromkeys(
                self._scalar(columns, self._family(columns), rng.choice((0, 0, 1)))
                for _ in range(rng.randint(1, 2))
            )
        )
        keys = [each for each in keys if "." in each] or [_first(columns)]
        calls = [self._aggregate(columns) for _ in range(rng.randint(1, 3))]
        made = [f"{each} AS c{at}" for at, each in enumerate([*keys, *calls])]
        having = "" if rng.random() < 0.7 else f" HAVING {self._aggregate_truth(columns)}"
        if rng.random() < 0.3:
            made.append(f"GROUPING({rng.choice(keys)}) AS gg")
            first, last = keys[0], keys[-1]
            by = rng.choice(
                (
                    f"ROLLUP ({', '.join(keys)})",
                    f"CUBE ({', '.join(keys)})",
                    f"GROUPING SETS (({', '.join(keys)}), ({first}), ())",
                    f"GROUPING SETS (({first}), ({last})), {first}",
                    f"ROLLUP ({first}), CUBE ({last})",
                )
            )
            # A set without groups has a row in DuckDB if there are no rows.
            having = f" HAVING COUNT(*) > 0{having.replace(' HAVING', ' AND')}"
        else:
            by = ", ".join(keys)
        return f"SELECT {', '.join(made)} FROM {source}{self._where(columns)} GROUP BY {by}{having}"

    def _aggregate_truth(self, columns: dict[str, list[str]]) -> str:
        return f"COUNT({self._scalar(columns, 'whole', 0)}) > {self._rng.choice((0, 1, 2))}"

    def _join(self, depth: int) -> str:
        rng = self._rng
        left, of_left = self._source(depth, "l")
        right, of_right = self._source(depth, "r")
        both = {family: [*of_left[family], *of_right[family]] for family in of_left}
        on = self._equality(of_left, of_right)
        if rng.random() < 0.35:
            on += f" AND {self._scalar(both, 'truth', 1)}"
        kind = rng.choice(("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"))
        made = [
            f"{self._scalar(both, self._family(both), 1)} AS c{at}"
            for at in range(rng.randint(1, 3))
        ]
        return (
            f"SELECT {', '.join(made)} FROM {left} {kind} {right} ON {on}{self._where(both, 0.2)}"
        )

    def _equality(self, left: dict[str, list[str]], right: dict[str, list[str]]) -> str:
        common = [family for family in ("whole", "text") if left[family] and right[family]]
        if not common:
            return "1 = 1"
        family = self._rng.choice(common)
        return f"{self._rng.choice(left[family])} = {self._rng.choice(right[family])}"

    def _set(self, depth: int) -> str:
        rng = self._rng
        families = [rng.choice(("whole", "text", "truth")) for _ in range(rng.randint(1, 2))]
        sides = []
        for _ in range(2):
            source, columns = self._source(0, "s")
            made = [
                f"{self._scalar(columns, family, 1)} AS c{at}" for at, family in enumerate(families)
            ]
            sides.append(f"SELECT {', '.join(made)} FROM {source}{self._where(columns, 0.3)}")
        operator = rng.choice(
            ("UNION ALL", "UNION", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL")
        )
        return f"{sides[0]} {operator} {sides[1]}"

    def _top(self, depth: int) -> str:
        rng = self._rng
        source, columns = self._source(0, "s")
        families = [each for each in ("whole", "text") if columns[each]]
        key = rng.choice(columns[rng.choice(families)])
        by = rng.choice(columns[rng.choice(families)])
        # Only columns of the order and the partition, so that rows of one rank are equal.
        direction = rng.choice(("ASC NULLS FIRST", "DESC NULLS LAST"))
        number = "ROW_NUMBER() OVER (PARTITION BY kk ORDER BY bb " + direction + ") AS nn"
        inside = f"SELECT {key} AS kk, {by} AS bb FROM {source}{self._where(columns, 0.25)}"
        chosen = rng.choice(("kk, bb", "kk, bb, nn"))
        return (
            f"SELECT {chosen} FROM (SELECT kk, bb, {number} FROM ({inside}) AS i) AS j"
            f" WHERE nn <= {rng.randint(1, 3)}"
        )

    def _over(self, depth: int) -> str:
        rng = self._rng
        source, columns = self._source(0, "s")
        families = [each for each in ("whole", "text") if columns[each]]
        key = rng.choice(columns[rng.choice(families)])
        by = rng.choice(columns["whole"] or columns["text"])
        value = self._scalar(columns, "whole", 1)
        directions = [rng.choice(("ASC NULLS FIRST", "DESC NULLS LAST")) for _ in range(2)]
        # The whole row is in the order, so that rows of one rank are equal; RANGE has peers of one column.
        both = f"ORDER BY bb {directions[0]}, vv {directions[1]}"
        one = f"ORDER BY bb {directions[0]}"
        call, order, frame = rng.choice(
            (
                ("SUM(vv)", "", ""),
                ("COUNT(*)", one, ""),
                ("SUM(vv)", one, ""),
                ("MIN(vv)", one, " RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"),
                ("SUM(vv)", both, " ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"),
                ("MAX(vv)", both, " ROWS BETWEEN 2 PRECEDING AND CURRENT ROW"),
                ("COUNT(vv)", both, " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW"),
                ("ROW_NUMBER()", both, ""),
                ("RANK()", one, ""),
                ("DENSE_RANK()", one, ""),
                ("LAG(vv)", both, ""),
                ("LEAD(vv, 2, -1)", both, ""),
                ("FIRST_VALUE(vv)", both, ""),
            )
        )
        if (
            order == one
            and not frame
            and call[0] in "SC"
            and columns["whole"]
            and rng.random() < 0.3
        ):
            frame = " RANGE BETWEEN 2 PRECEDING AND CURRENT ROW"
        inside = f"SELECT {key} AS kk, {by} AS bb, {value} AS vv FROM {source}{self._where(columns, 0.25)}"
        window = " ".join(filter(None, ("PARTITION BY kk", order))) + frame
        return f"SELECT kk, bb, vv, {call} OVER ({window}) AS oo FROM ({inside}) AS i"

    def _in(self, depth: int) -> str:
        rng = self._rng
        source, columns = self._source(0, "s")
        other, of_other = self._source(0, "o")
        family = rng.choice(
            [each for each in ("whole", "text") if columns[each] and of_other[each]] or ["whole"]
        )
        value, found = self._scalar(columns, family, 0), self._scalar(of_other, family, 0)
        negated = rng.choice(("", "NOT "))
        where = self._where(of_other, 0.3)
        form = rng.choice(("in", "exists", "scalar", "correlated", "correlated"))
        if form == "in":
            condition = f"{value} {negated}IN (SELECT {found} AS e FROM {other}{where})"
        elif form == "exists":
            more = where.replace(" WHERE ", " AND ")
            equality = self._equality(of_other, columns)
            condition = f"{negated}EXISTS (SELECT 1 AS e FROM {other} WHERE {equality}{more})"
        elif form == "scalar":
            condition = f"{value} >= (SELECT MAX({found}) AS e FROM {other}{where})"
        else:
            condition = self._scalar(columns, "truth", 1)
        made = [f"{self._scalar(columns, self._family(columns), 1)} AS c{at}" for at in range(2)]
        if form == "correlated":
            equality = self._equality(of_other, columns)
            assert equality != "1 = 1", "all tables have whole numbers"
            more = where.replace(" WHERE ", " AND ")
            call = rng.choice((f"COUNT({found})", f"MAX({found})", "COUNT(*) + 1"))
            made.append(f"(SELECT {call} FROM {other} WHERE {equality}{more}) AS e")
        return f"SELECT {', '.join(made)} FROM {source} WHERE {condition}"


_FAMILY = {
    "VARCHAR": "text",
    "INTEGER": "whole",
    "BIGINT": "whole",
    "DOUBLE": "float",
    "BOOLEAN": "truth",
}
_LITERALS = {
    "whole": ("1", "0", "-2", "3", "CAST(NULL AS INTEGER)"),
    "float": ("0.5e0", "0e0", "CAST(NULL AS DOUBLE)"),
    "text": ("'p'", "''", "CAST(NULL AS VARCHAR)"),
    "truth": ("TRUE", "FALSE", "CAST(NULL AS BOOLEAN)"),
}


def _first(columns: dict[str, list[str]]) -> str:
    return next(found[0] for found in columns.values() if found)


def for_penstock(query: str) -> str:
    """Return a query of the generator in the dialect here."""
    return _with_division(query).replace("AVGOF(", "AVG(")


def _with_division(query: str) -> str:
    """Return a query whose IDIV(a, b) is a / b."""
    while (start := query.rfind("IDIV(")) >= 0:
        depth, comma, at = 1, 0, start + len("IDIV(")
        begin = at
        while depth:
            depth += {"(": 1, ")": -1}.get(query[at], 0)
            if depth == 1 and query[at] == ",":
                comma = at
            at += 1
        left, right = query[begin:comma], query[comma + 1 : at - 1]
        query = f"{query[:start]}(({left}) / ({right})){query[at:]}"
    return query


def duckdb_answer(query: str, tables: list[ChangingTable]) -> list[tuple[Any, ...]]:
    """Return the rows of DuckDB over the final tables."""
    there = connection()
    there.execute("CREATE OR REPLACE MACRO IDIV(a, b) AS a // b")
    for table in tables:
        columns = TABLES[table.name]
        named = ", ".join(f"{name} {kind}" for name, kind, _ in columns)
        there.execute(f"CREATE OR REPLACE TEMP TABLE {table.name} ({named})")
        if table.final:
            marks = f"({', '.join('?' for _ in columns)})"
            rows = ", ".join([marks] * len(table.final))
            values = [value for row in table.final for value in row]
            there.execute(f"INSERT INTO {table.name} VALUES {rows}", values)
    found = there.execute(_truncated_average(query)).fetchall()
    for table in tables:
        there.execute(f"DROP TABLE {table.name}")
    return [tuple(map(comparable, row)) for row in found]


def _truncated_average(query: str) -> str:
    """Return a query whose AVGOF(x) is the average of whole numbers without its fraction."""
    while (start := query.find("AVGOF(")) >= 0:
        depth, at = 1, start + len("AVGOF(")
        begin = at
        while depth:
            depth += {"(": 1, ")": -1}.get(query[at], 0)
            at += 1
        inside = query[begin : at - 1]
        query = f"{query[:start]}(SUM({inside}) // COUNT({inside})){query[at:]}"
    return query
