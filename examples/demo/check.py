"""The independent answer: Spark SQL over the same files, compared row by row.

Nothing of Penstock takes part in it: the alerts come from a window function, not from timers,
and the totals from `GROUP BY`, not from state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from examples.demo.answers import KEYS, Answers, Record, last_rows, rows_of
from examples.demo.errors import DemoCheckError
from examples.demo.job import DELAYED_MINUTES, OUT_OF_ORDER, SILENCE_MS

MAX_WATERMARK = 2**63 - 1
"""The watermark after the end of a bounded input."""

SHOWN = 3
"""Differences in a message."""

_TOTALS = {
    "aircraft": """
        SELECT tailnum, count(*) AS flights, count_if(NOT cancelled) AS departures,
               coalesce(sum(dep_delay), 0) AS delay_minutes, avg(dep_delay) AS mean_delay
        FROM departures GROUP BY tailnum
    """,
    "routes": """
        SELECT carrier, origin, count(*) AS flights, count_if(NOT cancelled) AS departures,
               count_if(dep_delay > :delayed) AS delayed,
               coalesce(sum(dep_delay), 0) AS delay_minutes
        FROM departures GROUP BY carrier, origin
    """,
}

_ALERTS = """
    SELECT tailnum, dep_ms AS last_ms, dep_ms + :silence AS alert_ms
    FROM (
        SELECT tailnum, dep_ms,
               lead(dep_ms) OVER (PARTITION BY tailnum ORDER BY dep_ms) AS next_ms
        FROM departures WHERE NOT cancelled
    )
    WHERE (next_ms IS NULL OR next_ms - dep_ms > :silence) AND dep_ms <= :watermark - :silence
"""


@dataclass(frozen=True, slots=True)
class Expected:
    """The answers of Spark SQL.

    Attributes:
        answers: They.
        flights: Records in the files.
        watermark_ms: Up to which alerts were computed.
    """

    answers: Answers
    flights: int
    watermark_ms: int


def expected_answers(files: Sequence[Path], *, ended: bool) -> Expected:
    """Compute the answers over `files` with Spark SQL, in the session that jobs ran in.

    Args:
        files: Files or directories.
        ended: Whether the input ended. If not, it could have gone on, and what its last
            watermark has not reached is undecided.
    """
    session = SparkSession.builder.getOrCreate()

    def rows(query: str, **values: int) -> Any:
        return session.sql(query, values).toArrow()

    session.read.parquet(*map(str, files)).createOrReplaceTempView("departures")
    last = {
        result: last_rows(result, rows(_TOTALS[result], delayed=DELAYED_MINUTES), len(key))
        for result, key in KEYS.items()
    }
    greatest = "SELECT max(dep_ms), count(*) FROM departures"
    ((greatest_ms, flights),) = rows_of(rows(greatest))
    # As the watermark strategy defines it.
    watermark = MAX_WATERMARK if ended else greatest_ms - OUT_OF_ORDER.to_millis() - 1
    alerts = rows(_ALERTS, silence=SILENCE_MS, watermark=watermark)
    return Expected(Answers(last, Counter(rows_of(alerts))), flights, watermark)


def check(found: Answers, expected: Answers, program: str = "the job") -> None:
    """Compare two answers exactly.

    Args:
        found: What the job wrote.
        expected: What Spark SQL says.
        program: What wrote `found`, for the message.

    Raises:
        DemoCheckError: They differ; names the first differences of every result.
    """
    differences = [
        f"{result}: {len(different)} differ, first {'; '.join(different[:SHOWN])}"
        for result, different in _differences(found, expected)
        if different
    ]
    if differences:
        raise DemoCheckError(
            f"{program} and Spark SQL disagree: " + " | ".join(differences),
            hint="Report this with the output directory: the engine gave a wrong answer.",
        )


def _differences(found: Answers, expected: Answers) -> Iterator[tuple[str, list[str]]]:
    for result in KEYS:
        ours, theirs = found.last[result], expected.last[result]
        keys = _in_order(ours.keys() | theirs.keys())
        yield (
            result,
            [
                f"{key} is {ours.get(key)} instead of {theirs.get(key)}"
                for key in keys
                if ours.get(key) != theirs.get(key)
            ],
        )
    ours_n, theirs_n = found.alerts, expected.alerts
    yield (
        "alerts",
        [
            f"{alert} is there {ours_n[alert]} times instead of {theirs_n[alert]}"
            for alert in _in_order(ours_n.keys() | theirs_n.keys())
            if ours_n[alert] != theirs_n[alert]
        ],
    )


def _in_order(records: Iterable[Record]) -> list[Record]:
    # Keys hold nulls, which have no order of their own.
    return sorted(records, key=lambda record: tuple(map(str, record)))
