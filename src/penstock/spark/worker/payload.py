"""Payloads for workers: objects that are pickled once in the driver and named by a digest.

Before a worker unpacks a payload it sets up the job's dependencies (see `worker_environment`), because
unpickling may import them.
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
        workers: Dependencies of the job other than its program, None if there are none.
    """

    digest: str
    data: bytes
    workers: WorkerEnvironment | None = None

    @classmethod
    def of(cls, obj: Any, workers: WorkerEnvironment | None = None) -> Payload:
        """Pack an object."""
        data = user_code.dump(obj)
        return cls(hashlib.sha256(data).hexdigest(), data, workers)

    def enter(self) -> None:
        """Set up the job's dependencies, as before unpacking."""
        enter(self.workers)

    def unpack(self) -> Any:
        """Return the object; all calls in this process return the same one.

        It is for immutable descriptions.
        """
        enter(self.workers)
        key = (self.digest, self.workers)
        unpacked = _unpacked.get(key)
        if unpacked is None:
            unpacked = _unpacked[key] = user_code.load(self.data)
            while len(_unpacked) > _KEPT:
                _unpacked.popitem(last=False)
        return unpacked

    def unpack_anew(self) -> Any:
        """Return a new object, for programs: tasks must not share function objects."""
        enter(self.workers)
        return user_code.load(self.data)
