"""Writes `docs/performance.md`: one screen, three pictures with peers, and what each costs.

    python -m benchmarks.reporting.performance > docs/performance.md

Every number is of the newest result of its program in `benchmarks/results`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.reporting.costs import newest
from benchmarks.reporting.render import table

_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Section:
    """A picture.

    Attributes:
        file: Of results, without its ending; also of the picture.
        title: Heading.
        what: What is measured, and what the peers are.
        ours: Our system that the ratios are of.
    """

    file: str
    title: str
    what: str
    ours: str


SECTIONS = (
    Section(
        "reduce",
        "History",
        "10^7 records reduced by 1,000 keys with a Python function. `rdd` is PySpark's `reduceByKey`, `loop` no engine "
        "at all: a plain dict, records in memory; `sql` is Spark SQL, which calls no function, `tws-row` the same function in PySpark's "
        "`transformWithState`. `mixed` goes live behind the history.",
        "penstock batch",
    ),
    Section(
        "live-state",
        "Live throughput",
        "Micro-batches of 250,000 records change a count and a sum of 200,000 keys. `tws-row` is the same function in "
        "PySpark's `transformWithState`, `sql` is Spark's native streaming aggregation: no Python.",
        "penstock hashmap",
    ),
    Section(
        "latency",
        "Latency",
        "1,000 events a second into a keyed count, from event to sink. `spark-empty` is a query of Spark that does nothing "
        "with the events; PyFlink runs with its default settings.",
        "penstock",
    ),
)

_HEAD = """# Performance

Medians of interleaved rounds on one machine, outputs compared before times count; made by `python -m benchmarks.reporting.performance`
from the newest results. How they are measured, all programs and all figures are in [benchmarks](benchmarks.md); what to set is in
[tuning](tuning.md). Runs are of different days and machines, so compare inside a picture only.
"""

_TAIL = """## What it costs, by place

![What a record and a micro-batch cost, by place](images/cost-by-place.svg)

The time of all slots (tasks at a time), so waiting is in it. `exchange` has the combining of records before it; `Spark` is planning, starting
tasks, shuffling and its logs, and workers that wait. The plain loop and Spark's empty query are the limits of either. For a
job of yours: [where the time goes](tuning.md#where-the-time-goes).
"""


def page() -> str:
    """Return the page as Markdown."""
    return "\n".join([_HEAD, *map(_section, SECTIONS), _TAIL])


def _section(section: Section) -> str:
    result = newest(section.file)
    right = [each for each in result["results"] if each["outputs_equal"]]
    ours = next(each for each in right if each["system"] == section.ours)
    peers = [each for each in right if not each["system"].startswith("penstock")]
    machine = result["machine"]
    return "\n\n".join(
        [
            f"## {section.title}",
            f"![{section.title}: every system](images/bench-{section.file}.svg)",
            section.what,
            table(*_table(ours, peers)),
            (
                f"{machine['cpu']}, {machine['cores']} cores; rounds: {result['runs']}; commit "
                f"{result['commit'][:7]}. Memory is of driver, JVM and workers at their peaks.\n"
            ),
        ]
    )


def _table(
    ours: Mapping[str, Any], peers: Sequence[Mapping[str, Any]]
) -> tuple[list[str], list[list[str]]]:
    if "latency_ms" in ours:
        head = ["system", "p50", "p99", "p50 of ours / its", "micro-batches of a round", "memory"]
        rows = [
            [
                each["system"],
                f"{each['latency_ms']['p50']:,.0f} ms",
                f"{each['latency_ms']['p99']:,.0f} ms",
                _ratio(ours["latency_ms"]["p50"], each["latency_ms"]["p50"]),
                f"{median(each['details']['commits']):,.0f}",
                _memory(each),
            ]
            for each in (ours, *peers)
        ]
        return head, rows
    head = ["system", "records/ms", "ours / its", "µs of all cores per record", "memory"]
    rows = [
        [
            each["system"],
            f"{each['records_per_ms']:,.0f}",
            _ratio(ours["records_per_ms"], each["records_per_ms"]),
            f"{each['options']['parallelism'] * 1000 / each['records_per_ms']:.2f}",
            _memory(each),
        ]
        for each in (ours, *peers)
    ]
    return head, rows


def _ratio(ours: float, its: float) -> str:
    return f"{ours / its:.2g}" if ours / its < 10 else f"{ours / its:.0f}"  # noqa: PLR2004 - two digits


def _memory(each: Mapping[str, Any]) -> str:
    peak = each["peak_memory_bytes"]
    return f"{sum(peak[role] for role in ('driver', 'jvm', 'workers')) / _MIB:,.0f} MiB"


if __name__ == "__main__":
    sys.stdout.write(page())
