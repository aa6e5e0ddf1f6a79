"""Hidden files: committed output that readers cannot see before it is merged.

Layout below the private directory of a sink (see `staged_files`):

    hidden/<owner>/files/<bucket>@/000000000017~000002~1-16~<staged>   committed: sequence, index, epoch
    hidden/<owner>/merged/<uuid>.<ext>                                 a merged file; readers do not see it yet
    hidden/<owner>/merges/<uuid>.json                                  manifest: decides a merge

Every driver has an owner directory of its own. It takes over those of earlier drivers by renaming them. So a replaced
driver that wakes up at any step finds none of its paths, and can neither show a file nor delete one. A fence that the
driver checks before each step cannot guarantee this, because a driver may freeze between check and step.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from penstock.connectors.files.staged_files import Layout
from penstock.wire.atomic_file import create_directory, sync_directory, temporary_of

UNPUBLISHED = "unpublished"
"""Directory of a job with a file for each sink with hidden output, so that no job continues without it."""

_BUCKET_END = "@"
_SEPARATOR = "~"


@dataclass(frozen=True, slots=True)
class HiddenFile:
    """A committed file that no reader sees.

    Attributes:
        sequence: Number of its epoch among those of the sink.
        staged_name: The name it was staged under, with its bucket.
        written_seconds: When it was written, in seconds since 1970.
    """

    sequence: int
    index: int
    epoch: str
    staged_name: str
    byte_count: int
    written_seconds: float

    @property
    def bucket(self) -> str:
        """The directory that readers will find it in, in a form that is no path."""
        return self.staged_name.rpartition(_BUCKET_END)[0] + _BUCKET_END

    @property
    def extension(self) -> str:
        """End of the name, which identifies the format."""
        return Path(self.staged_name).suffix

    @property
    def place(self) -> Path:
        """Path of the file below the directory of hidden files."""
        own = self.staged_name.rpartition(_BUCKET_END)[2]
        parts = (f"{self.sequence:012}", f"{self.index:06}", self.epoch, own)
        return Path(self.bucket) / _SEPARATOR.join(parts)

    @classmethod
    def found(cls, path: Path) -> HiddenFile:
        """Return the file at a path that ends with its `place`."""
        sequence, index, epoch, own = path.name.split(_SEPARATOR, 3)
        bucket = path.parent.name.removesuffix(_BUCKET_END)
        facts = path.stat()
        return cls(
            int(sequence),
            int(index),
            epoch,
            f"{bucket}{_BUCKET_END}{own}" if bucket else own,
            facts.st_size,
            facts.st_mtime,
        )


class HiddenFiles:
    """The directory of the hidden files of one sink that this driver owns."""

    def __init__(self, layout: Layout, may_commit: Callable[[], None]) -> None:
        self._root = layout.hidden
        self._own = layout.hidden / uuid.uuid4().hex
        self._may_commit = may_commit

    @property
    def files(self) -> Path:
        """Directory of committed files, one below it per bucket."""
        return self._own / "files"

    @property
    def merged(self) -> Path:
        """Directory of files into which others are merged."""
        return self._own / "merged"

    @property
    def merges(self) -> Path:
        """Directory of the manifests of merges."""
        return self._own / "merges"

    @property
    def exists(self) -> bool:
        """True if a driver has hidden files, this one or an earlier one."""
        return self._root.exists() and any(self._root.iterdir())

    def take_over(self) -> None:
        """Make the directory, with all that earlier drivers have hidden; may be repeated."""
        create_directory(self._root)
        self._may_commit()
        for other in sorted(self._root.iterdir()):
            if other == self._own:
                continue
            if self._own.exists():
                self._join(other)
            else:
                other.rename(self._own)
        for needed in (self.files, self.merged, self.merges):
            create_directory(needed)
        sync_directory(self._root)

    def found(self) -> list[HiddenFile]:
        """Return the committed files, in order."""
        files = [HiddenFile.found(path) for path in self.files.glob("*/*")]
        return sorted(files, key=lambda file: (file.sequence, file.index))

    def clear(self) -> None:
        """Remove files of merges that were not decided, incomplete manifests, and empty directories."""
        for left in [*self.merged.iterdir(), *self.merges.glob(temporary_of(Path("*")).name)]:
            left.unlink(missing_ok=True)
        for bucket in self.files.iterdir():
            if not any(bucket.iterdir()):
                bucket.rmdir()

    def remove(self) -> None:
        """Remove the directory, in which nothing is left."""
        shutil.rmtree(self._own)

    def _join(self, other: Path) -> None:
        """Take over another directory beside the first one, after a crash in `take_over`."""
        # The first rename takes it from its owner; what follows may be interrupted anywhere.
        apart = self._root / f"{self._own.name}.{uuid.uuid4().hex}"
        other.rename(apart)
        for path in sorted(apart.glob("*/**/*")):
            target = self._own / path.relative_to(apart)
            if path.is_dir():
                target.mkdir(parents=True, exist_ok=True)
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                path.replace(target)
        shutil.rmtree(apart)
