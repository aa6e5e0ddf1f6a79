"""A peer whose program is one Spark DataFrame, computed by one job a round."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import Any

from pyspark.sql import DataFrame
from spark_session import make_session

from benchmarks.answers import reduce_records
from benchmarks.model.digest_parts import added_up, digest_batches
from benchmarks.model.program import Outputs
from benchmarks.systems.bounded import BoundedSystem

_PARTS = "count LONG, digest STRING"
KEEP = {"reduce": reduce_records.is_output}
"""Programs in which not every row is an output."""


class FramePeer(BoundedSystem):
    """Subclasses implement `outputs`; its result goes to Spark's `noop` sink."""

    def prepare(self) -> None:
        """Make the session."""
        self.session = make_session(self.shape.parallelism, "rocksdb", self.work / "local")

    @abstractmethod
    def outputs(self) -> DataFrame:
        """Return the rows of the program: columns of numbers."""

    def run(self) -> Mapping[str, Any]:
        """Compute all rows and drop them."""
        self.outputs().write.format("noop").mode("overwrite").save()
        return {}

    def digest(self) -> Outputs:
        """Compute all rows and digest them where they are."""
        made = KEEP.get(self.specification.program)
        keep = None if made is None else partial(made, self.shape)
        return added_up(self.outputs().mapInArrow(partial(digest_batches, keep), _PARTS).collect())

    def close(self) -> None:
        """Stop the session."""
        self.session.stop()
