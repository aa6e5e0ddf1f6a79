"""What the commit of a file sink costs the driver, with and without compaction, without Spark.

    python -m benchmarks.commit_cost --epochs 600 --rows 100

Epochs of two tasks are staged and committed in turn by a sink that shows each file, and by one that merges files of a hundred
micro-batches in a thread. Printed are the median and the 99th percentile of a commit in milliseconds, the seconds that
`publish` took in the end, and the number of files that a reader finds.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from penstock.common import Row, Types
from penstock.datastream.connectors.file_system import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    FileFormat,
    FileSink,
    OutputFileConfig,
)
from penstock.graph.endpoints import Committer, SinkContext

ROW = Types.ROW_NAMED(["text", "n"], [Types.STRING(), Types.LONG()])
TASKS = 2
CHECKPOINTS = 100


@dataclass(slots=True)
class Side:
    """A sink, and what its commits took.

    Attributes:
        name: For people.
        sink: The sink.
        context: Of its tasks.
        committer: Its committer.
        milliseconds: Of each commit.
    """

    name: str
    sink: FileSink
    context: SinkContext
    committer: Committer = field(init=False)
    milliseconds: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin as a driver does."""
        self.committer = self.sink.create_committer(replace(self.context, subtask=-1))
        self.committer.recover()

    def epoch(self, number: int, rows: list[Row]) -> None:
        """Stage an epoch, and commit it."""
        handles = []
        for subtask in range(TASKS):
            writer = self.sink.create_writer(replace(self.context, subtask=subtask))
            writer.write(rows)
            handles += writer.prepare_commit()
        started = time.perf_counter()
        self.committer.commit(f"0-{number}", handles)
        self.milliseconds.append(1000 * (time.perf_counter() - started))


def side(name: str, root: Path, *, merges: bool) -> Side:
    """Return a sink of Parquet files."""
    builder = (
        FileSink.for_bulk_format(root / name, FileFormat.PARQUET)
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .with_output_file_config(OutputFileConfig.builder().with_part_suffix(".parquet").build())
    )
    if merges:
        strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(CHECKPOINTS)
        builder.enable_compact(strategy.build(), FileCompactor.concat_file_compactor())
    context = SinkContext("0123456789abcdef", "s0", 0, ROW, name, None, root / f"{name}-job")
    return Side(name, builder.build(), context)


def main(arguments: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Milliseconds of a commit of a file sink.")
    parser.add_argument("--epochs", type=int, default=600)
    parser.add_argument("--rows", type=int, default=100, help="per task and epoch")
    parser.add_argument("--directory", help="where files are written; a temporary one by default")
    given = parser.parse_args(arguments)
    rows = [Row(text=f"text {n}", n=n) for n in range(given.rows)]
    with tempfile.TemporaryDirectory(prefix="penstock-commits-", dir=given.directory) as root:
        sides = [side(name, Path(root), merges=name == "merged") for name in ("shown", "merged")]
        for number in range(given.epochs):
            for each in sides:
                each.epoch(number, rows)
        for each in sides:
            started = time.perf_counter()
            each.committer.publish()
            seconds = time.perf_counter() - started
            each.committer.close()
            files = len([*(Path(root) / each.name).glob("*.parquet")])
            cuts = statistics.quantiles(each.milliseconds, n=100)
            sys.stdout.write(
                f"{each.name}: p50 {cuts[49]:.2f} ms, p99 {cuts[98]:.2f} ms, "
                f"published in {seconds:.2f} s, {files:,} files\n"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
