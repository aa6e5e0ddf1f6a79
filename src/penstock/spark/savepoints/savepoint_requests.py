"""Requests for savepoints: files that any process writes for a job, and futures of those of this process."""

from __future__ import annotations

import re
import secrets
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from types import UnionType
from typing import Any

from penstock.api.environment.job import CompletableFuture
from penstock.errors import DecodeError, JobDirectoryError, PenstockError, SavepointError
from penstock.filesystem.object_path import ObjectPath
from penstock.filesystem.stored_path import JobPath
from penstock.spark.job.mounted_path import savepoint_place
from penstock.wire.atomic_file import (
    PRIVATE_DIRECTORY,
    create_directory,
    read_verified,
    write_verified,
)

_ANSWERS = (".done", ".failed")
_UNNAMED = "unnamed"
_ID = re.compile(r"[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}")
_FIELDS: dict[str, type | UnionType] = {
    "id": str,
    "parent": str | None,
    "stop": bool,
    "drain": bool,
}
_REQUIRED = frozenset({"id"})


def new_request_id() -> str:
    """Return an id that sorts by time, to the second; also the name of the savepoint."""
    return f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{secrets.token_hex(4)}"


@dataclass(frozen=True, slots=True)
class SavepointRequest:
    """A request for a savepoint.

    Attributes:
        id: Unique in the job; sorts by time.
        parent: Parent of the savepoint's directory; None lets the job choose it.
        stop: True to stop the job with it: no record is processed after the savepoint.
        drain: True to end the input first, so that every timer fires.
    """

    id: str
    parent: str | None = None
    stop: bool = False
    drain: bool = False

    @property
    def event(self) -> str:
        """The control event that requests the state of every subtask."""
        return f"savepoint:{self.id}"


class SavepointRequests:
    """The requests of one job."""

    def __init__(self, job_directory: JobPath) -> None:
        self._directory = job_directory / "requests"

    def submit(
        self, parent: Path | ObjectPath | None, *, stop: bool = False, drain: bool = False
    ) -> SavepointRequest:
        """Write a request, durably."""
        place = parent.absolute() if isinstance(parent, Path) else parent
        parent_text = None if place is None else str(place)
        request = SavepointRequest(new_request_id(), parent_text, stop, drain)
        try:
            create_directory(self._directory, PRIVATE_DIRECTORY)
        except OSError as cause:
            raise _unwritable(self._directory, cause) from cause
        self._write(request.id, asdict(request))
        return request

    def waiting(self) -> list[SavepointRequest]:
        """Return the open requests, the oldest first.

        It answers damaged and invalid requests itself, with an error.
        """
        if not self._directory.is_dir():
            return []
        requests = []
        for name in sorted(path.stem for path in self._directory.glob("[0-9]*.json")):
            if name.endswith(_ANSWERS) or self.answer(name) is not None:
                continue
            try:
                read = self._read(name)
                if read is not None:  # otherwise it has been withdrawn
                    requests.append(_checked(name, read))
            except (JobDirectoryError, SavepointError) as refused:
                self.fail(SavepointRequest(name), refused)
        return requests

    def succeed(
        self,
        request: SavepointRequest,
        savepoint: JobPath | ObjectPath,
        unnamed: tuple[str, ...] = (),
    ) -> None:
        """Answer with the path of the savepoint, and the operators without a uid in it."""
        answer = {"savepoint": str(savepoint), _UNNAMED: list(unnamed)}
        self._write(f"{request.id}.done", answer)
        self.withdraw(request.id)

    def fail(self, request: SavepointRequest, error: PenstockError) -> None:
        """Answer with the reason of a failure."""
        answer = {"problem": error.problem, "hint": error.hint}
        self._write(f"{request.id}.failed", answer)
        self.withdraw(request.id)

    def answer(self, request_id: str) -> Path | ObjectPath | SavepointError | None:
        """Return the savepoint, the reason of the failure, or None if the request is open."""
        done = self._read(f"{request_id}.done")
        if done is not None:
            return savepoint_place(done["savepoint"])
        failed = self._read(f"{request_id}.failed")
        if failed is not None:
            return SavepointError(failed["problem"], hint=failed["hint"])
        return None

    def unnamed_state(self, request_id: str) -> tuple[str, ...]:
        """Return the operators without a uid that `succeed` has recorded."""
        return tuple((self._read(f"{request_id}.done") or {}).get(_UNNAMED, ()))

    def withdraw(self, request_id: str) -> None:
        """Remove a request; a savepoint in progress is still completed."""
        (self._directory / f"{request_id}.json").unlink(missing_ok=True)

    def _read(self, name: str) -> dict[str, Any] | None:
        try:
            return read_verified(self._directory / f"{name}.json")
        except FileNotFoundError:
            return None
        except DecodeError as cause:
            raise JobDirectoryError(cause.problem, hint=cause.hint) from cause

    def _write(self, name: str, payload: dict[str, Any]) -> None:
        try:
            write_verified(self._directory / f"{name}.json", payload)
        except OSError as cause:
            raise _unwritable(self._directory, cause) from cause


