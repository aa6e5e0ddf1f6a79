"""Shared parts of stores whose libraries send a request per object, and send it again if its answer is lost."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

from penstock.filesystem.object_path import ObjectPath

WRITER = "penstock_writer"
"""In the metadata of an object: who created it."""

_UNCLEAR = frozenset({errno.EEXIST, errno.EIO})
"""Errors after which the object may be there, and be ours."""

AT_ONCE = 8
"""Requests at a time."""


def create_once(create: Callable[[str], None], is_by: Callable[[str], bool]) -> None:
    """Create an object, whose metadata says who wrote it: a request that is sent again may meet its own object.

    Raises:
        OSError: It was not created; FileExistsError if there is one of another writer.
    """
    writer = uuid4().hex
    try:
        create(writer)
    except OSError as error:
        if error.errno not in _UNCLEAR or not is_by(writer):
            raise


def delete_each(paths: Iterable[ObjectPath], delete: Callable[[ObjectPath], None]) -> None:
    """Delete objects, several at a time, in no order.

    Raises:
        OSError: One could not be deleted.
    """
    every = list(paths)
    if len(every) == 1:
        delete(every[0])
    elif every:
        with ThreadPoolExecutor(min(len(every), AT_ONCE)) as threads:
            for done in [threads.submit(delete, path) for path in every]:
                done.result()
