"""Commits to object stores: a manifest per epoch decides the commit, completed uploads execute it.

The same protocol as that of `file_commits`, without rename: an upload is completed where the file will be. Completing it
twice is refused by the store and recognised here, since every name is used once. Which manifests count, and why a
driver that was replaced cannot make anything visible, is in `driver_numbers`.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from penstock.connectors.files.driver_numbers import (
    ObjectManifest,
    TakenOver,
    check_newest,
    take_over,
)
from penstock.connectors.files.file_commits import KEPT_MANIFESTS
from penstock.connectors.files.file_naming import FileNaming
from penstock.connectors.files.uploaded_files import ObjectLayout, UploadedFile
from penstock.connectors.os_errors import sink_errors
from penstock.errors import DecodeError, SinkError
from penstock.failpoint import failpoint
from penstock.filesystem.object_path import ObjectPath
from penstock.filesystem.stores import store_of
from penstock.graph.endpoints import Committer, SinkContext

_MOST_AT_ONCE = 8


class UploadedFileCommitter(Committer):
    """Completes uploads, exactly once per epoch."""

    def __init__(self, directory: ObjectPath, context: SinkContext, naming: FileNaming) -> None:
        self._layout = ObjectLayout(directory, context.job_id, context.sink_id, naming)
        self._store = store_of(directory, context.object_settings)
        self._origin = context.origin
        self._may_commit = context.may_commit
        self._number: int | None = None
        self._manifests: list[ObjectManifest] = []
        self._done: set[str] = set()
        self._marks: list[ObjectPath] = []

    def recover(self) -> None:
        """Finish every decided epoch, and drop the other uploads.

        Raises:
            SinkError: The store cannot be reached or written to, a manifest is damaged, or a
                decided file is lost.
            JobFencedError: Another driver has taken the job over.
        """
        with sink_errors(self._layout.directory, "prepare for writing", self._origin):
            self._prove_writable()
        with sink_errors(self._layout.directory, "recover", self._origin):
            self._begin()
            self._drop_uploads()

    def commit(self, epoch: str, committables: Sequence[Any]) -> None:
        """Make the files of `epoch` visible, or finish doing so.

        An epoch without files is decided like any other, so that it stays without files.

        Raises:
            SinkError: An upload is gone, the store refused or cannot be reached, or a manifest
                is damaged.
            JobFencedError: Another driver has taken the job over; nothing became visible.
        """
        with sink_errors(self._layout.directory, f"commit epoch {epoch}", self._origin):
            number = self._begin()
            known = next((each for each in self._manifests if each.epoch == epoch), None)
            if known is None:
                known = self._decided(number, epoch, committables)
            self._carry_out(known)
            self._drop(committables, known)
            self._retain()
            failpoint("sink.committed")

    def _begin(self) -> int:
        """Take a number, once, and finish what earlier drivers have decided. Return the number."""
        if self._number is not None:
            return self._number
        try:
            found: TakenOver = take_over(self._store, self._layout, self._may_commit)
        except DecodeError as cause:
            raise SinkError(
                f"the record of a commit cannot be read: {cause.problem}",
                hint="Restore the object from a copy. Without it nobody knows which files of its epoch "
                "are output; deleting it writes the epoch again.",
                origin=self._origin,
            ) from cause
        self._manifests = list(found.manifests)
        self._done = set(found.done)
        for manifest in self._manifests:
            self._carry_out(manifest)
        self._may_commit()
        self._store.delete(found.void)
        self._retain()
        self._number = found.number
        return found.number

    def _decided(
        self, number: int, epoch: str, committables: Sequence[UploadedFile]
    ) -> ObjectManifest:
        """Write the manifest of an epoch, and check that it counts."""
        sequence = self._manifests[-1].sequence + 1 if self._manifests else 1
        manifest = ObjectManifest(epoch, number, sequence, tuple(committables))
        self._may_commit()
        # Whatever fails from here on, nobody knows whether the manifest is there or still under way. The next
        # call takes a new number and looks, instead of writing another one under the same name.
        self._number = None
        # Nobody else writes under this number, so the library may send the request again.
        self._store.write(self._layout.commits / f"{manifest.name}.json", manifest.encoded())
        failpoint("sink.manifest-written")
        self._may_commit()
        check_newest(self._store, self._layout, number)
        self._manifests.append(manifest)
        self._number = number
        return manifest

    def _carry_out(self, manifest: ObjectManifest) -> None:
        if manifest.name in self._done:
            return
        for file in manifest.files[:1]:
            self._complete(manifest, file)
            failpoint("sink.completed-first")
        rest = manifest.files[1:]
        if rest:
            with ThreadPoolExecutor(min(len(rest), _MOST_AT_ONCE)) as threads:
                for done in [threads.submit(self._complete, manifest, file) for file in rest]:
                    done.result()
        if manifest.files:
            self._store.write(self._layout.commits / f"{manifest.name}.done", b"")
        self._done.add(manifest.name)

    def _complete(self, manifest: ObjectManifest, file: UploadedFile) -> None:
        """Complete an upload; it may be completed already, by a call whose answer was lost."""
        upload = self._layout.upload_of(file)
        try:
            self._store.complete_upload(upload, file.parts)
        except FileNotFoundError as cause:
            if self._store.size_of(upload.path) == file.byte_count:
                return
            raise SinkError(
                f"{upload.path} is lost: {manifest.name} in {self._layout.commits} says it is "
                "committed, but it is neither there nor being uploaded",
                hint="Let no rule of the bucket abort uploads that are younger than a restart of the job "
                "takes. Restore the object; to go on without it, create the empty object "
                f"{self._layout.commits / f'{manifest.name}.done'}.",
                origin=self._origin,
            ) from cause

    def _drop(self, committables: Sequence[UploadedFile], decided: ObjectManifest) -> None:
        ids = {file.upload_id for file in decided.files}
        for file in committables:
            if file.upload_id not in ids:
                self._store.abort_upload(self._layout.upload_of(file))

    def _drop_uploads(self) -> None:
        """Abort the uploads of this sink that no manifest names."""
        decided = {file.upload_id for each in self._manifests for file in each.files}
        found = [
            upload
            for upload in self._store.uploads(self._layout.directory)
            if self._layout.is_ours(upload.path) and upload.upload_id not in decided
        ]
        # After the list, which may take long: a driver that was replaced meanwhile drops nothing.
        self._may_commit()
        if self._number is not None:
            check_newest(self._store, self._layout, self._number)
        for upload in found:
            self._store.abort_upload(upload)

    def _retain(self) -> None:
        """Delete all but the last manifests, and the marks of those that were deleted before.

        A mark goes one commit later: without it a manifest would ask for its files again.
        """
        old = self._manifests[:-KEPT_MANIFESTS]
        if not old:
            return
        self._manifests = self._manifests[-KEPT_MANIFESTS:]
        commits = self._layout.commits
        self._store.delete([*(commits / f"{each.name}.json" for each in old), *self._marks])
        self._marks = [commits / f"{each.name}.done" for each in old if each.files]

    def _prove_writable(self) -> None:
        """Begin an upload and drop it, so that a job that may not write fails at its start."""
        probe = self._layout.private / f"probe-{uuid.uuid4().hex}"
        self._store.abort_upload(self._store.begin_upload(probe))
