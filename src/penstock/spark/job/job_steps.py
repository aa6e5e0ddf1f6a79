"""The records of the steps of a job, which its driver writes and others read.

On a mounted file system a step is a file, `run-0.pinned.json`, that is replaced as a whole while the fence holds. In a store
a put of a replaced driver may arrive at any time. So a name is used once, and every driver records the names that count:

    steps/000000000007/taken.json                steps of earlier drivers that count, seen by driver 7
    steps/000000000007/000003-run-0.pinned.json  the third record of driver 7

A driver takes its number (see `stored_lock`), lists the records of earlier drivers, and writes down the list: these records
count for ever, later ones of the same drivers do not. It acts on a record of its own only if there is no greater number
after it has put the record. Two cases are left. There is none: then the next driver takes its number later, lists still
later, and sees the record. Or there is one: then the driver fails. The protocol uses no clock, and a put may take any time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.errors import DecodeError, JobDirectoryError
from penstock.failpoint import failpoint
from penstock.filesystem.stored_path import JobPath, StoredPath
from penstock.wire.atomic_file import (
    decode_verified,
    encode_verified,
    read_verified,
    write_verified,
)
from penstock.wire.fence import Fence

STEPS = "steps"
"""The directory, in a store."""

PIPELINES = "pipelines"
"""Entry of the step `job`: the pipeline of each run."""

KEY_GROUPS = "key_groups"
"""Entry of the step `job`: the number of key groups, if it is another one than at the first start."""

_TAKEN = "taken.json"
_END = ".json"


class JobSteps(ABC):
    """The steps of one job, as any process sees them."""

    @abstractmethod
    def read(self, name: str) -> dict[str, Any] | None:
        """Return the record of a step, None if there is none."""

    @abstractmethod
    def names(self) -> frozenset[str]:
        """Return the names of all steps."""


class RecordedSteps(JobSteps):
    """The steps of one job, of its driver, which records them."""

    @abstractmethod
    def record(self, name: str, payload: dict[str, Any], fence: Callable[[], None]) -> None:
        """Record a step durably."""

    @abstractmethod
    def forget(self, name: str) -> None:
        """Remove the record of a step; there may be none."""


class FileSteps(RecordedSteps):
    """Steps as files."""

    def __init__(self, directory: Path, *, is_durable: bool = True) -> None:
        """Use `steps_of` or `recording`."""
        self._directory = directory
        self._is_durable = is_durable

    def read(self, name: str) -> dict[str, Any] | None:
        """Return the record of a step; see `JobSteps.read`."""
        try:
            return read_verified(self._directory / f"{name}{_END}")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except DecodeError as cause:
            raise JobDirectoryError(cause.problem, hint=cause.hint) from cause

    def record(self, name: str, payload: dict[str, Any], fence: Callable[[], None]) -> None:
        """Record a step durably; see `RecordedSteps.record`."""
        path = self._directory / f"{name}{_END}"
        write_verified(path, payload, may_replace=fence, is_durable=self._is_durable)

    def forget(self, name: str) -> None:
        """Remove the record of a step."""
        (self._directory / f"{name}{_END}").unlink(missing_ok=True)

    def names(self) -> frozenset[str]:
        """Return the names of all steps."""
        return frozenset(path.stem for path in self._directory.glob(f"[a-z]*{_END}"))


class StoredSteps(JobSteps):
    """Steps as objects, as a process sees them that is not the driver: it looks each time."""

    def __init__(self, directory: StoredPath) -> None:
        """Use `steps_of`."""
        self._directory = directory / STEPS

    def read(self, name: str) -> dict[str, Any] | None:
        """Return the record of a step; see `JobSteps.read`."""
        place = self.seen().get(name)
        return None if place is None else self._decoded(place)

    def names(self) -> frozenset[str]:
        """Return the names of all steps."""
        return frozenset(self.seen())

    def seen(self) -> dict[str, str]:
        """Return the steps that count now: name to place below the directory of steps."""
        drivers = sorted(self._directory.store.names_in(self._directory.address), reverse=True)
        for driver in drivers:
            names = sorted(path.name for path in (self._directory / driver).iterdir())
            if _TAKEN in names:
                known: dict[str, str] = self._decoded(f"{driver}/{_TAKEN}")["steps"]
                own = [name for name in names if name != _TAKEN]
                return known | {_step_of(name): f"{driver}/{name}" for name in own}
        return {}

    def _decoded(self, place: str) -> dict[str, Any]:
        path = self._directory / place
        try:
            return decode_verified(path.read_bytes(), path)
        except DecodeError as cause:
            raise JobDirectoryError(cause.problem, hint=cause.hint) from cause


class DriverSteps(StoredSteps, RecordedSteps):
    """Steps as objects, for the driver that has taken the directory over: the steps that it has read cannot change."""

    def __init__(self, directory: StoredPath, number: int, fence: Callable[[], None]) -> None:
        """Decide which records of earlier drivers count."""
        super().__init__(directory)
        self._driver = f"{number:012}"
        self._count = 0
        self._known = super().seen()
        self._read: dict[str, dict[str, Any]] = {}
        failpoint("steps.seen")
        self._put(_TAKEN, {"steps": self._known})
        failpoint("steps.taken")
        fence()

    def seen(self) -> dict[str, str]:
        """Return the steps that count."""
        return self._known

    def read(self, name: str) -> dict[str, Any] | None:
        """Return the record of a step, which callers must not change; see `JobSteps.read`."""
        place = self._known.get(name)
        if place is not None and place not in self._read:
            self._read[place] = self._decoded(place)
        return None if place is None else self._read[place]

    def record(self, name: str, payload: dict[str, Any], fence: Callable[[], None]) -> None:
        """Record a step durably; see `RecordedSteps.record`."""
        failpoint(f"file.{name}{_END}")
        fence()
        self._count += 1
        object_name = f"{self._count:06}-{name}{_END}"
        self._put(object_name, payload)
        fence()
        self._known = {**self._known, name: f"{self._driver}/{object_name}"}

    def forget(self, name: str) -> None:
        """Remove a record of this driver."""
        place = self._known.get(name)
        if place is not None:
            assert place.startswith(self._driver), f"{place} is of an earlier driver"
            (self._directory / place).unlink()
            self._known = {known: path for known, path in self._known.items() if known != name}

    def _put(self, name: str, payload: dict[str, Any]) -> None:
        path = self._directory / self._driver / name
        path.store.write(path.address, encode_verified(payload))


def steps_of(directory: JobPath) -> JobSteps:
    """Return the steps of a job, for reading."""
    return StoredSteps(directory) if isinstance(directory, StoredPath) else FileSteps(directory)


def recording(directory: JobPath, fence: Fence, *, is_temporary: bool = False) -> RecordedSteps:
    """Return the steps of a job, for the driver that has taken it over."""
    if isinstance(directory, StoredPath):
        return DriverSteps(directory, fence.epoch, fence)
    return FileSteps(directory, is_durable=not is_temporary)


def _step_of(name: str) -> str:
    """Return the step of an object; of several of a step the last one counts."""
    return name.partition("-")[2].removesuffix(_END)
