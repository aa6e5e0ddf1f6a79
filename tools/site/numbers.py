"""The table of speeds that the README and the benchmarks show, from their results.

python -m tools.site.numbers
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.reporting.render import read_results

TOP = Path(__file__).parents[2]
PAGES = {
    "README.md": "docs/benchmarks.md",
    "docs/benchmarks.md": "",
}
"""Page that has the table, to the page of the benchmarks as it is linked there."""

_BLOCK = re.compile(r"(<!-- numbers -->\n).*?(<!-- /numbers -->)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Speed:
    """One row of the table.

    Attributes:
        what: What is done.
        program: The program of the benchmarks; its file of results and its section have this name.
        ours: The system that is Penstock.
        peer: The system beside it; None if none was measured.
        called: What the peer is called; nothing without one.
    """

    what: str
    program: str
    ours: str
    peer: str | None = None
    called: str = ""


SPEEDS = (
    Speed("history, summed per key", "reduce", "penstock batch", "flink-java-batch", "Flink, Java"),
    Speed(
        "history, summed per key and window", "window-reduce", "penstock batch", "sql", "Spark SQL"
    ),
    Speed(
        "history, as aggregates of columns",
        "expressions",
        "penstock batch",
        "sql-files",
        "Spark SQL",
    ),
    Speed(
        "live, 200,000 keys, of columns",
        "live-state-columns",
        "penstock hashmap expressions",
        "sql",
        "Spark SQL",
    ),
    Speed("a topic of Kafka, counted", "kafka", "penstock streaming", "pyflink-process", "PyFlink"),
)
"""Rows in records per millisecond: what is fast, and what is not."""

LATENCIES = (
    Speed("1,000 events/s, to the sink", "latency", "penstock", "pyflink-thread", "PyFlink"),
    Speed("Kafka to Kafka, exactly once", "kafka-latency", "penstock streaming"),
)
"""Rows in milliseconds, for half of the results and for 99 of 100."""


def render_numbers(link: str) -> str:
    """Return the tables as markdown.

    Args:
        link: Where the page of the benchmarks is.
    """
    rows = [
        *("| On two cores | Penstock | Beside it |", "|---|---|---|"),
        *(_row(each, link, _speed) for each in SPEEDS),
        *(_row(each, link, _latency) for each in LATENCIES),
    ]
    return "\n".join(rows) + "\n"


def with_numbers(text: str, link: str) -> str:
    """Return a page with the tables in place of what is between its two marks."""
    return _BLOCK.sub(lambda found: f"{found[1]}{render_numbers(link)}{found[2]}", text)


def main() -> None:
    """Write the tables into the pages that have them."""
    for name, link in PAGES.items():
        page = TOP / name
        page.write_text(with_numbers(page.read_text(encoding="utf-8"), link), encoding="utf-8")


def _row(each: Speed, link: str, cell: Any) -> str:
    (result,) = read_results(TOP / "benchmarks" / "results" / f"{each.program}.jsonl")
    # Of several numbers of keys the first one, as of the others.
    of_system = {found["system"]: cell(found) for found in reversed(result["results"])}
    beside = "" if each.peer is None else f"{each.called}: {of_system[each.peer]}"
    return f"| [{each.what}]({link}#{each.program}) | {of_system[each.ours]} | {beside} |"


def _speed(found: dict[str, Any]) -> str:
    return f"{found['records_per_ms']:,.0f} records/ms"


def _latency(found: dict[str, Any]) -> str:
    return f"{found['latency_ms']['p50']:,.0f} ms, 99 %: {found['latency_ms']['p99']:,.0f} ms"


if __name__ == "__main__":
    main()
