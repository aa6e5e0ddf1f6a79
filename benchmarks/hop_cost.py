"""What a hop costs per record: the call of the next function, and writing and reading its frame.

    python -m benchmarks.hop_cost

Nanoseconds of CPU per record, the least of several repetitions, in this process. No Spark takes
part: where nothing has to be exchanged, frames stay in their subtask.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from penstock.wire.frame import (
    FrameHeader,
    FrameKind,
    decode_records,
    encode_records,
    read_header,
)

RECORDS = 4096
"""Of a frame, as by default."""

REPETITIONS = 5
CALLS = 10

KINDS: dict[str, Callable[[int], Any]] = {
    "booleans": lambda _: True,
    "integers": lambda index: 1_000_000 + index,
    "strings": lambda index: f"word {index}",
    "(string, integer)": lambda index: (f"word {index}", 1),
    "dicts of 20 fields": lambda index: {f"f{field}": index + field for field in range(20)},
}


def same(value: Any) -> Any:
    """Return the record."""
    return value


def nanoseconds(call: Callable[[], object]) -> float:
    """Return the CPU time of a call per record of a frame."""
    least = float("inf")
    for _ in range(REPETITIONS):
        started = time.process_time()
        for _ in range(CALLS):
            call()
        least = min(least, time.process_time() - started)
    return least / CALLS / RECORDS * 1e9


def row(name: str, make: Callable[[int], Any]) -> str:
    """Measure records of one kind; return a row of a Markdown table."""
    values = [make(index) for index in range(RECORDS)]
    stamps = list(range(RECORDS))
    header = FrameHeader(0, 0, 0, 0, FrameKind.RECORDS, 0)
    without = encode_records(header, values, None)
    with_stamps = encode_records(header, values, stamps)
    written = nanoseconds(lambda: encode_records(header, values, None))
    read = nanoseconds(lambda: decode_records(read_header(without), without))
    costs = (
        nanoseconds(lambda: list(map(same, values))),
        written,
        read,
        nanoseconds(lambda: encode_records(header, values, stamps)) - written,
        nanoseconds(lambda: decode_records(read_header(with_stamps), with_stamps)) - read,
    )
    return f"| {name} | " + " | ".join(f"{cost:.0f}" for cost in costs) + " |"


def main() -> None:
    """Print the table."""
    sys.stdout.write("| ns per record | call | write | read | timestamps: write | read |\n")
    sys.stdout.write("|---|---|---|---|---|---|\n")
    for name, make in KINDS.items():
        sys.stdout.write(row(name, make) + "\n")


if __name__ == "__main__":
    main()
