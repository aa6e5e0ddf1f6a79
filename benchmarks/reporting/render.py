"""Tables for the documentation, from what `python -m benchmarks --json` printed.

    python -m benchmarks live-state --append results.jsonl
    python -m benchmarks.reporting.render results.jsonl > table.md

One JSON object a line, oldest first; of every program the newest one counts. A file is named after
its program, or program and case (`live-state-sizes.jsonl`), and so are its table and its picture, which
`benchmarks.reporting.plots` draws.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

_MIB = 1 << 20


def read_results(path: Path) -> list[dict[str, Any]]:
    """Return the newest object of each program in a file of JSON lines."""
    lines = path.read_text(encoding="utf-8").splitlines()
    objects = [json.loads(line) for line in lines if line.strip()]
    return list({each["name"]: each for each in objects}.values())


def title_of(result: dict[str, Any], path: Path) -> str:
    """Return the title of a result: the name of its file, if that begins with the program's."""
    name = str(result["name"])
    return path.stem if path.stem.startswith(name) else name


def render(result: dict[str, Any], title: str | None = None) -> str:
    """Return one program's tables as Markdown.

    Args:
        result: What was measured.
        title: Of the section and the picture; None is the program's name.
    """
    name = title or result["name"]
    machine, versions = result["machine"], result["versions"]
    known = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    parts = [
        f"### {name}",
        (
            f"{machine['cpu']}, {machine['cores']} cores; {known}; commit {result['commit']}; "
            f"{result['runs']} interleaved rounds."
        ),
        f"![{name}: every system](images/bench-{name}.svg)",
        table(*_columns(result["results"])),
    ]
    if result["figures"]:
        rows = [
            (f["id"], f["ratio"], f"{f['value']:,.2f}", _goal(f), _yes(f["reached"]))
            for f in result["figures"]
        ]
        parts.append(table(("figure", "ratio", "value", "goal", "reached"), rows))
    if result["skipped"]:
        left_out = [
            f"{s['system']} at {s['keys']:,} keys: {s['reason']}" for s in result["skipped"]
        ]
        parts.append("Left out: " + "; ".join(left_out))
    return "\n\n".join(parts) + "\n"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    first, *others = ["| " + " | ".join(line) + " |" for line in (header, *rows)]
    return "\n".join([first, "|---" * len(header) + "|", *others])


def _speed(each: dict[str, Any]) -> str:
    return f"{each['records_per_ms']:,.1f}" if each["outputs_equal"] else "wrong outputs"


def _quantile(each: dict[str, Any], name: str) -> str:
    found = each.get("latency_ms", {}).get(name)
    return "" if found is None else f"{found:,.0f}"


def _cold(each: dict[str, Any]) -> str:
    found = each.get("details", {}).get("cold_seconds")
    return "" if found is None else f"{found:.1f}"


def _detail(each: dict[str, Any], name: str, unit: int = 1) -> str:
    """Return the median of what the rounds told, in units; nothing if they did not."""
    found = each.get("details", {}).get(name)
    return f"{median(found) / unit:,.{1 if unit > 1 else 0}f}" if found else ""


def _mebibytes(each: dict[str, Any], role: str) -> str:
    return f"{each['peak_memory_bytes'].get(role, 0) / _MIB:,.0f}"


def _goal(figure: dict[str, Any]) -> str:
    return f"{'at most ' if figure.get('bound') == 'at most' else ''}{figure['goal']:g}"


def _spread(values: dict[str, float]) -> str:
    return f"{values['median']:.2f} ({values['min']:.2f} to {values['max']:.2f})"


def _yes(reached: bool) -> str:  # noqa: FBT001 - a cell
    return "yes" if reached else "no"


COLUMNS: tuple[tuple[str, Callable[[dict[str, Any]], str]], ...] = (
    ("system", lambda each: str(each["system"])),
    ("records", lambda each: f"{each['records']:,}"),
    ("keys", lambda each: f"{each['options']['keys']:,}"),
    ("cores", lambda each: str(each["options"].get("parallelism", ""))),
    ("records/ms", _speed),
    ("s of a round", lambda each: _spread(each["seconds"])),
    (
        "s of a micro-batch",
        lambda each: _spread(each["micro_batch_seconds"]) if "micro_batch_seconds" in each else "",
    ),
    ("p50 ms", lambda each: _quantile(each, "p50")),
    ("p99 ms", lambda each: _quantile(each, "p99")),
    ("bytes a row", lambda each: _detail(each, "bytes_per_row")),
    ("ns to encode", lambda each: _detail(each, "encode_ns_per_row")),
    ("ns to decode", lambda each: _detail(each, "decode_ns_per_row")),
    ("log MiB", lambda each: _detail(each, "log_bytes", _MIB)),
    ("snapshot MiB", lambda each: _detail(each, "snapshot_bytes", _MIB)),
    ("local copy MiB", lambda each: _detail(each, "local_store_bytes", _MIB)),
    ("cold s", _cold),
    ("JVM MiB", lambda each: _mebibytes(each, "jvm")),
    ("workers MiB", lambda each: _mebibytes(each, "workers")),
    ("worker MiB", lambda each: _mebibytes(each, "largest_worker")),
)
"""Columns of a result's table; those with nothing in them, and those that say the same in every
row and are not about speed, are left out."""

_ALWAYS = frozenset({"system", "keys", "records/ms", "s of a round", "worker MiB"})
_IF_ANY = frozenset({"p50 ms", "p99 ms", "log MiB"})
"""Columns that say something although they say the same in every row."""


def _columns(results: list[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    columns = {name: [cell(each) for each in results] for name, cell in COLUMNS}
    telling = {
        name: cells
        for name, cells in columns.items()
        if name in _ALWAYS or len(set(cells)) > 1 or (name in _IF_ANY and cells[0])
    }
    return list(telling), [list(row) for row in zip(*telling.values(), strict=True)]


def main(arguments: Sequence[str]) -> int:
    """Render the files named on the command line to standard output."""
    for name in arguments:
        for result in read_results(Path(name)):
            sys.stdout.write(render(result, title_of(result, Path(name))) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
