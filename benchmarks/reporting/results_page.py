"""Write the tables of `docs/benchmarks.md`, and the goals of decision 93, from the newest results.

    python -m benchmarks.reporting.results_page

Between `<!-- goals -->` marks: a row per goal. Between `<!-- results -->` marks: a section per file in
`benchmarks/results`, with its picture, which `benchmarks.reporting.plots` draws.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.reporting.costs import RESULTS, newest
from benchmarks.reporting.query_times import query_table, summary
from benchmarks.reporting.render import table

PAGE = RESULTS.parents[1] / "docs" / "benchmarks.md"
GOALS = PAGE.parent / "decisions" / "0093-figures-on-one-commit.md"

SECTIONS: Mapping[str, str] = {
    "reduce": "A Python function reduces `(v % K, v, 1)` by key to `(key, greatest v, count)`.",
    "reduce-many-keys": "The same with a million keys.",
    "reduce-many-keys-tws": "The same beside `transformWithState`.",
    "window-reduce": "The same, summed over tumbling windows of 2K ms of event time.",
    "expressions": "The same `reduce` as aggregates of columns over Parquet files.",
    "window-expressions": "The same `window-reduce` as aggregates of columns over Parquet files.",
    "dataframe": "`expressions` between `from_dataframe` and `to_dataframe`, in a session of plain Spark.",
    "map-batches": "A function of Arrow batches of 10,000 rows, over Parquet files.",
    "aggregate": "`(i % (N/100), 1.0)` summed by key over a window that ends with the stream.",
    "co-group": "Two inputs `(2i, 2i + 1, 1.0)` joined by a window that ends with the stream.",
    "co-group-streaming": "The same with fewer keys, so that streaming systems can take part.",
    "co-process": "Two hybrid sources, and a keyed function with a value state for each.",
    "delayed-deploy": "`aggregate` of history beside live records (10 %); `uncut` emits sums by a timer at the end.",
    "scale": "`reduce` with ten records per key.",
    "switch": "The time from the end of history to the first live output; the seconds are of the switch alone.",
    "switch-ten-million-keys": "The same with ten million keys.",
    "live-state": "Micro-batches of 250,000 records change a count and a sum per key.",
    "live-state-columns": "The same as aggregates of columns.",
    "live-state-sizes": "The same with more keys, and with state in `lmdb`.",
    "latency": "1,000 events a second into a keyed count, from event to sink.",
    "latency-two-levels": "The same through two keyed operators.",
    "latency-hundred-events-per-ms": "The same with 100,000 events a second.",
    "isolation": "Latency of a live pipeline, alone and beside the history of another pipeline.",
    "cold": "From the command line to the first output, with a new JVM and new workers.",
    "kafka": "A topic of two partitions, counted by key up to its end.",
    "kafka-catch-up": "History in Parquet, then the topic, which also holds its last 50,000 records.",
    "kafka-sink": "Numbers written to a new topic; PyFlink commits by a checkpoint a second.",
    "kafka-latency": "From Kafka, through a keyed count, to Kafka, exactly once: from making a record to reading it.",
    "postgres": "A table of three bigints, captured in files, then counted by key.",
    "postgres-changes": "A backlog of 1,000 changes per transaction, read by a job that starts again.",
    "nexmark": "The queries of Nexmark in SQL, one job each; the seconds are the sum of a round.",
}
"""File of results, without its ending, to what it measures; in the order of the page."""

OF_PROPOSALS: Mapping[str, str] = {
    "coded-join": "The job of the proposal CodedRowData: a join without end.",
    "coded-rows": "A row in every encoding: bytes, ns to encode, ns to decode.",
    "booleans": "Ten maps that are not chained, with timestamps (`on`) and without (`off`).",
    "word-count": "Lines to words to counts, with timestamps (`on`) and without (`off`).",
    "object-reuse": "Ten chained maps of dicts of 20 fields: functions that promise, the setting, and no promise.",
}
"""The same for the parts of proposals, which decision 93 has."""

_MIB = 1 << 20
_OURS = "penstock "
_ROLES = ("driver", "jvm", "workers")
_COMMIT = 7
_ROWS = "coded-rows"
_QUERIES = "nexmark"
_LIVE = 10_000
"""Records that a run in mode MIXED has behind those of history."""


def _spread(values: Mapping[str, float]) -> str:
    if values["min"] == values["max"]:
        return f"{values['median']:.2f}"
    return f"{values['min']:.2f}-{values['max']:.2f}"


def _mebibytes(row: Mapping[str, Any], *roles: str) -> str:
    held = sum(row["peak_memory_bytes"].get(role, 0) for role in roles) / _MIB
    return f"{held:,.0f}" if held else ""


def _quantile(row: Mapping[str, Any], name: str) -> str:
    return f"{row['latency_ms'][name]:,.0f}" if "latency_ms" in row else ""


def _detail(row: Mapping[str, Any], name: str) -> str:
    values = row.get("details", {}).get(name)
    return f"{median(values) / _MIB:,.1f}" if values else ""


def _speed(row: Mapping[str, Any]) -> str:
    if not row["outputs_equal"]:
        return "wrong outputs"
    return "" if "latency_ms" in row else f"{row['records_per_ms']:,.1f}"


_COLUMNS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "system": lambda row: str(row["system"]),
    "records": lambda row: f"{row['records']:,}",
    "keys": lambda row: f"{row['options']['keys']:,}",
    "cores": lambda row: str(row["options"].get("parallelism", "")),
    "records/ms": _speed,
    "s of a round": lambda row: _spread(row["seconds"]),
    "s of a micro-batch": lambda row: (
        _spread(row["micro_batch_seconds"]) if "micro_batch_seconds" in row else ""
    ),
    "p50 ms": lambda row: _quantile(row, "p50"),
    "p99 ms": lambda row: _quantile(row, "p99"),
    "log MiB": lambda row: _detail(row, "log_bytes"),
    "snapshot MiB": lambda row: _detail(row, "snapshot_bytes"),
    "local copy MiB": lambda row: _detail(row, "local_store_bytes"),
    "memory MiB": lambda row: _mebibytes(row, *_ROLES),
}
_CAPTION = ("records", "keys", "cores")
"""Columns that are in the caption if all rows have the same."""

_USUAL = {"2 cores", "commit `6cd26e3`"}
"""Facts that the page states once."""


def goals() -> str:
    """Return the table of all goals that results know."""
    rows = [
        (
            figure["id"],
            f"[{figure['ratio'].replace(_OURS, '')}]({page}#{name})",
            f"{figure['value']:,.2f}",
            f"{'≤' if figure.get('bound') == 'at most' else '≥'}{figure['goal']:g}"
            + ("" if figure["reached"] else ", **missed**"),
        )
        for page, names in (("../benchmarks.md", SECTIONS), ("", OF_PROPOSALS))
        for name in names
        for figure in newest(name)["figures"]
    ]
    rows.sort(key=lambda row: int(row[0][1:]))
    return table(("", "ratio or figure", "measured", "goal"), rows)


def sections() -> str:
    """Return a section per file of results."""
    return "\n\n".join(_section(name, what, "images") for name, what in SECTIONS.items())


def of_proposals() -> str:
    """Return the sections of the parts of proposals."""
    return "\n\n".join(_section(*each, "../images") for each in OF_PROPOSALS.items())


TABLES: Mapping[Path, Mapping[str, Callable[[], str]]] = {
    PAGE: {"results": sections},
    GOALS: {"goals": goals, "results": of_proposals},
}
"""Page, to the names of its marks and to what is between them."""


def with_tables(page: Path) -> str:
    """Return a page with its tables in place of the text between its marks."""
    text = page.read_text(encoding="utf-8")
    for name, content in TABLES[page].items():
        begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}\n{content()}\n\n{end}{rest.partition(end)[2]}"
    return text


def main() -> None:
    """Write the tables into the pages."""
    for page in TABLES:
        page.write_text(with_tables(page), encoding="utf-8")


def _section(name: str, what: str, images: str) -> str:
    result = newest(name)
    facts, shown = ([], _encodings(result["results"])) if name == _ROWS else _shown(result)
    if name == _QUERIES:
        shown += f"\n\n{summary(result)}\n\n{query_table(result).rstrip()}"
    facts += [
        "1 round" if result["runs"] == 1 else f"{result['runs']} rounds",
        f"commit `{result['commit'][:_COMMIT]}`",
    ]
    caption = ", ".join(fact for fact in facts if fact not in _USUAL)
    return (
        f"### {name}\n\n{what}\n{caption[:1].upper()}{caption[1:]}.\n\n"
        f"![{name}]({images}/bench-{name}.svg)\n\n{shown}"
    )


def _shown(result: Mapping[str, Any]) -> tuple[list[str], str]:
    """Return the facts that all rows of a result share, and its table."""
    rows = [dict(row) for row in result["results"]]
    records = {row["records"] for row in rows}
    fewest = min(records)
    facts = []
    if records == {fewest, fewest + _LIVE}:
        facts.append(f"{fewest:,} records of history")
        rows = [row | {"records": fewest} for row in rows]
    cells = {name: [cell(row) for row in rows] for name, cell in _COLUMNS.items()}
    for name in _CAPTION:
        if len(set(cells[name])) == 1:
            (value, *_) = cells.pop(name)
            if name != "records" or not facts:
                facts.append(f"{value} {name}")
    if any("latency_ms" in row for row in rows):
        del cells["s of a round"]
        facts.append(f"rounds of {rows[0]['seconds']['median']:.0f} s")
    kept = {name: column for name, column in cells.items() if any(column)}
    return facts, table(list(kept), [list(row) for row in zip(*kept.values(), strict=True)])


def _encodings(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a row per encoding, a column per shape of rows."""
    by_shape: dict[str, dict[str, str]] = {}
    for row in rows:
        shape, _, encoding = row["system"].partition(" ")
        figures = [
            f"{median(row['details'][name]):,.0f}"
            for name in ("bytes_per_row", "encode_ns_per_row", "decode_ns_per_row")
        ]
        by_shape.setdefault(shape, {})[encoding] = " / ".join(figures)
    encodings = next(iter(by_shape.values()))
    return table(
        ("encoding", *by_shape),
        [(each, *(of_shape[each] for of_shape in by_shape.values())) for each in encodings],
    )


if __name__ == "__main__":
    main()
