"""Where a task of a batch run spills to, and how much of it each operator did.

    <local directory>/penstock-spill-<random>/     mode 0700, made at the first spill
        7.frames                                   mode 0600, removed when it has been read

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
from penstock.wire.frame_file import FrameFile

SPILLED_FILES = "numFilesSpilled"
SPILLED_BYTES = "numBytesSpilled"
SPILL_DEPTH = "spillDepth"


@dataclass(slots=True)
class SpillCounts:
    """What one operator spilled since it was last asked.

    Attributes:
        files: Files that were finished.
        bytes: Bytes written to them.
        depths: How deep the partitions were nested that were written, from 1.
    """

    files: int = 0
    bytes: int = 0
    depths: DistributionValue = field(default_factory=DistributionValue)

    def add(self, file: FrameFile) -> None:
        """Count a finished file."""
        self.files += 1
        self.bytes += file.size_bytes

    def add_depth(self, depth: int) -> None:
        """Count a partitioning."""
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
        """Create nothing yet.

        Args:
            memory_bytes: How much the records being processed may take.
            local_directory: Directory on a local disk; None is that for temporary files.
        """
        self.memory_bytes = memory_bytes
        self._local = local_directory
        self._directory: Path | None = None
        self._numbers = count()
        self._files: WeakSet[FrameFile] = WeakSet()

    def new_file(self) -> FrameFile:
        """Return an empty file.

        Raises:
            SpillError: The directory cannot be created.
        """
        if self._directory is None:
            self._directory = self._create()
        file = FrameFile(self._directory / f"{next(self._numbers)}.frames")
        self._files.add(file)
        return file

    def close(self) -> None:
        """Remove all files. Never raises; a later spill begins anew."""
        for file in list(self._files):
            file.remove()
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
