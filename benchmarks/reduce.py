"""Keyed reduce of generated tuples, in one mode: seconds and records per millisecond.

    python benchmarks/reduce.py --mode mixed --records 4000000 --keys 1000 --runs 3

The first run also starts the JVM and the workers; quote the later ones. The result of every
run is checked: the counts of all keys add up to the number of records.
"""

from __future__ import annotations

import argparse
import sys

from penstock.common import Configuration, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import DataGeneratorSource, HybridSource
from penstock.metrics.listener import set_listeners

LIVE_RECORDS = 1000

MODES: dict[str, dict[str, str]] = {
    "batch": {"execution.runtime-mode": "BATCH"},
    "streaming": {"execution.runtime-mode": "STREAMING"},
    "mixed": {"execution.checkpointing.interval-during-backlog": "0"},
}


def run(mode: str, records: int, keys: int, parallelism: int) -> str:
    """Run once and return a line for people.

    Raises:
        SystemExit: The result is wrong.
    """
    conf = Configuration.from_dict(MODES[mode]).set("parallelism.default", parallelism)
    env = StreamExecutionEnvironment.get_execution_environment(conf)
    history = DataGeneratorSource(lambda v: (v % keys, v, 1), records)
    live = DataGeneratorSource(lambda v: (v % keys, v + records, 1), LIVE_RECORDS)
    source = HybridSource.builder(history).add_source(live).build()
    rolling = (
        env.from_source(source, WatermarkStrategy.no_watermarks(), "records")
        .key_by(lambda r: r[0])
        .reduce(lambda a, b: (a[0], max(a[1], b[1]), a[2] + b[2]))
    )
    # Of every key only results from the end of the input on: the last one has the count.
    last: dict[int, int] = {}
    threshold = records - keys
    late = rolling.filter(lambda r: r[1] >= threshold).map(lambda r: (r[0], r[2]))
    with late.execute_and_collect() as results:
        for key, count in results:
            last[key] = max(count, last.get(key, 0))
        result = results.job_result()
    if sum(last.values()) != records + LIVE_RECORDS:
        sys.exit(f"wrong answer: {sum(last.values()):,} of {records + LIVE_RECORDS:,} records")
    speeds = ", ".join(
        f"{r.name} {r.records:,} records in {r.seconds:.2f} s "
        f"({r.records / r.seconds / 1000:,.0f} records/ms)"
        for r in result.runs
    )
    return f"{mode}: {speeds}"


def main() -> None:
    """Parse arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--mode", choices=MODES, default="mixed")
    parser.add_argument("--records", type=int, default=4_000_000)
    parser.add_argument("--keys", type=int, default=1000)
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    set_listeners()
    for _ in range(arguments.runs):
        line = run(arguments.mode, arguments.records, arguments.keys, arguments.parallelism)
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
