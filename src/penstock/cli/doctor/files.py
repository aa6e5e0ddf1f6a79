"""Checks of a directory for checkpoints and of a store of objects, and the check that runs a job in a process of its own."""

from __future__ import annotations

import fcntl
import mmap
import os
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from penstock.cli.doctor.finding import Finding, Situation, fail, ok, warn
from penstock.errors import PenstockError
from penstock.filesystem.object_path import ObjectPath, object_path
from penstock.filesystem.object_store import ObjectStore, check_installed
from penstock.filesystem.stored_path import store_of

_NAME = "store"
_OTHER = (
    "Put checkpoints on a mounted file system, or in a store: docs/operate/checkpoint-directory.md."
)
_LOGIN = "Check the bucket, and a login that may list, read, write and delete there: docs/connectors/files.md."


def store(text: str) -> Finding:
    """Check that a store creates an object once, and shows an upload when it is completed; nothing stays there."""
    try:
        path = object_path(text, "look at")
        if path is None:
            return fail(
                _NAME, f"{text} is not a path of a store", "Write s3://, gs:// or abfss://."
            )
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
        with suppress(OSError):  # names of leftovers identify their owner
            objects.delete(objects.list_below(top))
        return fail(_NAME, f"{path}: {cause.strerror or cause}", _LOGIN)
    if wrong is not None:
        return fail(_NAME, f"{path}: {wrong}", _OTHER)
    took_ms = (time.monotonic() - begun) * 1000
    return ok(
        _NAME, f"{path}: objects are created once, uploads completed ({took_ms:.0f} ms in all)"
    )


def _wrong(objects: ObjectStore, top: ObjectPath) -> str | None:
    """Return the error of the store, None without one."""
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


PROGRAM = """
from penstock.common import Configuration, Types
from penstock.datastream import StreamExecutionEnvironment

config = Configuration.from_dict({"execution.runtime-mode": "BATCH", "parallelism.default": 2})
env = StreamExecutionEnvironment.get_execution_environment(config)
numbers = env.from_collection(list(range(10)), Types.LONG())
sums = numbers.key_by(lambda n: n % 2).reduce(lambda a, b: a + b)
with sums.execute_and_collect() as results:
    print(sorted(results))
"""
"""A job with a shuffle, whose functions run in workers."""

_LOOK = "See what fails above; else run a program with `penstock run --verbose`, which shows Spark's log."
_PRINTED = "[20, 25]"
_SECONDS = 180


def job(situation: Situation) -> Finding:
    """Check that a job runs and has the right results."""
    begun = time.monotonic()
    try:
        ran = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-P", "-c", PROGRAM],
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
            env=dict(situation.environ),
        )
    except subprocess.TimeoutExpired:
        return fail("job", f"a small job took more than {_SECONDS} s", _LOOK)
    if ran.returncode != 0:
        errors = ran.stderr.strip().splitlines() or [f"exit status {ran.returncode}"]
        return fail("job", f"a small job failed: {errors[-1]}", _LOOK)
    if ran.stdout.splitlines()[-1:] != [_PRINTED]:
        return fail("job", f"a small job printed {ran.stdout!r}, and not {_PRINTED}", _LOOK)
    return ok("job", f"a small job ran in {time.monotonic() - begun:.1f} s")


_GIB = 1 << 30
LEAST_FREE_BYTES = _GIB
"""Less is a failure: a batch run spills, and a log is merged into new files."""

FEW_FREE_BYTES = 5 * _GIB
"""Less is a warning."""

_MOST_SKEW_SECONDS = 2.0
_PASSING = ("tmpfs", "ramfs", "overlay")
_MOUNTS = Path("/proc/self/mounts")
_ELSEWHERE = "Put checkpoints on another file system: -D execution.checkpointing.dir=DIRECTORY"
_TRY_LOCK = """
import fcntl, sys
with open(sys.argv[1]) as file:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(3)
"""
_IS_LOCKED = 3


def directory(situation: Situation) -> Finding:
    """Check that files can be written, and outlive the machine's next start."""
    path = situation.directory
    try:
        with _scratch(path) as folder:
            (folder / "file").write_bytes(b"x")
    except OSError as cause:
        return fail(
            "directory", f"{path} cannot be written: {cause.strerror}", "Change its owner or mode."
        )
    kind = file_system(path)
    if kind in _PASSING:
        return warn(
            "directory",
            f"{path} is on {kind}: what is stored there goes with the machine or container",
            _ELSEWHERE,
        )
    if kind.startswith("fuse"):
        return warn(
            "directory",
            f"{path} is on {kind}: a mounted object store does not rename at once",
            _ELSEWHERE,
        )
    return ok("directory", f"{path}, {kind}")


