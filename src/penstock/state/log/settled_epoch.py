r"""The mark of the last settled epoch: nothing is left to do that its record asks for.

A record is the commit of an epoch, but what it names is done after it: sinks commit, a hand-over is
recorded, a savepoint completed. While the job runs, or starts again, its driver does that. Whoever
continues without the job, such as a savepoint of a job that is not running, must know that it is done.

    settled     "000000000012 5f2b8c01\n": number of the epoch, CRC-32 of it

The driver writes it after every epoch, in place and without a sync, in a few microseconds; in a store that is one
put. A power failure may lose it, and the epoch counts as unsettled then, which is always safe: the job settles it when it
starts. It cannot be ahead of the record, which is durable before.
"""

from __future__ import annotations

import os
from zlib import crc32

from penstock.filesystem.stored_path import JobPath, StoredPath
from penstock.wire.atomic_file import PRIVATE_FILE

SETTLED = "settled"
"""The file, in the directory of the epochs."""


def write_settled(directory: JobPath, epoch: int) -> None:
    """Note that an epoch is settled.

    Raises:
        OSError: It cannot be written.
    """
    path = directory / SETTLED
    if isinstance(path, StoredPath):
        path.store.write(path.at, _encode(epoch))
        return
    # A file that is cut to nothing first is flushed by some file systems when it is closed.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
    try:
        os.pwrite(descriptor, _encode(epoch), 0)
    finally:
        os.close(descriptor)


def read_settled(directory: JobPath) -> int | None:
    """Return the last epoch that is known to be settled, None if none is.

    Raises:
        OSError: The file is there and cannot be read.
    """
    try:
        data = (directory / SETTLED).read_bytes()
    except FileNotFoundError:
        return None
    number = data.partition(b" ")[0]
    return int(number) if number.isdigit() and data == _encode(int(number)) else None


def _encode(epoch: int) -> bytes:
    number = b"%012d" % epoch
    return b"%s %08x\n" % (number, crc32(number))
