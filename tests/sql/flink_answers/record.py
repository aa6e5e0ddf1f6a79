"""Record Flink's answers: evaluate the cases with PyFlink, and write those that are missing to `answers.jsonl`.

    $ENVIRONMENT/bin/python -m tests.sql.flink_answers.record

ENVIRONMENT is what `benchmarks/peers/flink/make_environment.sh` makes. Each line is `[zone, expression, type, text]`: the text is
CAST(… AS STRING) of the value, null of NULL, and `false` where Flink fails. Without a type Flink refuses the expression.

A job of Flink takes seconds, and planning does not. So many expressions are the columns of one query, those that Flink cannot
plan are found before, and those that may fail are queries of their own.
"""

from __future__ import annotations

import json
import multiprocessing
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pyflink.table import (  # type: ignore[import-not-found]
    EnvironmentSettings,
    ExplainDetail,
    TableEnvironment,
)

from tests.sql.flink_answers.cases import AGGREGATES, aggregates, cases
from tests.sql.flink_answers.columns import COLUMNS, ROWS

ANSWERS = Path(__file__).with_name("answers.jsonl")
_TOGETHER = 80
_AGGREGATES_TOGETHER = 12
_AT_MOST = 400.0
"""Seconds of a block of expressions; one that takes longer is divided, and its process is a new one."""
_PARTS = 4
# Flink's planner fails where it computes a constant that is NaN or an infinity.
_CONSTANT = re.compile(r"CAST\(('[^']*') AS (FLOAT|DOUBLE)\)")
_AT_RUN_TIME = r"CAST(CASE WHEN {seed} > 0 THEN \1 ELSE '0' END AS \2)"
_MAY_FAIL = re.compile(
    r"^CAST\((?!t[sz]_|dt_)|ESCAPE|MAP\[s_null|[/%] \w_zero|^MOD\(.*_zero\)|^TO_TIMESTAMP_LTZ\(s"
    r"|^ELEMENT\(|^(DATE_FORMAT|FROM_UNIXTIME)\(.*'(HH:mm Z|XXX|z|j|b|n|Q)'\)"
    r"|^REGEXP.*'(\(|x\{2,1\})'|'(j|\$9|\\|\\1)'"
)
_AGGREGATE = re.compile(rf"({'|'.join(AGGREGATES)})\((DISTINCT )?(.*)\)")
_NO_CODE = "cannot be compiled"
_PLANS: dict[str, tuple[str | None, bool]] = {}
"""Expression with the types of its columns to its type, and whether Flink can compute it."""
_NAME = re.compile(r"\w+")
_KINDS = {name: kind for name, (kind, _) in COLUMNS.items()}
_KINDS |= {name: kind for name, (kind, *_) in ROWS.items()}
_NESTED = ("ARRAY", "MAP", "ROW")

Known = str | bool | None
"""The text of a value, None of NULL, False of none."""


def _texts(seed: str, *, is_nested: bool) -> dict[str, str]:
    """Return columns with what computes them when a query runs."""
    values = {name: (kind, text) for name, (kind, text) in COLUMNS.items()}
    values |= {name: (kind, text) for name, (kind, text, _) in ROWS.items()}
    late = _AT_RUN_TIME.format(seed=seed)
    return {
        name: f"CASE WHEN {seed} > 0 THEN {_CONSTANT.sub(late, text)} END"
        for name, (kind, text) in values.items()
        if kind.startswith(_NESTED) == is_nested
    }