def rename(situation: Situation) -> Finding:
    """Check that a file replaces another one at once: this is how everything is committed."""
    try:
        with _scratch(situation.directory) as folder:
            (folder / "old").write_bytes(b"old")
            (folder / "new").write_bytes(b"new")
            (folder / "new").replace(folder / "old")
            left = sorted(path.name for path in folder.iterdir())
            content = (folder / "old").read_bytes()
    except OSError as cause:
        return fail("rename", f"a file cannot replace another one: {cause}", _ELSEWHERE)
    if (left, content) != (["old"], b"new"):
        return fail("rename", f"after a rename there are {left}, with {content!r}", _ELSEWHERE)
    return ok("rename", "a file replaces another one")


def fsync(situation: Situation) -> Finding:
    """Check that files and directories can be forced to the disk, and how long that takes."""
    try:
        with _scratch(situation.directory) as folder:
            begun = time.monotonic()
            with (folder / "file").open("wb") as file:
                file.write(b"x" * 4096)
                file.flush()
                os.fsync(file.fileno())
            opened = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(opened)
            finally:
                os.close(opened)
            took_ms = (time.monotonic() - begun) * 1000
    except OSError as cause:
        return fail("fsync", f"files cannot be forced to the disk: {cause}", _ELSEWHERE)
    return ok("fsync", f"a file and its directory in {took_ms:.1f} ms")


def locks(situation: Situation) -> Finding:
    """Check that a lock keeps another process out: one driver runs a job."""
    try:
        with _scratch(situation.directory) as folder:
            path = folder / "lock"
            path.touch()
            status = _status_beside_lock(path)
    except OSError as cause:
        return fail("locks", f"files cannot be locked: {cause}", _ELSEWHERE)
    if status != _IS_LOCKED:
        return fail("locks", "a lock does not keep another process out", _ELSEWHERE)
    return ok("locks", "a lock keeps another process out")


def disk(situation: Situation) -> Finding:
    """Check the free space of the directory and of temporary files."""
    here, temporary = situation.directory, Path(tempfile.gettempdir())
    free = [(shutil.disk_usage(path).free, path) for path in (here, temporary)]
    least, where = min(free)
    text = (
        f"{free[0][0] / _GIB:.1f} GiB for checkpoints, {free[1][0] / _GIB:.1f} for temporary files"
    )
    fix = f"Free space in {where}; TMPDIR names another place for temporary files."
    if least < LEAST_FREE_BYTES:
        return fail("disk", text, fix)
    if least < FEW_FREE_BYTES:
        return warn("disk", text, fix)
    return ok("disk", text)


def memory_map(_: Situation) -> Finding:
    """Check that temporary files can be mapped into memory, as copies of state are."""
    where = tempfile.gettempdir()
    try:
        with tempfile.TemporaryFile() as file:
            file.truncate(mmap.PAGESIZE)
            with mmap.mmap(file.fileno(), mmap.PAGESIZE) as mapped:
                mapped[0] = 1
                mapped.flush()
    except OSError as cause:
        return fail(
            "memory map",
            f"files in {where} cannot be mapped into memory: {cause}",
            "Set TMPDIR to a local disk.",
        )
    return ok("memory map", f"works in {where}")


def file_times(situation: Situation) -> Finding:
    """Check that the file system gives files the time of this machine."""
    try:
        with _scratch(situation.directory) as folder:
            (folder / "file").touch()
            skew = (folder / "file").stat().st_mtime - time.time()
    except OSError as cause:
        return fail("file times", f"files have no time: {cause}", _ELSEWHERE)
    if abs(skew) > _MOST_SKEW_SECONDS:
        return warn(
            "file times",
            f"new files are {skew:+.1f} s off the clock of this machine",
            "Synchronise the clocks of this machine and of the file server.",
        )
    return ok("file times", f"{skew:+.3f} s off the clock")


def file_system(path: Path) -> str:
    """Return the kind of file system of a path, `unknown` if the system does not report it."""
    if not _MOUNTS.exists():
        return "unknown"
    resolved = path.resolve()
    kinds = {}
    for line in _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        _, mounted, kind, *_ = line.split(" ")
        kinds[Path(mounted.replace("\\040", " "))] = kind
    return next((kinds[path] for path in (resolved, *resolved.parents) if path in kinds), "unknown")


def _status_beside_lock(path: Path) -> int:
    """Lock a file, and return how a process ends that locks it too."""
    with path.open(encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        command = [sys.executable, "-P", "-c", _TRY_LOCK, str(path)]
        return subprocess.run(command, check=False, capture_output=True).returncode  # noqa: S603


@contextmanager
def _scratch(path: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix=".penstock-doctor-", dir=path) as scratch:
        yield Path(scratch)
