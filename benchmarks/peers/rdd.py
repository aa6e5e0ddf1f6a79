"""Programs on PySpark's RDDs, with the same Python functions as ours."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from pyspark import RDD, SparkContext
from spark_session import make_session

from benchmarks.answers.reduce_records import combine
from benchmarks.model.digest_parts import added_up, digest_rows
from benchmarks.model.program import Outputs
from benchmarks.model.shape import Shape
from benchmarks.systems.bounded import BoundedSystem
from benchmarks.systems.serve import serve


def reduce(context: SparkContext, shape: Shape) -> RDD[Any]:
    """Return (key, greatest v, count); records are combined before the shuffle."""
    keys = shape.keys
    records = context.range(shape.records, numSlices=shape.parallelism)
    pairs = records.map(lambda v: (v % keys, (v % keys, v, 1)))
    return pairs.reduceByKey(combine, shape.parallelism).values()


def co_group(context: SparkContext, shape: Shape) -> RDD[Any]:
    """Return 1 per key of either side."""
    sides = [
        context.range(shape.records, numSlices=shape.parallelism).map(
            lambda i: (2 * i, (2 * i, 2 * i + 1, 1.0))
        )
        for _ in "ab"
    ]
    # Integers hash to themselves: even keys would fill every second of an even number of
    # partitions. This many keep both cores busy to the end.
    grouped = sides[0].cogroup(sides[1], 8 * shape.parallelism + 1)
    return grouped.map(lambda _: 1)


PROGRAMS: dict[str, Callable[[SparkContext, Shape], RDD[Any]]] = {
    "reduce": reduce,
    "expressions": reduce,
    "co-group": co_group,
}


class RddPeer(BoundedSystem):
    """A job over an RDD per round."""

    def prepare(self) -> None:
        """Make the session."""
        self._session = make_session(self.shape.parallelism, "rocksdb", self.work / "local")

    def run(self) -> Mapping[str, Any]:
        """Compute all rows and drop them."""
        self._rows().foreachPartition(lambda rows: deque(rows, maxlen=0))
        return {}

    def digest(self) -> Outputs:
        """Compute all rows and digest them where they are."""
        return added_up(self._rows().mapPartitions(digest_rows).collect())

    def close(self) -> None:
        """Stop the session."""
        self._session.stop()

    def _rows(self) -> RDD[Any]:
        return PROGRAMS[self.specification.program](self._session.sparkContext, self.shape)


if __name__ == "__main__":
    serve(RddPeer)
