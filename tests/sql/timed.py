"""Queries of event time, and tables whose rows come late, drawn by a random number generator.

What is in which window is computed here, row by row, and DuckDB gets that as a table: it shares no code with the windows of SQL. A row
that is late is not in it. The rest of a query is one text for both engines.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import duckdb

from penstock.common import Row, Types
from tests.sql.generated import QueryMaker, comparable, for_penstock

COLUMNS = ("k", "a", "x", "ts")
KIND = Types.ROW_NAMED(
    list(COLUMNS), [Types.STRING(), Types.INT(), Types.DOUBLE(), Types.SQL_TIMESTAMP()]
)
START = datetime(1970, 1, 1)  # noqa: DTZ001 - a TIMESTAMP has no zone
BOUND_SECONDS = 4
"""How far rows are out of order, at most."""
_FAMILIES = {"text": ["k"], "whole": ["a"], "float": ["x"], "truth": []}


@dataclass(frozen=True)
class Event:
    """A row that arrives.

    Attributes:
        table: `e` or `f`.
        values: Of `COLUMNS`.
        second: Its time.
        watermark: The last second of the watermark when it arrives.
    """

    table: str
    values: tuple[Any, ...]
    second: int
    watermark: int

    @property
    def row(self) -> Row:
        return Row(**dict(zip(COLUMNS, self.values, strict=True)))


@dataclass(frozen=True)
class WindowKind:
    """Windows in seconds: what the text says, and which windows a second is in."""

    text: str
    of: Callable[[int], Iterable[tuple[int, int]]]


@dataclass(frozen=True)
class TimedQuery:
    """A query.

    Attributes:
        text: With `{e}` and `{f}` where windows of a table are read.
        windows: Of them; None if it reads tables, or sessions.
        session_gap: Of sessions by `k`; None if there are none.
        for_duckdb: The text of DuckDB; None is the same.
    """

    text: str
    windows: WindowKind | None = None
    session_gap: int | None = None
    for_duckdb: str | None = None

    @property
    def tables(self) -> tuple[str, ...]:
        is_pair = any(each in self.text for each in ("{f}", " f AS ", "FROM f"))
        return ("e", "f") if is_pair else ("e",)

    def for_penstock(self) -> str:
        inside = "" if self.windows is None else self.windows.text
        if self.session_gap is not None:
            inside = f"SESSION(TABLE {{}} PARTITION BY k, DESCRIPTOR(ts), INTERVAL '{self.session_gap}' SECOND)"
        given = {name: f"TABLE({inside.format(name)})" for name in ("e", "f")}
        return for_penstock(self.text.format(**given))


def on_time(event: Event) -> Event:
    """Return an event that comes before any watermark."""
    return replace(event, watermark=-1_000)


def at(second: int) -> datetime:
    return START + timedelta(seconds=second)


def events(
    rng: random.Random, *, is_late: bool, counts: Sequence[int] = (0, 20, 30, 40)
) -> list[Event]:
    """Return the rows of both tables as they arrive; without late ones none is behind the watermark."""
    times = sorted(rng.randrange(60) for _ in range(rng.choice(counts)))
    reach = 20 if is_late else BOUND_SECONDS - 1
    arrivals = sorted(times, key=lambda second: second + rng.random() * reach)
    made, watermark = [], -100
    versions: set[tuple[Any, int]] = set()
    for second in arrivals:
        values = (
            rng.choice(("p", "q", None)),
            rng.choice((-3, 0, 1, 2, 7, None)),
            rng.choice((-1.5, 0.0, 0.1, 1e15, None)),
            at(second),
        )
        table = rng.choice("eef")
        if table == "f" and (values[0], second) in versions:
            table = "e"  # a key has one version at a time
        elif table == "f":
            versions.add((values[0], second))
        made.append(Event(table, values, second, watermark))
        watermark = max(watermark, second - BOUND_SECONDS - 1)
    return made


class TimedMaker(QueryMaker):
    """Draws queries of event time."""

    def session(self) -> TimedQuery:
        """Return groups of sessions; times of whole seconds are often exactly a gap apart."""
        return self._timed_session()

    def timed(self) -> TimedQuery:
        rng = self._rng
        kind = rng.choice(
            (
                "group",
                "group",
                "session",
                "top",
                "interval",
                "interval",
                "windows",
                "over",
                "temporal",
            )
        )
        made: TimedQuery = getattr(self, f"_timed_{kind}")()
        return made

    def _windows(self) -> WindowKind:
        rng = self._rng
        kind = rng.choice(("TUMBLE", "HOP", "CUMULATE"))
        step, times = rng.choice((3, 5, 10)), rng.choice((1, 2, 3))
        size = step * times if kind != "TUMBLE" else step
        offset = rng.choice((0, 0, 2))
        shown = [each for each in (step, size) if kind != "TUMBLE" or each is not size] or [size]
        lengths = "".join(f", INTERVAL '{each}' SECOND" for each in shown)
        more = f", INTERVAL '{offset}' SECOND" if offset else ""

        def windows_of(second: int) -> list[tuple[int, int]]:
            every = range(-300, 300)
            if kind == "CUMULATE":
                starts = [each for each in every if (each - offset) % size == 0]
                ends = [(each, each + step * n) for each in starts for n in range(1, times + 1)]
            else:
                starts = [each for each in every if (each - offset) % step == 0]
                ends = [(each, each + size) for each in starts]
            return [each for each in ends if each[0] <= second < each[1]]

        return WindowKind(f"{kind}(TABLE {{}}, DESCRIPTOR(ts){lengths}{more})", windows_of)

    def _columns(self, *aliases: str) -> dict[str, list[str]]:
        return {
            family: [f"{alias}.{name}" for alias in aliases for name in names]
            for family, names in _FAMILIES.items()
        }

    def _grouped(self, keys: str) -> str:
        columns = self._columns("s")
        calls = [self._aggregate(columns) for _ in range(self._rng.randint(1, 3))]
        made = ", ".join(f"{each} AS c{at}" for at, each in enumerate(calls))
        return f"SELECT {keys}, {made} FROM {{e}} AS s{self._where(columns)} GROUP BY {keys}"

    def _timed_group(self) -> TimedQuery:
        keys = self._rng.choice(("", ", s.k", ", s.k, s.a"))
        text = self._grouped(f"window_start, window_end{keys}")
        if self._rng.random() < 0.25:  # windows of windows
            text = f"SELECT window_end, COUNT(*) AS n, MAX(c0) AS m FROM ({text}) AS o GROUP BY window_start, window_end"
        return TimedQuery(text, self._windows())

    def _timed_session(self) -> TimedQuery:
        text = self._grouped("s.k, window_start, window_end")
        return TimedQuery(text, session_gap=self._rng.choice((2, 3, 6)))

    def _timed_top(self) -> TimedQuery:
        rng = self._rng
        order = rng.choice(("ASC NULLS FIRST", "DESC NULLS LAST"))
        number = f"ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY s.a {order})"
        inside = f"SELECT window_start, window_end, s.a AS a, {number} AS r FROM {{e}} AS s"
        bound = rng.choice(("r <= 1", "r <= 3", "r > 1 AND r < 4"))
        text = (
            f"SELECT window_start, {rng.choice(('a', 'a, r'))} FROM ({inside}) AS i WHERE {bound}"
        )
        return TimedQuery(text, self._windows())

    def _joined(self, left: str, right: str, on: str) -> str:
        rng = self._rng
        both = self._columns("l", "r")
        if rng.random() < 0.35:
            on += f" AND {self._scalar(both, 'truth', 1)}"
        kind = rng.choice(("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "EXISTS", "NOT EXISTS"))
        if "EXISTS" in kind:
            value = self._scalar(self._columns("l"), "whole", 1)
            return (
                f"SELECT {value} AS c FROM {left} AS l"
                f" WHERE {kind} (SELECT 1 AS o FROM {right} AS r WHERE {on})"
            )
        made = ", ".join(f"{self._scalar(both, self._family(both), 1)} AS c{at}" for at in range(2))
        return f"SELECT {made} FROM {left} AS l {kind} {right} AS r ON {on}"

    def _timed_interval(self) -> TimedQuery:
        rng = self._rng
        low, high = sorted(rng.choice((-7, -3, 0, 2, 5)) for _ in range(2))
        between = f"r.ts BETWEEN l.ts + INTERVAL '{low}' SECOND AND l.ts + INTERVAL '{high}' SECOND"
        return TimedQuery(self._joined("e", "f", f"l.k = r.k AND {between}"))

    def windows_of_join(self, *, may_join_again: bool = False) -> TimedQuery:
        """Return windows of the time of a side of an interval join, or of such a join of a join.

        The watermark of the second join is behind that of the first one, so it takes rows that are late there.
        """
        rng = self._rng
        kind, times = rng.choice(
            (
                ("JOIN", ("l.ts", "r.ts")),
                ("LEFT JOIN", ("l.ts",)),
                ("RIGHT JOIN", ("r.ts",)),
                ("EXISTS", ("l.ts",)),
                ("NOT EXISTS", ("l.ts",)),
            )
        )
        low, high = sorted(rng.choice((-7, -3, 0, 2, 5)) for _ in range(2))
        near = f"r.ts BETWEEN l.ts + INTERVAL '{low}' SECOND AND l.ts + INTERVAL '{high}' SECOND"
        time, size = rng.choice(times), rng.choice((2, 5, 11))
        on = f"l.k = r.k AND {near}"
        rows = f"SELECT {time[0]}.k AS k, {time[0]}.a AS a, {time} AS t FROM e AS l"
        if "EXISTS" in kind:
            joined = f"{rows} WHERE {kind} (SELECT 1 FROM f AS r WHERE {on})"
        else:
            joined = f"{rows} {kind} f AS r ON {on}"
        if may_join_again and rng.random() < 0.5:  # its rows are joined again
            joined = (
                f"SELECT j.k AS k, j.a AS a, j.t AS t FROM ({joined}) AS j JOIN f AS g"
                " ON j.k = g.k AND g.ts BETWEEN j.t - INTERVAL '4' SECOND AND j.t"
            )
        made = "COUNT(*) AS n, SUM(a) AS s"
        ours = (
            f"WITH j AS ({joined}) SELECT k, window_end, {made} FROM TABLE(TUMBLE(TABLE j, DESCRIPTOR(t),"
            f" INTERVAL '{size}' SECOND)) GROUP BY k, window_start, window_end"
        )
        length = f"INTERVAL '{size}' SECOND"
        theirs = (
            f"SELECT k, time_bucket({length}, t, TIMESTAMP '1970-01-01') + {length} AS e, {made}"
            f" FROM ({joined}) AS j GROUP BY k, e"
        )
        return TimedQuery(ours, for_duckdb=theirs)

    def windows_of_joins(self) -> TimedQuery:
        """Return windows of rows that are joined once or twice."""
        return self.windows_of_join(may_join_again=True)

    def _timed_windows(self) -> TimedQuery:
        on = "l.window_start = r.window_start AND l.window_end = r.window_end"
        if self._rng.random() < 0.7:
            on += " AND l.k = r.k"
        return TimedQuery(self._joined("{e}", "{f}", on), self._windows())

    def _timed_temporal(self) -> TimedQuery:
        both = self._columns("l", "r")
        made = ", ".join(f"{self._scalar(both, self._family(both), 1)} AS c{at}" for at in range(2))
        kind = self._rng.choice(("JOIN", "LEFT JOIN"))
        newest = "SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS n FROM f"
        text = (
            f"WITH v AS (SELECT k, a, x, ts FROM ({newest}) WHERE n = 1)"
            f" SELECT {made} FROM e AS l {kind} v FOR SYSTEM_TIME AS OF l.ts AS r ON l.k = r.k"
        )
        asof = f"SELECT {made} FROM e AS l ASOF {kind} f AS r ON l.k = r.k AND l.ts >= r.ts"
        return TimedQuery(text, for_duckdb=asof)

    def over(self) -> TimedQuery:
        """Return rows with values of rows before them, in order of time."""
        return self._timed_over()

    def _timed_over(self) -> TimedQuery:
        rng = self._rng
        by = rng.choice(("PARTITION BY k ", "PARTITION BY k ", ""))
        made = [self._one_over(by) for _ in range(rng.choice((1, 1, 2)))]
        shown = ", ".join(f"{each} AS o{at}" for at, each in enumerate(made))
        where = rng.choice(("", "", " WHERE a IS NOT NULL"))
        text = f"SELECT k, ts, {shown} FROM e{where}"
        if rng.random() < 0.2:
            text = f"SELECT k, ts, o0 FROM ({text}) AS i WHERE o0 IS NOT NULL"
        return TimedQuery(text)

    def _one_over(self, by: str) -> str:
        rng = self._rng
        if rng.random() < 0.4:
            call = rng.choice(("SUM(a)", "COUNT(*)", "MIN(a)", "MAX(k)", "COUNT(x)"))
            distance = rng.choice(("UNBOUNDED", "INTERVAL '5' SECOND", "INTERVAL '0' SECOND"))
            frame = f" RANGE BETWEEN {distance} PRECEDING AND CURRENT ROW"
            return f"{call} OVER ({by}ORDER BY ts{rng.choice((frame, frame, ''))})"
        if rng.random() < 0.3:
            call = rng.choice(("RANK()", "DENSE_RANK()", "COUNT(DISTINCT a)", "MAX(a)"))
            return f"{call} OVER ({by}ORDER BY ts, a DESC NULLS LAST)"
        # The values of rows that are equal in the order would depend on their order.
        total = "ORDER BY ts, " + ", ".join(f"{each} NULLS FIRST" for each in ("k", "a", "x"))
        if rng.random() < 0.4:
            call = rng.choice(("ROW_NUMBER()", "LAG(a)", "LAG(a, 3, -9)", "FIRST_VALUE(a)"))
            return f"{call} OVER ({by}{total})"
        call = rng.choice(("SUM(a)", "MIN(a)", "COUNT(x)", "FIRST_VALUE(k)", "LAST_VALUE(a)"))
        rows = rng.choice(("UNBOUNDED", "0", "2", "7"))
        return f"{call} OVER ({by}{total} ROWS BETWEEN {rows} PRECEDING AND CURRENT ROW)"


def in_windows(query: TimedQuery, arrived: Sequence[Event]) -> list[tuple[Event, int, int]]:
    """Return the rows with the windows that they are in; a window that is over takes no more rows."""
    if query.session_gap is not None:
        return _in_sessions(query.session_gap, arrived)
    assert query.windows is not None
    return [
        (each, start, end)
        for each in arrived
        for start, end in query.windows.of(each.second)
        if not _is_over(end, each)
    ]


def _is_over(end: int, event: Event) -> bool:
    """Return whether the last millisecond of a window is not behind the watermark."""
    return end * 1000 - 1 <= event.watermark * 1000


def _in_sessions(gap: int, arrived: Sequence[Event]) -> list[tuple[Event, int, int]]:
    """Return rows with their sessions: windows of rows, merged with those that they touch as they come.

    Only windows that are not over are there to be merged with; a row whose window is over even so is late.
    """
    made: list[tuple[Event, int, int]] = []
    open_windows: dict[tuple[str, Any], list[tuple[int, int, list[Event]]]] = {}

    def close(watermark: int) -> None:
        for windows in open_windows.values():
            over = [each for each in windows if each[1] * 1000 - 1 <= watermark * 1000]
            windows[:] = [each for each in windows if each not in over]
            made.extend((row, start, end) for start, end, rows in over for row in rows)

    for each in arrived:
        close(each.watermark)
        windows = open_windows.setdefault((each.table, each.values[0]), [])
        start, end, rows = each.second, each.second + gap, [each]
        for window in [one for one in windows if one[0] <= end and one[1] >= start]:
            windows.remove(window)
            start, end = min(start, window[0]), max(end, window[1])
            rows += window[2]
        if not _is_over(end, each):
            windows.append((start, end, rows))
    close(1 << 40)
    return made


def duckdb_answer(query: TimedQuery, arrived: Sequence[Event]) -> list[tuple[Any, ...]]:
    """Return the rows of DuckDB over what is not late."""
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.execute("CREATE MACRO IDIV(a, b) AS a // b")
    is_windowed = query.windows is not None or query.session_gap is not None
    more = ", window_start TIMESTAMP, window_end TIMESTAMP" if is_windowed else ""
    for name in ("e", "f"):
        connection.execute(
            f"CREATE TABLE {name} (k VARCHAR, a INTEGER, x DOUBLE, ts TIMESTAMP{more})"
        )
        mine = [each for each in arrived if each.table == name]
        if is_windowed:
            rows = [
                (*each.values, at(start), at(end)) for each, start, end in in_windows(query, mine)
            ]
        else:
            rows = [each.values for each in mine if each.second > each.watermark]
        for row in rows:
            connection.execute(
                f"INSERT INTO {name} VALUES ({', '.join('?' for _ in row)})", list(row)
            )
    text = (query.for_duckdb or query.text).format(e="e", f="f")
    while (start := text.find("AVGOF(")) >= 0:
        text = text[:start] + _average(text[start:])
    found = connection.execute(text).fetchall()
    connection.close()
    return [tuple(map(comparable, row)) for row in found]


def _average(text: str) -> str:
    """Return a text that begins with AVGOF(x) with the average of whole numbers, without its fraction."""
    depth, end = 1, len("AVGOF(")
    while depth:
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        end += 1
    inside = text[len("AVGOF(") : end - 1]
    return f"(SUM({inside}) // COUNT({inside})){text[end:]}"
