"""What is shipped to workers: pickled once in the driver, named by its digest."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from penstock.serde import user_code

_KEPT = 32
_unpacked: OrderedDict[str, Any] = OrderedDict()


@dataclass(frozen=True, slots=True)
class Payload:
    """A pickled object and its digest; cheap to ship inside a task's closure."""

    digest: str
    data: bytes

    @classmethod
    def of(cls, obj: Any) -> Payload:
        """Pack an object.

        Raises:
            UserCodeError: It refers to something that cannot be pickled.
        """
        data = user_code.dump(obj)
        return cls(hashlib.sha256(data).hexdigest(), data)

    def unpack(self) -> Any:
        """Return the object, the same one for every call in this process.

        For descriptions that nobody changes.
        """
        found = _unpacked.get(self.digest)
        if found is None:
            found = _unpacked[self.digest] = user_code.load(self.data)
            while len(_unpacked) > _KEPT:
                _unpacked.popitem(last=False)
        return found

    def unpack_anew(self) -> Any:
        """Return a new object, for programs: no two tasks may share a function object."""
        return user_code.load(self.data)
