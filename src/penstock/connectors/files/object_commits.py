"""Commits to object stores: a manifest per epoch decides the commit, completed uploads execute it.

The protocol is that of `file_commits` without rename: the driver completes an upload at the final path of the file. The
store refuses to complete it twice; the committer recognises this, since every name is used once.

    drivers/7.json           driver 7 has begun: the driver that creates this object has the number
    drivers/7.taken          names of the manifests of earlier drivers that count, seen by driver 7
    commits/<epoch>.7.json   a manifest of driver 7

A store has no rename that could be refused, and a driver that was replaced may wake up at any time. So every driver
takes the next number, which only one can create, and then lists the manifests; those that it sees count for ever, and of
its predecessors no other does. A driver acts on a manifest of its own only if there is no greater number after it has
written the manifest. Two cases are left: it sees no greater number, then the next driver takes its number later, and
lists the manifests still later, so it sees the manifest; or it sees one, and does nothing. It does not matter how
long an answer of the store is under way.

Epochs have no dots in their names, so what is behind the first dot is the number.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from penstock.connectors.epoch_marks import damaged_record
from penstock.connectors.files.file_commits import KEPT_MANIFESTS
from penstock.connectors.files.file_naming import FileNaming
from penstock.connectors.files.uploaded_files import ObjectLayout, UploadedFile
from penstock.connectors.local_path import sink_errors
from penstock.errors import JobFencedError, SinkError
from penstock.failpoint import failpoint
from penstock.filesystem.object_path import ObjectPath
from penstock.filesystem.object_store import ObjectStore, UploadPart
from penstock.filesystem.stored_path import store_of
from penstock.graph.endpoints import Committer, SinkContext
from penstock.wire.atomic_file import decode_verified, encode_verified


@dataclass(frozen=True, slots=True)
class ObjectManifest:
    """The files of one epoch.

    Attributes:
        sequence: Number of the manifest among those of the sink, from 1.
    """

    epoch: str
    driver: int
    sequence: int
    files: tuple[UploadedFile, ...]

    @property
    def name(self) -> str:
        """Name of the object, without its end."""
        return f"{self.epoch}.{self.driver}"

    def encoded(self) -> bytes:
        """Return the content of the object."""
        files = [
            {
                "name": file.name,
                "upload_id": file.upload_id,
                "parts": [[part.number, part.etag, part.crc32] for part in file.parts],
                "records": file.record_count,
                "bytes": file.byte_count,
            }
            for file in self.files
        ]
        return encode_verified(
            {
                "epoch": self.epoch,
                "driver": self.driver,
                "sequence": self.sequence,
                "files": files,
            }
        )

    @classmethod
    def decoded(cls, data: bytes, path: ObjectPath) -> ObjectManifest:
        """Return the manifest that `encoded` encoded."""
        read = decode_verified(data, path)
        files = tuple(
            UploadedFile(
                file["name"],
                file["upload_id"],
                tuple(UploadPart(*part) for part in file["parts"]),
                file["records"],
                file["bytes"],
            )
            for file in read["files"]
        )
        return cls(read["epoch"], read["driver"], read["sequence"], files)


@dataclass(frozen=True, slots=True)
class TakenOver:
    """The state in which a driver found the directory when it took its number.

    Attributes:
        manifests: The manifests that count, in the order of their sequence.
        done: Names of those that are executed.
        void: Objects that mean nothing.
    """

    number: int
    manifests: tuple[ObjectManifest, ...]
    done: frozenset[str]
    void: tuple[ObjectPath, ...]


def take_over(
    store: ObjectStore, layout: ObjectLayout, may_commit: Callable[[], None]
) -> TakenOver:
    """Take the next number, and find out which manifests count."""
    before = store.list_below(layout.drivers)
    number = _create_next(store, layout, max(_numbers(before), default=0) + 1, may_commit)
    failpoint("sink.numbered")
    taken = [path for path in store.list_below(layout.drivers) if path.name.endswith(".taken")]
    newest = max(_numbers(taken), default=0)
    kept: frozenset[str] = frozenset()
    if newest:
        path = layout.drivers / f"{newest}.taken"
        kept = frozenset(decode_verified(store.read(path), path)["manifests"])
    objects = {path.name: path for path in store.list_below(layout.commits)}
    counting = [
        name.removesuffix(".json")
        for name in objects
        if name.endswith(".json")
        and (_driver_of(name) >= newest or name.removesuffix(".json") in kept)
    ]
    manifests = [
        ObjectManifest.decoded(store.read(objects[f"{name}.json"]), objects[f"{name}.json"])
        for name in counting
    ]
    path = layout.drivers / f"{number}.taken"
    store.write(path, encode_verified({"manifests": sorted(counting)}))
    failpoint("sink.taken-over")
    useful = {f"{name}.{end}" for name in counting for end in ("json", "done")}
    void = [objects[name] for name in objects if name not in useful]
    void += [path for path in before if path.name.partition(".")[0] != str(number)]
    done = frozenset(name for name in counting if f"{name}.done" in objects)
    ordered = sorted(manifests, key=lambda manifest: manifest.sequence)
    return TakenOver(number, tuple(ordered), done, tuple(void))


def check_newest(store: ObjectStore, layout: ObjectLayout, number: int) -> None:
    """Check that no driver has taken a greater number."""
    newest = max(_numbers(store.list_below(layout.drivers)), default=0)
    if newest != number:
        raise JobFencedError(
            f"another driver has taken {layout.private} over: it has number {newest}, this driver "
            f"had {number}",
            hint="Leave the job to the other driver; nothing this one did since is visible.",
        )


def _create_next(
    store: ObjectStore, layout: ObjectLayout, number: int, may_commit: Callable[[], None]
) -> int:
    """Return the first free number from `number` on."""
    while True:
        may_commit()
        try:
            store.create(layout.drivers / f"{number}.json", encode_verified({"number": number}))
        except FileExistsError:
            number += 1
        else:
            return number


def _numbers(paths: Iterable[ObjectPath]) -> list[int]:
    return [int(path.name.partition(".")[0]) for path in paths]


def _driver_of(name: str) -> int:
    return int(name.split(".")[1])


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
        """Finish every decided epoch, and drop the other uploads."""
        with sink_errors(self._layout.directory, "prepare for writing", self._origin):
            self._prove_writable()
        with sink_errors(self._layout.directory, "recover", self._origin):
            self._begin()
            self._drop_uploads()

    def commit(self, epoch: str, committables: Sequence[Any]) -> None:
        """Make the files of `epoch` visible, or finish doing so.

        An epoch without files is decided like any other, so that it stays without files.
        """
        with sink_errors(self._layout.directory, f"commit epoch {epoch}", self._origin):
            number = self._begin()
            known = next(
                (manifest for manifest in self._manifests if manifest.epoch == epoch), None
            )
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
        unknown = "which files of its epoch are output; deleting it writes the epoch again"
        with damaged_record("a commit", unknown, self._origin, "object"):
            taken = take_over(self._store, self._layout, self._may_commit)
        self._manifests = list(taken.manifests)
        self._done = set(taken.done)
        for manifest in self._manifests:
            self._carry_out(manifest)
        self._may_commit()
        self._store.delete(taken.void)
        self._retain()
        self._number = taken.number
        return taken.number

    def _decided(
        self, number: int, epoch: str, committables: Sequence[UploadedFile]
    ) -> ObjectManifest:
        """Write the manifest of an epoch, and check that it counts."""
        sequence = self._manifests[-1].sequence + 1 if self._manifests else 1
        manifest = ObjectManifest(epoch, number, sequence, tuple(committables))
        self._may_commit()
        # After a failure from here on, the manifest may be there or still under way. The next
        # call takes a new number and looks, instead of writing another one under the same name.
        self._number = None
        # No other driver writes under this number, so the library may send the request again.
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
                f"{upload.path} is lost: it is committed according to {manifest.name} in {self._layout.commits}, "
                "but it is neither there nor being uploaded",
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
        decided = {file.upload_id for manifest in self._manifests for file in manifest.files}
        undecided = [
            upload
            for upload in self._store.uploads(self._layout.directory)
            if self._layout.is_ours(upload.path) and upload.upload_id not in decided
        ]
        # After the list, which may take long: a driver that was replaced meanwhile drops nothing.
        self._may_commit()
        if self._number is not None:
            check_newest(self._store, self._layout, self._number)
        for upload in undecided:
            self._store.abort_upload(upload)

    def _retain(self) -> None:
        """Delete all but the last manifests, and the marks of those that were deleted before.

        A mark goes one commit later: without it a manifest would require its files again.
        """
        old = self._manifests[:-KEPT_MANIFESTS]
        if not old:
            return
        self._manifests = self._manifests[-KEPT_MANIFESTS:]
        commits = self._layout.commits
        self._store.delete([*(commits / f"{manifest.name}.json" for manifest in old), *self._marks])
        self._marks = [commits / f"{manifest.name}.done" for manifest in old if manifest.files]

    def _prove_writable(self) -> None:
        """Begin an upload and drop it, so that a job that may not write fails at its start."""
        probe = self._layout.private / f"probe-{uuid.uuid4().hex}"
        self._store.abort_upload(self._store.begin_upload(probe))
