"""Tables for the documentation, from what `penstock bench --json` printed.

    penstock bench live-state --append results.jsonl
    python -m penstock.bench.render results.jsonl > table.md

One JSON object a line, oldest first; of every program the newest one counts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_MIB = 1 << 20


def read_results(path: Path) -> list[dict[str, Any]]:
    """Return the newest object of each program in a file of JSON lines."""
    lines = path.read_text(encoding="utf-8").splitlines()
    objects = [json.loads(line) for line in lines if line.strip()]
    return list({each["name"]: each for each in objects}.values())


def render(result: dict[str, Any]) -> str:
    """Return one program's tables as Markdown."""
    machine, versions = result["machine"], result["versions"]
    known = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    parts = [
        f"### {result['name']}",
        (
            f"{machine['cpu']}, {machine['cores']} cores; {known}; commit {result['commit']}; "
            f"{result['runs']} interleaved rounds."
        ),
        table(
            ("system", "keys", "records/ms", "s of a round", "s of a micro-batch", "worker MiB"),
            [_row(each) for each in result["results"]],
        ),
    ]
    if result["figures"]:
        rows = [
            (f["id"], f["ratio"], f"{f['value']:,.2f}", f"{f['goal']:g}", _yes(f["reached"]))
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
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _row(result: dict[str, Any]) -> tuple[str, ...]:
    return (
        result["system"],
        f"{result['options']['keys']:,}",
        f"{result['records_per_ms']:,.1f}" if result["outputs_equal"] else "wrong outputs",
        _spread(result["seconds"]),
        _spread(result["micro_batch_seconds"]) if "micro_batch_seconds" in result else "",
        f"{result['peak_memory_bytes'].get('largest_worker', 0) / _MIB:,.0f}",
    )


def _spread(values: dict[str, float]) -> str:
    return f"{values['median']:.2f} ({values['min']:.2f} to {values['max']:.2f})"


def _yes(reached: bool) -> str:  # noqa: FBT001 - a cell
    return "yes" if reached else "no"


def main(arguments: Sequence[str]) -> int:
    """Render the files named on the command line to standard output."""
    for name in arguments:
        for result in read_results(Path(name)):
            sys.stdout.write(render(result) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