class Flink:
    """A session of Flink SQL, whose table `edge` has the edge values in a file: Flink folds no constants."""

    def __init__(self, zone: str, directory: str) -> None:
        """Start it.

        Args:
            zone: The `table.local-time-zone`.
            directory: Of the file, which is written if it is not there.
        """
        self._env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
        for key, value in {
            "table.local-time-zone": zone,
            "parallelism.default": "1",
            "restart-strategy.type": "disable",
        }.items():
            self._env.get_config().set(key, value)
        flat = _texts("seed", is_nested=False)
        kinds = ", ".join(f"{name} {COLUMNS[name][0]}" for name in flat)
        self._env.execute_sql(
            f"CREATE TEMPORARY TABLE stored ({kinds}) WITH ('connector' = 'filesystem',"
            f" 'path' = '{directory}/values', 'format' = 'json',"
            " 'json.timestamp-format.standard' = 'ISO-8601')"
        )
        if not Path(directory, "values").exists():
            self._store(flat)
        nested = _texts("i_one", is_nested=True)
        more = ", ".join(f"{text} AS {name}" for name, text in nested.items())
        self._env.execute_sql(f"CREATE TEMPORARY VIEW edge AS SELECT *, {more} FROM stored")

    def _store(self, columns: dict[str, str]) -> None:
        self._env.execute_sql(
            "CREATE TEMPORARY TABLE one_row (seed INT) WITH ('connector' = 'datagen',"
            " 'number-of-rows' = '1', 'fields.seed.min' = '1', 'fields.seed.max' = '1')"
        )
        made = ", ".join(columns.values())
        self._env.execute_sql(f"INSERT INTO stored SELECT {made} FROM one_row").wait()

    def answers(self, expressions: list[str]) -> dict[str, tuple[str | None, Known]]:
        """Return the type and the text of expressions."""
        self._plan(expressions)
        planned = {each: _PLANS[_template(each)] for each in expressions}
        found: dict[str, tuple[str | None, Known]]
        found = {each: (kind, False) for each, (kind, _) in planned.items()}
        runs = [each for each, (_, is_planned) in planned.items() if is_planned]
        alone = [each for each in runs if _MAY_FAIL.search(each)]
        for part in ([each for each in runs if each not in alone], *([each] for each in alone)):
            for each, text in zip(part, _divided(self._values, part), strict=True):
                found[each] = (found[each][0], text)
        return found

    def _plan(self, expressions: list[str]) -> None:
        """Find the types of expressions, and whether there is a plan: once for all whose columns have the same types."""
        new = {_template(each): each for each in expressions if _template(each) not in _PLANS}
        kinds = dict(zip(new, _divided(self._types, [*new.values()]), strict=True))
        typed = [each for each, kind in kinds.items() if kind is not None]
        planned = _divided(self._planned, [new[each] for each in typed])
        are_planned = dict(zip(typed, planned, strict=True))
        for each, kind in kinds.items():
            _PLANS[each] = (kind, bool(are_planned.get(each)))

    def _types(self, expressions: list[str]) -> list[str | None]:
        found = self._env._j_tenv.sqlQuery(_query(expressions, "{}")).getResolvedSchema()
        kinds = [each.getLogicalType() for each in found.getColumnDataTypes()]
        return [str(each.asSummaryString()).removesuffix(" NOT NULL") for each in kinds]

    def _planned(self, expressions: list[str]) -> list[bool | None]:
        self._env.explain_sql(_query(expressions), ExplainDetail.JSON_EXECUTION_PLAN)
        return [True] * len(expressions)

    def _values(self, expressions: list[str]) -> list[Known]:
        if len(expressions) == 1 and not _PLANS[_template(expressions[0])][1]:
            return [False]  # found meanwhile
        try:
            with self._env.execute_sql(_query(expressions)).collect() as found:
                return list(next(found))
        except Exception as wrong:
            if len(expressions) == 1 and _NO_CODE in str(wrong):
                key = _template(expressions[0])
                _PLANS[key] = (_PLANS[key][0], False)  # the next ones need no job
            raise


def _template(expression: str) -> str:
    """Return an expression with the types of its columns in place of their names."""
    return _NAME.sub(lambda found: _KINDS.get(found[0], found[0]), expression)


