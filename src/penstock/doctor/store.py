"""The check of a store of objects: what a checkpoint directory and a file sink ask of one."""

from __future__ import annotations

import time
import uuid
from contextlib import suppress

from penstock.doctor.finding import Finding, fail, ok
from penstock.errors import PenstockError
from penstock.filesystem.client_library import check_installed
from penstock.filesystem.object_path import ObjectPath, object_path
from penstock.filesystem.object_store import ObjectStore
from penstock.filesystem.stores import store_of

_NAME = "store"
_OTHER = "Put checkpoints on a mounted file system, or in a store that docs/operations.md names."
_LOGIN = (
    "Check the bucket, and a login that may list, read, write and delete there: docs/connectors.md."
)


def store(text: str) -> Finding:
    """Check that a store creates an object once, and shows an upload when it is completed; nothing stays there."""
    try:
        path = object_path(text, "look at")
        if path is None:
            return fail(_NAME, f"{text} is no path of a store", "Write s3://, gs:// or abfss://.")
        check_installed(path.scheme, f"the path {path}")
    except PenstockError as error:
        return fail(_NAME, error.problem, error.hint)
    begun = time.monotonic()
    top = path / f"_penstock_doctor_{uuid.uuid4().hex}"
    objects = store_of(path)
    try:
        wrong = _wrong(objects, top)
        objects.delete(objects.list_below(top))
    except OSError as cause:
        with suppress(OSError):  # what is left has a name that says whose it is
            objects.delete(objects.list_below(top))
        return fail(_NAME, f"{path}: {cause.strerror or cause}", _LOGIN)
    if wrong is not None:
        return fail(_NAME, f"{path}: {wrong}", _OTHER)
    took_ms = (time.monotonic() - begun) * 1000
    return ok(
        _NAME, f"{path}: objects are created once, uploads completed ({took_ms:.0f} ms in all)"
    )


def _wrong(objects: ObjectStore, top: ObjectPath) -> str | None:
    """Return what the store does wrong, None if nothing.

    Raises:
        OSError: It refused, or cannot be reached.
    """
    objects.create(top / "once", b"first")
    with suppress(FileExistsError):
        objects.create(top / "once", b"second")
        return "an object that is there is created again, so two drivers could run a job"
    if objects.read(top / "once") != b"first":
        return "an object has changed that was created once"
    upload = objects.begin_upload(top / "upload")
    part = objects.upload_part(upload, 1, b"x")
    if objects.size_of(top / "upload") is not None:
        return "an upload is seen before it is completed"
    objects.complete_upload(upload, [part])
    dropped = objects.begin_upload(top / "dropped")
    part = objects.upload_part(dropped, 1, b"x")
    objects.abort_upload(dropped)
    with suppress(FileNotFoundError):
        objects.complete_upload(dropped, [part])
        return "an upload that was dropped can be completed"
    if objects.list_below(top) != [top / "once", top / "upload"]:
        return "a list does not have what was written before it"
    return None
