"""Joins the parts of `nexmark`, measured one after the other, to the result of one run of all of its queries.

    python -m benchmarks nexmark -o part=1 --append parts.jsonl    # …, part=7
    python -m benchmarks.joined_parts parts.jsonl >> benchmarks/results/nexmark.jsonl

A round is the rounds of all parts that have its number; how long the processes took to start is left out.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.model.digest import MODULUS, as_text
from benchmarks.model.errors import BenchRequestError
from benchmarks.model.measurement import spread
from benchmarks.programs.nexmark import PART, PARTS

_SAME = ("name", "records", "keys", "machine", "versions", "commit", "runs", "settings")
_SECONDS = "_seconds"


def joined(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return one result of the newest result of each part.

    Raises:
        BenchRequestError: A part is missing, or they were not measured alike.
    """
    newest = {each["options"][PART]: each for each in parts}
    missing = set(range(1, PARTS + 1)) - newest.keys()
    if missing:
        raise BenchRequestError(
            f"there is no result of part {', '.join(map(str, sorted(missing)))}",
            hint=f"Measure it: python -m benchmarks nexmark -o {PART}={min(missing)}",
        )
    chosen = [newest[number] for number in range(1, PARTS + 1)]
    first = chosen[0]
    for name in _SAME:
        if any(each[name] != first[name] for each in chosen):
            raise BenchRequestError(
                f"the parts have not the same {name}",
                hint="Measure all of them with the same options, at one commit, on one machine.",
            )
    names = dict.fromkeys(each["system"] for part in chosen for each in part["results"])
    results = [_joined_system(name, chosen) for name in names]
    return {
        **first,
        "wall_seconds": round(sum(each["wall_seconds"] for each in chosen), 1),
        "options": {**first["options"], PART: 0},
        "results": results,
        "ratios": _ratios(first["ratios"], results),
        "skipped": [each for part in chosen for each in part["skipped"]],
    }


def _joined_system(name: str, parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    found = [each for part in parts for each in part["results"] if each["system"] == name]
    queries = {
        query: seconds
        for each in found
        for query, seconds in each["details"].items()
        if query.endswith(_SECONDS) and isinstance(seconds, list)
    }
    rounds = [sum(some) for some in zip(*queries.values(), strict=True)]
    records = sum(each["records"] for each in found)
    roles = {role for each in found for role in each["peak_memory_bytes"]}
    digest = sum(int(each["outputs"]["digest"], 16) for each in found)
    return {
        **found[0],
        "records": records,
        "seconds": spread(rounds),
        "records_per_ms": round(records / median(rounds) / 1000, 3),
        "peak_memory_bytes": {
            role: max(each["peak_memory_bytes"].get(role, 0) for each in found)
            for role in sorted(roles)
        },
        "outputs": {
            "count": sum(each["outputs"]["count"] for each in found),
            "digest": as_text(digest % MODULUS),
        },
        "outputs_equal": all(each["outputs_equal"] for each in found),
        "details": queries,
    }


def _ratios(names: Iterable[str], results: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the ratios of throughput that one run tells, such as `ours / a peer, 1,000 records`."""
    speeds = {each["system"]: each["records_per_ms"] for each in results if each["outputs_equal"]}
    found = {}
    for name in names:
        above, _, rest = name.partition(" / ")
        below = rest.partition(",")[0]
        if above in speeds and below in speeds:
            found[name] = round(speeds[above] / speeds[below], 3)
    return found


def main(arguments: list[str]) -> int:
    """Print the joined result of a file of parts."""
    lines = Path(arguments[0]).read_text(encoding="utf-8").splitlines()
    sys.stdout.write(json.dumps(joined([json.loads(line) for line in lines])) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