def _checked(name: str, read: dict[str, Any]) -> SavepointRequest:
    """Return a checked request. Other programs than `submit` may have written it.

    The id becomes the name of a directory, so it must equal that in the file name.
    """
    unknown = sorted(read.keys() - _FIELDS.keys())
    missing = sorted(_REQUIRED - read.keys())
    wrong = [field for field, kinds in _FIELDS.items() if not isinstance(read.get(field), kinds)]
    problem = None
    if unknown:
        problem = f"has the unknown field {unknown[0]!r}"
    elif missing:
        problem = f"lacks the field {missing[0]!r}"
    elif given := [field for field in wrong if field in read]:
        problem = f"has {read[given[0]]!r} as {given[0]!r}"
    elif read["id"] != name or not _ID.fullmatch(name):
        problem = (
            f"has the id {read['id']!r}, which is not its name as `penstock savepoint` makes it"
        )
    if problem is None:
        return SavepointRequest(**read)
    raise SavepointError(
        f"the request {name} for a savepoint {problem}",
        hint="Use `penstock savepoint`, or JobClient.trigger_savepoint(), of the version of "
        "Penstock that runs the job.",
    )


def _unwritable(path: JobPath, cause: OSError) -> JobDirectoryError:
    return JobDirectoryError(
        f"{path} cannot be written: {cause}",
        hint="Make room, or make the checkpoint directory writable for this user.",
    )


_POLL_SECONDS = 0.05


class SavepointFutures:
    """Submits requests, and completes their futures in a separate thread."""

    def __init__(self, job_directory: JobPath, refusal: SavepointError | None = None) -> None:
        """Serve one job."""
        self._requests = SavepointRequests(job_directory)
        self._refusal = refusal
        self._open: dict[str, CompletableFuture[str]] = {}
        self._ended: str | None = None
        self._lock = threading.Lock()
        self._watcher: threading.Thread | None = None

    def submit(self, parent: str | None, *, stop: bool, drain: bool) -> CompletableFuture[str]:
        """Request a savepoint."""
        future: CompletableFuture[str] = CompletableFuture()
        with self._lock:
            refusal = self._refusal if self._ended is None else _too_late(self._ended)
            if refusal is not None:
                future.set_exception(refusal)
                return future
            try:
                place = None if parent is None else savepoint_place(parent)
            except PenstockError as error:
                future.set_exception(error)
                return future
            request = self._requests.submit(place, stop=stop, drain=drain)
            self._open[request.id] = future
            if self._watcher is None:
                self._watcher = threading.Thread(
                    target=self._watch, name="penstock-savepoints", daemon=True
                )
                self._watcher.start()
        return future

    def close(self, status: str, *, is_fenced: bool = False) -> None:
        """Fail all open requests, those of other processes too: the job has ended."""
        with self._lock:
            self._ended = status
            for request in () if is_fenced else self._requests.waiting():
                self._requests.fail(request, _too_late(status))
            self._complete()
            if is_fenced:
                self._give_up(_too_late(status))

    def _watch(self) -> None:
        while True:
            with self._lock:
                try:
                    self._complete()
                except PenstockError as error:
                    self._give_up(error)
                if not self._open:
                    self._watcher = None
                    return
            threading.Event().wait(_POLL_SECONDS)

    def _complete(self) -> None:
        for request_id, future in list(self._open.items()):
            if future.cancelled():
                self._requests.withdraw(request_id)
                del self._open[request_id]
                continue
            answer = self._requests.answer(request_id)
            if isinstance(answer, PenstockError):
                future.set_exception(answer)
            elif answer is not None:
                future.set_result(str(answer))
            if answer is not None:
                del self._open[request_id]

    def _give_up(self, error: PenstockError) -> None:
        for future in self._open.values():
            future.set_exception(error)
        self._open.clear()


# FLIP-331, rule 6.
def no_live_run(name: str) -> SavepointError:
    """Return the error about a job without a live run, which supports no savepoints."""
    return SavepointError(
        f"job {name!r} is a batch job: it has no state that could be continued",
        hint="Run it in STREAMING mode.",
    )


def _too_late(status: str) -> SavepointError:
    return SavepointError(
        f"the job ended ({status}) before it could take the savepoint",
        hint="Request a savepoint while the live run of the job is running.",
    )
