"""Commits of staged files: a manifest per epoch decides the commit, renames execute it.

A manifest is written atomically and names every staged file of its epoch in order. Before it
exists the epoch is undecided, and its staged files are garbage. Once it exists the epoch has
exactly these files, whatever is committed for the epoch later. The `.done` mark beside it means
that every rename is durable; from then on readers may move the files. Without the mark a file that
is neither staged nor visible is lost.

Manifests are numbered in the order of their commits, and all but the last two are deleted:
the engine commits an epoch again only if no later one was committed.

Files that are to be merged are renamed to a place that readers do not see; see `file_merger`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.connectors.epoch_marks import damaged_record
from penstock.connectors.files.file_compaction import FileCompaction
from penstock.connectors.files.file_merger import HiddenOutput
from penstock.connectors.files.file_naming import FileNaming
from penstock.connectors.files.hidden_files import HiddenFile
from penstock.connectors.files.staged_files import Layout, SmallFile, StagedFile
from penstock.connectors.local_path import sink_errors
from penstock.errors import SinkError
from penstock.failpoint import failpoint
from penstock.graph.endpoints import Committer, SinkContext
from penstock.wire.atomic_file import (
    create_directory,
    read_verified,
    sync_directory,
    temporary_of,
    write_verified,
)

KEPT_MANIFESTS = 2


@dataclass(frozen=True, slots=True)
class Manifest:
    """The files of one epoch; their order gives their visible names.

    Attributes:
        sequence: Number of the manifest among those of the sink, from 1.
        names: Names in the staging directory.
        hidden: Indexes of the files that are to be merged.
    """

    epoch: str
    sequence: int
    names: tuple[str, ...]
    hidden: frozenset[int] = frozenset()

    def to_json(self) -> dict[str, Any]:
        """Return the content of its file."""
        record = {"epoch": self.epoch, "sequence": self.sequence, "names": self.names}
        return record | ({"hidden": sorted(self.hidden)} if self.hidden else {})


class StagedFileCommitter(Committer):
    """Renames staged files into place, exactly once per epoch."""

    def __init__(
        self,
        directory: Path,
        context: SinkContext,
        naming: FileNaming = FileNaming(),  # noqa: B008 - a frozen value
        compaction: FileCompaction | None = None,
    ) -> None:
        self._layout = Layout(directory, context.job_id, context.sink_id, naming)
        self._origin = context.origin
        self._may_commit = context.may_commit
        self._hidden = HiddenOutput(self._layout, context, compaction)

    def recover(self) -> None:
        """Finish every decided epoch and merge, delete the other staged files, and begin to merge what is hidden."""
        self._hidden.stop()
        layout = self._layout
        with sink_errors(layout.directory, "prepare for writing", self._origin):
            create_directory(layout.staging)
            create_directory(layout.commits)
            self._prove_writable()
        with self._errors("recover"):
            manifests = self._manifests()
            for manifest in manifests:
                self._carry_out(manifest)
            # Not earlier: a manifest that is not executed yet names staged files.
            for staged in list(layout.staging.iterdir()):
                staged.unlink()
            self._retain(manifests)
            self._tidy()
            self._hidden.recover(manifests[-1].sequence if manifests else 0)

    def commit(self, epoch: str, committables: Sequence[Any]) -> None:
        """Make the staged files of `epoch` visible, or finish doing so.

        An epoch without files is decided like any other, so that it stays without files.
        """
        self.check_background()
        with self._errors(f"commit epoch {epoch}"):
            manifests = self._manifests()
            decided = next((known for known in manifests if known.epoch == epoch), None)
            if decided is None:
                sequence = manifests[-1].sequence + 1 if manifests else 1
                decided = self._decide(epoch, sequence, committables)
                manifests.append(decided)
                failpoint("sink.manifest-written")
            self._carry_out(decided)
            self._drop(committables, decided)
            self._retain(manifests)
            failpoint("sink.committed")

    def publish(self) -> None:
        """Show all files that are to be merged: now."""
        with self._errors("merge files"):
            self._hidden.publish()

    def check_background(self) -> None:
        """Raise what went wrong with merges since the last call."""
        with self._errors("merge files"):
            self._hidden.check()

    def close(self) -> None:
        """End the threads that merge files. Hidden files stay hidden; the next driver goes on."""
        self._hidden.stop()

    @contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        """Turn errors of the file system in the block into ours."""
        with sink_errors(self._layout.directory, doing, self._origin):
            try:
                yield
            except OSError:
                self._may_commit()  # a driver that was replaced finds none of its files
                raise

    def _decide(self, epoch: str, sequence: int, committables: Sequence[StagedFile]) -> Manifest:
        for staged in committables:
            self._check_complete(staged)
        names = tuple(staged.name for staged in committables)
        small = [n for n, staged in enumerate(committables) if isinstance(staged, SmallFile)]
        manifest = Manifest(epoch, sequence, names, frozenset(small if self._hidden.hides else ()))
        # A mark of a deleted manifest must not count for the new one.
        self._layout.done_mark(epoch).unlink(missing_ok=True)
        write_verified(
            self._layout.manifest(epoch), manifest.to_json(), may_replace=self._may_commit
        )
        return manifest

    def _check_complete(self, staged: StagedFile) -> None:
        path = self._layout.staging / staged.name
        byte_count = path.stat().st_size if path.exists() else None
        if byte_count != staged.byte_count:
            size = "is missing" if byte_count is None else f"has {byte_count} bytes"
            raise SinkError(
                f"staged file {path} {size}; its task wrote {staged.byte_count} bytes",
                hint="Choose a path on a file system that the driver and all workers share.",
                origin=self._origin,
            )

    def _carry_out(self, manifest: Manifest) -> None:
        layout = self._layout
        mark = layout.done_mark(manifest.epoch)
        if mark.exists():
            return
        hidden = {index: self._hidden_place(manifest, index) for index in sorted(manifest.hidden)}
        places = set() if hidden else {layout.directory}
        for index, name in enumerate(manifest.names):
            target = hidden.get(index) or layout.directory / layout.visible_name(
                manifest.epoch, index, name
            )
            staged = layout.staging / name
            if staged.exists():
                if index not in hidden:
                    create_directory(target.parent)
                staged.replace(target)
            elif not target.exists():
                raise self._lost(manifest, target)
            places.add(target.parent)
            if index == 0:
                failpoint("sink.renamed-first")
        for place in places:
            sync_directory(place)
        # Not synced: if the mark is lost, the renames are only verified once more. A merge syncs it, after which
        # a hidden file may be gone.
        mark.touch()
        self._hidden.add(hidden.values(), manifest.sequence)

    def _hidden_place(self, manifest: Manifest, index: int) -> Path:
        name = manifest.names[index]
        return self._hidden.place(HiddenFile(manifest.sequence, index, manifest.epoch, name, 0, 0))

    def _lost(self, manifest: Manifest, visible: Path) -> SinkError:
        self._may_commit()  # a driver that was replaced finds none of its files
        path = self._layout.manifest(manifest.epoch)
        return SinkError(
            f"{visible} is lost: it is committed according to {path}, but it is neither there nor staged",
            hint="Restore the file; to go on without it, create the empty file "
            f"{self._layout.done_mark(manifest.epoch)}.",
            origin=self._origin,
        )

    def _drop(self, committables: Sequence[StagedFile], decided: Manifest) -> None:
        for staged in committables:
            if staged.name not in decided.names:
                (self._layout.staging / staged.name).unlink(missing_ok=True)

    def _retain(self, manifests: Sequence[Manifest]) -> None:
        for old in manifests[:-KEPT_MANIFESTS]:
            # The manifest first: a mark without manifest has no effect, a manifest without
            # mark would require its files again.
            self._layout.manifest(old.epoch).unlink(missing_ok=True)
            self._layout.done_mark(old.epoch).unlink(missing_ok=True)

    def _tidy(self) -> None:
        """Delete marks without a manifest, and manifests that a crash left incomplete."""
        for mark in list(self._layout.commits.glob("*.done")):
            manifest = self._layout.manifest(mark.stem)
            if not manifest.exists():
                mark.unlink()
        for half_written in list(self._layout.commits.glob(temporary_of(Path("*")).name)):
            half_written.unlink()

    def _manifests(self) -> list[Manifest]:
        manifests = [self._read(path) for path in self._layout.commits.glob("*.json")]
        return sorted(manifests, key=lambda manifest: manifest.sequence)

    def _read(self, path: Path) -> Manifest:
        unknown = f"which files of epoch {path.stem} are output; deleting it writes the epoch again"
        with damaged_record("a commit", unknown, self._origin):
            payload = read_verified(path)
        hidden = frozenset(payload.get("hidden", ()))
        return Manifest(payload["epoch"], payload["sequence"], tuple(payload["names"]), hidden)

    def _prove_writable(self) -> None:
        """Create and move a file as a commit does; permission bits do not prove that it works."""
        name = f"_probe-{uuid.uuid4().hex}"
        staged = self._layout.staging / name
        staged.touch()
        try:
            staged.replace(self._layout.directory / name)
        finally:
            staged.unlink(missing_ok=True)
            (self._layout.directory / name).unlink(missing_ok=True)
