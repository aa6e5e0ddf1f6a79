"""Spill directory of a task of a batch run, and the spilled bytes of each operator.

    <local directory>/penstock-spill-<random>/     mode 0700, made at the first spill
        7.mdb                                      mode 0600, removed when it has been read

The directory is removed when the task ends, however it ends; after a SIGKILL it goes with the
local directories of the executor.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from weakref import WeakSet

from penstock.errors import SpillError
from penstock.metrics.values import CounterValue, DistributionValue, MetricValue
from penstock.runtime.spill.spill_store import SpillStore

SPILLED_FILES = "numFilesSpilled"
SPILLED_BYTES = "numBytesSpilled"
SPILL_DEPTH = "spillDepth"


@dataclass(slots=True)
class SpillCounts:
    """Spilled data of one operator since the last report.

    Attributes:
        files: Files that had records of it; those of one key group are one file.
        bytes: Bytes written to them.
        depths: In how many sorted runs, which lie over each other, key groups were written.
    """

    files: int = 0
    bytes: int = 0
    depths: DistributionValue = field(default_factory=DistributionValue)

    def add(self, size_bytes: int) -> None:
        """Count a file."""
        self.files += 1
        self.bytes += size_bytes

    def add_depth(self, depth: int) -> None:
        """Count a key group."""
        self.depths = self.depths.merged(DistributionValue(1, depth, depth, depth))

    def take(self, uid: str) -> dict[str, MetricValue]:
        """Return the metrics of an operator and start again; nothing if it did not spill."""
        if not self.files:
            return {}
        taken: dict[str, MetricValue] = {
            f"{uid}.{SPILLED_FILES}": CounterValue(self.files),
            f"{uid}.{SPILLED_BYTES}": CounterValue(self.bytes),
        }
        if self.depths.count:
            taken[f"{uid}.{SPILL_DEPTH}"] = self.depths
        self.files, self.bytes, self.depths = 0, 0, DistributionValue()
        return taken


class SpillSpace:
    """A directory of spill files, and the memory beyond which to use it.

    Attributes:
        memory_bytes: `execution.sorted-inputs.memory`.
    """

    def __init__(self, memory_bytes: int, local_directory: Path | None = None) -> None:
        """Create nothing yet."""
        self.memory_bytes = memory_bytes
        self._local = local_directory
        self._directory: Path | None = None
        self._numbers = count()
        self._stores: WeakSet[SpillStore] = WeakSet()

    def new_store(self) -> SpillStore:
        """Return an empty store.

        Raises:
            SpillError: The directory cannot be created.
        """
        if self._directory is None:
            self._directory = self._create()
        store = SpillStore(self._directory / f"{next(self._numbers)}.mdb")
        self._stores.add(store)
        return store

    def close(self) -> None:
        """Remove all files. Never raises; a later spill begins anew."""
        for store in list(self._stores):
            store.remove()
        directory, self._directory = self._directory, None
        if directory is not None:
            shutil.rmtree(directory, ignore_errors=True)

    def _create(self) -> Path:
        try:
            if self._local is not None:
                self._local.mkdir(parents=True, exist_ok=True)
            return Path(tempfile.mkdtemp(prefix="penstock-spill-", dir=self._local))
        except OSError as cause:
            raise SpillError(
                f"no directory for spill files can be created in "
                f"{self._local or tempfile.gettempdir()}: {cause.strerror or cause}",
                hint="Point Spark's local directories (spark.local.dir) to a disk that the "
                "workers may write to and that has room.",
            ) from cause
