"""What is shipped to workers: pickled once in the driver, named by its digest.

A worker that unpacks a payload first gets what the job brings along (see
`worker_environment`), because unpickling may import it.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from penstock.spark.worker.worker_environment import WorkerEnvironment, enter
from penstock.wire import user_code

_KEPT = 32
_unpacked: OrderedDict[tuple[str, WorkerEnvironment | None], Any] = OrderedDict()


@dataclass(frozen=True, slots=True)
class Payload:
    """A pickled object and its digest; cheap to ship inside a task's closure.

    Attributes:
        digest: SHA-256 of the data.
        data: The pickled object.
        workers: What the job brings along beside its program, None if nothing.
    """

    digest: str
    data: bytes
    workers: WorkerEnvironment | None = None

    @classmethod
    def of(cls, obj: Any, workers: WorkerEnvironment | None = None) -> Payload:
        """Pack an object.

        Raises:
            UserCodeError: It refers to something that cannot be pickled.
        """
        data = user_code.dump(obj)
        return cls(hashlib.sha256(data).hexdigest(), data, workers)

    def enter(self) -> None:
        """Make what the job brings along importable, as before unpacking."""
        enter(self.workers)

    def unpack(self) -> Any:
        """Return the object, the same one for every call in this process.

        For descriptions that nobody changes.
        """
        enter(self.workers)
        key = (self.digest, self.workers)
        found = _unpacked.get(key)
        if found is None:
            found = _unpacked[key] = user_code.load(self.data)
            while len(_unpacked) > _KEPT:
                _unpacked.popitem(last=False)
        return found

    def unpack_anew(self) -> Any:
        """Return a new object, for programs: no two tasks may share a function object."""
        enter(self.workers)
        return user_code.load(self.data)
