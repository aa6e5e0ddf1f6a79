"""Requests for savepoints: files that any process writes for the driver of a running job.

    requests/<id>.json           the request; removed when it is answered or withdrawn
    requests/<id>.done.json      the savepoint is complete; contains its path
    requests/<id>.failed.json    the savepoint failed; contains the reason

An id begins with the time, so requests are served in the order in which they were made. A new driver
serves the requests that its predecessor has not answered.
"""

from __future__ import annotations

import re
import secrets
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from types import UnionType
from typing import Any

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
        stop: Whether to stop the job with it: no record is processed after the savepoint.
        drain: Whether to end the input first, so that every timer fires.
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
        """Write a request, durably.

        Raises:
            JobDirectoryError: The request cannot be written.
        """
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

        Raises:
            JobDirectoryError: An answer is damaged, or cannot be written.
        """
        if not self._directory.is_dir():
            return []
        found = []
        for name in sorted(path.stem for path in self._directory.glob("[0-9]*.json")):
            if name.endswith(_ANSWERS) or self.answer(name) is not None:
                continue
            try:
                read = self._read(name)
                if read is not None:  # otherwise it has been withdrawn
                    found.append(_checked(name, read))
            except (JobDirectoryError, SavepointError) as refused:
                self.fail(SavepointRequest(name), refused)
        return found

    def succeed(
        self,
        request: SavepointRequest,
        savepoint: JobPath | ObjectPath,
        unnamed: tuple[str, ...] = (),
    ) -> None:
        """Answer with the path of the savepoint, and the operators without a uid in it.

        Raises:
            JobDirectoryError: The answer cannot be written.
        """
        answer = {"savepoint": str(savepoint), _UNNAMED: list(unnamed)}
        self._write(f"{request.id}.done", answer)
        self.withdraw(request.id)

    def fail(self, request: SavepointRequest, error: PenstockError) -> None:
        """Answer with the reason of a failure.

        Raises:
            JobDirectoryError: The answer cannot be written.
        """
        answer = {"problem": error.problem, "hint": error.hint}
        self._write(f"{request.id}.failed", answer)
        self.withdraw(request.id)

    def answer(self, request_id: str) -> Path | ObjectPath | SavepointError | None:
        """Return the savepoint, the reason of the failure, or None if the request is open.

        Raises:
            JobDirectoryError: The answer is damaged.
        """
        done = self._read(f"{request_id}.done")
        if done is not None:
            return savepoint_place(done["savepoint"])
        failed = self._read(f"{request_id}.failed")
        if failed is not None:
            return SavepointError(failed["problem"], hint=failed["hint"])
        return None

    def unnamed_state(self, request_id: str) -> tuple[str, ...]:
        """Return the operators without a uid that `succeed` has recorded.

        Raises:
            JobDirectoryError: The answer is damaged.
        """
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

    Raises:
        SavepointError: It is no request.
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
        hint="Ask with `penstock savepoint`, or JobClient.trigger_savepoint(), of the version of "
        "Penstock that runs the job.",
    )


def _unwritable(path: JobPath, cause: OSError) -> JobDirectoryError:
    return JobDirectoryError(
        f"{path} cannot be written: {cause}",
        hint="Make room, or make the checkpoint directory writable for this user.",
    )
