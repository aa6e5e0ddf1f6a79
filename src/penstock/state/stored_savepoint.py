"""Savepoints in object stores: copies of those in directories, with the same files under the same names.

The manifest is written last, and only if there is none, so what has a manifest is a whole savepoint.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.errors import SavepointError
from penstock.failpoint import failpoint
from penstock.filesystem.object_file import PART_BYTES, UploadFile
from penstock.filesystem.object_path import ObjectPath
from penstock.filesystem.object_store import ObjectStore
from penstock.filesystem.stored_path import JobPath
from penstock.state.savepoint import MANIFEST, STATE_DIRECTORY, read_savepoint
from penstock.wire.atomic_file import PRIVATE_DIRECTORY, create_directory
from penstock.wire.job_files import byte_count, new_file


def put_savepoint(
    store: ObjectStore, savepoint: JobPath, path: ObjectPath, may_commit: Callable[[], None]
) -> None:
    """Copy a savepoint to a store; may be repeated.

    Raises:
        SavepointError: There is another savepoint, or the directory has none.
        OSError: A file cannot be read, or the store refused.
    """
    manifest = (savepoint / MANIFEST).read_bytes()
    for file in read_savepoint(savepoint).files:
        name = f"{STATE_DIRECTORY}/{file.name}"
        _send(store, savepoint / name, path / name)
    failpoint("savepoint.sent")
    may_commit()
    try:
        store.create(path / MANIFEST, manifest)
    except FileExistsError:
        if store.read(path / MANIFEST) != manifest:
            raise SavepointError(
                f"{path} cannot become a savepoint: there is another one",
                hint="Take the savepoint again, or name another directory.",
            ) from None


def fetch_savepoint(store: ObjectStore, path: ObjectPath, target: JobPath) -> None:
    """Copy a savepoint from a store to a directory. What is copied is not verified.

    Raises:
        SavepointError: There is no savepoint, its manifest is damaged, or a state file is gone.
        OSError: The store cannot be reached, or a file cannot be written.
    """
    create_directory(target, PRIVATE_DIRECTORY)
    create_directory(target / STATE_DIRECTORY, PRIVATE_DIRECTORY)
    try:
        _fetch(store, path / MANIFEST, target / MANIFEST)
    except FileNotFoundError as cause:
        raise SavepointError(
            f"{path} is not a savepoint: {MANIFEST} cannot be read there ({cause.strerror})",
            hint="Pass the path that `penstock savepoint` printed.",
        ) from cause
    for file in read_savepoint(target).files:
        name = f"{STATE_DIRECTORY}/{file.name}"
        try:
            _fetch(store, path / name, target / name)
        except FileNotFoundError as cause:
            raise SavepointError(
                f"the state file {path / name} is gone",
                hint="Restore the savepoint from a copy, or start from another one.",
            ) from cause


def _send(store: ObjectStore, source: JobPath, path: ObjectPath) -> None:
    sent = UploadFile(store, store.begin_upload(path))
    try:
        with source.open("rb") as file:
            while chunk := file.read(PART_BYTES):
                sent.write(chunk)
        store.complete_upload(sent.upload, sent.finish())
    except FileNotFoundError:
        # The answer to the first attempt to complete it was lost, or somebody has dropped the upload.
        if store.size_of(path) != byte_count(source):
            raise
    except OSError:
        sent.abort()
        raise


def _fetch(store: ObjectStore, path: ObjectPath, target: JobPath) -> None:
    file = new_file(target)
    try:
        for chunk in store.chunks(path):
            file.write(chunk)
        file.finish(is_durable=False)
    except BaseException:
        file.discard()
        raise
