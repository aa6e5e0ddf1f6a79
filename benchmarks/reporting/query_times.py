"""The times of single queries of a program that measures several, as a table.

python -m benchmarks.reporting.query_times [benchmarks/results/nexmark.jsonl]
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.reporting.render import read_results

NEWEST = Path(__file__).parents[1] / "results" / "nexmark.jsonl"
OURS, FLINK, SPARK = "penstock batch", "flink-sql", "spark-sql"
_NAMES = {OURS: "Penstock", FLINK: "Flink SQL", SPARK: "Spark SQL"}
_SECONDS = "_seconds"


def times_of(result: Mapping[str, Any], system: str) -> dict[str, float]:
    """Return the median seconds of each query of a system; empty if it did not run."""
    found = next((each for each in result["results"] if each["system"] == system), None)
    details = {} if found is None else found["details"]
    return {
        name.removesuffix(_SECONDS): median(values)
        for name, values in details.items()
        if name.endswith(_SECONDS) and isinstance(values, list)
    }


def query_table(result: Mapping[str, Any]) -> str:
    """Return the times as Markdown."""
    times = {name: times_of(result, name) for name in _NAMES}
    lines = [
        f"| Query | {', s | '.join(_NAMES.values())}, s |",
        "|---|---|---|---|",
    ]
    for query in times[OURS]:
        shown = [f"{times[name][query]:.2f}" if query in times[name] else "" for name in _NAMES]
        lines.append(f"| {query} | {' | '.join(shown)} |")
    return "\n".join(lines) + "\n"


def summary(result: Mapping[str, Any]) -> str:
    """Return on how many queries Penstock takes no longer than Flink SQL, in a sentence."""
    ours, flink = times_of(result, OURS), times_of(result, FLINK)
    both = [name for name in ours if name in flink]
    fast = sum(flink[name] >= ours[name] for name in both)
    return f"Penstock takes no longer than Flink SQL for {fast} of {len(both)} queries."


def main(arguments: list[str]) -> int:
    """Print the table of the newest result."""
    (result,) = read_results(Path(arguments[0]) if arguments else NEWEST)
    sys.stdout.write(f"{query_table(result)}\n{summary(result)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
