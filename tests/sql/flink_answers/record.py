"""Record Flink's answers: evaluate the cases with PyFlink and write `answers.jsonl`.

    $ENVIRONMENT/bin/python -m tests.sql.flink_answers.record

ENVIRONMENT is what `benchmarks/peers/flink/make_environment.sh` makes. Each line is `[zone, expression, type, text]`: the text is
CAST(… AS STRING) of the value, null of NULL, and `false` where Flink fails. Without a type Flink refuses the expression.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyflink.table import (  # type: ignore[import-not-found]
    EnvironmentSettings,
    TableEnvironment,
)

from tests.sql.flink_answers.cases import cases
from tests.sql.flink_answers.columns import COLUMNS, ROWS

ANSWERS = Path(__file__).with_name("answers.jsonl")
_TOGETHER = 40
_ONE = "one_row"
# Flink's planner fails where it computes a constant that is NaN or an infinity.
_CONSTANT = re.compile(r"CAST\(('[^']*') AS (FLOAT|DOUBLE)\)")
_AT_RUN_TIME = r"CAST(CASE WHEN seed > 0 THEN \1 ELSE '0' END AS \2)"


class Flink:
    """A session of Flink SQL."""

    def __init__(self, zone: str) -> None:
        """Start it.

        Args:
            zone: The `table.local-time-zone`.
        """
        self._env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
        for key, value in {
            "table.local-time-zone": zone,
            "parallelism.default": "1",
            "restart-strategy.type": "disable",
        }.items():
            self._env.get_config().set(key, value)
        self._env.execute_sql(
            f"CREATE TEMPORARY TABLE {_ONE} (seed INT) WITH ('connector' = 'datagen',"
            " 'number-of-rows' = '1', 'fields.seed.min' = '1', 'fields.seed.max' = '1')"
        )
        values = {name: text for name, (_, text) in COLUMNS.items()}
        values |= {name: text for name, (_, text, _) in ROWS.items()}
        columns = ", ".join(
            f"CASE WHEN seed > 0 THEN {_CONSTANT.sub(_AT_RUN_TIME, value)} END AS {name}"
            for name, value in values.items()
        )
        self._env.execute_sql(f"CREATE TEMPORARY VIEW edge AS SELECT {columns} FROM {_ONE}")

    def types(self, expressions: list[str]) -> list[str | None]:
        """Return the types of expressions, None of one that is refused."""
        try:
            text = f"SELECT {', '.join(expressions)} FROM edge"
            found = self._env._j_tenv.sqlQuery(text).getResolvedSchema()
            kinds = [each.getLogicalType() for each in found.getColumnDataTypes()]
        except Exception:  # noqa: BLE001 - a refusal is an answer
            return [None] if len(expressions) == 1 else _divided(self.types, expressions)
        return [str(each.asSummaryString()).removesuffix(" NOT NULL") for each in kinds]

    def texts(self, expressions: list[str]) -> list[Any]:
        """Return the values as texts; False for one that fails."""
        inside = ", ".join(f"CAST(({each}) AS STRING)" for each in expressions)
        try:
            with self._env.execute_sql(f"SELECT {inside} FROM edge").collect() as found:
                return list(next(found))
        except Exception:  # noqa: BLE001 - a failure is an answer
            return [False] if len(expressions) == 1 else _divided(self.texts, expressions)


def _divided(call: Callable[[list[str]], list[Any]], expressions: list[str]) -> list[Any]:
    size = max(1, len(expressions) // 4)
    starts = range(0, len(expressions), size)
    return [each for start in starts for each in call(expressions[start : start + size])]


def main() -> None:
    """Record all answers."""
    wanted = cases()
    with ANSWERS.open("w", encoding="utf-8") as out:
        for zone, expressions in wanted.items():
            flink = Flink(zone)
            for start in range(0, len(expressions), _TOGETHER):
                part = expressions[start : start + _TOGETHER]
                kinds = dict(zip(part, flink.types(part), strict=True))
                typed = [each for each, kind in kinds.items() if kind is not None]
                values = dict(zip(typed, flink.texts(typed), strict=True)) if typed else {}
                for each, kind in kinds.items():
                    line = [zone, each, kind, values.get(each, False)]
                    out.write(json.dumps(line, ensure_ascii=False) + "\n")
                out.flush()


if __name__ == "__main__":
    main()