def _query(expressions: list[str], shown: str = "CAST({} AS STRING)") -> str:
    """Return the query of expressions, or of aggregates: each of those is one of values of its own."""
    if not _AGGREGATE.fullmatch(expressions[0]):
        return f"SELECT {', '.join(shown.format(f'({each})') for each in expressions)} FROM edge"
    columns, tables = [], []
    for at, each in enumerate(expressions):
        match = _AGGREGATE.fullmatch(each)
        assert match is not None, "aggregates are together"
        name, distinct, values = match.groups()
        union = " UNION ALL ".join(f"SELECT {one} AS x FROM edge" for one in values.split(", "))
        made = shown.format(f"{name}({distinct or ''}x)")
        tables.append(f"(SELECT {made} AS y FROM ({union})) AS t{at}")
        columns.append(f"t{at}.y")
    return f"SELECT {', '.join(columns)} FROM {', '.join(tables)}"


def _divided(call: Callable[[list[str]], list[Any]], expressions: list[str]) -> list[Any]:
    """Return the results of a call of many, divided until those are alone for which it fails."""
    if not expressions:
        return []
    try:
        return call(expressions)
    except Exception:  # noqa: BLE001 - a failure is an answer
        if len(expressions) == 1:
            return [None if call.__name__ in {"_types", "_planned"} else False]
    return [each for part in _parts(expressions) for each in _divided(call, part)]


def _parts(expressions: list[str]) -> Iterator[list[str]]:
    size = -(-len(expressions) // _PARTS)
    return (expressions[start : start + size] for start in range(0, len(expressions), size))


class _Process:
    """A process with sessions of Flink, which ends where it takes too long."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._pool: Any = None

    def answers(self, zone: str, expressions: list[str]) -> dict[str, tuple[str | None, Known]]:
        """Return the type and the text of expressions."""
        self._pool = self._pool or multiprocessing.get_context("spawn").Pool(1)
        try:
            asked = self._pool.apply_async(_answers, (zone, self._directory, expressions))
            found: dict[str, tuple[str | None, Known]] = asked.get(_AT_MOST)
            return found
        except multiprocessing.TimeoutError:
            self._pool.terminate()
            self._pool = None
        if len(expressions) == 1:
            raise RuntimeError(f"Flink has no answer in {_AT_MOST} s: {expressions}")
        parts = [self.answers(zone, part) for part in _parts(expressions)]
        return {each: answer for part in parts for each, answer in part.items()}


_SESSIONS: dict[str, Flink] = {}


def _answers(zone: str, directory: str, expressions: list[str]) -> dict[str, Any]:
    if zone not in _SESSIONS:
        _SESSIONS[zone] = Flink(zone, directory)
    return _SESSIONS[zone].answers(expressions)


def _wanted() -> Iterator[tuple[str, str]]:
    for zone, expressions in cases().items():
        yield from ((zone, each) for each in expressions)
    yield from (("UTC", each) for each in aggregates())


def _write(known: dict[tuple[str, str], Any]) -> None:
    lines = [[*key, *known[key]] for key in dict.fromkeys(_wanted()) if key in known]
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    ANSWERS.write_text(text, encoding="utf-8")


def main(directory: str) -> None:
    """Record the answers that are missing.

    Args:
        directory: Where the values are stored for queries.
    """
    lines = ANSWERS.read_text(encoding="utf-8").splitlines() if ANSWERS.exists() else []
    known = {(zone, each): found for zone, each, *found in map(json.loads, lines)}
    missing: dict[tuple[str, int], list[str]] = {}
    for zone, each in dict.fromkeys(_wanted()):
        if (zone, each) not in known:
            together = _AGGREGATES_TOGETHER if _AGGREGATE.fullmatch(each) else _TOGETHER
            missing.setdefault((zone, together), []).append(each)
    process = _Process(directory)
    for (zone, size), expressions in sorted(missing.items(), key=lambda item: len(item[1])):
        for start in range(0, len(expressions), size):
            found = process.answers(zone, expressions[start : start + size])
            known |= {(zone, each): answer for each, answer in found.items()}
            _write(known)
            print(f"{zone}: {start + size} of {len(expressions)}", flush=True)  # noqa: T201


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(sys.argv[1] if len(sys.argv) > 1 else made)
