"""A sink for benchmarks: drops rows, and from a moment on digests them.

Rows are tuples of integers, or single integers; floats without a fraction will do. While the file `flag` is missing the sink costs what
`DiscardingSink` costs. Once it is there, every epoch appends a line to the file `results`:
`{"epoch": "0-17", "count": 250000, "digest": 1234}`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from benchmarks.model.digest import MODULUS, as_text, digest_of
from benchmarks.model.program import Outputs
from penstock.datastream.connectors import Committer, Sink, SinkContext, SinkWriter


@dataclass(frozen=True, slots=True)
class DigestSink(Sink):
    """Drops rows while `flag` does not exist, and digests them into `results` when it does.

    Attributes:
        flag: Looked for when a task starts to write.
        results: JSON lines.
        keep: Given an array with a row per column, returns a mask of the rows that are to be
            counted and digested; None takes all.
    """

    kind: ClassVar[str] = "digest"
    flag: str
    results: str
    keep: Callable[[Any], Any] | None = None

    def create_writer(self, context: SinkContext) -> SinkWriter:
        """Return the writer for what is to be done now."""
        return _DigestWriter(digests=Path(self.flag).exists(), keep=self.keep)

    def create_committer(self, context: SinkContext) -> Committer:
        """Return a committer that appends to `results`."""
        return _ResultCommitter(Path(self.results))


def read_outputs(results: Path) -> Outputs:
    """Return the outputs of all epochs in a file of results."""
    lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
    # By epoch: a commit may be repeated.
    epochs = {line["epoch"]: line for line in map(json.loads, lines)}
    count = sum(line["count"] for line in epochs.values())
    return Outputs(count, as_text(sum(line["digest"] for line in epochs.values())))


class _DigestWriter(SinkWriter):
    def __init__(self, *, digests: bool, keep: Callable[[Any], Any] | None) -> None:
        self._digests = digests
        self._keep = keep
        self._count = 0
        self._digest = 0

    def write(self, values: list[Any]) -> None:
        if not self._digests:
            self._count += len(values)
        elif values:
            self._add(np.array(values, dtype=np.int64).reshape(len(values), -1).T)

    def write_columns(self, batch: Any) -> bool:
        if not self._digests:
            self._count += batch.num_rows
        elif batch.num_rows:
            columns = [column.to_numpy(zero_copy_only=False) for column in batch.columns]
            self._add(np.array(columns, dtype=np.int64))
        return True

    def _add(self, columns: Any) -> None:
        if self._keep is not None:
            columns = columns[:, self._keep(columns)]
        self._count += columns.shape[1]
        self._digest = (self._digest + digest_of(*columns)) % MODULUS

    def prepare_commit(self) -> list[Any]:
        return [(self._count, self._digest)] if self._digests else []

    def abort(self) -> None:
        self._count = self._digest = 0


class _ResultCommitter(Committer):
    def __init__(self, results: Path) -> None:
        self._results = results

    def recover(self) -> None:
        """Nothing is staged, so nothing is left over."""

    def commit(self, epoch: str, committables: Sequence[Any]) -> None:
        if not committables:
            return
        count = sum(count for count, _ in committables)
        digest = sum(digest for _, digest in committables) % MODULUS
        with self._results.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps({'epoch': epoch, 'count': count, 'digest': digest})}\n")
